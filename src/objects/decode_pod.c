#include "decoder.h"

static bool text_holds(struct text t, const char *word)
{
        return t.len > 0 && memmem(t.p, t.len, word, strlen(word)) != NULL;
}

enum { NODE_DOWN = 255 };

/* Reads `terminated` of a container's `state` or `lastState`:
 * {"reason":"OOMKilled","exitCode":137,"startedAt":…,"finishedAt":…}. */
static void read_terminated(struct decoder *d, struct kill_view *ret)
{
        struct text key, reason = {"", 0};
        *ret = (struct kill_view){.exit_code = KILL_EXIT_UNTOLD};
        DECODER_EACH (d, key)
                if (text_is(key, "reason"))
                        reason = json_text(&d->j, d->arena);
                else if (text_is(key, "exitCode"))
                        ret->exit_code = json_int(&d->j);
                else if (text_is(key, "startedAt"))
                        ret->started = decoder_time(d, "startedAt");
                else if (text_is(key, "finishedAt"))
                        ret->at = decoder_time(d, "finishedAt");
                else
                        json_skip(&d->j);
        ret->seen = text_is(reason, "OOMKilled");
        ret->lost = text_is(reason, "ContainerStatusUnknown");
        ret->node_down = text_is(reason, "Unknown") && ret->exit_code == NODE_DOWN;
}

static void read_running(struct decoder *d, struct wall *ret_since)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "startedAt"))
                        *ret_since = decoder_time(d, "startedAt");
                else
                        json_skip(&d->j);
}

/* A container that waits without a reason has its next process already, only not started yet, so *ret_waits becomes
 * false. */
static void read_waiting(struct decoder *d, bool *ret_waits)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "reason"))
                        *ret_waits = json_text(&d->j, d->arena).len > 0;
                else
                        json_skip(&d->j);
}

static void pod_read_state(struct decoder *d, struct container_status_view *ret)
{
        struct text key;
        DECODER_EACH (d, key) {
                ret->stopped |= !text_is(key, "running");
                if (text_is(key, "terminated"))
                        read_terminated(d, &ret->now);
                else if (text_is(key, "waiting"))
                        read_waiting(d, &ret->waits);
                else if (text_is(key, "running"))
                        read_running(d, &ret->running_since);
                else
                        json_skip(&d->j);
        }
}

static void read_last_state(struct decoder *d, struct kill_view *ret)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "terminated"))
                        read_terminated(d, ret);
                else
                        json_skip(&d->j);
}

/* Clamps restartCount to the API's range, because later code adds to it and must not overflow. */
static int64_t read_restarts(struct decoder *d)
{
        int64_t restarts = json_int(&d->j);
        return restarts < 0 ? 0 : restarts > INT32_MAX ? INT32_MAX : restarts;
}

static void read_container_status(struct decoder *d, struct container_status_view *ret)
{
        struct text key;
        *ret = (struct container_status_view){.name = {"", 0}};
        DECODER_EACH (d, key)
                if (text_is(key, "name"))
                        ret->name = json_text(&d->j, d->arena);
                else if (text_is(key, "restartCount"))
                        ret->restarts = read_restarts(d);
                else if (text_is(key, "state"))
                        pod_read_state(d, ret);
                else if (text_is(key, "lastState"))
                        read_last_state(d, &ret->last);
                else
                        json_skip(&d->j);
}

/* Of several signs of how far a resize is, keeps the one furthest from done: an obstacle outweighs progress. */
static void say_resize(struct pod_view *pod, enum resize_progress progress, struct text message)
{
        if (progress <= pod->resize)
                return;
        pod->resize = progress;
        pod->resize_message = message;
}

/* Reads the conditions by which the kubelet reports on a resize of a running pod. */
static void read_resize(struct pod_view *pod, struct text type, struct text reason, struct text message)
{
        if (text_is(type, "PodResizeInProgress"))
                say_resize(pod, text_is(reason, "Error") ? RESIZE_FAILS : RESIZE_GOES_ON, message);
        else if (text_is(type, "PodResizePending"))
                say_resize(pod, text_is(reason, "Infeasible") ? RESIZE_INFEASIBLE : RESIZE_DEFERRED, message);
}

/* Reads status.resize, which Kubernetes before 1.33 has instead of the conditions. */
static void read_old_resize(struct pod_view *pod, struct text word)
{
        static const struct {
                const char *word;
                enum resize_progress progress;
        } words[] = {{"Proposed", RESIZE_GOES_ON},
                     {"InProgress", RESIZE_GOES_ON},
                     {"Deferred", RESIZE_DEFERRED},
                     {"Infeasible", RESIZE_INFEASIBLE}};
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
                if (text_is(word, words[i].word))
                        say_resize(pod, words[i].progress, (struct text){"", 0});
}

/* The condition DisruptionTarget announces that the node is about to kill the pod, before the pod's phase changes. */
static void pod_read_condition(struct decoder *d, struct pod_view *pod)
{
        struct text key, type = {"", 0}, status = {"", 0}, reason = {"", 0}, message = {"", 0};
        struct wall at = {0};
        DECODER_EACH (d, key)
                if (text_is(key, "type"))
                        type = json_text(&d->j, d->arena);
                else if (text_is(key, "status"))
                        status = json_text(&d->j, d->arena);
                else if (text_is(key, "reason"))
                        reason = json_text(&d->j, d->arena);
                else if (text_is(key, "message"))
                        message = json_text(&d->j, d->arena);
                else if (text_is(key, "lastTransitionTime"))
                        at = decoder_time(d, "lastTransitionTime");
                else
                        json_skip(&d->j);
        if (text_is(type, "Ready")) {
                pod->ready = text_is(status, "True");
                pod->ready_turned = at;
        }
        if (text_is(type, "PodScheduled"))
                pod->lacks_room =
                        text_is(status, "False") && text_is(reason, "Unschedulable") &&
                        (text_holds(message, "Insufficient cpu") || text_holds(message, "Insufficient memory"));
        if (text_is(status, "True"))
                read_resize(pod, type, reason, message);
        bool kubelet = text_is(type, "DisruptionTarget") && text_is(reason, "TerminationByKubelet");
        bool for_memory = kubelet && decode_eviction_is_for_memory(message);
        pod->node_pressure |= for_memory;
        pod->stopped |= kubelet && text_is(status, "True");
        if (for_memory && text_is(status, "True"))
                pod->eviction =
                        (struct eviction_view){.seen = true, .by_condition = true, .at = at, .message = message};
        else if (!pod->eviction.by_condition && at.ms > pod->eviction.at.ms)
                pod->eviction.at = at;
}

static void read_statuses(struct decoder *d, const char *list, struct pod_view *pod)
{
        if (json_enter(&d->j, '['))
                while (decoder_item_cut(d, list, pod->statuses, VIEW_CONTAINERS, NULL))
                        read_container_status(d, &pod->status[pod->statuses++]);
}

/* Whether a status.reason means that the kubelet ended the pod. "Terminated": the node shuts down. */
static bool is_of_kubelet(struct text reason)
{
        static const char *const reasons[] = {"Evicted", "DeadlineExceeded", "Preempting", "Terminated"};
        for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
                if (text_is(reason, reasons[i]))
                        return true;
        return false;
}

static void pod_read_status(struct decoder *d, struct pod_view *pod, int64_t *ret_observed)
{
        struct text key, phase = {"", 0}, reason = {"", 0}, message = {"", 0};
        DECODER_EACH (d, key)
                if (text_is(key, "phase"))
                        phase = json_text(&d->j, d->arena);
                else if (text_is(key, "reason"))
                        reason = json_text(&d->j, d->arena);
                else if (text_is(key, "message"))
                        message = json_text(&d->j, d->arena);
                else if (text_is(key, "startTime"))
                        pod->started = decoder_time(d, "startTime");
                else if (text_is(key, "observedGeneration"))
                        *ret_observed = json_int(&d->j);
                else if (text_is(key, "resize"))
                        read_old_resize(pod, json_text(&d->j, d->arena));
                else if (text_is(key, "containerStatuses"))
                        read_statuses(d, "containerStatuses", pod);
                else if (text_is(key, "initContainerStatuses"))
                        read_statuses(d, "initContainerStatuses", pod);
                else if (!text_is(key, "conditions"))
                        json_skip(&d->j);
                else if (json_enter(&d->j, '['))
                        while (json_item(&d->j))
                                pod_read_condition(d, pod);
        pod->running = text_is(phase, "Running");
        pod->finished = text_is(phase, "Succeeded") || text_is(phase, "Failed");
        pod->stopped |= is_of_kubelet(reason);
        if (text_is(reason, "Evicted") && decode_eviction_is_for_memory(message)) {
                pod->node_pressure = true;
                pod->eviction.seen = true;
                pod->eviction.message = message;
        }
}

/* A status of an older generation reports on earlier requests, so the resize to the current ones still goes on. This
 * runs after all members, because their order is not fixed. */
static void judge_resize(struct pod_view *pod, int64_t observed)
{
        if (!observed || observed >= pod->meta.generation)
                return;
        pod->resize = RESIZE_GOES_ON;
        pod->resize_message = (struct text){"", 0};
}

int decode_pod(struct text json, struct arena *a, struct pod_view *ret, struct err *err)
{
        /* The two large arrays `container` and `status` are not cleared here: for a list of 100 000 pods that would be
         * gigabytes. Each entry is cleared when it is read. */
        memset(ret, 0, offsetof(struct pod_view, container));
        ret->containers = ret->statuses = 0;
        ret->containers_cut = false;
        struct decoder d;
        struct pod_place place = {.node = {"", 0}, .priority_class = {"", 0}};
        struct text key;
        int64_t observed = 0;
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "metadata"))
                        decoder_meta(&d, &ret->meta);
                else if (text_is(key, "spec"))
                        decoder_pod_spec(&d, ret->container, &ret->containers, &ret->containers_cut, ret->pod_asks,
                                         &place);
                else if (text_is(key, "status"))
                        pod_read_status(&d, ret, &observed);
                else
                        json_skip(&d.j);
        ret->node = place.node;
        memcpy(ret->overhead, place.overhead, sizeof ret->overhead);
        judge_resize(ret, observed);
        return decoder_end(&d, "pod", &ret->meta, err);
}
