#include "base/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "base/buf.h"

enum { YAML_BYTES_MAX = 16 * 1024 * 1024, YAML_DEPTH_MAX = 64, YAML_ANCHORS_MAX = 1000, YAML_COPIED_MAX = 100000 };

/* The size of a value, for the bounds on the copies that aliases make. */
struct extent {
        size_t nodes;
        int height; /* levels of collections within each other: 0 for a scalar */
};

/* A sequence or mapping that is not yet complete. */
struct frame {
        json_t *value;
        char *key; /* in a mapping, the key whose value comes next; NULL: a key comes next */
        char *anchor;
        struct extent extent;
        yaml_mark_t begin;
};

struct anchor {
        char *name;
        json_t *value;
        struct extent extent;
};

struct reader {
        yaml_parser_t parser;
        struct err *err;
        struct frame frame[YAML_DEPTH_MAX];
        int depth;
        struct anchor anchor[YAML_ANCHORS_MAX];
        int anchors;
        size_t copied; /* nodes that aliases added to this document */
        json_t *root;  /* the document's value, once the document is read */
};

static int yaml_fail(struct reader *r, yaml_mark_t at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int yaml_fail(struct reader *r, yaml_mark_t at, const char *fmt, ...)
{
        char why[256];
        va_list args;
        va_start(args, fmt);
        vsnprintf(why, sizeof why, fmt, args);
        va_end(args);
        return err_set(r->err, ERR_INVALID, "line %zu, column %zu: %s", at.line + 1, at.column + 1, why);
}

/* --- plain scalars --- */

static bool is_one_of(const char *s, const char *const *list)
{
        for (; *list; list++)
                if (strcmp(s, *list) == 0)
                        return true;
        return false;
}

static const char *const null_words[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const true_words[] = {"true", "True", "TRUE", "yes", "Yes", "YES", "y", "Y", "on", "On", "ON", NULL};
static const char *const false_words[] = {"false", "False", "FALSE", "no",  "No",  "NO",
                                          "n",     "N",     "off",   "Off", "OFF", NULL};
static const char *const no_numbers[] = {".inf",  ".Inf",  ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
                                         "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",  NULL};

static size_t digits_at(const char *s)
{
        return strspn(s, "0123456789");
}

/* Whether s has the form [-+]? (digits [. digits?] | . digits) ([eE] [-+]? digits)? */
static bool looks_real(const char *s)
{
        s += *s == '-' || *s == '+';
        size_t whole = digits_at(s), part = 0;
        s += whole;
        if (*s == '.') {
                part = digits_at(++s);
                s += part;
        }
        if (whole + part == 0)
                return false;
        if (*s == 'e' || *s == 'E') {
                s++;
                s += *s == '-' || *s == '+';
                size_t exponent = digits_at(s);
                if (exponent == 0)
                        return false;
                s += exponent;
        }
        return *s == '\0';
}

/* Reads a whole number: decimal, 0x, 0o, 0b, or octal after a leading 0. */
static json_t *whole_number(const char *s)
{
        const char *digits = s + (*s == '-' || *s == '+');
        int base = 10;
        size_t prefix = 0;
        if (digits[0] == '0' && digits[1]) {
                char mark = (char)(digits[1] | 0x20);
                base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
                prefix = mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1;
        }
        static const char all[] = "0123456789abcdefABCDEF";
        size_t len = strlen(digits + prefix);
        bool hex = base == 16;
        if (len == 0 || len > 64 || (hex ? strspn(digits + prefix, all) : digits_at(digits + prefix)) != len)
                return NULL;
        char text[72], *end; /* the sign and the digits without the prefix, because strtoll knows neither 0b nor 0o */
        snprintf(text, sizeof text, "%s%s", *s == '-' ? "-" : "", digits + prefix);
        errno = 0;
        long long value = strtoll(text, &end, base);
        return errno || *end ? NULL : json_integer(value);
}

/* A real with a whole value becomes an integer, because the API server's reader converts YAML through JSON. */
static json_t *real_number(const char *s)
{
        double value = strtod(s, NULL);
        if (!isfinite(value))
                return NULL;
        return value == floor(value) && fabs(value) < 0x1p53 ? json_integer((json_int_t)value) : json_real(value);
}

/* Reads a number; NULL: s is no number. YAML 1.1 allows underscores between digits; they do not count. */
static json_t *yaml_number(const char *s)
{
        if (!strchr("+-.0123456789", *s))
                return NULL;
        char *text AUTO(mem_free) = mem_string(s), *to = text;
        for (; *s; s++)
                if (*s != '_')
                        *to++ = *s;
        *to = '\0';
        json_t *value = whole_number(text);
        return value ? value : looks_real(text) ? real_number(text) : NULL;
}

json_t *yaml_plain(const char *s)
{
        if (is_one_of(s, null_words))
                return json_null();
        if (is_one_of(s, true_words))
                return json_true();
        if (is_one_of(s, false_words))
                return json_false();
        json_t *value = yaml_number(s);
        return value ? value : json_string(s);
}

/* Whether the value has the type that the tag names; tag NULL: no tag, which allows any type. */
static bool tag_fits(const char *tag, const json_t *value)
{
        static const struct {
                const char *tag;
                bool fits[8];
        } row[] = {
                {YAML_NULL_TAG, {[JSON_NULL] = true}},   {YAML_BOOL_TAG, {[JSON_TRUE] = true, [JSON_FALSE] = true}},
                {YAML_INT_TAG, {[JSON_INTEGER] = true}}, {YAML_FLOAT_TAG, {[JSON_INTEGER] = true, [JSON_REAL] = true}},
                {YAML_STR_TAG, {[JSON_STRING] = true}},  {YAML_MAP_TAG, {[JSON_OBJECT] = true}},
                {YAML_SEQ_TAG, {[JSON_ARRAY] = true}},
        };
        for (size_t i = 0; tag && i < sizeof row / sizeof *row; i++)
                if (strcmp(row[i].tag, tag) == 0)
                        return row[i].fits[json_typeof(value)];
        return !tag;
}

/* --- building --- */

static int anchor_add(struct reader *r, const char *name, json_t *value, struct extent extent, yaml_mark_t at)
{
        if (!name)
                return 0;
        if (r->anchors == YAML_ANCHORS_MAX)
                return yaml_fail(r, at, "more than %d anchors", YAML_ANCHORS_MAX);
        r->anchor[r->anchors++] = (struct anchor){mem_string(name), json_incref(value), extent};
        return 0;
}

static void anchors_release(struct reader *r)
{
        while (r->anchors > 0) {
                struct anchor *a = &r->anchor[--r->anchors];
                mem_free(a->name);
                json_decref(a->value);
        }
}

/* Adds a complete value to the collection that is being built, or makes it the root. Takes over the reference. */
static int yaml_put(struct reader *r, json_t *value, struct extent extent, yaml_mark_t at)
{
        if (r->depth == 0) {
                r->root = value;
                return 0;
        }
        struct frame *in = &r->frame[r->depth - 1];
        in->extent.nodes += extent.nodes;
        if (in->extent.height <= extent.height)
                in->extent.height = extent.height + 1;
        int rc;
        if (json_is_array(in->value)) {
                rc = json_array_append_new(in->value, value);
        } else if (in->key) {
                rc = json_object_set_new(in->value, in->key, value);
                mem_free(in->key);
                in->key = NULL;
        } else {
                json_decref(value);
                return yaml_fail(r, at, "a key must be a text, not a collection or an alias");
        }
        return rc < 0 ? yaml_fail(r, at, "the value cannot be held") : 0;
}

static bool yaml_wants_key(const struct reader *r)
{
        const struct frame *in = &r->frame[r->depth ? r->depth - 1 : 0];
        return r->depth > 0 && json_is_object(in->value) && !in->key;
}

static int take_key(struct reader *r, const char *key, bool plain, yaml_mark_t at)
{
        struct frame *in = &r->frame[r->depth - 1];
        if (plain && strcmp(key, "<<") == 0)
                return yaml_fail(r, at, "merge keys ('<<') are not supported: write the members out");
        if (json_object_get(in->value, key))
                return yaml_fail(r, at, "key '%.64s' is there twice", key);
        in->key = mem_string(key);
        return 0;
}

static int yaml_on_scalar(struct reader *r, const yaml_event_t *e)
{
        const char *s = (const char *)e->data.scalar.value, *tag = (const char *)e->data.scalar.tag;
        const char *anchor = (const char *)e->data.scalar.anchor;
        bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        if (strlen(s) != e->data.scalar.length)
                return yaml_fail(r, e->start_mark, "a text holds the character U+0000");
        if (yaml_wants_key(r))
                return anchor ? yaml_fail(r, e->start_mark, "a key may have no anchor")
                              : take_key(r, s, plain, e->start_mark);
        bool text = tag && (strcmp(tag, YAML_STR_TAG) == 0 || strcmp(tag, "!") == 0);
        if (!text && plain && is_one_of(s, no_numbers))
                return yaml_fail(r, e->start_mark, "'%s' is not a number that JSON can hold", s);
        json_t *value = text || (!plain && !tag) ? json_string(s) : yaml_plain(s);
        if (!value || (!text && !tag_fits(tag, value))) {
                json_decref(value);
                return yaml_fail(r, e->start_mark, "'%.64s' is not of the type '%.64s'", s, tag ? tag : "text");
        }
        struct extent one = {.nodes = 1};
        int rc = anchor_add(r, anchor, value, one, e->start_mark);
        if (rc < 0) {
                json_decref(value);
                return rc;
        }
        return yaml_put(r, value, one, e->start_mark);
}

static int yaml_on_alias(struct reader *r, const yaml_event_t *e)
{
        const char *name = (const char *)e->data.alias.anchor;
        int i = r->anchors - 1;
        while (i >= 0 && strcmp(r->anchor[i].name, name) != 0)
                i--;
        if (i < 0)
                return yaml_fail(r, e->start_mark, "alias '%.64s' has no anchor before it", name);
        const struct anchor *a = &r->anchor[i];
        r->copied += a->extent.nodes;
        if (r->copied > YAML_COPIED_MAX)
                return yaml_fail(r, e->start_mark, "aliases make more than %d values", YAML_COPIED_MAX);
        if (r->depth + a->extent.height > YAML_DEPTH_MAX)
                return yaml_fail(r, e->start_mark, "values are nested more than %d deep", YAML_DEPTH_MAX);
        return yaml_put(r, json_deep_copy(a->value), a->extent, e->start_mark);
}

static int yaml_on_begin(struct reader *r, const yaml_event_t *e, json_t *value, const yaml_char_t *tag,
                         const yaml_char_t *anchor)
{
        int rc = 0;
        if (r->depth == YAML_DEPTH_MAX)
                rc = yaml_fail(r, e->start_mark, "values are nested more than %d deep", YAML_DEPTH_MAX);
        else if (yaml_wants_key(r))
                rc = yaml_fail(r, e->start_mark, "a key must be a text, not a collection or an alias");
        else if (!tag_fits((const char *)tag, value))
                rc = yaml_fail(r, e->start_mark, "tag '%.64s' is not supported", (const char *)tag);
        if (rc < 0) {
                json_decref(value);
                return rc;
        }
        r->frame[r->depth++] = (struct frame){
                .value = value, .anchor = mem_string((const char *)anchor), .extent = {1, 1}, .begin = e->start_mark};
        return 0;
}

static int yaml_on_end(struct reader *r)
{
        struct frame done = r->frame[--r->depth];
        int rc = anchor_add(r, done.anchor, done.value, done.extent, done.begin);
        mem_free(done.anchor);
        if (rc < 0) {
                json_decref(done.value);
                return rc;
        }
        return yaml_put(r, done.value, done.extent, done.begin);
}

/* --- documents --- */

static int yaml_on_event(struct reader *r, const yaml_event_t *e)
{
        switch (e->type) {
        case YAML_DOCUMENT_START_EVENT:
                anchors_release(r);
                r->copied = 0;
                return 0;
        case YAML_SCALAR_EVENT:
                return yaml_on_scalar(r, e);
        case YAML_ALIAS_EVENT:
                return yaml_on_alias(r, e);
        case YAML_MAPPING_START_EVENT:
                return yaml_on_begin(r, e, json_object(), e->data.mapping_start.tag, e->data.mapping_start.anchor);
        case YAML_SEQUENCE_START_EVENT:
                return yaml_on_begin(r, e, json_array(), e->data.sequence_start.tag, e->data.sequence_start.anchor);
        case YAML_MAPPING_END_EVENT:
        case YAML_SEQUENCE_END_EVENT:
                return yaml_on_end(r);
        default:
                return 0;
        }
}

static int yaml_parser_failed(struct reader *r)
{
        const yaml_parser_t *p = &r->parser;
        const char *what = p->problem ? p->problem : "unknown error";
        if (p->error == YAML_READER_ERROR)
                return err_set(r->err, ERR_INVALID, "byte %zu: %s", p->problem_offset, what);
        return p->context ? yaml_fail(r, p->problem_mark, "%s %s", what, p->context)
                          : yaml_fail(r, p->problem_mark, "%s", what);
}

/* Reads the next document into r->root, which is NULL at the end of the stream. */
static int next_document(struct reader *r)
{
        r->root = NULL;
        for (;;) {
                yaml_event_t event;
                if (!yaml_parser_parse(&r->parser, &event))
                        return yaml_parser_failed(r);
                yaml_event_type_t type = event.type;
                int rc = yaml_on_event(r, &event);
                yaml_event_delete(&event);
                if (rc < 0)
                        return rc;
                if (type == YAML_DOCUMENT_END_EVENT || type == YAML_STREAM_END_EVENT || type == YAML_NO_EVENT)
                        return 0; /* after the end of the stream, the parser gives YAML_NO_EVENT for ever */
        }
}

static void reader_release(struct reader *r)
{
        anchors_release(r);
        while (r->depth > 0) {
                struct frame *f = &r->frame[--r->depth];
                json_decref(f->value);
                mem_free(f->key);
                mem_free(f->anchor);
        }
        json_decref(r->root);
        yaml_parser_delete(&r->parser);
        mem_free(r);
}

MEM_AUTO(reader_release, struct reader *)

static struct reader *reader_new(const char *text, size_t len, struct err *err)
{
        if (len > YAML_BYTES_MAX) {
                err_set(err, ERR_TOOBIG, "the text is %zu bytes long: at most %d are read", len, YAML_BYTES_MAX);
                return NULL;
        }
        if (len >= 3 &&
            memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* libyaml would count a byte order mark as indentation */
                text += 3;
                len -= 3;
        }
        struct reader *r = MEM_NEW(struct reader);
        r->err = err;
        if (!yaml_parser_initialize(&r->parser)) {
                mem_free(r);
                err_set(err, ERR_NOSPACE, "no memory for a YAML parser");
                return NULL;
        }
        yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, len);
        return r;
}

json_t *yaml_read_all(const char *text, size_t len, struct err *err)
{
        struct reader *r AUTO(reader_release) = reader_new(text, len, err);
        if (!r)
                return NULL;
        json_t *all AUTO(json_decref) = json_array();
        for (;;) {
                if (next_document(r) < 0)
                        return NULL;
                if (!r->root)
                        return STEAL(&all);
                if (!json_is_null(r->root))
                        json_array_append(all, r->root);
                json_decref(STEAL(&r->root));
        }
}

json_t *yaml_read(const char *text, size_t len, struct err *err)
{
        struct reader *r AUTO(reader_release) = reader_new(text, len, err);
        if (!r || next_document(r) < 0)
                return NULL;
        if (!r->root)
                return json_null();
        json_t *first AUTO(json_decref) = STEAL(&r->root);
        yaml_mark_t at = r->parser.mark;
        if (next_document(r) < 0)
                return NULL;
        if (r->root) {
                yaml_fail(r, at, "more than one document, where only one is allowed");
                return NULL;
        }
        return STEAL(&first);
}
