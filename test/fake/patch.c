/* JSON Patch (RFC 6902), merge patch (RFC 7386), and finding one's way in documents. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

json_t *json_at(const json_t *o, const char *path)
{
        while (o) {
                const char *dot = strchr(path, '.');
                size_t len = dot ? (size_t)(dot - path) : strlen(path);
                o = json_object_getn(o, path, len);
                if (!dot)
                        break;
                path = dot + 1;
        }
        return (json_t *)(uintptr_t)o;
}

const char *text_at(const json_t *o, const char *path)
{
        const char *s = json_string_value(json_at(o, path));
        return s ? s : "";
}

static bool same_members(const json_t *a, const json_t *b)
{
        if (json_object_size(a) != json_object_size(b))
                return false;
        for (void *at = json_object_iter((json_t *)(uintptr_t)a); at;
             at = json_object_iter_next((json_t *)(uintptr_t)a, at))
                if (!json_same(json_object_iter_value(at), json_object_get(b, json_object_iter_key(at))))
                        return false;
        return true;
}

static bool same_items(const json_t *a, const json_t *b)
{
        if (json_array_size(a) != json_array_size(b))
                return false;
        for (size_t i = 0; i < json_array_size(a); i++)
                if (!json_same(json_array_get(a, i), json_array_get(b, i)))
                        return false;
        return true;
}

bool json_same(const json_t *a, const json_t *b)
{
        if (a == b)
                return true;
        if (!a || !b)
                return false;
        if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b))
                return fabs(json_number_value(a) - json_number_value(b)) <= 0;
        if (json_is_object(a) && json_is_object(b))
                return same_members(a, b);
        if (json_is_array(a) && json_is_array(b))
                return same_items(a, b);
        return json_equal(a, b);
}

/* --- JSON Patch --- */

/* The next token of a pointer, unescaped. */
static char *pointer_token(const char **at)
{
        const char *p = *at + 1;
        size_t len = strcspn(p, "/"), n = 0;
        char *token = mem_string_n(p, len);
        for (size_t i = 0; i < len; i++) {
                if (token[i] == '~' && (token[i + 1] == '0' || token[i + 1] == '1'))
                        token[n++] = token[++i] == '0' ? '~' : '/';
                else
                        token[n++] = token[i];
        }
        token[n] = '\0';
        *at = p + len;
        return token;
}

static bool index_parse(const char *token, size_t count, size_t *ret)
{
        char *end;
        if (*token < '0' || *token > '9' || (*token == '0' && token[1]))
                return false;
        *ret = strtoul(token, &end, 10);
        return !*end && *ret < count;
}

static json_t *child_of(json_t *parent, const char *token)
{
        size_t i;
        if (json_is_object(parent))
                return json_object_get(parent, token);
        return json_is_array(parent) && index_parse(token, json_array_size(parent), &i) ? json_array_get(parent, i)
                                                                                        : NULL;
}

/* The container that holds what the pointer names, and the last token (the caller's). NULL when a parent is missing. */
static json_t *pointer_parent(json_t *doc, const char *pointer, char **ret_token)
{
        const char *at = pointer;
        json_t *here = doc;
        for (;;) {
                char *token = pointer_token(&at);
                if (!*at) {
                        *ret_token = token;
                        return json_is_object(here) || json_is_array(here) ? here : NULL;
                }
                here = child_of(here, token);
                mem_free(token);
                if (!here) {
                        *ret_token = NULL;
                        return NULL;
                }
        }
}

static json_t *pointer_get(json_t *doc, const char *pointer)
{
        if (!*pointer)
                return doc;
        char *token;
        json_t *parent = pointer_parent(doc, pointer, &token), *found = parent ? child_of(parent, token) : NULL;
        mem_free(token);
        return found;
}

static char *missing(const char *op, const char *path)
{
        return mem_printf("%s operation does not apply: doc is missing path: %s: missing value", op, path);
}

static char *op_remove(json_t **doc, const char *op, const char *path)
{
        char *token = NULL, *why = NULL;
        size_t i;
        json_t *parent = *path ? pointer_parent(*doc, path, &token) : NULL;
        if (json_is_object(parent) && json_object_get(parent, token))
                json_object_del(parent, token);
        else if (json_is_array(parent) && index_parse(token, json_array_size(parent), &i))
                json_array_remove(parent, i);
        else
                why = missing(op, path);
        mem_free(token);
        return why;
}

/* value: a new reference, taken. */
static char *op_add(json_t **doc, const char *op, const char *path, json_t *value)
{
        if (!*path) {
                json_decref(*doc);
                *doc = value;
                return NULL;
        }
        char *token = NULL, *why = NULL;
        json_t *parent = pointer_parent(*doc, path, &token);
        size_t i, count = json_array_size(parent);
        if (json_is_object(parent))
                json_object_set(parent, token, value);
        else if (json_is_array(parent) && strcmp(token, "-") == 0)
                json_array_append(parent, value);
        else if (json_is_array(parent) && index_parse(token, count + 1, &i))
                json_array_insert(parent, i, value);
        else
                why = missing(op, path);
        json_decref(value);
        mem_free(token);
        return why;
}

static char *op_replace(json_t **doc, const char *path, json_t *value)
{
        if (!pointer_get(*doc, path)) {
                json_decref(value);
                return missing("replace", path);
        }
        char *token = NULL;
        json_t *parent = *path ? pointer_parent(*doc, path, &token) : NULL;
        size_t i;
        if (json_is_array(parent) && index_parse(token, json_array_size(parent), &i)) {
                json_array_set_new(parent, i, value);
                mem_free(token);
                return NULL;
        }
        mem_free(token);
        return op_add(doc, "replace", path, value);
}

static char *op_test(json_t *doc, const char *path, const json_t *value)
{
        const json_t *have = pointer_get(doc, path);
        if (have ? json_same(have, value) : json_is_null(value))
                return NULL;
        return mem_printf("testing value %s failed: test failed", path);
}

static char *op_apply(json_t **doc, const json_t *step)
{
        const char *op = text_at(step, "op"), *path = json_string_value(json_object_get(step, "path"));
        const char *from = json_string_value(json_object_get(step, "from"));
        json_t *value = json_object_get(step, "value");
        bool moves = strcmp(op, "move") == 0 || strcmp(op, "copy") == 0, removes = strcmp(op, "remove") == 0;
        if (!path || (*path && *path != '/') || (moves && !from) || (!moves && !removes && !value))
                return mem_printf("invalid operation '%s': it lacks path, from or value", op);
        if (removes)
                return op_remove(doc, op, path);
        if (strcmp(op, "add") == 0)
                return op_add(doc, op, path, json_deep_copy(value));
        if (strcmp(op, "replace") == 0)
                return op_replace(doc, path, json_deep_copy(value));
        if (strcmp(op, "test") == 0)
                return op_test(*doc, path, value);
        if (!moves)
                return mem_printf("unexpected kind: %s", op);
        const json_t *source = pointer_get(*doc, from);
        if (!source)
                return missing(op, from);
        json_t *copy = json_deep_copy(source);
        char *why = strcmp(op, "move") == 0 ? op_remove(doc, op, from) : NULL;
        if (why) {
                json_decref(copy);
                return why;
        }
        return op_add(doc, op, path, copy);
}

char *patch_json(json_t **doc, const json_t *ops)
{
        size_t i;
        json_t *step;
        json_array_foreach(ops, i, step)
        {
                char *why = op_apply(doc, step);
                if (why)
                        return why;
        }
        return NULL;
}

void patch_merge(json_t **doc, const json_t *patch)
{
        if (!json_is_object(patch)) {
                json_decref(*doc);
                *doc = json_deep_copy(patch);
                return;
        }
        if (!json_is_object(*doc)) {
                json_decref(*doc);
                *doc = json_object();
        }
        const char *name;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)patch, name, value)
        {
                if (json_is_null(value)) {
                        json_object_del(*doc, name);
                        continue;
                }
                json_t *child = json_incref(json_object_get(*doc, name));
                patch_merge(&child, value);
                json_object_set_new(*doc, name, child);
        }
}
