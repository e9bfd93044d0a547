/*
 * Sums up what the pods of a node request and use together, for targets of dimension Node.
 */
#include <string.h>

#include "cache/node_target.h"
#include "cache/pod_originals.h"
#include "learner_private.h"

static struct pod_aggregate_sample node_sum_sample(const struct pod *p)
{
        return (struct pod_aggregate_sample){.at_ms = (int64_t)p->measured_s * SECOND_MS,
                                             .has = {true, pod_used(p, MEMORY) > 0},
                                             .value = {(double)pod_used(p, CPU) / 1e3, (double)pod_used(p, MEMORY)}};
}

/* The sum of one node while its pods are added. All sums lie in one array, because pods of a node come in any order. */
struct node_sum {
        int64_t original[RESOURCES], requested[RESOURCES], runs_since_ms; /* as the fields of struct node_target */
        struct pod_aggregate used;
};

static void node_sum_add(struct pod_originals *originals, struct node_sum *sum, const struct pod *p)
{
        struct pod_asks asks;
        const struct pod_aggregate_sample sample = node_sum_sample(p);
        pod_originals_ask(originals, p, &asks);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                sum->original[r] = add_saturated(sum->original[r], asks.original[r]);
                sum->requested[r] = add_saturated(sum->requested[r], asks.requested[r]);
        }
        if (!p->running)
                return;
        if (sum->runs_since_ms == 0 || pod_started_ms(p) < sum->runs_since_ms)
                sum->runs_since_ms = pod_started_ms(p);
        pod_aggregate_add(&sum->used, &sample, pod_started_ms(p));
}

/* Log a warning once for each case, with the first node that shows it. */
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

/* Add all pods to the sums of their nodes. Pods are walked in cache.order: they lie beside each other in memory, and
 * those of a workload share their originals. */
static void node_sums_add(const struct cache *w, struct node_sum *sum)
{
        struct pod_originals originals = {0};
        for (size_t i = 0; i < w->ordered; i++) {
                const struct pod *p = w->order[i];
                if (p->node && p->node->sum_place > 0 && !p->gone && !p->finished)
                        node_sum_add(&originals, &sum[p->node->sum_place], p);
        }
        pod_originals_release(&originals);
}

static bool node_has_target(const struct node *n)
{
        return n->facts && n->facts->whole;
}

/* Make the array of sums, with a place for each node that is a target, from 1 on. The caller frees it. */
static struct node_sum *node_sums_begin(const struct learner *learner)
{
        struct wall now = {clock_skew_earlier(learner->skew)}; /* the earlier clock, so that no sum is dated ahead */
        const struct nodes *nodes = &learner->cache->nodes;
        struct node_sum *sum = mem_new_array(nodes->with_facts + 1, sizeof *sum);
        uint32_t places = 0;
        struct node *n;
        for (size_t at = 0; (n = map_each(&nodes->by_name, &at));) {
                n->sum_place = node_has_target(n) ? ++places : 0;
                if (n->sum_place > 0)
                        pod_aggregate_begin(&sum[n->sum_place].used, now, learner->live->interval_ms);
        }
        return sum;
}

static void node_sum_end(struct learner *learner, const struct node *n, const struct node_sum *sum)
{
        struct node_target *nt = n->facts->whole;
        memcpy(nt->original, sum->original, sizeof nt->original);
        memcpy(nt->requested, sum->requested, sizeof nt->requested);
        nt->runs_since_ms = sum->runs_since_ms;
        if (nt->runs_since_ms > 0)
                node_sum_take(learner, n, &sum->used);
}

void node_sums_polled(struct learner *learner)
{
        struct cache *w = learner->cache;
        const struct node *n;
        if (!w->nodes.targets)
                return;
        pods_settle(w);
        AUTO(mem_free) struct node_sum *sum = node_sums_begin(learner);
        node_sums_add(w, sum);
        for (size_t at = 0; (n = map_each(&w->nodes.by_name, &at));)
                if (node_has_target(n))
                        node_sum_end(learner, n, &sum[n->sum_place]);
}
