/*
 * Reads a kind as kubectl takes it. A kind that core/kind.h does not list comes with its group; profiles that name the
 * kind, and known workloads of the kind, supply its spelling.
 */
#include "core/kind.h"
#include "handlers.h"
#include "routes_private.h"

enum { KIND_MOST = 253 };

static char kind_to_lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Ways from a plural to a singular: cut `ending`, and append `instead`. */
static const struct {
        const char *ending, *instead;
} singulars[] = {{"", ""}, {"s", ""}, {"es", ""}, {"ies", "y"}};
enum { SINGULARS = sizeof singulars / sizeof singulars[0] };

/* Turn a plural into a singular by one of the ways in `singulars`. NULL: the word does not end as that way needs. */
static const char *kind_singular(struct text word, int way, struct arena *a)
{
        struct text ending = text_of(singulars[way].ending), instead = text_of(singulars[way].instead);
        if (word.len <= ending.len || !text_equal((struct text){word.p + word.len - ending.len, ending.len}, ending))
                return NULL;
        char *out = arena_new(a, word.len + 2);
        memcpy(out, word.p, word.len - ending.len);
        memcpy(out + word.len - ending.len, instead.p, instead.len);
        return out;
}

static bool kind_ends_in(struct text word, const char *ending)
{
        size_t len = strlen(ending);
        return word.len > len && memcmp(word.p + word.len - len, ending, len) == 0;
}

/* The way in `singulars` that English spelling suggests: a guess for words that match no known kind in any way. */
static int usual_way(struct text word)
{
        if (!kind_ends_in(word, "s") || kind_ends_in(word, "ss"))
                return 0;
        if (kind_ends_in(word, "ies"))
                return 3;
        return kind_ends_in(word, "sses") || kind_ends_in(word, "xes") || kind_ends_in(word, "ches") ||
                               kind_ends_in(word, "shes")
                       ? 2
                       : 1;
}

static bool kind_is_word(struct text t)
{
        for (size_t i = 0; i < t.len; i++) {
                char c = kind_to_lower(t.p[i]);
                if (!(c >= 'a' && c <= 'z') && (i == 0 || (!(c >= '0' && c <= '9') && c != '-')))
                        return false;
        }
        return t.len > 0;
}

static bool kind_is_same(const char *small, const char *kind)
{
        for (; *small && *small == kind_to_lower(*kind); kind++)
                small++;
        return !*small && !*kind;
}

/* Find the kind among those that profiles name as targets. Without a group, a kind of any group matches. */
static bool kind_find_named(const struct snapshot *v, const char *small, struct text group, struct arena *a,
                            struct route *ret)
{
        for (size_t i = 0; i < v->profiles; i++) {
                const struct profile_spec *p = v->profile[i]->spec;
                for (int k = 0; k < p->targets; k++) {
                        struct text of = kind_group(text_of(p->target[k].api_version));
                        if ((group.len && !text_equal(group, of)) || !kind_is_same(small, p->target[k].kind))
                                continue;
                        ret->group = arena_text(a, of);
                        ret->kind = p->target[k].kind;
                        return true;
                }
        }
        return false;
}

/* Take the spelling of a kind from a known target of that kind. The search needs no spelling, because Recommendations'
 * names are lower-case. */
static bool find_there(const struct snapshot *v, const char *small, struct text group, struct arena *a,
                       struct route *ret)
{
        const struct snapshot_target *t =
                snapshot_find(v, text_of(ret->ns), group, text_of(small), text_of(ret->workload));
        if (!t)
                return false;
        ret->group = arena_text(a, group);
        ret->kind = t->kind;
        return true;
}

static void kind_guess(struct text word, struct text group, const struct snapshot *v, struct arena *a,
                       struct route *ret)
{
        char *text = arena_text(a, word);
        for (char *c = text; *c; c++)
                *c = kind_to_lower(*c);
        struct text small = {text, word.len};
        for (int i = 0; v && i < SINGULARS; i++) {
                const char *kind = kind_singular(small, i, a);
                if (kind && (kind_find_named(v, kind, group, a, ret) || find_there(v, kind, group, a, ret)))
                        return;
        }
        bool written = word.p[0] >= 'A' && word.p[0] <= 'Z';
        ret->group = arena_text(a, group);
        ret->kind = written ? arena_text(a, word) : kind_singular(small, usual_way(small), a);
}

/* Cut the version from a group such as "v1.apps", because kubectl takes "deployments.v1.apps" too. */
static struct text without_version(struct text group)
{
        const char *dot = group.len ? memchr(group.p, '.', group.len) : NULL;
        bool version = dot && dot - group.p >= 2 && group.p[0] == 'v' && group.p[1] >= '1' && group.p[1] <= '9';
        for (const char *c = group.p + 1; version && c < dot; c++)
                version = (*c >= '0' && *c <= '9') || strchr("alphbet", *c);
        return version ? (struct text){dot + 1, group.len - (size_t)(dot + 1 - group.p)} : group;
}

int route_read_kind(struct text raw, const struct snapshot *v, struct arena *a, struct route *ret,
                    struct answer *ret_answer)
{
        struct text name = url_decode(raw, false, a), word = name, group = {"", 0};
        const char *dot = name.len ? memchr(name.p, '.', name.len) : NULL;
        if (dot) {
                word.len = (size_t)(dot - name.p);
                group = without_version(text_of(dot + 1));
        }
        if (!name.p || name.len > KIND_MOST || !kind_is_word(word) || (dot && !route_is_dns(group, KIND_MOST, true)))
                return answer_bad_parameter(ret_answer, "kind",
                                            "'%.64s' is not a kind, such as deploy, deployments.apps or Deployment",
                                            name.p ? name.p : "");
        char *full = arena_new(a, name.len + 2);
        memcpy(full, word.p, word.len);
        full[word.len] = dot ? '.' : '\0';
        memcpy(full + word.len + (dot != NULL), group.p, group.len);
        const struct kind *known = kind_by_name(text_of(full));
        if (known) {
                ret->group = known->group;
                ret->kind = known->kind;
                return 0;
        }
        kind_guess(word, group, v, a, ret);
        return 0;
}
