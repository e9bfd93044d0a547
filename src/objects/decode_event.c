/*
 * Events (core/v1), which report a node short of memory, an evicted pod, or a container that the kubelet killed.
 */
#include "decoder.h"

/* Keeps the newest of the Event's times. */
static void event_read_time(struct decoder *d, void *to)
{
        struct wall *kept = to, at = decoder_time(d, d->path);
        if (at.ms > kept->ms)
                *kept = at;
}

#define AT(member) offsetof(struct event_view, member)
static const struct decoder_field event_table[] = {
        {"metadata", decoder_meta, AT(meta)},
        {"involvedObject.kind", decoder_field_text, AT(kind)},
        {"involvedObject.namespace", decoder_field_text, AT(ns)},
        {"involvedObject.name", decoder_field_text, AT(name)},
        {"involvedObject.uid", decoder_field_text, AT(uid)},
        {"involvedObject.fieldPath", decoder_field_text, AT(field)},
        {"source.component", decoder_field_text, AT(reporter)},
        {"source.host", decoder_field_text, AT(reporter_host)},
        {"reason", decoder_field_text, AT(reason)},
        {"message", decoder_field_text, AT(message)},
        {"series.lastObservedTime", event_read_time, AT(at)},
        {"lastTimestamp", event_read_time, AT(at)},
        {"eventTime", event_read_time, AT(at)},
        {0},
};

int decode_event(struct text json, struct arena *a, struct event_view *ret, struct err *err)
{
        static const struct decoder_kind kind = {"Event", sizeof *ret, event_table};
        return decoder_view(&kind, json, a, ret, NULL, err);
}
