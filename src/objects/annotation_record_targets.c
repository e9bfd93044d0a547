#include <string.h>

#include "base/buf.h"
#include "decoder.h"

static const char resource_of_pod[] = "Resource/", resource_of_container[] = "ContainerResource/";

static bool starts_with(struct text t, const char *head, struct text *ret_rest)
{
        size_t len = strlen(head);
        if (t.len < len || memcmp(t.p, head, len) != 0)
                return false;
        *ret_rest = (struct text){t.p + len, t.len - len};
        return true;
}

/* Reads a key such as "Resource/cpu" or "ContainerResource/app/cpu". */
static bool read_key(struct text key, struct recorded_target *ret)
{
        struct text rest;
        ret->container = (struct text){"", 0};
        if (starts_with(key, resource_of_container, &rest)) {
                const char *slash = memchr(rest.p, '/', rest.len);
                if (!slash || slash == rest.p)
                        return false;
                ret->container = (struct text){rest.p, (size_t)(slash - rest.p)};
                rest = (struct text){slash + 1, rest.len - ret->container.len - 1};
        } else if (!starts_with(key, resource_of_pod, &rest)) {
                return false;
        }
        ret->resource = text_is(rest, "cpu") ? CPU : text_is(rest, "memory") ? MEMORY : RESOURCES;
        return ret->resource < RESOURCES;
}

int record_targets_read(struct text annotation, struct arena *a, struct recorded_target *ret, struct err *err)
{
        struct decoder d;
        struct text key;
        int count = 0;
        decoder_init(&d, annotation, a);
        if (json_peek(&d.j) != '{')
                return err_set(err, ERR_INVALID, "recorded targets are not a JSON object");
        DECODER_EACH (&d, key) {
                struct recorded_target t = {.percent = json_int(&d.j)};
                if (count == VIEW_METRICS)
                        decoder_refuse(&d, ERR_TOOBIG, "more than %d targets", VIEW_METRICS);
                else if (!read_key(key, &t))
                        decoder_refuse(&d, ERR_INVALID, "'%.*s' is not a metric", TEXT_ARG(key));
                else if (t.percent < 1 || t.percent > INT32_MAX)
                        decoder_refuse(&d, ERR_INVALID, "'%.*s' is not from 1 to 2147483647", TEXT_ARG(key));
                else
                        ret[count++] = t;
        }
        if (!d.why.code)
                json_done(&d.j, &d.why);
        return d.why.code ? err_set(err, d.why.code, "recorded targets: %s", d.why.text) : count;
}

char *record_targets_print(const struct recorded_target *row, int rows)
{
        enum { RECORD_MAX = 1 << 14 };
        struct buf out;
        if (rows == 0)
                return NULL;
        buf_init(&out, RECORD_MAX);
        for (int i = 0; i < rows; i++)
                buf_printf(&out, "%s\"%s%.*s%s%s\":%lld", i ? "," : "{",
                           row[i].container.len ? resource_of_container : resource_of_pod, TEXT_ARG(row[i].container),
                           row[i].container.len ? "/" : "", resource_name(row[i].resource), (long long)row[i].percent);
        buf_add_text(&out, "}");
        return buf_steal(&out);
}
