/*
 * The metadata of lists, and the envelopes of watch events.
 */
#include "decoder.h"

#define ANNOTATION_INITIAL_END "k8s.io/initial-events-end"

static void read_annotations(struct decoder *d, bool *ret_end)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, ANNOTATION_INITIAL_END))
                        *ret_end = text_is(json_text(&d->j, d->arena), "true");
                else
                        json_skip(&d->j);
}

static void read_event_meta(struct decoder *d, struct watch_event *e)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "resourceVersion"))
                        e->version = json_text(&d->j, d->arena);
                else if (text_is(key, "annotations") && e->type == WATCH_BOOKMARK)
                        read_annotations(d, &e->initial_end);
                else
                        json_skip(&d->j);
}

static void read_event_object(struct decoder *d, struct watch_event *e)
{
        static const struct decoder_field status[] = {
                {"code", decoder_field_int, offsetof(struct watch_event, code)},
                {"reason", decoder_field_text, offsetof(struct watch_event, reason)},
                {"message", decoder_field_text, offsetof(struct watch_event, text)},
                {0},
        };
        struct text key;
        if (e->type == WATCH_ERROR) {
                decoder_fields(d, status, e);
                return;
        }
        DECODER_EACH (d, key)
                if (text_is(key, "metadata"))
                        read_event_meta(d, e);
                else
                        json_skip(&d->j);
}

static bool watch_type_of(struct text name, enum watch_type *ret)
{
        static const char *const names[] = {
                [WATCH_ADDED] = "ADDED",       [WATCH_MODIFIED] = "MODIFIED", [WATCH_DELETED] = "DELETED",
                [WATCH_BOOKMARK] = "BOOKMARK", [WATCH_ERROR] = "ERROR",
        };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (text_is(name, names[i])) {
                        *ret = (enum watch_type)i;
                        return true;
                }
        return false;
}

int decode_watch_event(struct text json, struct arena *a, struct watch_event *ret, struct err *err)
{
        *ret = (struct watch_event){.object = {"", 0}, .version = {"", 0}, .reason = {"", 0}, .text = {"", 0}};
        struct text type = {"", 0}, key;
        struct decoder d;
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "type"))
                        type = json_text(&d.j, a);
                else if (text_is(key, "object"))
                        ret->object = json_raw(&d.j);
                else
                        json_skip(&d.j);
        if (json_done(&d.j, &d.why) < 0)
                return err_set(err, ERR_INVALID, "watch event: %s", d.why.text);
        if (!watch_type_of(type, &ret->type))
                return err_set(err, ERR_INVALID, "watch event of unknown type '%.*s'",
                               (int)(type.len < 40 ? type.len : 40), type.p);
        decoder_init(&d, ret->object, a);
        if (json_peek(&d.j) != '{')
                return err_set(err, ERR_INVALID, "watch event without an object");
        read_event_object(&d, ret);
        return json_done(&d.j, &d.why) < 0 ? err_set(err, ERR_INVALID, "watch event: %s", d.why.text) : 0;
}

int decode_list(struct text json, struct arena *a, struct list_view *ret, struct err *err)
{
        static const struct decoder_field table[] = {
                {"metadata.resourceVersion", decoder_field_text, offsetof(struct list_view, version)},
                {"metadata.continue", decoder_field_text, offsetof(struct list_view, next)},
                {"metadata.remainingItemCount", decoder_field_int, offsetof(struct list_view, remaining)},
                {0},
        };
        struct decoder d;
        *ret = (struct list_view){{"", 0}, {"", 0}, 0};
        decoder_init(&d, json, a);
        decoder_fields(&d, table, ret);
        return json_done(&d.j, &d.why) < 0 ? err_set(err, ERR_INVALID, "list: %s", d.why.text) : 0;
}
