#include "core/quantity.h"
#include "decoder.h"

static void read_usage(struct decoder *d, struct pod_metrics_container_view *ret, bool *ret_readable)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "cpu"))
                        ret->has[CPU] = decoder_quantity_or_odd(d, QUANTITY_NANO, &ret->cpu_nano, ret_readable);
                else if (text_is(key, "memory"))
                        ret->has[MEMORY] = decoder_quantity_or_odd(d, QUANTITY_WHOLE, &ret->memory_bytes, ret_readable);
                else
                        json_skip(&d->j);
}

/* Returns false for a container that is left out. Faulty runtimes report a container without a name, or the pause
 * container, beside good ones. */
static bool metrics_read_container(struct decoder *d, struct pod_metrics_view *ret)
{
        struct pod_metrics_container_view *c = &ret->container[ret->containers];
        bool readable = true;
        struct text key;
        *c = (struct pod_metrics_container_view){.name = {"", 0}};
        DECODER_EACH (d, key)
                if (text_is(key, "name"))
                        c->name = json_text(&d->j, d->arena);
                else if (text_is(key, "usage"))
                        read_usage(d, c, &readable);
                else
                        json_skip(&d->j);
        bool pause = text_is(c->name, "POD"); /* the pause container: Kubernetes allows no capitals in names */
        ret->lacks |= !pause && (c->name.len == 0 || !readable);
        return !pause && c->name.len > 0 && readable;
}

static void metrics_take_larger(bool has, int64_t value, bool *to_has, int64_t *to_value)
{
        if (has && (!*to_has || value > *to_value))
                *to_value = value;
        *to_has |= has;
}

/* A faulty runtime may report a container twice, with the process before a restart. As with Prometheus' series, the
 * larger usage counts. */
static bool metrics_join_same(struct pod_metrics_view *ret)
{
        const struct pod_metrics_container_view *c = &ret->container[ret->containers];
        for (int i = 0; i < ret->containers; i++) {
                struct pod_metrics_container_view *to = &ret->container[i];
                if (!text_equal(to->name, c->name))
                        continue;
                metrics_take_larger(c->has[CPU], c->cpu_nano, &to->has[CPU], &to->cpu_nano);
                metrics_take_larger(c->has[MEMORY], c->memory_bytes, &to->has[MEMORY], &to->memory_bytes);
                return true;
        }
        return false;
}

static void metrics_read_containers(struct decoder *d, struct pod_metrics_view *ret)
{
        while (decoder_item_cut(d, "containers", ret->containers, VIEW_CONTAINERS, &ret->lacks))
                if (metrics_read_container(d, ret) && !metrics_join_same(ret))
                        ret->containers++;
                else
                        ret->odd++;
}

/* Reads only name and namespace. The labels repeat those of the pod, and metrics have no UID. */
static void read_identity(struct decoder *d, struct object_view *ret)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "name"))
                        ret->name = json_text(&d->j, d->arena);
                else if (text_is(key, "namespace"))
                        ret->ns = json_text(&d->j, d->arena);
                else
                        json_skip(&d->j);
}

/* An unreadable time counts as absent and is no error, so that the pod stays known, with all its containers left
 * out. */
static struct wall metrics_time(struct decoder *d)
{
        struct text t = {"", 0};
        struct wall at = {0};
        if (json_peek(&d->j) == '"')
                t = json_text(&d->j, d->arena);
        else
                json_skip(&d->j);
        return t.len > 0 && wall_parse(t.p, t.len, &at) == 0 ? at : (struct wall){0};
}

static void metrics_leave_undated(struct pod_metrics_view *ret)
{
        ret->odd += ret->containers;
        ret->containers = 0;
        ret->lacks = true;
}

int decode_pod_metrics(struct text json, struct arena *a, struct pod_metrics_view *ret, struct err *err)
{
        struct object_view who;
        struct decoder d;
        struct text key;
        who.ns = who.name = (struct text){"", 0}; /* zeroing the whole struct would take longer than decoding */
        who.unnamed = false;
        ret->at = (struct wall){0};
        ret->containers = ret->odd = 0;
        ret->lacks = false;
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "metadata"))
                        read_identity(&d, &who);
                else if (text_is(key, "timestamp"))
                        ret->at = metrics_time(&d);
                else if (!text_is(key, "containers"))
                        json_skip(&d.j);
                else if (ret->containers > 0 || ret->odd > 0)
                        decoder_refuse(&d, ERR_INVALID, "containers occurs twice");
                else if (json_enter(&d.j, '['))
                        metrics_read_containers(&d, ret);
        if (ret->at.ms == 0)
                metrics_leave_undated(ret);
        ret->ns = who.ns;
        ret->name = who.name;
        return decoder_end(&d, "metrics of pod", &who, err);
}

int decode_node_metrics(struct text json, struct arena *a, struct node_metrics_view *ret, struct err *err)
{
        struct object_view who = {.ns = {"", 0}, .name = {"", 0}};
        struct pod_metrics_container_view usage = {.name = {"", 0}};
        struct decoder d;
        struct text key;
        bool readable = true;
        ret->at = (struct wall){0};
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "metadata"))
                        read_identity(&d, &who);
                else if (text_is(key, "timestamp"))
                        ret->at = decoder_time(&d, "timestamp");
                else if (text_is(key, "usage"))
                        read_usage(&d, &usage, &readable);
                else
                        json_skip(&d.j);
        if (ret->at.ms == 0)
                decoder_refuse(&d, ERR_INVALID, "timestamp is missing");
        ret->name = who.name;
        ret->has[CPU] = usage.has[CPU];
        ret->has[MEMORY] = usage.has[MEMORY];
        ret->cpu_nano = usage.cpu_nano;
        ret->memory_bytes = usage.memory_bytes;
        return decoder_end(&d, "metrics of node", &who, err);
}
