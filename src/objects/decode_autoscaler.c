/*
 * Autoscalers that scale a workload's replicas by usage: HorizontalPodAutoscaler and KEDA's ScaledObject.
 */
#include "decoder.h"

static enum resource autoscaler_resource_of(struct text name)
{
        return text_is(name, "cpu") ? CPU : text_is(name, "memory") ? MEMORY : RESOURCES;
}

/* --- HorizontalPodAutoscaler --- */

static enum metric_target autoscaler_target_of(struct text type)
{
        return text_is(type, "Utilization")    ? TARGET_UTILIZATION
               : text_is(type, "AverageValue") ? TARGET_AVERAGE_VALUE
               : text_is(type, "Value")        ? TARGET_VALUE
                                               : TARGET_UNKNOWN;
}

static enum metric_source autoscaler_source_of(struct text type)
{
        return text_is(type, "Resource")                              ? METRIC_RESOURCE
               : text_is(type, "ContainerResource")                   ? METRIC_CONTAINER
               : text_is(type, "Pods")                                ? METRIC_PODS
               : text_is(type, "Object") || text_is(type, "External") ? METRIC_OTHER
                                                                      : METRIC_UNKNOWN;
}

#define IN_METRIC(member) offsetof(struct metric_view, member)

static void autoscaler_read_source_type(struct decoder *d, void *to)
{
        *(enum metric_source *)to = autoscaler_source_of(json_text(&d->j, d->arena));
}

static void autoscaler_read_target_type(struct decoder *d, void *to)
{
        *(enum metric_target *)to = autoscaler_target_of(json_text(&d->j, d->arena));
}

static void autoscaler_read_resource(struct decoder *d, void *to)
{
        *(enum resource *)to = autoscaler_resource_of(json_text(&d->j, d->arena));
}

/* Reads the body of a metric. Its fields have the same names in every type of metric. */
static void autoscaler_read_source(struct decoder *d, void *to)
{
        static const struct decoder_field table[] = {
                {"name", autoscaler_read_resource, IN_METRIC(resource)},
                {"container", decoder_field_text, IN_METRIC(container)},
                {"metric.name", decoder_field_text, IN_METRIC(name)},
                {"target.type", autoscaler_read_target_type, IN_METRIC(target)},
                {"target.averageUtilization", decoder_field_int, IN_METRIC(percent)},
                {0},
        };
        decoder_fields(d, table, to);
}

/* Metrics beyond the bound count as one that halflife does not know: any of them may scale on CPU or memory, so the
 * requests for both are held. */
static void autoscaler_cut(struct autoscaler_view *s)
{
        if (s->metrics > VIEW_METRICS)
                s->metric[VIEW_METRICS] = (struct metric_view){
                        .source = METRIC_UNKNOWN, .resource = RESOURCES, .container = {"", 0}, .name = {"", 0}};
}

static void autoscaler_read_metrics(struct decoder *d, void *to)
{
        static const struct decoder_field table[] = {
                {"type", autoscaler_read_source_type, IN_METRIC(source)},
                {"resource", autoscaler_read_source, 0},
                {"containerResource", autoscaler_read_source, 0},
                {"pods", autoscaler_read_source, 0},
                {0},
        };
        struct autoscaler_view *s = to;
        if (json_enter(&d->j, '['))
                while (decoder_item_cut(d, "metrics", s->metrics, VIEW_METRICS + 1, NULL)) {
                        struct metric_view *m = &s->metric[s->metrics++];
                        *m = (struct metric_view){
                                .source = METRIC_UNKNOWN, .resource = RESOURCES, .container = {"", 0}, .name = {"", 0}};
                        decoder_fields(d, table, m);
                }
        autoscaler_cut(s);
}

/* --- who owns the list --- */

/* Whether a manager owns the list of metrics. The list is atomic, so a manager owns all of it or none. A manager that
 * uses API v1 owns the field of the CPU target instead. */
static bool autoscaler_claims(struct text fields, const char *const pointer[])
{
        for (int i = 0; pointer[i]; i++)
                if (decoder_find(fields, pointer[i], "f:").len)
                        return true;
        return false;
}

struct autoscaler_owner {
        struct autoscaler_view *view;
        const char *const *list; /* JSON pointers to the list */
        const char *field_manager;
};

static void autoscaler_read_entry(struct decoder *d, const struct managed_entry *e, void *arg)
{
        const struct autoscaler_owner *o = arg;
        (void)d;
        if (text_is(e->manager, o->field_manager) || !autoscaler_claims(e->fields, o->list))
                return;
        o->view->writer = e->manager;
        if (text_is(e->operation, "Apply"))
                o->view->applier = e->manager;
}

static int decode_autoscaler(const struct decoder_kind *kind, const char *const list[], struct text json,
                             const char *field_manager, struct arena *a, struct autoscaler_view *ret, struct err *err)
{
        struct autoscaler_owner owner = {ret, list, field_manager};
        struct text managed;
        int rc = decoder_view(kind, json, a, ret, &managed, err);
        return rc < 0 ? rc : decoder_managed(managed, a, autoscaler_read_entry, &owner, kind->what, &ret->meta, err);
}

int decode_hpa(struct text json, const char *field_manager, struct arena *a, struct autoscaler_view *ret,
               struct err *err)
{
        static const char *const list[] = {"/spec/metrics", "/spec/targetCPUUtilizationPercentage", NULL};
        static const struct decoder_field table[] = {
                {"metadata", decoder_meta, offsetof(struct autoscaler_view, meta)},
                {"spec.scaleTargetRef", decoder_reference, offsetof(struct autoscaler_view, target)},
                {"spec.metrics", autoscaler_read_metrics, 0},
                {0},
        };
        static const struct decoder_kind kind = {"HorizontalPodAutoscaler", sizeof *ret, table};
        return decode_autoscaler(&kind, list, json, field_manager, a, ret, err);
}

/* --- KEDA's ScaledObject --- */

/* Reads a percentage such as "60"; 0: the text is no whole number, or has more than 10 digits. */
static int64_t read_percent(struct text t)
{
        int64_t percent = 0;
        if (t.len == 0 || t.len > 10)
                return 0;
        for (size_t i = 0; i < t.len; i++) {
                if (t.p[i] < '0' || t.p[i] > '9')
                        return 0;
                percent = percent * 10 + (t.p[i] - '0');
        }
        return percent;
}

/* The metadata of every trigger are texts. Before KEDA 2.7 they also held the type of the target. */
static void read_trigger_metadata(struct decoder *d, void *to)
{
        struct metric_view *m = to;
        struct text key;
        DECODER_EACH (d, key)
                if (json_peek(&d->j) != '"')
                        json_skip(&d->j);
                else if (text_is(key, "value"))
                        m->percent = read_percent(json_text(&d->j, d->arena));
                else if (text_is(key, "containerName"))
                        m->container = json_text(&d->j, d->arena);
                else if (text_is(key, "type"))
                        m->target = autoscaler_target_of(json_text(&d->j, d->arena));
                else
                        json_skip(&d->j);
}

struct trigger {
        struct metric_view metric;
        struct text target;
};

static void read_trigger(struct decoder *d, struct metric_view *ret)
{
        static const struct decoder_field table[] = {
                {"type", autoscaler_read_resource, offsetof(struct trigger, metric.resource)},
                {"metricType", decoder_field_text, offsetof(struct trigger, target)},
                {"metadata", read_trigger_metadata, offsetof(struct trigger, metric)},
                {0},
        };
        struct trigger t = {{.resource = RESOURCES, .container = {"", 0}, .name = {"", 0}}, {"", 0}};
        decoder_fields(d, table, &t);
        *ret = (struct metric_view){
                .source = METRIC_OTHER, .resource = RESOURCES, .container = {"", 0}, .name = {"", 0}};
        if (t.metric.resource == RESOURCES)
                return;
        *ret = t.metric;
        ret->source = t.metric.container.len ? METRIC_CONTAINER : METRIC_RESOURCE;
        if (t.target.len)
                ret->target = autoscaler_target_of(t.target);
}

static void read_triggers(struct decoder *d, void *to)
{
        struct autoscaler_view *s = to;
        if (json_enter(&d->j, '['))
                while (decoder_item_cut(d, "triggers", s->metrics, VIEW_METRICS + 1, NULL))
                        read_trigger(d, &s->metric[s->metrics++]);
        autoscaler_cut(s);
}

static void read_scaled_object_spec(struct decoder *d, void *to)
{
        static const struct decoder_field table[] = {
                {"scaleTargetRef", decoder_reference, offsetof(struct autoscaler_view, target)},
                {"triggers", read_triggers, 0},
                {0},
        };
        struct autoscaler_view *s = to;
        s->target.api_version = TEXT("apps/v1");
        s->target.kind = TEXT("Deployment");
        decoder_fields(d, table, s);
}

int decode_scaled_object(struct text json, const char *field_manager, struct arena *a, struct autoscaler_view *ret,
                         struct err *err)
{
        static const char *const list[] = {"/spec/triggers", NULL};
        static const struct decoder_field table[] = {
                {"metadata", decoder_meta, offsetof(struct autoscaler_view, meta)},
                {"spec", read_scaled_object_spec, 0},
                {0},
        };
        static const struct decoder_kind kind = {"ScaledObject", sizeof *ret, table};
        return decode_autoscaler(&kind, list, json, field_manager, a, ret, err);
}
