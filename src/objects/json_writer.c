#include "objects/json_writer.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char *writer_room(struct writer *w, size_t len)
{
        char *at = buf_extend(w->b, len);
        assert(at);
        return at;
}

static void writer_put(struct writer *w, const char *p, size_t len)
{
        char *at = writer_room(w, len);
        if (len)
                memcpy(at, p, len);
}

/* The number of leading bytes that need no escape. Most texts need none at all, so they are copied at once. */
static size_t plain_run(struct text t)
{
        size_t i = 0;
        while (i < t.len && (unsigned char)t.p[i] >= 0x20 && t.p[i] != '"' && t.p[i] != '\\')
                i++;
        return i;
}

static void put_escape(struct writer *w, char c)
{
        char escape[8];
        int len = snprintf(escape, sizeof escape, c == '"' || c == '\\' ? "\\%c" : "\\u%04x", c);
        writer_put(w, escape, (size_t)len);
}

static void put_quoted(struct writer *w, struct text t)
{
        size_t run = plain_run(t);
        writer_put(w, "\"", 1);
        writer_put(w, t.p, run);
        while (run < t.len) {
                put_escape(w, t.p[run]);
                t = (struct text){t.p + run + 1, t.len - run - 1};
                run = plain_run(t);
                writer_put(w, t.p, run);
        }
        writer_put(w, "\"", 1);
}

static void writer_begin(struct writer *w, const char *key)
{
        size_t len = key ? strlen(key) + 3 : 0; /* 3: two quotes and a colon */
        char *at = writer_room(w, len + w->more);
        if (w->more)
                *at++ = ',';
        if (key) {
                *at = '"';
                memcpy(at + 1, key, len - 3);
                memcpy(at + len - 2, "\":", 2);
        }
        w->more = true;
}

void writer_open(struct writer *w, const char *key, char bracket)
{
        writer_begin(w, key);
        writer_put(w, &bracket, 1);
        w->more = false;
}

void writer_close(struct writer *w, char bracket)
{
        writer_put(w, &bracket, 1);
        w->more = true;
}

void writer_text(struct writer *w, const char *key, struct text value)
{
        writer_begin(w, key);
        put_quoted(w, value);
}

void writer_member(struct writer *w, struct text key, struct text value)
{
        writer_begin(w, NULL);
        put_quoted(w, key);
        writer_put(w, ":", 1);
        put_quoted(w, value);
}

void writer_int(struct writer *w, const char *key, int64_t value)
{
        char text[24];
        int len = snprintf(text, sizeof text, "%lld", (long long)value);
        writer_begin(w, key);
        writer_put(w, text, (size_t)len);
}

void writer_bool(struct writer *w, const char *key, bool value)
{
        writer_begin(w, key);
        writer_put(w, value ? "true" : "false", value ? 4 : 5);
}

/* Writes the fewest digits that read back to the same value. */
void writer_double(struct writer *w, const char *key, double value)
{
        char text[32];
        int len = 0;
        assert(isfinite(value));
        for (int digits = 15; digits <= 17; digits++) {
                len = snprintf(text, sizeof text, "%.*g", digits, value);
                double back = strtod(text, NULL);
                if (back >= value && back <= value)
                        break;
        }
        writer_begin(w, key);
        writer_put(w, text, (size_t)len);
}

void writer_raw(struct writer *w, const char *key, struct text json)
{
        writer_begin(w, key);
        writer_put(w, json.p, json.len);
}

void writer_time(struct writer *w, const char *key, int64_t ms)
{
        char text[WALL_TEXT_MAX];
        if (ms > 0)
                writer_text(w, key, text_of(wall_print((struct wall){ms}, text)));
}

void writer_amount(struct writer *w, const char *key, enum resource r, struct amount a)
{
        char text[QUANTITY_TEXT_MAX];
        if (a.set)
                writer_text(w, key, text_of(amount_print(r, a.value, text)));
}

void writer_printf(struct writer *w, const char *key, const char *fmt, ...)
{
        char text[1024];
        va_list args;
        va_start(args, fmt);
        int len = vsnprintf(text, sizeof text, fmt, args);
        va_end(args);
        assert(len >= 0);
        size_t most = sizeof text - 1;
        writer_text(w, key, (struct text){text, (size_t)len < most ? (size_t)len : most});
}
