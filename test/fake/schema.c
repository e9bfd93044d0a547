/*
 * Structure: what the server knows about a kind's fields. Custom kinds bring a schema (defaults, pruning, checks; no
 * CEL); of built-in ones only the lists that have keys are known.
 */
#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

/* --- shapes: which lists have keys, which maps are atomic --- */

static const struct {
        const char *field;
        const char *key[2];
} keyed[] = {
        {"containers", {"name", NULL}},
        {"initContainers", {"name", NULL}},
        {"volumes", {"name", NULL}},
        {"env", {"name", NULL}},
        {"conditions", {"type", NULL}},
        {"volumeMounts", {"mountPath", NULL}},
        {"ports", {"containerPort", "protocol"}},
        {"ownerReferences", {"uid", NULL}},
};

struct shape shape_of(const struct kind *k)
{
        return (struct shape){.schema = k->schema, .field = "", .custom = k->custom};
}

static const json_t *property(const json_t *schema, const char *field)
{
        const json_t *p = json_object_get(json_object_get(schema, "properties"), field);
        if (p)
                return p;
        p = json_object_get(schema, "additionalProperties");
        return json_is_object(p) ? p : NULL;
}

struct shape shape_child(struct shape s, const char *field)
{
        return (struct shape){
                .schema = s.custom ? property(s.schema, field) : NULL, .field = field, .custom = s.custom};
}

struct shape shape_item(struct shape s)
{
        return (struct shape){
                .schema = s.custom ? json_object_get(s.schema, "items") : NULL, .field = "", .custom = s.custom};
}

bool shape_atomic(struct shape s)
{
        if (s.custom)
                return strcmp(text_at(s.schema, "x-kubernetes-map-type"), "atomic") == 0;
        return strcmp(s.field, "selector") == 0;
}

size_t shape_keys(struct shape s, const char *keys[static 4])
{
        size_t n = 0, i;
        json_t *key;
        if (s.custom) {
                if (strcmp(text_at(s.schema, "x-kubernetes-list-type"), "map") == 0)
                        json_array_foreach(json_object_get(s.schema, "x-kubernetes-list-map-keys"), i, key) if (n < 4)
                                keys[n++] = json_string_value(key);
                return n;
        }
        for (i = 0; i < sizeof keyed / sizeof *keyed; i++)
                if (strcmp(keyed[i].field, s.field) == 0)
                        for (n = 0; n < 2 && keyed[i].key[n]; n++)
                                keys[n] = keyed[i].key[n];
        return n;
}

/* --- defaults --- */

void schema_default(const json_t *schema, json_t *value)
{
        const char *name;
        json_t *p, *item;
        size_t i;
        if (json_is_object(value)) {
                json_object_foreach(json_object_get(schema, "properties"), name, p)
                {
                        const json_t *fallback = json_object_get(p, "default");
                        json_t *have = json_object_get(value, name);
                        if (fallback &&
                            (!have || (json_is_null(have) && !json_is_true(json_object_get(p, "nullable")))))
                                json_object_set_new(value, name, json_deep_copy(fallback));
                        schema_default(p, json_object_get(value, name));
                }
                const json_t *more = json_object_get(schema, "additionalProperties");
                if (json_is_object(more))
                        json_object_foreach(value, name, item) schema_default(more, item);
        }
        json_array_foreach(value, i, item) schema_default(json_object_get(schema, "items"), item);
}

/* --- pruning --- */

static bool keeps_unknown(const json_t *schema)
{
        return json_is_true(json_object_get(schema, "x-kubernetes-preserve-unknown-fields"));
}

static bool root_field(const char *name)
{
        return strcmp(name, "apiVersion") == 0 || strcmp(name, "kind") == 0 || strcmp(name, "metadata") == 0;
}

void schema_prune(const json_t *schema, json_t *value, bool root, const char *path, json_t *unknown)
{
        const char *name;
        json_t *item;
        void *next;
        size_t i;
        if (json_is_object(value)) {
                json_object_foreach_safe(value, next, name, item)
                {
                        if (root && root_field(name))
                                continue;
                        const json_t *p = property(schema, name);
                        AUTO(mem_free) char *here = mem_printf("%s%s%s", path, *path ? "." : "", name);
                        if (p && json_is_null(item) && !json_is_true(json_object_get(p, "nullable"))) {
                                json_object_del(value, name);
                        } else if (p) {
                                schema_prune(p, item, false, here, unknown);
                        } else if (!keeps_unknown(schema)) {
                                json_array_append_new(unknown, json_string(here));
                                json_object_del(value, name);
                        }
                }
        }
        const json_t *items = json_object_get(schema, "items");
        if (items)
                json_array_foreach(value, i, item) schema_prune(items, item, false, path, unknown);
}

/* --- checks --- */

static void complain(json_t *causes, const char *reason, const char *path, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));
static void complain(json_t *causes, const char *reason, const char *path, const char *fmt, ...)
{
        char text[1024];
        va_list args;
        va_start(args, fmt);
        vsnprintf(text, sizeof text, fmt, args);
        va_end(args);
        json_array_append_new(causes, json_pack("{s:s, s:s, s:s}", "reason", reason, "message", text, "field", path));
}

static const char *type_of(const json_t *v)
{
        switch (json_typeof(v)) {
        case JSON_OBJECT:
                return "object";
        case JSON_ARRAY:
                return "array";
        case JSON_STRING:
                return "string";
        case JSON_INTEGER:
                return "integer";
        case JSON_REAL:
                return "number";
        case JSON_TRUE:
        case JSON_FALSE:
                return "boolean";
        case JSON_NULL:
                return "null";
        }
        return "null";
}

static bool type_fits(const json_t *schema, const json_t *v)
{
        const char *want = text_at(schema, "type"), *have = type_of(v);
        if (json_is_null(v) && json_is_true(json_object_get(schema, "nullable")))
                return true;
        if (json_is_true(json_object_get(schema, "x-kubernetes-int-or-string")))
                return json_is_string(v) || json_is_integer(v);
        if (json_is_real(v) && strcmp(want, "integer") == 0)
                return trunc(json_real_value(v)) >= json_real_value(v);
        return !*want || strcmp(want, have) == 0 || (strcmp(want, "number") == 0 && json_is_integer(v));
}

static bool is_given(const json_t *schema, const char *name, double *ret)
{
        const json_t *v = json_object_get(schema, name);
        *ret = json_number_value(v);
        return v != NULL;
}

static void check_number(const json_t *schema, const json_t *v, const char *path, json_t *causes)
{
        double bound, value = json_number_value(v);
        if (is_given(schema, "minimum", &bound) && value < bound)
                complain(causes, "FieldValueInvalid", path,
                         "Invalid value: %g: %s in body should be greater than or equal to %g", value, path, bound);
        if (is_given(schema, "maximum", &bound) && value > bound)
                complain(causes, "FieldValueInvalid", path,
                         "Invalid value: %g: %s in body should be less than or equal to %g", value, path, bound);
}

static void check_string(const json_t *schema, const json_t *v, const char *path, json_t *causes)
{
        const char *s = json_string_value(v), *pattern = json_string_value(json_object_get(schema, "pattern"));
        double bound, len = (double)json_string_length(v);
        regex_t re;
        if (is_given(schema, "minLength", &bound) && len < bound)
                complain(causes, "FieldValueInvalid", path,
                         "Invalid value: \"%s\": %s in body should be at least %g chars long", s, path, bound);
        if (is_given(schema, "maxLength", &bound) && len > bound)
                complain(causes, "FieldValueTooLong", path, "Too long: may not be more than %g bytes", bound);
        if (!pattern || regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
                return; /* what is no POSIX expression is for the real server to judge */
        if (regexec(&re, s, 0, NULL, 0) != 0)
                complain(causes, "FieldValueInvalid", path, "Invalid value: \"%s\": %s in body should match '%s'", s,
                         path, pattern);
        regfree(&re);
}

static void check_enum(const json_t *schema, const json_t *v, const char *path, json_t *causes)
{
        const json_t *allowed = json_object_get(schema, "enum");
        size_t i;
        json_t *one;
        if (!allowed)
                return;
        json_array_foreach(allowed, i, one) if (json_same(one, v)) return;
        char *have = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT), *list = json_dumps(allowed, JSON_COMPACT);
        complain(causes, "FieldValueNotSupported", path, "Unsupported value: %s: supported values: %s", have, list);
        free(have);
        free(list);
}

static void check_count(const json_t *schema, size_t count, const char *most_name, const char *least_name,
                        const char *path, json_t *causes)
{
        double bound;
        if (is_given(schema, most_name, &bound) && (double)count > bound)
                complain(causes, "FieldValueTooMany", path, "Too many: %zu: must have at most %g items", count, bound);
        if (is_given(schema, least_name, &bound) && (double)count < bound)
                complain(causes, "FieldValueInvalid", path,
                         "Invalid value: %zu: %s in body should have at least %g items", count, path, bound);
}

static void check_object(const json_t *schema, const json_t *v, const char *path, json_t *causes)
{
        size_t i;
        const char *name;
        json_t *item;
        json_array_foreach(json_object_get(schema, "required"), i, item)
        {
                AUTO(mem_free) char *here = mem_printf("%s%s%s", path, *path ? "." : "", json_string_value(item));
                if (!json_object_get(v, json_string_value(item)))
                        complain(causes, "FieldValueRequired", here, "Required value");
        }
        check_count(schema, json_object_size(v), "maxProperties", "minProperties", path, causes);
        json_object_foreach((json_t *)(uintptr_t)v, name, item)
        {
                AUTO(mem_free) char *here = mem_printf("%s%s%s", path, *path ? "." : "", name);
                const json_t *p = property(schema, name);
                if (p && !(*path == '\0' && root_field(name)))
                        schema_check(p, item, here, causes);
        }
}

static void check_keys(const json_t *schema, const json_t *v, const char *path, json_t *causes)
{
        const char *keys[4];
        size_t n = shape_keys((struct shape){schema, "", true}, keys);
        for (size_t i = 0; n > 0 && i < json_array_size(v); i++)
                for (size_t j = 0; j < i; j++) {
                        size_t same = 0;
                        for (size_t key = 0; key < n; key++)
                                same += json_same(json_object_get(json_array_get(v, i), keys[key]),
                                                  json_object_get(json_array_get(v, j), keys[key]));
                        if (same == n)
                                complain(causes, "FieldValueDuplicate", path, "Duplicate value: item %zu", i);
                }
}

static void check_array(const json_t *schema, const json_t *v, const char *path, json_t *causes)
{
        size_t i;
        json_t *item;
        check_count(schema, json_array_size(v), "maxItems", "minItems", path, causes);
        check_keys(schema, v, path, causes);
        json_array_foreach(v, i, item)
        {
                AUTO(mem_free) char *here = mem_printf("%s[%zu]", path, i);
                if (json_object_get(schema, "items"))
                        schema_check(json_object_get(schema, "items"), item, here, causes);
        }
}

void schema_check(const json_t *schema, const json_t *value, const char *path, json_t *causes)
{
        if (!type_fits(schema, value)) {
                complain(causes, "FieldValueTypeInvalid", path,
                         "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", type_of(value), path,
                         text_at(schema, "type"), type_of(value));
                return;
        }
        check_enum(schema, value, path, causes);
        if (json_is_number(value))
                check_number(schema, value, path, causes);
        else if (json_is_string(value))
                check_string(schema, value, path, causes);
        else if (json_is_object(value))
                check_object(schema, value, path, causes);
        else if (json_is_array(value))
                check_array(schema, value, path, causes);
}
