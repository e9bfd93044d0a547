#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"

/* --- the table of kinds --- */

enum { KIND_KEY_MAX = 384 }; /* more than the API server accepts: a group of 253 bytes, a kind of 63 */

struct watched_kind *watched_kind_find(const struct cache *w, struct text group, struct text kind)
{
        char key[KIND_KEY_MAX];
        int len = snprintf(key, sizeof key, "%.*s/%.*s", TEXT_ARG(group), TEXT_ARG(kind));
        return len < (int)sizeof key ? map_get(&w->kinds_by_key, (struct text){key, (size_t)len}) : NULL;
}

const char *watched_kind_key(struct cache *w, struct text group, struct text kind)
{
        AUTO(mem_free) char *key = mem_printf("%.*s/%.*s", TEXT_ARG(group), TEXT_ARG(kind));
        return intern_text(w->names, text_of(key));
}

/* The kind of the interned key "group/Kind"; an unknown kind is made. */
static struct watched_kind *watched_kind_of(struct cache *w, const char *key)
{
        struct watched_kind *k = map_get(&w->kinds_by_key, text_of(key));
        if (k)
                return k;
        const char *kind = strrchr(key, '/') + 1;
        k = MEM_NEW(struct watched_kind);
        k->key = intern_keep(key);
        k->group = intern_text(w->names, (struct text){key, (size_t)(kind - key) - 1});
        k->kind = intern_text(w->names, text_of(kind));
        k->template_path = "/spec/template";
        k->next = w->kinds;
        w->kinds = k;
        map_put(&w->kinds_by_key, text_of(k->key), k);
        return k;
}

struct watched_kind *kind_watched(struct cache *w, struct text group, struct text kind)
{
        const char *key = watched_kind_key(w, group, kind);
        struct watched_kind *k = watched_kind_of(w, key);
        intern_drop(w->names, key);
        return k;
}

static void watched_kind_free(struct cache *w, struct watched_kind *k)
{
        map_drop(&w->kinds_by_key, text_of(k->key));
        intern_drop(w->names, k->group);
        intern_drop(w->names, k->kind); /* version is not dropped: targets use it, and a server has few versions */
        intern_drop(w->names, k->key);
        mem_free(k);
}

void watched_kinds_release(struct cache *w)
{
        for (struct watched_kind *k; (k = w->kinds);) {
                w->kinds = k->next;
                watched_kind_free(w, k);
        }
        map_release(&w->kinds_by_key);
}

/* Free the kinds that nothing names or uses. A kind whose lookup is under way stays until the lookup is answered. */
static void watched_kinds_forget(struct cache *w)
{
        for (struct watched_kind **link = &w->kinds; *link;) {
                struct watched_kind *k = *link;
                if (watched_kind_is_wanted(k) || k->informer || k->workloads || k->lookup.asking) {
                        link = &k->next;
                        continue;
                }
                *link = k->next;
                watched_kind_free(w, k);
        }
}

/* --- which kinds profiles and Recommendations name --- */

/* A kind_share while its kinds are counted. */
struct kind_count {
        struct watched_kind *kind[KINDS_OF_RECOMMENDATIONS];
        int count, most;
};

/* Count a kind by its interned key. Returns the kind, or NULL where the share is used up. */
static struct watched_kind *kind_count_add(struct cache *w, struct kind_count *c, const char *key)
{
        for (int i = 0; i < c->count; i++)
                if (c->kind[i]->key == key)
                        return c->kind[i];
        if (c->count == c->most)
                return NULL;
        return c->kind[c->count++] = watched_kind_of(w, key);
}

static void kind_share_set(struct kind_share *s, const struct kind_count *c)
{
        kind_share_release(s);
        s->kind = mem_resize(NULL, (size_t)c->count, sizeof(struct watched_kind *));
        s->count = c->count;
        for (int i = 0; i < c->count; i++)
                s->kind[i] = c->kind[i];
}

/* Sort older profiles first, so that a younger profile takes no place in the share from an older one. */
static int profiles_compare(const void *a, const void *b)
{
        const struct profile *x = *(struct profile *const *)a, *y = *(struct profile *const *)b;
        if (x->created_ms != y->created_ms)
                return x->created_ms < y->created_ms ? -1 : 1;
        return strcmp(x->name, y->name);
}

static void profiles_name_kinds(struct cache *w, const struct profile_list *l, struct kind_share *share)
{
        struct kind_count c = {.most = KINDS_OF_PROFILES};
        struct profile **by_age = arena_new(&w->scratch, (l->count + 1) * sizeof *by_age);
        for (size_t i = 0; i < l->count; i++)
                by_age[i] = l->of[i];
        qsort(by_age, l->count, sizeof *by_age, profiles_compare);
        for (size_t i = 0; i < l->count; i++) {
                struct profile *p = by_age[i];
                for (int n = 0; n < p->nameds; n++)
                        p->named[n].kind = kind_count_add(w, &c, p->named[n].key);
        }
        kind_share_set(share, &c);
        arena_reset(&w->scratch);
}

static bool profile_kind_beyond(const struct profile_kind *k)
{
        return !k->kind;
}

static bool profile_kind_unplaced(const struct profile_kind *k)
{
        return k->kind && k->kind->unplaced;
}

bool profile_is_blind(const struct profile *p)
{
        for (int i = 0; i < p->nameds; i++)
                if (profile_kind_beyond(&p->named[i]) || profile_kind_unplaced(&p->named[i]))
                        return true;
        return false;
}

static char *profile_kinds_text(const struct profile *p, bool counts(const struct profile_kind *))
{
        enum { ENOUGH = 150 };
        char text[512] = "";
        size_t len = 0;
        int more = 0;
        for (int i = 0; i < p->nameds; i++) {
                const char *key = p->named[i].key, *kind = strrchr(key, '/') + 1;
                if (!counts(&p->named[i]))
                        continue;
                if (len > ENOUGH)
                        more++;
                else
                        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.63s%s%.*s", len ? ", " : "", kind,
                                                kind - key > 1 ? "." : "", (int)(kind - key) - 1, key);
        }
        return more ? mem_printf("%.250s and %d more", text, more) : len ? mem_string(text) : NULL;
}

char *profile_kinds_beyond(const struct profile *p)
{
        return profile_kinds_text(p, profile_kind_beyond);
}

char *profile_kinds_unplaced(const struct profile *p)
{
        return profile_kinds_text(p, profile_kind_unplaced);
}

static int published_compare(const void *a, const void *b)
{
        return strcmp((*(struct published *const *)a)->key, (*(struct published *const *)b)->key);
}

static struct text published_ns(const struct published *p)
{
        return (struct text){p->key, (size_t)(strchr(p->key, '/') - p->key)};
}

/* Count the kinds that the Recommendations of one namespace name: those at the beginning of the list `all`, of which
 * the function returns the number. */
static size_t published_name_kinds(struct cache *w, struct published *const *all, size_t count)
{
        struct kind_count c = {.most = KINDS_OF_RECOMMENDATIONS};
        size_t n = 0;
        for (; n < count && text_equal(published_ns(all[n]), published_ns(all[0])); n++)
                (void)kind_count_add(w, &c, all[n]->kind_key);
        kind_share_set(&ns_get(w, published_ns(all[0]))->recommended, &c);
        return n;
}

/* A Recommendation needs its workload's kind watched until it is deleted, even if no profile names the kind any more:
 * the workload may still have requests by halflife. */
static void kinds_recommended(struct cache *w)
{
        struct published **all = arena_new(&w->scratch, (w->published.count + 1) * sizeof *all), *p;
        struct ns *ns;
        size_t count = 0;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                kind_share_release(&ns->recommended);
        for (size_t at = 0; (p = map_each(&w->published, &at));)
                if (p->kind_key)
                        all[count++] = p;
        qsort(all, count, sizeof *all, published_compare);
        for (size_t i = 0; i < count;)
                i += published_name_kinds(w, all + i, count - i);
        arena_reset(&w->scratch);
        w->ns_gone = true;
}

static void kind_share_mark(const struct kind_share *s, bool cluster)
{
        for (int i = 0; i < s->count; i++) {
                struct watched_kind *k = s->kind[i];
                int rank = cluster ? 0 : i + 1;
                k->rank = k->named && k->rank < rank ? k->rank : rank;
                k->named = true;
        }
}

/* Count only stale shares again, so that a change in one namespace costs nothing for the others. */
static void kind_shares_settle(struct cache *w)
{
        struct ns *ns;
        if (w->named.stale)
                profiles_name_kinds(w, &w->of_cluster, &w->named);
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                if (ns->named.stale)
                        profiles_name_kinds(w, &ns->profiles, &ns->named);
        if (w->kinds_recommended)
                kinds_recommended(w);
        for (struct watched_kind *k = w->kinds; k; k = k->next)
                k->named = false;
        kind_share_mark(&w->named, true);
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));) {
                kind_share_mark(&ns->named, false);
                kind_share_mark(&ns->recommended, false);
        }
}

void watched_kinds_settle(struct cache *w)
{
        if (w->kinds_renamed || w->kinds_recommended)
                kind_shares_settle(w);
        w->kinds_renamed = w->kinds_recommended = false;
        watched_kinds_forget(w);
}

size_t watched_kinds_unplaced(const struct cache *w)
{
        size_t count = 0;
        for (const struct watched_kind *k = w->kinds; k; k = k->next)
                count += k->named && k->unplaced;
        return count;
}

/* --- written by other modules --- */

void watched_kind_set_informer(struct watched_kind *k, struct informer *in, const struct err *trouble)
{
        k->informer = in;
        k->trouble = trouble;
}

void watched_kind_set_unplaced(struct watched_kind *k, bool unplaced)
{
        k->unplaced = unplaced;
}

void watched_kind_set_version(struct cache *w, struct watched_kind *k, const char *version, const char *plural)
{
        k->version = intern_text(w->names, text_of(version));
        k->plural = intern_text(w->names, text_of(plural));
}
