/*
 * Events (core/v1): that a node was short of memory, that a pod was evicted, that a kubelet killed a container itself.
 */
#include "decoder.h"

static void event_read_object(struct decoder *d, struct event_view *e)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "kind"))
                        e->kind = json_text(&d->j, d->arena);
                else if (text_is(key, "namespace"))
                        e->ns = json_text(&d->j, d->arena);
                else if (text_is(key, "name"))
                        e->name = json_text(&d->j, d->arena);
                else if (text_is(key, "uid"))
                        e->uid = json_text(&d->j, d->arena);
                else if (text_is(key, "fieldPath"))
                        e->field = json_text(&d->j, d->arena);
                else
                        json_skip(&d->j);
}

static void event_read_time(struct decoder *d, const char *field, struct event_view *e)
{
        struct wall at = decoder_time(d, field);
        if (at.ms > e->at.ms)
                e->at = at;
}

static void read_series(struct decoder *d, struct event_view *e)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "lastObservedTime"))
                        event_read_time(d, "series.lastObservedTime", e);
                else
                        json_skip(&d->j);
}

int decode_event(struct text json, struct arena *a, struct event_view *ret, struct err *err)
{
        memset(ret, 0, sizeof *ret);
        struct decoder d;
        struct text key;
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "metadata"))
                        decoder_meta(&d, &ret->meta);
                else if (text_is(key, "involvedObject"))
                        event_read_object(&d, ret);
                else if (text_is(key, "reason"))
                        ret->reason = json_text(&d.j, d.arena);
                else if (text_is(key, "message"))
                        ret->message = json_text(&d.j, d.arena);
                else if (text_is(key, "series"))
                        read_series(&d, ret);
                else if (text_is(key, "lastTimestamp"))
                        event_read_time(&d, "lastTimestamp", ret);
                else if (text_is(key, "eventTime"))
                        event_read_time(&d, "eventTime", ret);
                else
                        json_skip(&d.j);
        return decoder_end(&d, "Event", &ret->meta, err);
}
