/*
 * Targets that are a whole pod, namespace or node: requests, quota, and the time without a sample.
 */
#include "cache/node_target.h"
#include "cache/pod_namespace_targets.h"
#include "core/pod_request_sum.h"
#include "plan/plan.h"

/* --- requests --- */

/* Add a container's original request to `original`, and the request that it runs with to `current`. */
static void add_container(const struct cache *w, const struct pod *p, const struct pod_container *pc,
                          struct pod_sum original[static RESOURCES], struct pod_sum current[static RESOURCES])
{
        struct amount asked[RESOURCES];
        plan_originals(w, p->target ? p->target : p->more->single, pc, asked);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                pod_sum_add(&original[r], pc->role, asked[r]);
                pod_sum_add(&current[r], pc->role, pod_request(pc, r));
        }
}

static void add_amount(struct amount *to, struct amount a)
{
        to->set |= a.set;
        if (a.set)
                to->value = add_saturated(to->value, a.value);
}

/* Sum up the requests of a namespace's pods that have not finished. A pod that waits for a node counts too. */
static void namespace_asks(const struct cache *w, const struct target *t, struct plan_container *ret)
{
        for (size_t i = pods_from(w, t->ns); i < w->ordered && w->order[i]->ns == t->ns; i++) {
                const struct pod *p = w->order[i];
                struct pod_sum original[RESOURCES] = {0}, current[RESOURCES] = {0};
                if (p->finished || !p->more || p->more->whole != t)
                        continue;
                for (int k = 0; k < p->containers; k++)
                        add_container(w, p, &p->container[k], original, current);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        add_amount(&ret->facts.original[r], pod_takes(p, r, pod_sum_total(&original[r])));
                        add_amount(&ret->facts.current[r], pod_takes(p, r, pod_sum_total(&current[r])));
                }
        }
}

/* The requests of a node's pods, as summed up in the last cycle (learn/node_sums.c). */
static void node_asks(const struct cache *w, const struct target *t, struct plan_container *ret)
{
        const struct node *n = node_of_target(w, t);
        for (enum resource r = CPU; n && r < RESOURCES; r++) {
                ret->facts.original[r] =
                        (struct amount){n->facts->whole->original[r] > 0, n->facts->whole->original[r]};
                ret->facts.current[r] =
                        (struct amount){n->facts->whole->requested[r] > 0, n->facts->whole->requested[r]};
        }
}

static void dimension_pod_asks(const struct plan *plan, struct plan_container *ret)
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                ret->facts.original[r] = plan_pod_amount(plan, r, PLAN_ORIGINAL);
                ret->facts.current[r] = plan_pod_amount(plan, r, PLAN_CURRENT);
        }
}

void dimension_whole(const struct cache *w, const struct target *t, const struct plan *plan, struct plan_container *ret)
{
        bool pod = t->dimension == DIMENSION_POD;
        *ret = (struct plan_container){.name = w->whole};
        ret->role = ret->facts.role = pod ? ROLE_WHOLE : ROLE_MAIN;
        if (pod)
                dimension_pod_asks(plan, ret);
        else if (t->dimension == DIMENSION_NODE)
                node_asks(w, t, ret);
        else
                namespace_asks(w, t, ret);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                ret->raw[r] = ret->facts.original[r];
                ret->running[r] = ret->facts.current[r];
        }
}

/* --- quota --- */

static void dimension_quota(const struct cache *w, const struct target *t, struct amount ret_hard[static RESOURCES],
                            struct amount ret_used[static RESOURCES])
{
        static const enum quota_count counts[RESOURCES] = {[CPU] = QUOTA_CPU, [MEMORY] = QUOTA_MEMORY};
        const struct ns *ns = map_get(&w->namespaces, text_of(t->ns));
        for (const struct quota *q = ns ? ns->quotas : NULL; q; q = q->next)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        struct amount hard = q->says.hard[counts[r]], used = q->says.used[counts[r]];
                        bool less = !ret_hard[r].set || hard.value - used.value < ret_hard[r].value - ret_used[r].value;
                        if (q->says.scopes != 0 || !hard.set || !less)
                                continue;
                        ret_hard[r] = hard;
                        ret_used[r] = (struct amount){true, used.value};
                }
}

void dimension_bounds(const struct cache *w, struct plan *ret)
{
        ret->node = node_of_target(w, ret->target);
        if (ret->target->dimension == DIMENSION_NAMESPACE)
                dimension_quota(w, ret->target, ret->quota_hard, ret->quota_used);
}

/* --- time without a sample --- */

static int64_t dimension_earlier(int64_t a, int64_t b)
{
        return a == 0 || (b != 0 && b < a) ? b : a;
}

/* When the earliest of the target's running pods started, wall ms; 0: no pod runs. */
static int64_t runs_since(const struct cache *w, const struct target *t)
{
        int64_t since = 0;
        const struct node *n = node_of_target(w, t);
        if (t->dimension == DIMENSION_NODE)
                return n ? n->facts->whole->runs_since_ms : 0;
        if (t->dimension == DIMENSION_POD)
                return t->pods && t->pods->running ? pod_started_ms(t->pods) : 0;
        for (size_t i = pods_from(w, t->ns); i < w->ordered && w->order[i]->ns == t->ns; i++) {
                const struct pod *p = w->order[i];
                if (p->running && p->more && p->more->whole == t)
                        since = dimension_earlier(since, pod_started_ms(p));
        }
        return since;
}

int64_t dimension_silence(const struct cache *w, const struct target *t, const struct history *h, struct wall now)
{
        int64_t since = runs_since(w, t), newest = h ? h->usage.newest_ms : 0;
        if (since == 0)
                return 0;
        since = newest > since ? newest : since;
        return now.ms > since ? now.ms - since : 0;
}
