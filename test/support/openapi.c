#include "openapi.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { PLACE_MAX = 256, DEPTH_MAX = 64 };

struct check {
        json_t *doc;
        struct err *err;
        int depth;
};

json_t *openapi_follow(json_t *doc, json_t *node)
{
        const char *ref;
        while ((ref = json_string_value(json_object_get(node, "$ref")))) {
                char *copy AUTO(mem_free) = mem_string(ref), *save = NULL;
                node = doc;
                for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save))
                        if (strcmp(part, "#") != 0)
                                node = json_object_get(node, part);
        }
        return node;
}

static int fail(struct check *c, const char *place, const char *what, json_t *value)
{
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        int rc = err_set(c->err, ERR_INVALID, "%s: %s%s%.120s", *place ? place : "(all)", what, text ? ": " : "",
                         text ? text : "");
        free(text);
        return rc;
}

static int check(struct check *c, json_t *schema, json_t *value, const char *place);

static bool is_type(const char *type, json_t *v)
{
        return strcmp(type, "object") == 0    ? json_is_object(v)
               : strcmp(type, "array") == 0   ? json_is_array(v)
               : strcmp(type, "string") == 0  ? json_is_string(v)
               : strcmp(type, "integer") == 0 ? json_is_integer(v)
               : strcmp(type, "number") == 0  ? json_is_number(v)
                                              : json_is_boolean(v);
}

static bool matches(const char *pattern, const char *text)
{
        regex_t re;
        if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
                return false;
        bool yes = regexec(&re, text, 0, NULL, 0) == 0;
        regfree(&re);
        return yes;
}

/* A bound that is not there is kept. */
static bool keeps(json_t *schema, const char *key, double value, bool at_most)
{
        json_t *bound = json_object_get(schema, key);
        return !bound || (at_most ? value <= json_number_value(bound) : value >= json_number_value(bound));
}

static int check_scalar(struct check *c, json_t *schema, json_t *value, const char *place)
{
        const char *text = json_string_value(value), *pattern = json_string_value(json_object_get(schema, "pattern"));
        if (json_is_number(value) && (!keeps(schema, "minimum", json_number_value(value), false) ||
                                      !keeps(schema, "maximum", json_number_value(value), true)))
                return fail(c, place, "out of bounds", value);
        if (text && (!keeps(schema, "minLength", (double)strlen(text), false) ||
                     !keeps(schema, "maxLength", (double)strlen(text), true)))
                return fail(c, place, "too short or too long", value);
        if (text && pattern && !matches(pattern, text))
                return fail(c, place, "not of its pattern", value);
        json_t *list = json_object_get(schema, "enum"), *one;
        size_t i;
        bool found = list == NULL;
        json_array_foreach(list, i, one)
        {
                found |= json_equal(one, value);
        }
        return found ? 0 : fail(c, place, "not one of its enum", value);
}

static int check_object(struct check *c, json_t *schema, json_t *value, const char *place)
{
        const char *key;
        json_t *member, *name;
        size_t i;
        json_t *properties = json_object_get(schema, "properties"),
               *more = json_object_get(schema, "additionalProperties");
        json_array_foreach(json_object_get(schema, "required"), i, name)
        {
                if (!json_object_get(value, json_string_value(name)))
                        return fail(c, place, "a member is missing", name);
        }
        json_object_foreach(value, key, member)
        {
                char below[PLACE_MAX];
                json_t *of = json_object_get(properties, key);
                snprintf(below, sizeof below, "%s%s%s", place, *place ? "." : "", key);
                if (!of && json_is_object(more))
                        of = more;
                if (!of && !properties && !more)
                        continue; /* any object */
                if (!of)
                        return fail(c, below, "no schema names it", member);
                int rc = check(c, of, member, below);
                if (rc < 0)
                        return rc;
        }
        return 0;
}

static int check_array(struct check *c, json_t *schema, json_t *value, const char *place)
{
        json_t *item, *items = json_object_get(schema, "items");
        size_t i;
        double count = (double)json_array_size(value);
        if (!keeps(schema, "minItems", count, false) || !keeps(schema, "maxItems", count, true))
                return fail(c, place, "too few or too many items", NULL);
        json_array_foreach(value, i, item)
        {
                char below[PLACE_MAX];
                snprintf(below, sizeof below, "%s%s%zu", place, *place ? "." : "", i);
                int rc = check(c, items, item, below);
                if (rc < 0)
                        return rc;
        }
        return 0;
}

/* An unknown keyword is a mistake in the description, such as the text after a comma that is not quoted. NULL: none. */
static const char *unknown_keyword(json_t *schema)
{
        static const char *const known[] = {"type",      "description", "properties", "additionalProperties",
                                            "required",  "items",       "enum",       "pattern",
                                            "minimum",   "maximum",     "minItems",   "maxItems",
                                            "minLength", "maxLength",   "allOf",      "format",
                                            "example",   "deprecated"};
        const char *key;
        json_t *of;
        json_object_foreach(schema, key, of)
        {
                size_t i = 0;
                while (i < sizeof known / sizeof known[0] && strcmp(known[i], key) != 0)
                        i++;
                if (i == sizeof known / sizeof known[0])
                        return key;
        }
        return NULL;
}

static int check(struct check *c, json_t *schema, json_t *value, const char *place)
{
        schema = openapi_follow(c->doc, schema);
        if (!schema || ++c->depth > DEPTH_MAX)
                return fail(c, place, "its schema is not there", NULL);
        const char *slip = unknown_keyword(schema);
        if (slip)
                return err_set(c->err, ERR_INVALID, "%s: its schema has an unknown keyword '%s'", place, slip);
        const char *type = json_string_value(json_object_get(schema, "type"));
        json_t *all = json_object_get(schema, "allOf");
        int rc = 0;
        for (size_t i = 0; rc == 0 && i < json_array_size(all); i++)
                rc = check(c, json_array_get(all, i), value, place);
        if (rc == 0 && type && !is_type(type, value))
                rc = fail(c, place, type, value);
        if (rc == 0 && type)
                rc = json_is_object(value)  ? check_object(c, schema, value, place)
                     : json_is_array(value) ? check_array(c, schema, value, place)
                                            : check_scalar(c, schema, value, place);
        c->depth--;
        return rc;
}

int openapi_check_schema(json_t *doc, const char *schema, json_t *value, struct err *err)
{
        struct check c = {doc, err, 0};
        json_t *schemas = json_object_get(json_object_get(doc, "components"), "schemas");
        return check(&c, json_object_get(schemas, schema), value, "");
}

int openapi_check(json_t *doc, const char *path, const char *method, unsigned status, const char *type, json_t *body,
                  struct err *err)
{
        struct check c = {doc, err, 0};
        char code[8];
        snprintf(code, sizeof code, "%u", status);
        json_t *operation = json_object_get(json_object_get(json_object_get(doc, "paths"), path), method);
        json_t *answer = openapi_follow(doc, json_object_get(json_object_get(operation, "responses"), code));
        if (!answer)
                return err_set(err, ERR_INVALID, "%s %s: answer %s is not described", method, path, code);
        json_t *content = json_object_get(answer, "content");
        json_t *media = json_object_get(content, type);
        if (!content && !body)
                return 0;
        if (!media)
                return err_set(err, ERR_INVALID, "%s %s: %s of %s is not described", method, path, type, code);
        return body ? check(&c, json_object_get(media, "schema"), body, "") : 0;
}
