/*
 * What the pods of a node request and use together, for targets of dimension Node.
 */
#include "cache/node_target.h"
#include "cache/pod_originals.h"
#include "learner_private.h"

static struct pod_aggregate_sample node_sum_sample(const struct pod *p)
{
        return (struct pod_aggregate_sample){.at_ms = (int64_t)p->measured_s * SECOND_MS,
                                             .has = {true, pod_used(p, MEMORY) > 0},
                                             .value = {(double)pod_used(p, CPU) / 1e3, (double)pod_used(p, MEMORY)}};
}

static void node_sum_add(struct pod_originals *originals, struct node_target *nt, const struct pod *p,
                         struct pod_aggregate *all)
{
        struct pod_asks asks;
        const struct pod_aggregate_sample sample = node_sum_sample(p);
        pod_originals_ask(originals, p, &asks);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                nt->original[r] = add_saturated(nt->original[r], asks.original[r]);
                nt->requested[r] = add_saturated(nt->requested[r], asks.requested[r]);
        }
        if (!p->running)
                return;
        if (nt->runs_since_ms == 0 || pod_started_ms(p) < nt->runs_since_ms)
                nt->runs_since_ms = pod_started_ms(p);
        pod_aggregate_add(all, &sample, pod_started_ms(p));
}

/* The log reports each case once, with the first node. */
static void node_sum_tell(bool *told, const char *words, const struct node *n)
{
        if (!*told)
                log_warn(words, KV("node", n->name), KV_INT("millicores", n->facts->capacity[CPU]),
                         KV_INT("bytes", n->facts->capacity[MEMORY]));
        *told = true;
}

static void node_sum_take(struct learner *learner, const struct node *n, const struct pod_aggregate *all)
{
        const struct node_facts *f = n->facts;
        if (f->capacity[CPU] <= 0 || f->capacity[MEMORY] <= 0)
                node_sum_tell(&learner->nodes.told[NODE_NO_CAPACITY],
                              "a node has no capacity, so what its pods use together is not learned", n);
        else if (dimension_take_sum(learner, f->whole->target, all, f->capacity))
                node_sum_tell(&learner->nodes.sum_told,
                              "the pods of a node use more than its capacity: it counts as the capacity", n);
}

void node_sums_polled(struct learner *learner)
{
        struct wall now = {clock_skew_earlier(learner->skew)}; /* the earlier clock, so that no time is ahead */
        struct pod_originals originals = {0};
        const struct node *n;
        const struct pod *p;
        for (size_t at = 0; learner->cache->nodes.targets && (n = map_each(&learner->cache->nodes.by_name, &at));) {
                struct node_target *nt = n->facts ? n->facts->whole : NULL;
                struct pod_aggregate all;
                if (!nt)
                        continue;
                *nt = (struct node_target){.target = nt->target, .size = {nt->size[CPU], nt->size[MEMORY]}};
                pod_aggregate_begin(&all, now, learner->live->interval_ms);
                LIST_FOREACH (p, &n->pods, on_node)
                        if (!p->gone && !p->finished)
                                node_sum_add(&originals, nt, p, &all);
                if (nt->runs_since_ms > 0)
                        node_sum_take(learner, n, &all);
        }
        pod_originals_release(&originals);
}
