/* Label selectors (equality and set based) and the field selectors metadata.name, metadata.namespace, status.phase,
 * spec.nodeName, and an Event's involvedObject.kind, involvedObject.name and reason. */
#include <ctype.h>
#include <string.h>

#include "fake.h"

enum relation { IN, NOT_IN, EXISTS, ABSENT };
struct requirement {
        enum relation relation;
        bool field; /* a path into the object instead of a label */
        char *name;
        json_t *values; /* of strings */
};
struct fake_selector {
        struct requirement *need;
        size_t count;
};

void fake_selector_free(struct fake_selector *s)
{
        if (!s)
                return;
        for (size_t i = 0; i < s->count; i++) {
                mem_free(s->need[i].name);
                json_decref(s->need[i].values);
        }
        mem_free(s->need);
        mem_free(s);
}

static bool label_char(char c)
{
        return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.' || c == '/';
}

static void skip_blanks(const char **p)
{
        *p += strspn(*p, " ");
}

static char *take_word(const char **p)
{
        skip_blanks(p);
        const char *start = *p;
        while (label_char(**p))
                (*p)++;
        char *word = mem_string_n(start, (size_t)(*p - start));
        skip_blanks(p);
        return word;
}

static bool take(const char **p, const char *what)
{
        size_t len = strlen(what);
        if (strncmp(*p, what, len) != 0)
                return false;
        *p += len;
        return true;
}

static void take_value(const char **p, struct requirement *r)
{
        char *word = take_word(p);
        json_array_append_new(r->values, json_string(word));
        mem_free(word);
}

static bool take_set(const char **p, struct requirement *r)
{
        skip_blanks(p);
        if (!take(p, "("))
                return false;
        do
                take_value(p, r);
        while (take(p, ","));
        return take(p, ")");
}

/* One requirement: "a=b" "a==b" "a!=b" "a in (b,c)" "a notin (b)" "a" "!a" */
static bool take_requirement(const char **p, struct requirement *r)
{
        skip_blanks(p);
        bool absent = take(p, "!");
        r->name = take_word(p);
        r->values = json_array();
        r->relation = absent ? ABSENT : EXISTS;
        if (!*r->name)
                return false;
        if (absent || **p == '\0' || **p == ',')
                return true;
        if (take(p, "!=")) {
                r->relation = NOT_IN;
                take_value(p, r);
                return true;
        }
        if (take(p, "==") || take(p, "=")) {
                r->relation = IN;
                take_value(p, r);
                return true;
        }
        r->relation = take(p, "notin") ? NOT_IN : IN;
        if (r->relation == IN && !take(p, "in"))
                return false;
        return take_set(p, r);
}

static bool parse_into(struct fake_selector *s, const char *text, bool field)
{
        while (*text) {
                s->need = mem_resize(s->need, s->count + 1, sizeof *s->need);
                struct requirement *r = &s->need[s->count++];
                *r = (struct requirement){.field = field};
                bool good = take_requirement(&text, r);
                skip_blanks(&text);
                if (!good || (*text && !take(&text, ",")))
                        return false;
        }
        return true;
}

static bool field_known(const char *name)
{
        return strcmp(name, "metadata.name") == 0 || strcmp(name, "metadata.namespace") == 0 ||
               strcmp(name, "status.phase") == 0 || strcmp(name, "spec.nodeName") == 0 ||
               strcmp(name, "involvedObject.kind") == 0 || strcmp(name, "involvedObject.name") == 0 ||
               strcmp(name, "reason") == 0;
}

struct fake_selector *fake_selector_parse(const char *labels, const char *fields, char **ret_error)
{
        struct fake_selector *s = MEM_NEW(struct fake_selector);
        *ret_error = NULL;
        if (!parse_into(s, labels, false))
                *ret_error = mem_printf("unable to parse requirement: '%s'", labels);
        else if (!parse_into(s, fields, true))
                *ret_error = mem_printf("invalid selector: '%s'", fields);
        for (size_t i = 0; i < s->count && !*ret_error; i++)
                if (s->need[i].field && !field_known(s->need[i].name))
                        *ret_error = mem_printf("field label not supported: %s", s->need[i].name);
        if (!*ret_error && s->count > 0)
                return s;
        fake_selector_free(s);
        return NULL;
}

static bool among(const json_t *values, const char *value)
{
        size_t i;
        json_t *v;
        json_array_foreach(values, i, v) if (strcmp(json_string_value(v), value) == 0) return true;
        return false;
}

bool fake_selector_matches(const struct fake_selector *s, const json_t *object)
{
        for (size_t i = 0; s && i < s->count; i++) {
                const struct requirement *r = &s->need[i];
                const char *value =
                        r->field ? text_at(object, r->name)
                                 : json_string_value(json_object_get(json_at(object, "metadata.labels"), r->name));
                bool holds = r->relation == EXISTS   ? value != NULL
                             : r->relation == ABSENT ? value == NULL
                             : r->relation == IN     ? value && among(r->values, value)
                                                     : !value || !among(r->values, value);
                if (!holds)
                        return false;
        }
        return true;
}
