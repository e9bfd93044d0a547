/*
 * Judges whether every ResourceQuota of the namespace would admit the pods of a rollout.
 */
#include <stdio.h>
#include <string.h>

#include "cache/pod_namespace_targets.h"
#include "core/pod_request_sum.h"
#include "plan/plan.h"

/* Does the quota's scope count the pods of a rollout? Such pods have no deadline, and they have requests, because
 * halflife writes no pods without. */
static bool counts_pods(const struct quota_facts *q, const char *class)
{
        bool listed = false;
        if (q->scopes & (QUOTA_TERMINATING | QUOTA_BEST_EFFORT | QUOTA_OTHER_SCOPE))
                return false;
        if (!(q->scopes & QUOTA_PRIORITY) || (q->scopes & QUOTA_UNSURE_SCOPE))
                return true;
        for (int i = 0; i < q->class_count; i++)
                listed |= q->class[i] == class;
        switch (q->classes) {
        case QUOTA_CLASS_ANY:
                return class != NULL;
        case QUOTA_CLASS_NONE:
                return !class;
        case QUOTA_CLASS_IN:
                return listed;
        case QUOTA_CLASS_NOT_IN:
                return !listed;
        }
        return true;
}

/* The amounts of one pod that a quota counts. */
struct pod_cost {
        int64_t of[QUOTA_COUNTS];
};

static struct amount request_of(const struct plan_container *c, enum resource r, bool after)
{
        const struct gate_verdict *g = &c->advice.gate[r];
        return after && !g->hold ? (struct amount){true, g->value} : c->facts.current[r];
}

/* The limit of one pod that a quota counts: the pod's overhead is added only where some container has a limit. */
static int64_t quota_sum_limits(const struct pod_sum *limits, struct amount overhead)
{
        struct amount of = pod_sum_total(limits);
        return of.set ? add_saturated(of.value, overhead.value) : 0;
}

static struct pod_cost quota_cost_of(const struct plan *p, bool after)
{
        const struct workload *wl = p->target->workload;
        struct pod_cost cost = {.of[QUOTA_PODS] = 1};
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct pod_sum requests = {0}, limits = {0};
                for (int i = 0; i < p->containers; i++) {
                        const struct plan_container *c = &p->container[i];
                        pod_sum_add(&requests, c->role, request_of(c, r, after));
                        pod_sum_add(&limits, c->role, c->facts.limit[r]);
                }
                struct amount whole = workload_more(wl)->pod_asks[r], overhead = pod_overhead(p->target->pods, r);
                cost.of[r == CPU ? QUOTA_CPU : QUOTA_MEMORY] =
                        add_saturated(whole.set ? whole.value : pod_sum_total(&requests).value, overhead.value);
                cost.of[r == CPU ? QUOTA_LIMITS_CPU : QUOTA_LIMITS_MEMORY] = quota_sum_limits(&limits, overhead);
        }
        return cost;
}

/*
 * The most that a rollout adds to the used amount at any time. With a surge, the peak is at the start or at the end:
 * the surge's new pods beside all old pods, or as many old pods beside all new pods. Without a surge, a pod ends before
 * its successor starts. Even the successor may be refused, where more is used than the quota allows by now.
 */
static __int128 most_added(int64_t replicas, int64_t surge, int64_t from, int64_t to)
{
        __int128 first = surge > 0 ? (__int128)surge * to : (__int128)to - from;
        __int128 last = (__int128)replicas * ((__int128)to - from) + (__int128)surge * from;
        return first > last ? first : last;
}

int64_t rollout_surge(const struct workload *wl, int64_t replicas)
{
        const struct watched_kind *by = workload_more(wl)->rollout_ref.kind, *k = by ? by : wl->kind;
        bool quarter = strcmp(k->kind, "Deployment") == 0 || strcmp(k->kind, "Rollout") == 0;
        struct share s = wl->surge.set && !by ? wl->surge : (struct share){true, true, quarter ? 25 : 0};
        __int128 pods = s.percent ? ((__int128)replicas * s.value + 99) / 100 : s.value;
        return pods > INT64_MAX ? INT64_MAX : (int64_t)pods;
}

static const struct {
        const char *name;
        enum resource unit; /* unit of the amount; RESOURCES: a number of pods */
} counted[QUOTA_COUNTS] = {
        [QUOTA_CPU] = {"requests.cpu", CPU},      [QUOTA_MEMORY] = {"requests.memory", MEMORY},
        [QUOTA_LIMITS_CPU] = {"limits.cpu", CPU}, [QUOTA_LIMITS_MEMORY] = {"limits.memory", MEMORY},
        [QUOTA_PODS] = {"pods", RESOURCES},
};

static const char *quota_print(enum quota_count count, __int128 value, char out[static QUANTITY_TEXT_MAX])
{
        int64_t v = value > INT64_MAX ? INT64_MAX : value < 0 ? 0 : (int64_t)value;
        if (counted[count].unit < RESOURCES)
                return amount_print(counted[count].unit, v, out);
        snprintf(out, QUANTITY_TEXT_MAX, "%lld", (long long)v);
        return out;
}

static void say_missing(const struct quota *q, enum quota_count c, __int128 added, char *out, size_t size)
{
        char used[QUANTITY_TEXT_MAX], hard[QUANTITY_TEXT_MAX], more[QUANTITY_TEXT_MAX];
        snprintf(out, size, "ResourceQuota '%.64s': %s of %s %s are used, the rollout needs %s more", q->name,
                 quota_print(c, q->says.used[c].value, used), quota_print(c, q->says.hard[c].value, hard),
                 counted[c].name, quota_print(c, added, more));
}

static bool quota_allows(const struct cache *w, struct plan *p)
{
        const struct workload *wl = p->target->workload;
        const struct ns *ns = ns_find(w, p->target->ns);
        int64_t replicas = workload_replicas(wl), surge = rollout_surge(wl, replicas);
        if (!ns->quotas || replicas == 0 || wl->kind->flags & KIND_BY_RUNS)
                return true;
        struct pod_cost from = quota_cost_of(p, false), to = quota_cost_of(p, true);
        for (const struct quota *q = ns->quotas; q; q = q->next)
                for (int c = 0; counts_pods(&q->says, wl->priority_class) && c < QUOTA_COUNTS; c++) {
                        __int128 added = most_added(replicas, surge, from.of[c], to.of[c]);
                        if (!q->says.hard[c].set || q->says.used[c].value + added <= q->says.hard[c].value)
                                continue;
                        say_missing(q, (enum quota_count)c, added, p->no_room, sizeof p->no_room);
                        return false;
                }
        return true;
}

void plan_ask_quota(const struct cache *w, struct plan *p)
{
        if (p->apply && !in_place(p->target) && !quota_allows(w, p))
                plan_hold(p, GATE_QUOTA);
}
