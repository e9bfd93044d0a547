/*
 * A pull reader for one JSON value that lies whole in memory: no tree, no copy, no allocation.
 *
 *     struct json j;
 *     json_init(&j, p, len);
 *     struct text key, name = {0};
 *     if (json_enter(&j, '{'))
 *             while (json_key(&j, &key))
 *                     if (text_is(key, "name"))
 *                             name = json_text(&j, &arena_or_scratch);
 *                     else
 *                             json_skip(&j);
 *     if (json_done(&j) < 0) …
 *
 * Errors stick: after the first one every call gives its empty answer and loops end, so that a reader checks once, at
 * the end, by json_done. What has the wrong type is an error where it was asked for by json_text, json_int, json_bool;
 * `null` reads as absent (empty text, 0, false, no member) because the API server writes it so. Depth is at most
 * JSON_DEPTH_MAX. Keys and strings are checked to be UTF-8, escaped surrogates to be pairs; U+0000 may be in a text, so
 * its length counts. Of duplicate keys each is seen, in order. What was read counts only once json_done has said 0.
 * Streams are cut into whole values by net/stream first.
 */
#ifndef HALFLIFE_BASE_JSON_H
#define HALFLIFE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

enum { JSON_DEPTH_MAX = 64 };

struct json {
        const char *p, *end, *begin;
        const char *error; /* NULL, or what is wrong, a constant */
        int depth;
        bool first; /* no member of the innermost container was read yet */
        char bracket[JSON_DEPTH_MAX];
};

void json_init(struct json *j, const char *p, size_t len);

/* What comes next: one of { [ " 0 (number) t f n, or 0 at the end or after an error. */
char json_peek(struct json *j);

/* Enter an object '{' or array '['; false (and no error) when the value is null. The end is consumed by json_key /
 * json_item. */
bool json_enter(struct json *j, char bracket);
/* The next member's key, escapes undone only where there are none: keys with escapes come raw, and match nothing we
 * know. */
bool json_key(struct json *j, struct text *ret_key);
/* Is there a next element in this array? */
bool json_item(struct json *j);

/* A string: points into the input where it has no escape, else unescaped into the arena. null: {"" ,0}. */
struct text json_text(struct json *j, struct arena *a);
/* An integer within int64; "2.0" and "2e3" are integers as well, "2.5" is an error. */
int64_t json_int(struct json *j);
bool json_bool(struct json *j);
/* A string or a number as its text (quantities, int-or-string). */
struct text json_scalar(struct json *j, struct arena *a);
void json_skip(struct json *j);
/* The bytes of the next value, whatever it is, skipped. */
struct text json_raw(struct json *j);

/* 0 when everything was read without an error and only white space is left; else ERR_INVALID with place and reason. */
int json_done(struct json *j, struct err *err);

#endif
