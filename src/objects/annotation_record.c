#include "objects/annotation_record.h"

#include "base/buf.h"
#include "decoder.h"

int record_read(struct text annotation, struct arena *a, int (*each)(void *arg, const struct recorded *r), void *arg,
                struct err *err)
{
        struct decoder d;
        struct text key;
        int count = 0, rc = 0;
        decoder_init(&d, annotation, a);
        if (json_peek(&d.j) != '{')
                return err_set(err, ERR_INVALID, "recorded resources are not a JSON object");
        if (json_enter(&d.j, '{'))
                while (rc >= 0 && json_key(&d.j, &key)) {
                        struct recorded r = {.container = key};
                        if (count++ == VIEW_CONTAINERS)
                                decoder_refuse(&d, ERR_TOOBIG, "more than %d containers", VIEW_CONTAINERS);
                        decoder_resources(&d, r.request, r.limit);
                        if (!d.j.error)
                                rc = each(arg, &r);
                }
        if (rc < 0)
                return err_set(err, rc, "recorded resources: the caller refused them");
        if (!d.why.code)
                json_done(&d.j, &d.why);
        return d.why.code ? err_set(err, d.why.code, "recorded resources: %s", d.why.text) : 0;
}

/* --- printing --- */

/* Valid container names need no escapes in JSON, but a manifest may hold an invalid name. */
static void record_put_string(struct buf *out, struct text t)
{
        buf_add_text(out, "\"");
        for (size_t i = 0; i < t.len; i++) {
                unsigned char c = (unsigned char)t.p[i];
                if (c == '"' || c == '\\' || c < 0x20)
                        buf_printf(out, "\\u%04x", c);
                else
                        buf_add(out, &t.p[i], 1);
        }
        buf_add_text(out, "\"");
}

static void put_amounts(struct buf *out, const char *key, const struct amount a[RESOURCES], bool *first)
{
        char text[QUANTITY_TEXT_MAX];
        const char *before = "";
        if (!a[CPU].set && !a[MEMORY].set)
                return;
        buf_printf(out, "%s\"%s\":{", *first ? "" : ",", key);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                if (!a[r].set)
                        continue;
                buf_printf(out, "%s\"%s\":\"%s\"", before, resource_name(r), amount_print(r, a[r].value, text));
                before = ",";
        }
        buf_add_text(out, "}");
        *first = false;
}

char *record_print(const struct recorded *row, size_t rows)
{
        enum { RECORD_MAX = 1 << 20 };
        struct buf out;
        if (rows == 0)
                return NULL;
        buf_init(&out, RECORD_MAX);
        for (size_t i = 0; i < rows; i++) {
                bool first = true;
                buf_add_text(&out, i ? "," : "{");
                record_put_string(&out, row[i].container);
                buf_add_text(&out, ":{");
                put_amounts(&out, "requests", row[i].request, &first);
                put_amounts(&out, "limits", row[i].limit, &first);
                buf_add_text(&out, "}");
        }
        buf_add_text(&out, "}");
        return buf_steal(&out);
}
