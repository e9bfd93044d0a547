/*
 * How long a target is kept once its workload is gone: in proportion to the time for which it was watched. A recreated
 * workload would need that time to learn as much again. A fixed time would let a user who creates and deletes workloads
 * under ever new names fill API server, memory and database.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cache/cache.h"
#include "cache/guard_state.h"

/* A target watched for an hour is kept for a day, so that a workload that runs for an hour each day keeps learning. */
enum { KEPT_FACTOR = 24 };

/* Whether the target's Recommendation has a learned value, which is there even if the database was lost. */
static bool target_shows_learned(const struct target *t)
{
        const struct recommendation_status *s = &t->published->status;
        for (int i = 0; i < s->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (s->container[i].of[r].learned)
                                return true;
        return false;
}

/* Whether halflife learned anything about the target, or changed its requests. */
static bool target_is_known(const struct target *t)
{
        const struct apply_state *d = &t->apply_state;
        for (const struct history *h = t->histories; h; h = h->next)
                if (h->usage.samples > 0 || h->counted)
                        return true;
        return t->kills > 0 || t->kill_ms || t->imported || t->killed || d->changed_ms || d->containers || d->guard ||
               d->contested_ms || (t->published && target_shows_learned(t));
}

struct watched_span {
        int64_t first_ms, newest_ms; /* times of the first and the newest sample; 0: no sample */
};

static void watched_span_add(struct watched_span *s, int64_t first_ms, int64_t newest_ms)
{
        if (first_ms <= 0)
                return;
        if (!s->first_ms || first_ms < s->first_ms)
                s->first_ms = first_ms;
        if (newest_ms > s->newest_ms)
                s->newest_ms = newest_ms;
}

/* The time from the target's first sample to its newest, samples of starts included. The times in its Recommendation
 * count too, in case the database was lost. */
static int64_t target_watched_ms(const struct target *t)
{
        struct watched_span span = {0};
        for (const struct history *h = t->histories; h; h = h->next) {
                watched_span_add(&span, history_live_since(h), h->usage.newest_ms);
                for (enum resource r = CPU; h->usage.starts && r < RESOURCES; r++)
                        watched_span_add(&span, history_live_since(h), h->usage.starts->of[r].at_ms);
        }
        if (t->published)
                watched_span_add(&span, t->published->status.since_ms, t->published->status.last_ms);
        return span.newest_ms > span.first_ms ? span.newest_ms - span.first_ms : 0;
}

/* Whether the target is kept for the whole retention time: it lost only its profile, a person holds it, or pods may
 * still have requests by halflife. */
static bool target_is_kept_longest(const struct target *t)
{
        return t->workload || t->hold ||
               (t->apply_state.in_place && t->apply_state.containers && t->dimension == DIMENSION_WORKLOAD);
}

/* The end of the hold by the guard or after a conflict, whichever is later: a recreated workload is still held. */
static int64_t target_held_until_ms(const struct target *t)
{
        const struct apply_state *d = &t->apply_state;
        int64_t guard_ms = d->guard ? d->guard->until_ms : 0;
        return guard_ms > d->contested_ms ? guard_ms : d->contested_ms;
}

/* How long a target is kept after gone_ms, in ms. */
static int64_t target_kept_ms(const struct target *t, int64_t retention_ms)
{
        if (!target_is_known(t))
                return 0;
        int64_t watched_ms = target_watched_ms(t), held_ms = target_held_until_ms(t);
        if (target_is_kept_longest(t) || watched_ms > retention_ms / KEPT_FACTOR)
                return retention_ms;
        int64_t kept_ms = watched_ms * KEPT_FACTOR;
        if (kept_ms < HOUR_MS)
                kept_ms = HOUR_MS;
        if (t->gone_ms > 0 && held_ms > t->gone_ms && held_ms - t->gone_ms > kept_ms)
                kept_ms = held_ms - t->gone_ms;
        return kept_ms < retention_ms ? kept_ms : retention_ms;
}

bool target_is_over(const struct target *t, int64_t now_ms, int64_t retention_ms)
{
        if (!t->gone_ms || t->retuned)
                return false;
        return t->surplus || now_ms - t->gone_ms >= target_kept_ms(t, retention_ms);
}

/* --- the bound on the gone targets of a namespace --- */

struct gone_target {
        struct target *target;
        int64_t kept_ms;
};

/* Whether the target counts in the bound of its namespace: its workload is gone, and it is still kept. */
static bool target_counts_gone(const struct cache *w, const struct target *t, int64_t now_ms, int64_t retention_ms)
{
        return t->gone_ms && !t->workload && !t->retuned && target_is_seen(w, t) &&
               !target_is_over(t, now_ms, retention_ms);
}

/* Count the gone targets that each namespace keeps. Returns the sum over all; *ret_beyond: some namespace exceeds its
 * bound. */
static size_t count_gone(struct cache *w, int64_t now_ms, int64_t retention_ms, bool *ret_beyond)
{
        struct ns *ns;
        struct target *t;
        size_t sum = 0;
        *ret_beyond = false;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                ns->gone_targets = 0;
        for (size_t at = 0; (t = map_each(&w->targets, &at));) {
                t->surplus = false;
                if (!target_counts_gone(w, t, now_ms, retention_ms))
                        continue;
                sum++;
                *ret_beyond |= ++ns_get(w, text_of(t->ns))->gone_targets > NAMESPACE_GONE_TARGETS;
        }
        return sum;
}

/* Sort by namespace. Targets of dimension Pod come last in it, as most pods never come back under their names.
 * Otherwise the longest retention comes first, then the latest gone_ms. */
static int gone_target_compare(const void *one, const void *other)
{
        const struct gone_target *a = one, *b = other;
        int by_ns = strcmp(a->target->ns, b->target->ns);
        bool a_pod = a->target->dimension == DIMENSION_POD, b_pod = b->target->dimension == DIMENSION_POD;
        if (by_ns)
                return by_ns;
        if (a_pod != b_pod)
                return a_pod ? 1 : -1;
        if (a->kept_ms != b->kept_ms)
                return a->kept_ms < b->kept_ms ? 1 : -1;
        if (a->target->gone_ms != b->target->gone_ms)
                return a->target->gone_ms < b->target->gone_ms ? 1 : -1;
        return strcmp(a->target->key, b->target->key);
}

/* Put into `ret` the counted targets of namespaces that exceed their bound. Returns how many; `ret` has room for all.
 */
static size_t gone_beyond(struct cache *w, int64_t now_ms, int64_t retention_ms, struct gone_target *ret)
{
        struct target *t;
        size_t count = 0;
        for (size_t at = 0; (t = map_each(&w->targets, &at));)
                if (target_counts_gone(w, t, now_ms, retention_ms) &&
                    ns_find(w, t->ns)->gone_targets > NAMESPACE_GONE_TARGETS)
                        ret[count++] = (struct gone_target){t, target_kept_ms(t, retention_ms)};
        return count;
}

/* Log, once for each namespace, that it has more gone targets than halflife keeps. */
static void tell_surplus(struct ns *ns)
{
        if (ns->gone_told)
                return;
        ns->gone_told = true;
        log_warn("a namespace has more deleted workloads than halflife keeps: those watched for the shortest time are "
                 "forgotten",
                 KV("namespace", ns->name), KV_INT("gone", ns->gone_targets), KV_INT("kept", NAMESPACE_GONE_TARGETS));
}

size_t targets_bound_gone(struct cache *w, int64_t now_ms, int64_t retention_ms)
{
        bool beyond;
        size_t kept = count_gone(w, now_ms, retention_ms, &beyond), rank = 0;
        if (!beyond)
                return kept;
        AUTO(mem_free) struct gone_target *gone = mem_new_array(kept, sizeof *gone);
        size_t count = gone_beyond(w, now_ms, retention_ms, gone);
        qsort(gone, count, sizeof *gone, gone_target_compare);
        for (size_t i = 0; i < count; i++) {
                struct target *t = gone[i].target;
                rank = i && gone[i - 1].target->ns == t->ns ? rank + 1 : 0;
                if (rank < NAMESPACE_GONE_TARGETS)
                        continue;
                t->surplus = true;
                kept--;
                tell_surplus(ns_get(w, text_of(t->ns)));
        }
        return kept;
}
