#include "core/quantity.h"
#include "decoder.h"

static void read_usage(struct decoder *d, struct pod_metrics_container_view *ret)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "cpu"))
                        ret->has[CPU] = decoder_quantity(d, "usage.cpu", QUANTITY_NANO, &ret->cpu_nano);
                else if (text_is(key, "memory"))
                        ret->has[MEMORY] = decoder_quantity(d, "usage.memory", QUANTITY_WHOLE, &ret->memory_bytes);
                else
                        json_skip(&d->j);
}

static void metrics_read_container(struct decoder *d, struct pod_metrics_container_view *ret)
{
        struct text key;
        *ret = (struct pod_metrics_container_view){.name = {"", 0}};
        DECODER_EACH (d, key)
                if (text_is(key, "name"))
                        ret->name = json_text(&d->j, d->arena);
                else if (text_is(key, "usage"))
                        read_usage(d, ret);
                else
                        json_skip(&d->j);
        if (ret->name.len == 0)
                decoder_refuse(d, ERR_INVALID, "name is missing");
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

int decode_pod_metrics(struct text json, struct arena *a, struct pod_metrics_view *ret, struct err *err)
{
        struct object_view who;
        struct decoder d;
        struct text key;
        who.ns = who.name = (struct text){"", 0}; /* zeroing the whole struct would take longer than decoding */
        who.unnamed = false;
        ret->at = (struct wall){0};
        ret->containers = 0;
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "metadata"))
                        read_identity(&d, &who);
                else if (text_is(key, "timestamp"))
                        ret->at = decoder_time(&d, "timestamp");
                else if (!text_is(key, "containers"))
                        json_skip(&d.j);
                else if (ret->containers > 0)
                        decoder_refuse(&d, ERR_INVALID, "containers occurs twice");
                else if (json_enter(&d.j, '['))
                        while (decoder_item_cut(&d, "containers", ret->containers, VIEW_CONTAINERS))
                                metrics_read_container(&d, &ret->container[ret->containers++]);
        if (ret->at.ms == 0)
                decoder_refuse(&d, ERR_INVALID, "timestamp is missing");
        ret->ns = who.ns;
        ret->name = who.name;
        return decoder_end(&d, "metrics of pod", &who, err);
}
