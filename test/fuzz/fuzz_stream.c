/*
 * net/stream, as a watch, a list and the answer to a query: however the bytes are cut the same values come out, each
 * one object with its brackets even; and a list that jansson reads is read with the same items.
 */
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "fuzz.h"
#include "net/stream.h"

enum { VALUE_MAX = 1 << 16, TOTAL_MAX = 1 << 20 };

struct seen {
        struct buf values; /* one behind the other, each with a NUL behind it */
        struct buf envelope;
        size_t count;
        int code;
};

static int see(void *arg, struct text value)
{
        struct seen *s = arg;
        MUST(value.len >= 2 && value.p[0] == '{' && (value.p[value.len - 1] == '}' || value.p[value.len - 1] == ']'));
        MUST(value.len <= VALUE_MAX);
        MUST(buf_add(&s->values, value.p, value.len) == 0 && buf_add(&s->values, "", 1) == 0);
        s->count++;
        return 0;
}

static void run(enum stream_shape shape, const char *p, size_t len, size_t chunk, struct seen *ret)
{
        struct stream s;
        struct err err = {0};
        *ret = (struct seen){0};
        buf_init(&ret->values, 2 * TOTAL_MAX);
        buf_init(&ret->envelope, 2 * TOTAL_MAX);
        stream_init(&s, shape, VALUE_MAX, TOTAL_MAX, see, ret);
        for (size_t at = 0; at < len && ret->code == 0; at += chunk) {
                size_t size = len - at < chunk ? len - at : chunk;
                char *exact = memcpy(mem_new(size), p + at, size);
                ret->code = stream_feed(&s, exact, size, &err);
                mem_free(exact);
        }
        if (ret->code == 0)
                ret->code = stream_end(&s, &err);
        MUST(ret->code == err.code && (ret->code == 0 || err.text[0]));
        struct text envelope = stream_envelope(&s);
        MUST(buf_add(&ret->envelope, envelope.p, envelope.len) == 0);
        stream_release(&s);
}

static void forget(struct seen *s)
{
        buf_release(&s->values);
        buf_release(&s->envelope);
}

/* What jansson takes for a list: an object whose items, as a list or null, are objects; without any it is no list. Keys
 * with escapes are not looked at by ours. */
static void compare(const char *p, size_t len, const struct seen *seen)
{
        json_error_t why;
        json_t *doc AUTO(json_decref) = json_loadb(p, len, JSON_REJECT_DUPLICATES, &why);
        if (!json_is_object(doc) || memchr(p, '\\', len))
                return;
        const json_t *items = json_object_get(doc, "items");
        if (!json_is_array(items) && !json_is_null(items)) {
                MUST(seen->code != 0);
                return;
        }
        size_t count = json_is_array(items) ? json_array_size(items) : 0;
        for (size_t i = 0; i < count; i++)
                if (!json_is_object(json_array_get(items, i)))
                        return;
        MUST(seen->code == 0 && seen->count == count);
        const char *at = seen->values.data;
        for (size_t i = 0; i < count; i++, at += strlen(at) + 1) {
                json_t *item AUTO(json_decref) = json_loads(at, 0, &why);
                MUST(item && json_equal(item, json_array_get(items, i)));
        }
        if (count > 0)
                json_array_clear(json_object_get(doc, "items"));
        json_t *envelope AUTO(json_decref) = json_loadb(seen->envelope.data, seen->envelope.len, 0, &why);
        MUST(envelope && json_equal(envelope, doc));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const size_t chunks[] = {1, 2, 3, 7, 64};
        const char *p = (const char *)data;
        if (size == 0 || size > VALUE_MAX)
                return 0;
        for (int shape = STREAM_WATCH; shape <= STREAM_QUERY; shape++) {
                struct seen whole, cut;
                run((enum stream_shape)shape, p, size, size, &whole);
                for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
                        run((enum stream_shape)shape, p, size, chunks[i], &cut);
                        MUST(cut.code == whole.code && cut.count == whole.count);
                        MUST(text_equal(buf_text(&cut.values), buf_text(&whole.values)));
                        MUST(text_equal(buf_text(&cut.envelope), buf_text(&whole.envelope)));
                        forget(&cut);
                }
                if (shape == STREAM_LIST)
                        compare(p, size, &whole);
                forget(&whole);
        }
        return 0;
}
