/*
 * A pull parser for one JSON value that lies whole in memory: no tree, no copy, no allocation.
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
 * After the first error every call returns its empty value and every loop ends. The caller therefore checks once, at
 * the end, with json_done; values read are valid only if json_done returns 0. A value of the wrong type is an error in
 * json_text, json_int and json_bool. `null` reads as absent (empty text, 0, false, no members), because the API server
 * writes null for absent. Depth is at most JSON_DEPTH_MAX.
 *
 * Keys and strings must be valid UTF-8, and escaped surrogates must come in pairs. A text may hold U+0000, so use its
 * length. json_key returns every one of several equal keys, in order. net/stream cuts a stream into whole values first.
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
        const char *error; /* constant text of the first error; NULL: none yet */
        int depth;
        bool first; /* no member of the innermost object or array was read yet */
        char bracket[JSON_DEPTH_MAX];
};

void json_init(struct json *j, const char *p, size_t len);

/* The type of the next value, by a character: { [ " 0 (any number) t f n. NUL at the end or after an error. */
char json_peek(struct json *j);

/* Enter an object '{' or array '['. Returns false, without an error, when the value is null. The last json_key or
 * json_item, which returns false, consumes the closing bracket. */
bool json_enter(struct json *j, char bracket);
/* Go to the object's next member, and give its key; false: the object has ended. A key with escapes comes raw, with its
 * backslashes, and so matches no key that halflife knows. */
bool json_key(struct json *j, struct text *ret_key);
/* Go to the array's next element; false: the array has ended. */
bool json_item(struct json *j);

/* Read a string. Without escapes the text points into the input, else into the arena, unescaped. null gives {"", 0}. */
struct text json_text(struct json *j, struct arena *a);
/* Read an integer within int64. 2.0 and 2e3 are integers as well; 2.5 is an error. */
int64_t json_int(struct json *j);
bool json_bool(struct json *j);
/* Read a string or a number as text, for quantities and int-or-string fields. */
struct text json_scalar(struct json *j, struct arena *a);
void json_skip(struct json *j);
/* Skip the next value, of any type, and return its bytes. */
struct text json_raw(struct json *j);

/* Returns 0 when no error occurred and only white space is left, else ERR_INVALID with place and reason in err. */
int json_done(struct json *j, struct err *err);

#endif
