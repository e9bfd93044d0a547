#include "target_arg.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Whether an object can have this name. Other names would lead to another URL path. */
static bool workload_is_name(const char *s)
{
        size_t len = 0;
        for (; s[len]; len++)
                if (s[len] <= ' ' || s[len] > '~' || s[len] == '/')
                        return false;
        return len >= 1 && len <= 253 && strcmp(s, ".") != 0 && strcmp(s, "..") != 0;
}

int workload_parse(const char *word, struct workload *ret, struct err *err)
{
        const char *slash = strchr(word, '/');
        size_t len = slash ? (size_t)(slash - word) : 0;
        *ret = (struct workload){.word = {word, len}};
        if (len == 0 || len >= sizeof ret->kind || !workload_is_name(slash + 1))
                return err_set(err, ERR_INVALID, "'%.300s' is not KIND/NAME such as deploy/web", word);
        const struct kind *row = kind_by_name(ret->word);
        size_t kind = strcspn(word, "./");
        ret->name = slash + 1;
        ret->known = row != NULL;
        snprintf(ret->kind, sizeof ret->kind, "%.*s", row ? (int)sizeof ret->kind - 1 : (int)kind,
                 row ? row->kind : word);
        snprintf(ret->group, sizeof ret->group, "%.*s",
                 row ? (int)sizeof ret->group - 1 : (int)(len - kind - (kind < len)),
                 row ? row->group : word + kind + (kind < len));
        kind_recommendation_name(text_of(ret->group), text_of(ret->kind), text_of(ret->name), ret->recommendation);
        return 0;
}

static bool workload_same(const char *a, struct text b)
{
        return strlen(a) == b.len && strncasecmp(a, b.p, b.len) == 0;
}

int workload_unknown(const struct workload *w, const char *ns, const char *why, struct err *err)
{
        return err_set(err, ERR_NOTFOUND,
                       "halflife does not know '%.*s/%s' in namespace '%s': does a profile match it%s? halflife get "
                       "-A lists what it knows (%s)",
                       TEXT_ARG(w->word), w->name, ns,
                       w->known ? "" : ", and does KIND include its group, as in widget.example.com", why);
}

bool workload_is(const struct workload *w, struct text group, struct text kind, struct text name)
{
        return workload_same(w->kind, kind) && workload_same(w->group, group) && text_is(name, w->name);
}
