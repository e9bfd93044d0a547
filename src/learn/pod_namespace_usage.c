/*
 * Learns the usage of pods, namespaces and nodes that are targets themselves.
 */
#include <string.h>

#include "cache/pod_namespace_targets.h"
#include "learner_private.h"

/* Add a sample to a history of a pod, namespace or node. Its samples are a single series, so the newest sample serves
 * as watermark. */
static enum sample_verdict dimension_put(struct learner *learner, struct history *h, struct sample *s)
{
        struct sample_watermark watermark = {h->usage.newest_ms};
        s->cpu_weight = h->cpu_weight;
        return ingest_put(learner, h, &watermark, s);
}

static struct history *dimension_history_of(struct target *t, const char *container)
{
        bool ignore;
        return history_get(t, container, profile_spec_container(t->profile->spec, text_of(container), &ignore));
}

/* The CPU weight of a pod's history, until the first decision sets it: the first sample must weigh like later ones. */
static double weight_of_pod(struct learner *learner, const struct target *t, const struct pod *p)
{
        double weight = 0;
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].role != ROLE_INIT)
                        weight += plan_cpu_weight(learner->cache, t, &p->container[i]);
        return weight;
}

static double weight_of_whole(struct learner *learner, const struct target *t)
{
        struct plan_container whole;
        dimension_whole(learner->cache, t, NULL, &whole);
        return whole.facts.original[CPU].set ? (double)whole.facts.original[CPU].value / 1e3 : 0;
}

static struct sample sample_of(struct wall at, const struct pod_metrics_container_view *v)
{
        return (struct sample){.at = at,
                               .has = {v->has[CPU], v->has[MEMORY]},
                               .value = {(double)v->cpu_nano / 1e9, (double)v->memory_bytes}};
}

static struct pod_container *dimension_container_of(struct pod *p, struct text name)
{
        for (int i = 0; i < p->containers; i++)
                if (text_is(name, p->container[i].name))
                        return p->container[i].role == ROLE_INIT ? NULL : &p->container[i];
        return NULL;
}

static void dimension_fold_container(struct learner *learner, struct pod *p, struct pod_container *pc, struct sample *s,
                                     const struct pod_metrics_container_view *v)
{
        struct target *t = p->more->single;
        struct history *h = dimension_history_of(t, pc->name);
        if (h->cpu_weight == 0)
                history_set_cpu_weight(h, plan_cpu_weight(learner->cache, t, pc));
        enum sample_verdict verdict = dimension_put(learner, h, s);
        if (!p->target) /* else the pod's workload has counted the sample's verdict already */
                ingest_count(learner, t, p, h, verdict);
        if (verdict == SAMPLE_ACCEPTED)
                pod_sampled(pc, s->at, v);
        if (verdict == SAMPLE_ACCEPTED && h->original)
                raise_see(h, p, (int)(pc - p->container), v, s->at);
}

static void fold_whole(struct learner *learner, const struct pod *p, const struct pod_aggregate_sample *sum)
{
        struct target *t = p->more->single;
        struct history *h = dimension_history_of(t, learner->cache->whole);
        struct sample s = {.at = {sum->at_ms}};
        memcpy(s.has, sum->has, sizeof s.has);
        memcpy(s.value, sum->value, sizeof s.value);
        if (h->cpu_weight == 0)
                history_set_cpu_weight(h, weight_of_pod(learner, t, p));
        (void)dimension_put(learner, h, &s);
}

/* Add a container's sample to the pod's sum. If any container lacks a value, so does the sum. Memory of zero means that
 * metrics-server has no value. */
static void dimension_add(struct pod_aggregate_sample *sum, const struct sample *s)
{
        for (int r = 0; r < RESOURCES; r++) {
                sum->has[r] &= s->has[r] && (r != MEMORY || s->value[r] > 0);
                sum->value[r] += s->value[r];
        }
}

void dimension_fold(struct learner *learner, struct pod *p, const struct pod_metrics_view *m)
{
        const struct pod_more *more = p->more;
        struct pod_aggregate_sample sum = {.at_ms = m->at.ms, .has = {!m->lacks, !m->lacks}};
        bool single = more->single && more->single->profile, any = false;
        if (!single && !more->whole)
                return;
        for (int i = 0; i < m->containers; i++) {
                struct pod_container *pc = dimension_container_of(p, m->container[i].name);
                struct sample s = sample_of(m->at, &m->container[i]);
                if (!pc)
                        continue;
                any = true;
                dimension_add(&sum, &s);
                if (single)
                        dimension_fold_container(learner, p, pc, &s, &m->container[i]);
        }
        if (any && single)
                fold_whole(learner, p, &sum);
        if (any && more->whole && sum.at_ms > more->newest.at_ms)
                pod_summed(p, &sum);
}

/* --- after a poll --- */

static void pod_ran(const struct pod *p, struct wall now)
{
        for (struct history *h = p->more->single->histories; p->running && h; h = h->next)
                usage_running(history_usage(h), now);
}

static bool dimension_bound(struct sample *s, const int64_t most[static RESOURCES])
{
        bool bounded = false;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                double bound = (double)most[r] / (r == CPU ? 1e3 : 1);
                bounded |= s->value[r] > bound;
                s->value[r] = s->value[r] > bound ? bound : s->value[r];
        }
        return bounded;
}

bool dimension_take_sum(struct learner *learner, struct target *t, const struct pod_aggregate *all,
                        const int64_t most[static RESOURCES])
{
        struct sample s;
        if (!t->profile)
                return false;
        struct history *h = dimension_history_of(t, learner->cache->whole);
        usage_running(history_usage(h), all->at);
        if (notice_usage_source(learner->notices)->away || notice_usage_source(learner->notices)->partial ||
            !pod_aggregate_sum(all, &s))
                return false;
        bool bounded = dimension_bound(&s, most);
        if (h->cpu_weight == 0)
                history_set_cpu_weight(h, weight_of_whole(learner, t));
        (void)dimension_put(learner, h, &s);
        return bounded;
}

static void namespace_take_sum(struct learner *learner, struct target *t, const struct pod_aggregate *all, bool runs)
{
        static const int64_t unbounded[RESOURCES] = {INT64_MAX, INT64_MAX};
        if (runs)
                (void)dimension_take_sum(learner, t, all, unbounded);
}

/* Add the sums of namespaces in one walk over cache.order, which is ordered by namespace. */
void dimension_polled(struct learner *learner)
{
        struct wall now = {clock_skew_earlier(learner->skew)}; /* the earlier clock, so that no sum is dated ahead */
        struct pod_aggregate all = {.at = now};
        struct target *whole = NULL;
        bool runs = false;
        const size_t *others = learner->cache->others;
        bool any = others[DIMENSION_POD] > 0 || others[DIMENSION_NAMESPACE] > 0;
        for (size_t i = 0; any && i < learner->cache->ordered; i++) {
                const struct pod *p = learner->cache->order[i];
                if (!p->more)
                        continue;
                if (p->more->single)
                        pod_ran(p, now);
                if (p->more->whole && p->more->whole != whole) {
                        if (whole)
                                namespace_take_sum(learner, whole, &all, runs);
                        whole = p->more->whole;
                        runs = false;
                        pod_aggregate_begin(&all, now, learner->live->interval_ms);
                }
                if (!p->more->whole || !p->running)
                        continue;
                runs = true;
                pod_aggregate_add(&all, &p->more->newest, pod_started_ms(p));
        }
        if (whole)
                namespace_take_sum(learner, whole, &all, runs);
}

/* --- kills --- */

void dimension_disbelieve(struct learner *learner, const struct pod *p, const struct pod_container *pc)
{
        struct target *t = p->more ? p->more->single : NULL;
        if (t && t->profile && pc->role != ROLE_INIT)
                checkpointer_kill(learner->checkpointer, dimension_history_of(t, pc->name), p, pc, 0);
}

bool dimension_kill(struct learner *learner, const struct pod *p, const struct pod_container *pc,
                    const struct oom_kill *k)
{
        struct target *t = p->more ? p->more->single : NULL;
        bool ignore;
        if (!t || !t->profile || pc->role == ROLE_INIT)
                return false;
        const struct resource_policy *policy = profile_spec_container(t->profile->spec, text_of(pc->name), &ignore);
        struct history *h = dimension_history_of(t, pc->name);
        usage_oom(history_usage(h), &policy[MEMORY], k->at, (double)pc->last_memory, k->limit);
        history_learned(h);
        target_killed(learner->cache, t, k);
        checkpointer_kill(learner->checkpointer, h, p, pc, usage_kill_hold(&h->usage, &policy[MEMORY], k->at));
        return true;
}
