#include "objects/label_selector.h"

#include "base/mem.h"

const struct selector_bounds selector_of_profile = {16, 16, 64}, selector_of_others = {256, 256, 4096};

static const char *const operator_name[RELATIONS] = {"In", "NotIn", "Exists", "DoesNotExist"};

MEM_AUTO(selector_free, struct selector *)

void selector_free(struct selector *s)
{
        if (!s)
                return;
        for (size_t i = 0; i < s->count; i++) {
                mem_free(s->of[i].key);
                for (size_t k = 0; k < s->of[i].values; k++)
                        mem_free(s->of[i].value[k]);
                mem_free(s->of[i].value);
        }
        mem_free(s->of);
        mem_free(s);
}

/* Adds a requirement with room for `values` values. */
static struct requirement *add_requirement(struct selector *s, const char *key, enum relation op, size_t values)
{
        struct requirement *r = &s->of[s->count++];
        *r = (struct requirement){
                .key = mem_string(key), .op = op, .value = values ? mem_new_array(values, sizeof *r->value) : NULL};
        return r;
}

static bool selector_is_alnum(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The syntax of a non-empty label value, and of the name part of a label key. */
static bool selector_is_label_word(const char *s)
{
        size_t len = strlen(s);
        if (len < 1 || len > 63 || !selector_is_alnum(s[0]) || !selector_is_alnum(s[len - 1]))
                return false;
        for (; *s; s++)
                if (!selector_is_alnum(*s) && !strchr("-_.", *s))
                        return false;
        return true;
}

static int check_key(const char *key, struct err *err)
{
        const char *slash = strchr(key, '/');
        bool prefixed = slash && slash > key && slash - key <= 253;
        for (const char *c = key; prefixed && c < slash; c++)
                prefixed = (selector_is_alnum(*c) && !(*c >= 'A' && *c <= 'Z')) || *c == '-' || *c == '.';
        if ((!slash || prefixed) && selector_is_label_word(slash ? slash + 1 : key))
                return 0;
        return err_set(err, ERR_INVALID, "key '%.64s' is not a label's name, such as app or team.example.com/tier",
                       key);
}

static int selector_add_value(struct requirement *r, const json_t *v, struct err *err)
{
        const char *value = json_string_value(v);
        if (!value)
                return err_set(err, ERR_INVALID, "a value for '%.64s' is not text: write numbers and true in quotes",
                               r->key);
        if (*value && !selector_is_label_word(value))
                return err_set(
                        err, ERR_INVALID,
                        "'%.64s' is not a label value (at most 63 letters, digits, '-', '_' and '.', beginning and "
                        "ending with a letter or digit): several values need matchExpressions",
                        value);
        r->value[r->values++] = mem_string(value);
        return 0;
}

static int selector_read_labels(const json_t *json, size_t most, struct selector *s, struct err *err)
{
        if (!json || json_is_null(json))
                return 0;
        if (!json_is_object(json))
                return err_set(err, ERR_INVALID, "matchLabels is not an object of labels, such as {app: web}");
        if (json_object_size(json) > most)
                return err_set(err, ERR_TOOBIG, "matchLabels has more than %zu labels", most);
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)json, key, value)
        {
                int rc = check_key(key, err);
                if (rc == 0)
                        rc = selector_add_value(add_requirement(s, key, OP_IN, 1), value, err);
                if (rc < 0)
                        return err_wrap(err, "matchLabels");
        }
        return 0;
}

static int read_operator(const json_t *json, enum relation *ret, struct err *err)
{
        const char *name = json_string_value(json_object_get(json, "operator"));
        for (int op = 0; name && op < RELATIONS; op++)
                if (strcmp(name, operator_name[op]) == 0) {
                        *ret = (enum relation)op;
                        return 0;
                }
        return err_set(err, ERR_INVALID, "operator '%.32s' is not In, NotIn, Exists or DoesNotExist", name ? name : "");
}

static int read_values(const json_t *list, size_t most, struct requirement *r, struct err *err)
{
        bool wanted = r->op == OP_IN || r->op == OP_NOT_IN;
        size_t n = json_array_size(list);
        if (wanted != (n > 0))
                return err_set(err, ERR_INVALID,
                               wanted ? "values: %s needs at least one value" : "values: %s takes none",
                               operator_name[r->op]);
        if (n > most)
                return err_set(err, ERR_TOOBIG, "values: more than %zu", most);
        for (size_t i = 0; i < n; i++) {
                int rc = selector_add_value(r, json_array_get(list, i), err);
                if (rc < 0)
                        return rc;
        }
        return 0;
}

static int read_expression(const json_t *json, size_t most, struct selector *s, struct err *err)
{
        enum relation op = OP_IN;
        const char *key = json_string_value(json_object_get(json, "key"));
        if (!key || !*key)
                return err_set(err, ERR_INVALID, "key is missing: the name of a label, such as app");
        int rc = check_key(key, err);
        if (rc == 0)
                rc = read_operator(json, &op, err);
        if (rc < 0)
                return rc;
        const json_t *values = json_object_get(json, "values");
        return read_values(values, most, add_requirement(s, key, op, json_array_size(values)), err);
}

static int read_expressions(const json_t *json, const struct selector_bounds *most, struct selector *s, struct err *err)
{
        if (!json || json_is_null(json))
                return 0;
        if (!json_is_array(json) || json_array_size(json) > most->expressions)
                return err_set(err, json_is_array(json) ? ERR_TOOBIG : ERR_INVALID,
                               "matchExpressions is not a list of at most %zu conditions", most->expressions);
        for (size_t i = 0; i < json_array_size(json); i++)
                if (read_expression(json_array_get(json, i), most->values, s, err) < 0)
                        return err_wrap(err, "matchExpressions[%zu]", i);
        return 0;
}

static int check_members(const json_t *json, struct err *err)
{
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)json, key, value)
        {
                if (strcmp(key, "matchLabels") && strcmp(key, "matchExpressions"))
                        return err_set(err, ERR_INVALID,
                                       "unknown field '%.64s': a selector has matchLabels and matchExpressions", key);
        }
        return 0;
}

int selector_read(const json_t *json, const struct selector_bounds *most, struct selector **ret, struct err *err)
{
        struct err unread;
        err = err ? err : &unread;
        if (json && !json_is_null(json) && !json_is_object(json))
                return err_set(err, ERR_INVALID, "is not an object with matchLabels or matchExpressions");
        const json_t *labels = json_object_get(json, "matchLabels");
        const json_t *expressions = json_object_get(json, "matchExpressions");
        size_t room = json_object_size(labels) + json_array_size(expressions);
        AUTO(selector_free) struct selector *s = MEM_NEW(struct selector);
        s->of = room ? mem_new_array(room, sizeof *s->of) : NULL;
        int rc = json ? check_members(json, err) : 0;
        if (rc == 0)
                rc = selector_read_labels(labels, most->labels, s, err);
        if (rc == 0)
                rc = read_expressions(expressions, most, s, err);
        if (rc < 0)
                return rc;
        *ret = s->count ? STEAL(&s) : NULL;
        return 0;
}
