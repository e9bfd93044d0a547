/*
 * Finds out whether the kubelet itself killed a container: after a failed probe or hook, for a resize that restarts, or
 * because a sidecar's pod has finished. A container's status does not show this, but the pod's Events do.
 *
 * The Events are requested only where they could change the cause of a kill (oom_kills.c), which is rare. A watch would
 * deliver far too many Events, because each container that stops has one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "kube/known_resource.h"
#include "learner_private.h"

/* SLACK_MS: the time of an Event may differ by a second or two from the end of the process in the status. */
enum { EVENTS_BYTES = 256 << 10, EVENTS_MOST = 50, SLACK_MS = 5 * SECOND_MS };

/* Whether an Event's field path, such as "spec.containers{app}" or "spec.initContainers{app}", names the container. */
static bool probe_is_of(struct text field, const char *container)
{
        size_t len = strlen(container);
        return field.len > len + 2 && field.p[field.len - 1] == '}' && field.p[field.len - len - 2] == '{' &&
               memcmp(field.p + field.len - len - 1, container, len) == 0;
}

/* Whether the Event is about this very pod. Its UID decides, because a recreated pod has the name of the pod before. */
static bool is_of_pod(const struct event_view *e, const struct pod *p)
{
        uint8_t uid[UID_BYTES];
        uid_bytes(e->uid, uid);
        return text_is(e->kind, "Pod") && memcmp(uid, p->uid, UID_BYTES) == 0;
}

/* The earlier of ms and began_ms. But a process that began before end_ms is not a later one than the killed one, so its
 * begin is ignored. */
static int64_t earlier_start(int64_t ms, int64_t began_ms, int64_t end_ms)
{
        return began_ms >= end_ms && began_ms < ms ? began_ms : ms;
}

/* The latest time, wall ms, of an Event about the process that ended by k: SLACK_MS after its end, but before the next
 * process began. Kubernetes gives these times in whole seconds. */
static int64_t said_until(const struct pod_container *pc, const struct pod_kill *k)
{
        int64_t next_ms = earlier_start(INT64_MAX, (int64_t)pod_ended(pc).began_s * SECOND_MS, k->at_ms);
        for (int i = 0; i < pc->kills->count; i++)
                if (pc->kills->kill[i].number > k->number)
                        next_ms = earlier_start(next_ms, pc->kills->kill[i].started_ms, k->at_ms);
        if (next_ms > k->at_ms + SLACK_MS)
                return k->at_ms + SLACK_MS;
        return next_ms > k->at_ms ? next_ms - 1 : k->at_ms;
}

/* Mark the kill that a Killing Event of this time is about, if any, as the kubelet's own. */
static void take_killing(struct pod_container *pc, int64_t at_ms)
{
        for (int i = 0; pc->kills && i < pc->kills->count; i++) {
                struct pod_kill *k = &pc->kills->kill[i];
                if (at_ms >= k->started_ms && at_ms <= said_until(pc, k))
                        pod_kill_is_kubelets(k);
        }
}

static void probe_take_event(struct learner *learner, struct pod *p, const json_t *event)
{
        struct event_view e;
        char *text = json_dumps(event, JSON_COMPACT);
        if (text && decode_event(text_of(text), &learner->cache->scratch, &e, NULL) == 0 && is_of_pod(&e, p))
                for (int i = 0; i < p->containers; i++)
                        if (e.at.ms > 0 && probe_is_of(e.field, p->container[i].name))
                                take_killing(&p->container[i], e.at.ms);
        arena_reset(&learner->cache->scratch);
        free(text);
}

static void probe_told(void *arg, const struct client_answer *answer)
{
        struct probe_question *q = arg;
        struct learner *learner = q->learner;
        struct pod *p = map_get(&learner->cache->pods, text_of(q->pod));
        AUTO(json_decref) json_t *list = NULL;
        size_t i;
        json_t *event;
        if (p && memcmp(p->uid, q->uid, UID_BYTES) != 0)
                p = NULL;
        if (answer->err.code == 0)
                list = json_loadb(answer->body.p, answer->body.len, 0, NULL);
        json_array_foreach(json_object_get(list, "items"), i, event) if (p) probe_take_event(learner, p, event);
        mem_free(q->pod);
        *q = (struct probe_question){0};
        if (p) {
                pod_kills_answered(p);
                oom_probe_told(learner, p);
        }
        if (learner->cache->kills) /* other pods may wait because PROBE_QUESTIONS requests were under way */
                schedule_pass(learner->leadership);
}

bool probe_ask(struct learner *learner, struct pod *p)
{
        struct probe_question *q = learner->question;
        while (q < learner->question + PROBE_QUESTIONS && q->pod)
                q++;
        if (q == learner->question + PROBE_QUESTIONS)
                return false;
        *q = (struct probe_question){.learner = learner, .pod = mem_string(pod_key(p))};
        memcpy(q->uid, p->uid, UID_BYTES);
        AUTO(mem_free) char *path = known_resource_path(KNOWN_EVENTS, p->ns, NULL, NULL);
        AUTO(mem_free)
        char *fields = mem_printf("involvedObject.name=%s,involvedObject.kind=Pod,reason=Killing", p->name);
        AUTO(mem_free) char *escaped = path_escape(fields);
        AUTO(mem_free) char *query = mem_printf("limit=%d&fieldSelector=%s", EVENTS_MOST, escaped);
        struct call call = {.method = HTTP_GET, .path = path, .query = query, .body_max = EVENTS_BYTES};
        pod_kills_asked(p); /* mark only the kills known by now, because the answer does not cover later kills */
        client_start(learner->client, &call, probe_told, q);
        return true;
}

bool oom_asks(const struct learner *learner)
{
        for (int i = 0; i < PROBE_QUESTIONS; i++)
                if (learner->question[i].pod)
                        return true;
        return false;
}

void probes_release(struct learner *learner)
{
        for (int i = 0; i < PROBE_QUESTIONS; i++)
                mem_free(learner->question[i].pod);
}
