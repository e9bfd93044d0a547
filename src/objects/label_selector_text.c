#include <assert.h>

#include "objects/label_selector.h"

struct parse {
        const char *p, *end, *begin;
        struct arena *a;
        struct selector *s;
        struct err *err;
};

static int selector_fail_as(struct parse *p, int code, const char *what)
{
        return err_set(p->err, code,
                       "%s at character %d of '%.128s': write app=web,tier in (a,b),track!=beta,team,!canary", what,
                       (int)(p->p - p->begin) + 1, p->begin);
}

static int selector_fail(struct parse *p, const char *what)
{
        return selector_fail_as(p, ERR_INVALID, what);
}

static bool selector_is_word(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.' || c == '/';
}

static void selector_skip_space(struct parse *p)
{
        while (p->p < p->end && *p->p == ' ')
                p->p++;
}

static bool selector_take(struct parse *p, const char *what)
{
        selector_skip_space(p);
        size_t len = strlen(what);
        if ((size_t)(p->end - p->p) < len || memcmp(p->p, what, len) != 0)
                return false;
        p->p += len;
        return true;
}

static struct text selector_word(struct parse *p)
{
        selector_skip_space(p);
        const char *from = p->p;
        while (p->p < p->end && selector_is_word(*p->p))
                p->p++;
        return (struct text){from, (size_t)(p->p - from)};
}

static bool selector_text_is_alnum(char c)
{
        return selector_is_word(c) && c != '-' && c != '_' && c != '.' && c != '/';
}

static bool selector_text_is_label_word(struct text t)
{
        return t.len >= 1 && t.len <= 63 && selector_text_is_alnum(t.p[0]) && selector_text_is_alnum(t.p[t.len - 1]) &&
               !memchr(t.p, '/', t.len);
}

static bool selector_is_key(struct text t)
{
        const char *slash = t.len ? memchr(t.p, '/', t.len) : NULL;
        if (!slash)
                return selector_text_is_label_word(t);
        size_t prefix = (size_t)(slash - t.p);
        return prefix >= 1 && prefix <= 253 && selector_text_is_alnum(t.p[0]) &&
               selector_text_is_label_word((struct text){slash + 1, t.len - prefix - 1});
}

static int selector_text_add_value(struct parse *p, struct requirement *r)
{
        struct text value = selector_word(p);
        if (value.len && !selector_text_is_label_word(value))
                return selector_fail(p, "a label value is missing");
        r->value[r->values++] = arena_text(p->a, value);
        return 0;
}

static int read_set(struct parse *p, struct requirement *r)
{
        if (!selector_take(p, "("))
                return selector_fail(p, "'(' is missing");
        size_t values = 1;
        for (const char *c = p->p; c < p->end && *c != ')'; c++)
                values += *c == ',';
        if (values > selector_of_others.values)
                return selector_fail_as(p, ERR_TOOBIG, "there are too many values");
        r->value = arena_new(p->a, values * sizeof *r->value);
        do {
                int rc = selector_text_add_value(p, r);
                if (rc < 0)
                        return rc;
        } while (selector_take(p, ","));
        return selector_take(p, ")") ? 0 : selector_fail(p, "')' is missing");
}

static bool selector_at_end(struct parse *p)
{
        selector_skip_space(p);
        return p->p == p->end || *p->p == ',';
}

static int read_relation(struct parse *p, struct requirement *r)
{
        if (selector_at_end(p)) {
                r->op = OP_EXISTS;
                return 0;
        }
        bool unequal = selector_take(p, "!=");
        if (unequal || selector_take(p, "==") || selector_take(p, "=")) {
                r->op = unequal ? OP_NOT_IN : OP_IN;
                r->value = arena_new(p->a, sizeof *r->value);
                return selector_text_add_value(p, r);
        }
        struct text op = selector_word(p);
        if (!text_is(op, "in") && !text_is(op, "notin"))
                return selector_fail(p, "one of '=', '!=', 'in', 'notin' and ',' is missing");
        r->op = text_is(op, "in") ? OP_IN : OP_NOT_IN;
        return read_set(p, r);
}

static int read_requirement(struct parse *p)
{
        if (p->s->count == selector_of_others.labels + selector_of_others.expressions)
                return selector_fail_as(p, ERR_TOOBIG, "there are too many requirements");
        struct requirement *r = &p->s->of[p->s->count];
        *r = (struct requirement){.op = OP_DOES_NOT_EXIST};
        bool none = selector_take(p, "!");
        struct text key = selector_word(p);
        if (!selector_is_key(key))
                return selector_fail(p, "a label key is missing");
        r->key = arena_text(p->a, key);
        p->s->count++;
        return none ? 0 : read_relation(p, r);
}

int selector_parse(struct text from, struct arena *a, struct selector **ret, struct err *err)
{
        const char *text = arena_text(a, from);
        struct parse p = {text, text + from.len, text, a, NULL, err};
        *ret = NULL;
        selector_skip_space(&p);
        if (p.p == p.end)
                return 0;
        p.s = arena_new(a, sizeof *p.s);
        p.s->of = arena_new(a, (selector_of_others.labels + selector_of_others.expressions) * sizeof *p.s->of);
        do {
                int rc = read_requirement(&p);
                if (rc < 0)
                        return rc;
                if (!selector_at_end(&p))
                        return selector_fail(&p, "a ',' is missing");
        } while (selector_take(&p, ","));
        *ret = p.s;
        return 0;
}
