#include "net/stream.h"

#include <assert.h>

#include "base/swar.h"

/*
 * Where in the document the next byte is. A watch uses START and VALUE alone. In a list, members of the document go
 * into the envelope and elements of items to the callback. In a query, members of "data" are walked as well.
 */
enum state {
        START,      /* before a watch's next value, before a list's document */
        VALUE,      /* within an object for the callback */
        MEMBER,     /* in a list's document, before a key, a comma or the end */
        KEY,        /* within a key */
        COLON,      /* after a key, before its colon */
        ASSIGN,     /* before a member's value */
        NESTED,     /* within a member's object or array, except items */
        STRING,     /* within a member's string */
        SCALAR,     /* within a member's number or word */
        ITEM_FIRST, /* after the [ of items */
        ITEM_NEXT,  /* after an element */
        ITEM_AGAIN, /* after the comma between two elements */
        FINISHED,   /* after a list's document */
        STATES
};

typedef const char *step(struct stream *s, const char *p, const char *end, struct err *err);

static bool is_space(char c)
{
        return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static const char *stream_skip_space(const char *p, const char *end)
{
        while (p < end && is_space(*p))
                p++;
        return p;
}

static const char *stream_fail(struct stream *s, int code, struct err *err, const char *why)
{
        s->failed = err_set(err, code, "%s", why);
        return NULL;
}

static const char *fail_byte(struct stream *s, char c, struct err *err, const char *wanted)
{
        if (c > ' ' && c < 0x7f)
                s->failed = err_set(err, ERR_INVALID, "unexpected JSON: '%c' instead of %s", c, wanted);
        else
                s->failed = err_set(err, ERR_INVALID, "unexpected JSON: byte 0x%02x instead of %s",
                                    (unsigned)(unsigned char)c, wanted);
        return NULL;
}

static bool envelope_add(struct stream *s, const char *p, size_t len, struct err *err)
{
        if (buf_add(&s->envelope, p, len) == 0)
                return true;
        stream_fail(s, ERR_TOOBIG, err, "the list's members other than items are longer than 1 MiB");
        return false;
}

/* --- the scanner: where strings and nesting end --- */

/* The place of the first quote or backslash; if there is none, `end`. */
static const char *to_quote(const char *p, const char *end)
{
        if (block_find(&p, end, false))
                return p;
        for (; (size_t)(end - p) >= sizeof(uint64_t); p += sizeof(uint64_t)) {
                uint64_t word = word_at(p), found = word_has(word, '"') | word_has(word, '\\');
                if (found)
                        return p + word_first(found);
        }
        while (p < end && *p != '"' && *p != '\\')
                p++;
        return p;
}

/* Skip the rest of a string. Returns the place after its closing quote; or `end`, where the string goes on in the next
 * chunk and *s keeps the state. */
static const char *scan_string(struct stream *s, const char *p, const char *end)
{
        if (s->escaped && p < end) {
                s->escaped = false;
                p++;
        }
        while (p < end) {
                p = to_quote(p, end);
                if (p == end)
                        return end;
                if (*p == '"') {
                        s->in_string = false;
                        return p + 1;
                }
                if (p + 1 == end) {
                        s->escaped = true;
                        return end;
                }
                p += 2;
        }
        return end;
}

/* What a byte means outside strings: an opening or closing bracket, a string's first quote, or nothing (0). */
enum { OPENS = 1, CLOSES, QUOTES };
static const unsigned char effect[256] = {
        ['{'] = OPENS, ['['] = OPENS, ['}'] = CLOSES, [']'] = CLOSES, ['"'] = QUOTES,
};

/* Skip the rest of an object or array. Returns the place after its closing bracket (depth is then 0); or `end`, where
 * the value goes on in the next chunk and *s keeps the state. */
static const char *scan_value(struct stream *s, const char *p, const char *end)
{
        if (s->in_string)
                p = scan_string(s, p, end);
        int depth = s->depth;
        while (p < end) {
                switch (effect[(unsigned char)*p++]) {
                case OPENS:
                        depth++;
                        break;
                case CLOSES:
                        if (--depth == 0) {
                                s->depth = 0;
                                return p;
                        }
                        break;
                case QUOTES:
                        s->in_string = true;
                        p = scan_string(s, p, end);
                        break;
                }
        }
        s->depth = depth;
        return end;
}

/* --- objects for the callback --- */

static const char *fail_long(struct stream *s, struct err *err)
{
        s->failed = err_set(err, ERR_TOOBIG, "an object is longer than %zu bytes", s->value.max);
        return NULL;
}

static const char *step_value(struct stream *s, const char *p, const char *end, struct err *err)
{
        const char *q = scan_value(s, p, end);
        struct text value = {p, (size_t)(q - p)};
        bool whole = s->depth == 0;

        if (value.len > s->value.max)
                return fail_long(s, err);
        if (!whole || s->value.len > 0) {
                if (buf_add(&s->value, value.p, value.len) < 0)
                        return fail_long(s, err);
                value = buf_text(&s->value);
        }
        if (!whole)
                return q;
        int rc = s->each(s->arg, value);
        if (rc < 0) {
                s->failed = err_set(err, rc, "the reader of an object ended the stream");
                return NULL;
        }
        buf_reset(&s->value);
        s->state = s->shape == STREAM_WATCH ? START : ITEM_NEXT;
        return q;
}

static const char *begin_value(struct stream *s, const char *p)
{
        s->state = VALUE;
        return p; /* scan_value scans the { as well, from depth 0 */
}

static const char *step_start(struct stream *s, const char *p, const char *end, struct err *err)
{
        p = stream_skip_space(p, end);
        if (p == end)
                return p;
        if (*p != '{')
                return fail_byte(s, *p, err, "an object");
        if (s->shape == STREAM_WATCH)
                return begin_value(s, p);
        s->state = MEMBER;
        return envelope_add(s, p, 1, err) ? p + 1 : NULL;
}

/* --- a list's document --- */

static const char *step_member(struct stream *s, const char *p, const char *end, struct err *err)
{
        p = stream_skip_space(p, end);
        if (p == end)
                return p;
        switch (*p) {
        case ',':
                break;
        case '}':
                s->state = s->in_data ? MEMBER : FINISHED;
                s->in_data = false;
                break;
        case '"':
                s->state = KEY;
                s->key_len = 0;
                s->in_string = true;
                break;
        default:
                return fail_byte(s, *p, err, "a member");
        }
        return envelope_add(s, p, 1, err) ? p + 1 : NULL;
}

static const char *step_key(struct stream *s, const char *p, const char *end, struct err *err)
{
        const char *q = scan_string(s, p, end);
        size_t len = (size_t)(q - p) - !s->in_string, room = sizeof s->key - (size_t)s->key_len;
        size_t kept = len < room ? len : room;
        memcpy(s->key + s->key_len, p, kept);
        s->key_len += (int)kept;
        if (!s->in_string)
                s->state = COLON;
        return envelope_add(s, p, (size_t)(q - p), err) ? q : NULL;
}

static const char *step_colon(struct stream *s, const char *p, const char *end, struct err *err)
{
        p = stream_skip_space(p, end);
        if (p == end)
                return p;
        if (*p != ':')
                return fail_byte(s, *p, err, "a colon");
        s->state = ASSIGN;
        return envelope_add(s, p, 1, err) ? p + 1 : NULL;
}

static const char *items_key(const struct stream *s)
{
        return s->shape == STREAM_QUERY ? "result" : "items";
}

/* Whether the value that begins with c is the array of items. Old servers write null for an empty list. */
static bool at_items(const struct stream *s, char c)
{
        bool here = s->shape == STREAM_LIST || s->in_data;
        return here && (c == '[' || c == 'n') && text_is((struct text){s->key, (size_t)s->key_len}, items_key(s));
}

static const char *step_assign(struct stream *s, const char *p, const char *end, struct err *err)
{
        p = stream_skip_space(p, end);
        if (p == end)
                return p;
        if (s->shape == STREAM_QUERY && !s->in_data && *p == '{' &&
            text_is((struct text){s->key, (size_t)s->key_len}, "data")) {
                s->in_data = true;
                s->state = MEMBER;
                return envelope_add(s, p, 1, err) ? p + 1 : NULL;
        }
        if (at_items(s, *p)) {
                if (s->items_seen)
                        return stream_fail(s, ERR_INVALID, err, "the list holds its items twice");
                s->items_seen = true;
                s->state = *p == '[' ? ITEM_FIRST : SCALAR;
                return envelope_add(s, p, 1, err) ? p + 1 : NULL;
        }
        switch (effect[(unsigned char)*p]) {
        case OPENS:
                s->state = NESTED;
                return p; /* scan_value scans the bracket as well */
        case QUOTES:
                s->state = STRING;
                s->in_string = true;
                return envelope_add(s, p, 1, err) ? p + 1 : NULL;
        case CLOSES:
                return fail_byte(s, *p, err, "a value");
        default:
                s->state = SCALAR;
                return p;
        }
}

static const char *step_nested(struct stream *s, const char *p, const char *end, struct err *err)
{
        const char *q = scan_value(s, p, end);
        if (s->depth == 0)
                s->state = MEMBER;
        return envelope_add(s, p, (size_t)(q - p), err) ? q : NULL;
}

static const char *step_string(struct stream *s, const char *p, const char *end, struct err *err)
{
        const char *q = scan_string(s, p, end);
        if (!s->in_string)
                s->state = MEMBER;
        return envelope_add(s, p, (size_t)(q - p), err) ? q : NULL;
}

static const char *step_scalar(struct stream *s, const char *p, const char *end, struct err *err)
{
        const char *q = p;
        while (q < end && *q != ',' && *q != '}' && !is_space(*q))
                q++;
        if (q < end)
                s->state = MEMBER;
        return envelope_add(s, p, (size_t)(q - p), err) ? q : NULL;
}

static const char *step_item(struct stream *s, const char *p, const char *end, struct err *err)
{
        p = stream_skip_space(p, end);
        if (p == end)
                return p;
        if (*p == ']' && s->state != ITEM_AGAIN) {
                s->state = MEMBER;
                return envelope_add(s, p, 1, err) ? p + 1 : NULL;
        }
        if (*p == ',' && s->state == ITEM_NEXT) {
                s->state = ITEM_AGAIN;
                return p + 1;
        }
        if (*p == '{' && s->state != ITEM_NEXT)
                return begin_value(s, p);
        return fail_byte(s, *p, err, s->state == ITEM_NEXT ? "a comma between items" : "an item");
}

static const char *step_finished(struct stream *s, const char *p, const char *end, struct err *err)
{
        p = stream_skip_space(p, end);
        return p == end ? p : fail_byte(s, *p, err, "the end");
}

static step *const steps[STATES] = {
        [START] = step_start,       [VALUE] = step_value,     [MEMBER] = step_member,  [KEY] = step_key,
        [COLON] = step_colon,       [ASSIGN] = step_assign,   [NESTED] = step_nested,  [STRING] = step_string,
        [SCALAR] = step_scalar,     [ITEM_FIRST] = step_item, [ITEM_NEXT] = step_item, [ITEM_AGAIN] = step_item,
        [FINISHED] = step_finished,
};

/* --- public functions --- */

void stream_init(struct stream *s, enum stream_shape shape, size_t item_max, int64_t total_max,
                 int (*each)(void *arg, struct text value), void *arg)
{
        assert(item_max > 0 && total_max >= 0);
        *s = (struct stream){.shape = shape, .each = each, .arg = arg, .left = total_max ? total_max : INT64_MAX};
        buf_init(&s->value, item_max);
        buf_init(&s->envelope, STREAM_ENVELOPE_MAX);
}

void stream_release(struct stream *s)
{
        buf_release(&s->value);
        buf_release(&s->envelope);
}

int stream_feed(struct stream *s, const char *p, size_t len, struct err *err)
{
        if (s->failed)
                return err_set(err, s->failed, "the stream has failed before");
        if ((int64_t)len > s->left) {
                stream_fail(s, ERR_TOOBIG, err, "the whole answer is longer than its bound");
                return s->failed;
        }
        s->left -= (int64_t)len;
        for (const char *end = p + len; p && p < end;)
                p = steps[s->state](s, p, end, err);
        return s->failed;
}

int stream_end(struct stream *s, struct err *err)
{
        if (s->failed)
                return err_set(err, s->failed, "the stream has failed before");
        if (s->state == FINISHED && !s->items_seen)
                return err_set(err, ERR_INVALID, "the answer is not a list: it has no \"%s\"", items_key(s));
        if (s->state == (s->shape == STREAM_WATCH ? START : FINISHED))
                return 0;
        return err_set(err, ERR_RETRY,
                       s->shape == STREAM_WATCH ? "the watch was cut within an event"
                                                : "the list was cut before its end");
}

struct text stream_envelope(const struct stream *s)
{
        return buf_text(&s->envelope);
}
