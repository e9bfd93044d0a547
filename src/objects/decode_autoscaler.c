/*
 * What scales a workload by its usage.
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

static void autoscaler_read_target(struct decoder *d, struct metric_view *m)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "type"))
                        m->target = autoscaler_target_of(json_text(&d->j, d->arena));
                else if (text_is(key, "averageUtilization"))
                        m->percent = json_int(&d->j);
                else
                        json_skip(&d->j);
}

static void autoscaler_read_name(struct decoder *d, struct metric_view *m)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "name"))
                        m->name = json_text(&d->j, d->arena);
                else
                        json_skip(&d->j);
}

/* The body of a metric, whatever its type. */
static void read_source(struct decoder *d, struct metric_view *m)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "name"))
                        m->resource = autoscaler_resource_of(json_text(&d->j, d->arena));
                else if (text_is(key, "container"))
                        m->container = json_text(&d->j, d->arena);
                else if (text_is(key, "metric"))
                        autoscaler_read_name(d, m);
                else if (text_is(key, "target"))
                        autoscaler_read_target(d, m);
                else
                        json_skip(&d->j);
}

static void autoscaler_read_metric(struct decoder *d, struct metric_view *m)
{
        struct text key;
        *m = (struct metric_view){
                .source = METRIC_UNKNOWN, .resource = RESOURCES, .container = {"", 0}, .name = {"", 0}};
        DECODER_EACH (d, key)
                if (text_is(key, "type"))
                        m->source = autoscaler_source_of(json_text(&d->j, d->arena));
                else if (text_is(key, "resource") || text_is(key, "containerResource") || text_is(key, "pods"))
                        read_source(d, m);
                else
                        json_skip(&d->j);
}

static void read_hpa_spec(struct decoder *d, struct autoscaler_view *s)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "scaleTargetRef"))
                        decoder_reference(d, &s->target);
                else if (!text_is(key, "metrics"))
                        json_skip(&d->j);
                else if (json_enter(&d->j, '['))
                        while (decoder_item(d, "metrics", s->metrics, VIEW_METRICS))
                                autoscaler_read_metric(d, &s->metric[s->metrics++]);
}

/* --- who owns the list --- */

/* The list is atomic: who claims it claims all of it. v1 of the API says the same of a CPU target by a field. */
static bool autoscaler_claims(struct text fields, const char *const pointer[])
{
        for (int i = 0; pointer[i]; i++)
                if (decoder_find(fields, pointer[i], "f:").len)
                        return true;
        return false;
}

static void autoscaler_read_entry(struct decoder *d, const char *const pointer[], const char *field_manager,
                                  struct autoscaler_view *s)
{
        struct text key, operation = {"", 0}, manager = {"", 0}, fields = {"", 0};
        DECODER_EACH (d, key)
                if (text_is(key, "manager"))
                        manager = json_text(&d->j, d->arena);
                else if (text_is(key, "operation"))
                        operation = json_text(&d->j, d->arena);
                else if (text_is(key, "fieldsV1"))
                        fields = json_raw(&d->j);
                else
                        json_skip(&d->j);
        if (text_is(manager, field_manager) || !autoscaler_claims(fields, pointer))
                return;
        s->writer = manager;
        if (text_is(operation, "Apply"))
                s->applier = manager;
}

static int read_applier(struct text managed, const char *const pointer[], const char *field_manager, struct arena *a,
                        const char *what, struct autoscaler_view *s, struct err *err)
{
        struct decoder d;
        if (managed.len == 0)
                return 0;
        decoder_init(&d, managed, a);
        if (json_enter(&d.j, '['))
                while (json_item(&d.j))
                        autoscaler_read_entry(&d, pointer, field_manager, s);
        return decoder_end(&d, what, &s->meta, err);
}

/* --- KEDA's ScaledObject --- */

/* "60"; 0 where it is no whole number. */
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

/* Texts, whatever the trigger. The type of its target stood here before KEDA 2.7. */
static void read_trigger_metadata(struct decoder *d, struct metric_view *m)
{
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

static void read_trigger(struct decoder *d, struct metric_view *m)
{
        struct metric_view read = {.resource = RESOURCES, .container = {"", 0}, .name = {"", 0}};
        struct text key, target = {"", 0};
        DECODER_EACH (d, key)
                if (text_is(key, "type"))
                        read.resource = autoscaler_resource_of(json_text(&d->j, d->arena));
                else if (text_is(key, "metricType"))
                        target = json_text(&d->j, d->arena);
                else if (text_is(key, "metadata"))
                        read_trigger_metadata(d, &read);
                else
                        json_skip(&d->j);
        *m = (struct metric_view){.source = METRIC_OTHER, .resource = RESOURCES, .container = {"", 0}, .name = {"", 0}};
        if (read.resource == RESOURCES)
                return;
        *m = read;
        m->source = read.container.len ? METRIC_CONTAINER : METRIC_RESOURCE;
        if (target.len)
                m->target = autoscaler_target_of(target);
}

static void read_scaled_object_spec(struct decoder *d, struct autoscaler_view *s)
{
        struct text key;
        s->target.api_version = TEXT("apps/v1");
        s->target.kind = TEXT("Deployment");
        DECODER_EACH (d, key)
                if (text_is(key, "scaleTargetRef"))
                        decoder_reference(d, &s->target);
                else if (!text_is(key, "triggers"))
                        json_skip(&d->j);
                else if (json_enter(&d->j, '['))
                        while (decoder_item(d, "triggers", s->metrics, VIEW_METRICS))
                                read_trigger(d, &s->metric[s->metrics++]);
}

/* --- both --- */

static int autoscaler_decode_any(struct text json, const char *what,
                                 void (*read_spec)(struct decoder *d, struct autoscaler_view *s),
                                 const char *const pointer[], const char *field_manager, struct arena *a,
                                 struct autoscaler_view *ret, struct err *err)
{
        memset(ret, 0, sizeof *ret);
        struct decoder d;
        struct text key;
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "metadata"))
                        decoder_meta(&d, &ret->meta);
                else if (text_is(key, "spec"))
                        read_spec(&d, ret);
                else
                        json_skip(&d.j);
        struct text managed = d.managed;
        int rc = decoder_end(&d, what, &ret->meta, err);
        return rc < 0 ? rc : read_applier(managed, pointer, field_manager, a, what, ret, err);
}

int decode_hpa(struct text json, const char *field_manager, struct arena *a, struct autoscaler_view *ret,
               struct err *err)
{
        static const char *const list[] = {"/spec/metrics", "/spec/targetCPUUtilizationPercentage", NULL};
        return autoscaler_decode_any(json, "HorizontalPodAutoscaler", read_hpa_spec, list, field_manager, a, ret, err);
}

int decode_scaled_object(struct text json, const char *field_manager, struct arena *a, struct autoscaler_view *ret,
                         struct err *err)
{
        static const char *const list[] = {"/spec/triggers", NULL};
        return autoscaler_decode_any(json, "ScaledObject", read_scaled_object_spec, list, field_manager, a, ret, err);
}
