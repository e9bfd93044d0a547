#include "decoder.h"

#include <assert.h>
#include <stdio.h>

/* The state of reading one workload, besides its view. */
struct workload_reader {
        struct decoder d;
        struct workload_view *view;
        struct text step;   /* first part of template_path below spec ("template", "jobTemplate") */
        struct text branch; /* raw spec.<step> */
        bool has_replicas, has_desired;
        bool staged;                      /* Argo's strategy canary or blueGreen, where `replicas` defaults to 1 */
        int64_t parallelism, completions; /* of a Job: pods at once, pods in all; -1: not given */
};

/* Generations and partitions are numbers, but Argo writes a generation as text ("3"), and OpenKruise may write a
 * partition so ("20%"). A text without leading digits gives 0. */
static int64_t leading_number(struct text t)
{
        int64_t n = 0;
        for (size_t i = 0; i < t.len && t.p[i] >= '0' && t.p[i] <= '9' && n < INT64_C(1000000000000000); i++)
                n = n * 10 + (t.p[i] - '0');
        return n;
}

static int64_t workload_read_number(struct decoder *d)
{
        return leading_number(json_scalar(&d->j, d->arena));
}

/* Reads a share such as "25%" or 1. */
static struct share read_share(struct decoder *d)
{
        char first = json_peek(&d->j);
        if (first != '"' && (first < '0' || first > '9')) {
                json_skip(&d->j);
                return (struct share){.set = false};
        }
        struct text t = json_scalar(&d->j, d->arena);
        bool percent = t.len > 0 && t.p[t.len - 1] == '%';
        return (struct share){t.len > 0, percent, leading_number(t)};
}

/* Whether the next value has the expected type. Another value is skipped, because a custom kind may use the same name
 * for something else. */
static bool is_shaped(struct decoder *d, char bracket)
{
        if (json_peek(&d->j) == bracket)
                return true;
        json_skip(&d->j);
        return false;
}

/* Whether the pause of an Argo step lasts until a person ends it: {} does, {"duration": "1h"} does not. */
static bool pauses_for_ever(struct decoder *d)
{
        struct text key;
        bool ends = false;
        if (!is_shaped(d, '{'))
                return false;
        DECODER_EACH (d, key) {
                ends |= text_is(key, "duration") && json_peek(&d->j) != 'n';
                json_skip(&d->j);
        }
        return !ends;
}

static void read_step(struct decoder *d, struct workload_view *w)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "pause"))
                        w->needs_person |= pauses_for_ever(d);
                else
                        json_skip(&d->j);
}

static bool workload_read_canary(struct decoder *d, struct workload_view *w)
{
        struct text key;
        if (!is_shaped(d, '{'))
                return false;
        DECODER_EACH (d, key)
                if (text_is(key, "maxSurge"))
                        w->surge = read_share(d);
                else if (!text_is(key, "steps"))
                        json_skip(&d->j);
                else if (is_shaped(d, '[') && json_enter(&d->j, '['))
                        while (json_item(&d->j))
                                read_step(d, w);
        return true;
}

static bool read_blue_green(struct decoder *d, struct workload_view *w)
{
        struct text key;
        if (!is_shaped(d, '{'))
                return false;
        w->surge = (struct share){true, true, 100}; /* blue-green runs all new pods beside all old ones */
        DECODER_EACH (d, key)
                if (text_is(key, "autoPromotionEnabled") && json_peek(&d->j) != 'n')
                        w->needs_person |= !json_bool(&d->j);
                else
                        json_skip(&d->j);
        return true;
}

/* Reads spec.strategy, spec.updateStrategy and their rollingUpdate, for every kind of workload. */
static void read_strategy(struct workload_reader *r)
{
        struct workload_view *w = r->view;
        struct decoder *d = &r->d;
        struct text key;
        if (!is_shaped(d, '{'))
                return;
        DECODER_EACH (d, key)
                if (text_is(key, "type") || text_is(key, "podUpdatePolicy")) {
                        struct text type = json_text(&d->j, d->arena);
                        w->on_delete |= text_is(type, "OnDelete");
                        w->recreate |= text_is(type, "Recreate");
                        w->in_place_only |= text_is(type, "InPlaceOnly");
                } else if (text_is(key, "partition")) {
                        w->partition = workload_read_number(d);
                } else if (text_is(key, "paused")) {
                        w->paused |= json_bool(&d->j);
                } else if (text_is(key, "maxSurge")) {
                        w->surge = read_share(d);
                } else if (text_is(key, "rollingUpdate")) {
                        read_strategy(r);
                } else if (text_is(key, "canary")) {
                        r->staged |= workload_read_canary(d, w);
                } else if (text_is(key, "blueGreen")) {
                        r->staged |= read_blue_green(d, w);
                } else {
                        json_skip(&d->j);
                }
}

/* Reads parallelism or completions of a Job; false: the key is neither. */
static bool read_of_job(struct workload_reader *r, struct text key)
{
        int64_t *to = text_is(key, "parallelism")   ? &r->parallelism
                      : text_is(key, "completions") ? &r->completions
                                                    : NULL;
        if (!to)
                return false;
        char first = json_peek(&r->d.j); /* Only a number is read: a custom kind may use the name for something else. */
        if (first >= '0' && first <= '9')
                *to = json_int(&r->d.j);
        else
                json_skip(&r->d.j);
        return true;
}

static void workload_read_spec(struct workload_reader *r)
{
        struct workload_view *w = r->view;
        struct decoder *d = &r->d;
        struct text key;
        DECODER_EACH (d, key)
                if (read_of_job(r, key)) {
                        continue;
                } else if (text_equal(key, r->step)) {
                        r->branch = json_raw(&d->j);
                } else if (text_is(key, "replicas")) {
                        r->has_replicas = json_peek(&d->j) != 'n';
                        w->replicas = json_int(&d->j);
                } else if (text_is(key, "selector")) {
                        w->selector = json_raw(&d->j);
                } else if (text_is(key, "paused")) {
                        w->paused |= json_bool(&d->j);
                } else if (text_is(key, "suspend")) {
                        w->suspended = json_bool(&d->j);
                } else if (text_is(key, "strategy") || text_is(key, "updateStrategy")) {
                        read_strategy(r);
                } else if (text_is(key, "workloadRef") && json_peek(&d->j) == '{') {
                        decoder_reference(d, &w->refers);
                } else {
                        json_skip(&d->j);
                }
}

static void workload_read_condition(struct decoder *d, struct workload_view *w)
{
        struct text key, type = {"", 0}, reason = {"", 0}, status = {"", 0}, message = {"", 0};
        DECODER_EACH (d, key)
                if (text_is(key, "type"))
                        type = json_text(&d->j, d->arena);
                else if (text_is(key, "reason"))
                        reason = json_text(&d->j, d->arena);
                else if (text_is(key, "status"))
                        status = json_text(&d->j, d->arena);
                else if (text_is(key, "message"))
                        message = json_text(&d->j, d->arena);
                else
                        json_skip(&d->j);
        if (text_is(type, "ReplicaFailure") && text_is(status, "True"))
                w->replica_failure = message;
        w->deadline_exceeded |= text_is(type, "Progressing") && text_is(reason, "ProgressDeadlineExceeded");
}

static void workload_read_status(struct workload_reader *r)
{
        struct workload_view *w = r->view;
        struct decoder *d = &r->d;
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "observedGeneration"))
                        w->observed_generation = workload_read_number(d);
                else if (text_is(key, "workloadObservedGeneration"))
                        w->observed_referred = workload_read_number(d);
                else if ((text_is(key, "selector") || text_is(key, "labelSelector")) && json_peek(&d->j) == '"')
                        w->scale_selector = json_text(&d->j, d->arena);
                else if (text_is(key, "phase") && json_peek(&d->j) == '"')
                        w->phase = json_text(&d->j, d->arena);
                else if (text_is(key, "updatedReplicas") || text_is(key, "updatedNumberScheduled"))
                        w->updated = workload_read_number(d);
                else if (text_is(key, "availableReplicas") || text_is(key, "numberAvailable"))
                        w->available = workload_read_number(d);
                else if (text_is(key, "replicas") || text_is(key, "currentNumberScheduled"))
                        w->status_replicas = workload_read_number(d);
                else if (text_is(key, "desiredNumberScheduled")) {
                        r->has_desired = true;
                        w->replicas = workload_read_number(d);
                } else if (!text_is(key, "conditions"))
                        json_skip(&d->j);
                else if (json_enter(&d->j, '['))
                        while (json_item(&d->j))
                                workload_read_condition(d, w);
}

/* --- the template --- */

static int read_document(struct workload_reader *r, struct text json, struct err *err)
{
        struct decoder *d = &r->d;
        struct text key;
        decoder_init(d, json, d->arena);
        DECODER_EACH (d, key)
                if (text_is(key, "metadata"))
                        decoder_meta(d, &r->view->meta);
                else if (text_is(key, "spec"))
                        workload_read_spec(r);
                else if (text_is(key, "status"))
                        workload_read_status(r);
                else
                        json_skip(&d->j);
        return decoder_end(d, "workload", &r->view->meta, err);
}

static int read_template(struct workload_reader *r, const char *path_below_step, struct err *err)
{
        struct workload_view *w = r->view;
        struct pod_place place = {.node = {"", 0}, .priority_class = {"", 0}};
        struct object_view meta = {0};
        struct decoder *d = &r->d;
        struct text key, template = decoder_find(r->branch, path_below_step, "");
        if (template.len == 0)
                return 0;
        decoder_init(d, template, d->arena);
        DECODER_EACH (d, key)
                if (text_is(key, "metadata"))
                        decoder_meta(d, &meta);
                else if (text_is(key, "spec"))
                        decoder_pod_spec(d, w->container, &w->containers, &w->containers_cut, w->pod_asks, &place);
                else
                        json_skip(&d->j);
        w->priority_class = place.priority_class;
        w->template_annotation = meta.annotation;
        w->template_label = meta.label;
        w->template_labels = meta.labels;
        w->template_labels_cut = meta.labels_cut;
        w->meta.labels_cut |= meta.labels_cut;
        return decoder_end(d, "workload", &w->meta, err);
}

/* Reads the spec of a CronJob's Jobs, which holds their pod template. */
static int read_job_template(struct workload_reader *r, const char *path_below_step, struct err *err)
{
        struct decoder *d = &r->d;
        struct text key;
        char path[64];
        snprintf(path, sizeof path, "%.*s", (int)(strrchr(path_below_step, '/') - path_below_step), path_below_step);
        struct text spec = decoder_find(r->branch, path, "");
        if (spec.len == 0)
                return 0;
        decoder_init(d, spec, d->arena);
        DECODER_EACH (d, key)
                if (!read_of_job(r, key))
                        json_skip(&d->j);
        return decoder_end(d, "workload", &r->view->meta, err);
}

/* How many pods of a Job run at once. */
static int64_t job_pods(const struct workload_reader *r)
{
        int64_t pods = r->parallelism >= 0 ? r->parallelism : 1;
        return r->completions >= 0 && r->completions < pods ? r->completions : pods;
}

/* For kinds with rollouts an absent count is 0, because the API server omits zeros. For other kinds this sets the
 * counts so that no rollout seems to be running. */
static void calm_down(struct workload_reader *r)
{
        struct workload_view *w = r->view;
        if (r->staged && !r->has_replicas)
                w->replicas = 1;
        if (r->has_replicas || r->has_desired || r->staged)
                return;
        w->replicas = w->updated = w->available = w->status_replicas = job_pods(r);
        w->observed_generation = w->meta.generation;
}

int decode_workload(struct text json, const char *template_path, const char *field_manager, struct arena *a,
                    struct workload_view *ret, struct err *err)
{
        static const char spec[] = "/spec/";
        assert(strncmp(template_path, spec, sizeof spec - 1) == 0);
        const char *step = template_path + sizeof spec - 1;
        struct workload_reader r = {
                .view = ret, .d.arena = a, .step = {step, strcspn(step, "/")}, .parallelism = -1, .completions = -1};
        memset(ret, 0, sizeof *ret);
        int rc = read_document(&r, json, err);
        struct text managed = r.d.managed;
        if (rc == 0 && step[r.step.len])
                rc = read_job_template(&r, step + r.step.len, err);
        if (rc == 0)
                rc = read_template(&r, step + r.step.len, err);
        if (rc == 0)
                rc = decode_owners(managed, template_path, field_manager, a, ret, err);
        calm_down(&r);
        return rc;
}
