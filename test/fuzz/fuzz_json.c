/*
 * base/json beside jansson: the same texts are accepted and the same values are read. They differ by design:
 *  - depth: ours JSON_DEPTH_MAX, jansson's 2048;
 *  - numbers: jansson refuses what its types cannot hold, ours is read only when somebody asks for the value;
 *  - duplicate keys: ours shows each, jansson keeps the last (such texts are compared for acceptance only);
 *  - U+0000 as it is: jansson overlooks one behind a number or a word;
 *  - keys: with escapes ours come raw; jansson refuses U+0000 in them.
 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/yaml.h"
#include "fuzz.h"

static bool ours_accepts(const char *text, size_t len)
{
        struct json j;
        struct err err = {0};
        json_init(&j, text, len);
        struct text raw = json_raw(&j);
        if (json_done(&j, &err) < 0) {
                MUST(err.code == ERR_INVALID && err.text[0]);
                MUST(json_peek(&j) == 0 && json_int(&j) == 0 && json_text(&j, NULL).len == 0 && !json_enter(&j, '['));
                return false;
        }
        json_init(&j, raw.p, raw.len);
        json_skip(&j);
        MUST(json_done(&j, &err) == 0);
        return true;
}

static bool differs_by_design(const json_error_t *why, const char *text, size_t len)
{
        struct json j;
        json_init(&j, text, len);
        json_skip(&j);
        bool refused = json_done(&j, NULL) < 0;
        enum json_error_code code = json_error_code(why);
        if (refused && memchr(text, '\0', len))
                return true;
        return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
               code == json_error_stack_overflow || (j.error && strstr(j.error, "deep"));
}

/* A whole number of ours equals jansson's; what is none leaves an error, so a copy of the reader is asked. */
static void same_number(struct json j, const json_t *theirs)
{
        int64_t value = json_int(&j);
        if (json_is_integer(theirs))
                MUST(!j.error && value == json_integer_value(theirs));
        else if (!j.error)
                MUST(fabs((double)value - json_real_value(theirs)) <= 0);
}

static void same_value(struct json *j, const json_t *theirs, struct arena *a);

static void same_object(struct json *j, const json_t *theirs, struct arena *a)
{
        struct text key;
        size_t members = 0;
        MUST(json_enter(j, '{'));
        for (; json_key(j, &key); members++) {
                char *name = arena_text(a, key);
                if (strchr(name, '\\')) {
                        json_skip(j);
                        continue;
                }
                const json_t *value = json_object_get(theirs, name);
                MUST(value);
                same_value(j, value, a);
        }
        MUST(members == json_object_size(theirs));
}

static void same_array(struct json *j, const json_t *theirs, struct arena *a)
{
        size_t items = 0;
        MUST(json_enter(j, '['));
        for (; json_item(j); items++)
                same_value(j, json_array_get(theirs, items), a);
        MUST(items == json_array_size(theirs));
}

/* No deeper than JSON_DEPTH_MAX, as the text has passed already. */
static void same_value(struct json *j, const json_t *theirs, struct arena *a)
{
        MUST(theirs);
        switch (json_peek(j)) {
        case '{':
                same_object(j, theirs, a);
                break;
        case '[':
                same_array(j, theirs, a);
                break;
        case '"': {
                struct text t = json_text(j, a);
                MUST(json_is_string(theirs));
                MUST(text_equal(t, (struct text){json_string_value(theirs), json_string_length(theirs)}));
                break;
        }
        case '0':
                MUST(json_is_number(theirs));
                same_number(*j, theirs);
                MUST(json_scalar(j, a).len > 0);
                break;
        case 'n':
                MUST(json_is_null(theirs) && json_text(j, a).len == 0);
                break;
        default:
                MUST(json_is_boolean(theirs) && json_bool(j) == json_is_true(theirs));
        }
}

static void compare(const char *text, size_t len, const json_t *theirs)
{
        struct arena a = {0};
        struct json j;
        json_init(&j, text, len);
        same_value(&j, theirs, &a);
        MUST(json_done(&j, NULL) == 0);
        arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data;
        json_error_t why = {0};
        json_t *theirs AUTO(json_decref) = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
        bool ours = ours_accepts(text, size);
        if (ours != (theirs != NULL)) {
                MUST(differs_by_design(&why, text, size));
                return 0;
        }
        json_error_t twice;
        json_t *once AUTO(json_decref) =
                ours ? json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &twice) : NULL;
        if (once)
                compare(text, size, once);
        return 0;
}
