/*
 * Polling usage. If few namespaces have workloads with profiles, each of them is polled by a list of its own; else one
 * list covers the cluster. Each measurement is added to its histories as soon as it arrives.
 */
#include <stdio.h>
#include <string.h>

#include "cache/pod_namespace_targets.h"
#include "learner_private.h"

/* --- adding samples --- */

/* Give the histogram room for a quarter more buckets, plus four: histograms spread slowly, and more room would waste
 * memory. */
void ingest_lend(struct usage *u, const struct usage_room *room)
{
        if (room->starts) {
                u->starts = MEM_NEW(struct usage_starts);
                return;
        }
        struct histogram *h = &u->of[room->resource];
        int cap = room->cap + room->cap / 4 + 4;
        if (cap > histogram_buckets(h))
                cap = histogram_buckets(h);
        mem_free(histogram_lend(h, mem_new_array((size_t)cap, sizeof(double)), cap));
}

enum sample_verdict ingest_put(struct learner *learner, struct history *h, struct sample_watermark *watermark,
                               const struct sample *s)
{
        struct wall latest = clock_skew_judging(learner->skew, learner->date);
        enum sample_verdict verdict;
        struct usage_room room;
        while (usage_add(history_usage(h), watermark, s, latest, &verdict, &room) == ERR_NOSPACE)
                ingest_lend(history_usage(h), &room);
        if (verdict != SAMPLE_ACCEPTED && verdict != SAMPLE_NO_MEMORY)
                return verdict;
        history_learned(h);
        if (s->starts[CPU] || (s->starts[MEMORY] && verdict == SAMPLE_ACCEPTED)) /* SAMPLE_NO_MEMORY: only CPU counts */
                history_start_sampled(h, s->at);
        return verdict;
}

struct history *ingest_history(struct learner *learner, const struct pod *p, struct pod_container *pc)
{
        struct target *t = p->target;
        bool ignore;
        if (!t || !t->profile)
                return NULL;
        if (pc->history)
                return pc->history;
        const struct resource_policy *policy = profile_spec_container(t->profile->spec, text_of(pc->name), &ignore);
        pod_history(pc, history_get(t, pc->name, policy));
        history_ignore_first(pc->history, policy); /* a first sample may precede the decision that sets this */
        if (pc->history->cpu_weight ==
            0) /* set the CPU weight now, as no decision has set it yet: the first sample must weigh like later ones */
                history_set_cpu_weight(pc->history, plan_cpu_weight(learner->cache, t, pc));
        return pc->history;
}

/* Count another run of a CronJob at the first sample of each of its Jobs. */
static void count_run(struct history *h, const struct pod *p)
{
        const struct workload *run = p->owner;
        if (run && run->owner && (run->owner->kind->flags & KIND_BY_RUNS) && run->created_ms > h->usage.last_run_ms)
                history_ran(h, run->created_ms);
}

/* What a container needs apart from starts, by the samples that count, in cores or bytes; 0: not known yet. */
static double ingest_steady(const struct usage *u, enum resource r, const struct resource_policy *policy)
{
        double percentile;
        return usage_percentile(u, r, policy[r].percentile, &percentile) == 0 ? percentile * policy[r].multiplier / 1000
                                                                              : 0;
}

void ingest_judge_start(const struct usage *u, const struct resource_policy policy[static RESOURCES], int64_t began_ms,
                        struct sample *s)
{
        s->age_ms = s->at.ms - began_ms;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                s->starts[r] = s->has[r] && s->age_ms >= 0 && s->age_ms < policy[r].ignore_first_ms;
                s->steady[r] = s->starts[r] ? ingest_steady(u, r, policy) : 0;
        }
}

static void judge_start_of(const struct pod *p, const struct pod_container *pc, const struct history *h,
                           struct sample *s)
{
        const struct profile *profile = h->target->profile;
        bool ignore;
        if (profile)
                ingest_judge_start(&h->usage, profile_spec_container(profile->spec, text_of(h->container), &ignore),
                                   pod_container_began_ms(p, pc), s);
}

/* Count a sample's verdict, and keep for condition SamplesRefused why a sample was refused. Replicas of metrics-server
 * answer with times that go back, which does no harm while other samples are accepted: refused_condition decides. */
void ingest_count(struct learner *learner, struct target *t, const struct pod *p, const struct history *h,
                  enum sample_verdict verdict)
{
        static const enum sample_refusal why[SAMPLE_VERDICTS] = {
                [SAMPLE_ACCEPTED] = SAMPLE_REFUSALS,    [SAMPLE_DUPLICATE] = SAMPLE_REFUSALS,
                [SAMPLE_REORDERED] = REFUSED_REORDERED, [SAMPLE_FUTURE] = REFUSED_FUTURE,
                [SAMPLE_INVALID] = REFUSED_VALUE,       [SAMPLE_ABSURD] = REFUSED_VALUE,
                [SAMPLE_NO_MEMORY] = REFUSED_MEMORY,
        };
        learner->count.samples[verdict]++;
        if (why[verdict] == SAMPLE_REFUSALS || (verdict == SAMPLE_NO_MEMORY && h->usage.of[MEMORY].count > 0))
                return;
        sample_refused(t, why[verdict], p, loop_now(learner->loop).wall.ms, learner->live->interval_ms);
}

static void ingest_fold_container(struct learner *learner, struct pod *p, struct pod_container *pc, struct wall at,
                                  const struct pod_metrics_container_view *v)
{
        /* Try pc->history first: it is nearly always set, and ingest_history would read the target, at the cost of a
         * cache miss. */
        struct history *h = pc->history;
        if (!h)
                h = ingest_history(learner, p, pc);
        if (!h) { /* without a profile, the sample is kept only as the pod's last one */
                pod_sampled(pc, at, v);
                return;
        }
        struct sample s = {
                .at = at,
                .has = {v->has[CPU], v->has[MEMORY]},
                .value = {(double)v->cpu_nano / 1e9, (double)v->memory_bytes},
                .cpu_weight = h->cpu_weight,
        };
        if (h->ignores_first)
                judge_start_of(p, pc, h, &s);
        enum sample_verdict verdict = ingest_put(learner, h, pod_watermark(pc), &s);
        ingest_count(learner, h->target, p, h, verdict);
        if (verdict != SAMPLE_ACCEPTED && verdict != SAMPLE_NO_MEMORY)
                return;
        pod_sampled(pc, at, v);
        if (v->has[CPU])
                pod_cpu_told(p, pc, v->cpu_nano);
        if (h->original && h->target->profile)
                raise_see(h, p, (int)(pc - p->container), v, at);
        count_run(h, p);
}

/* Record the refusal on every target that the pod belongs to, because none of them gets the sample. */
static void ingest_refuse(struct learner *learner, const struct pod *p, enum sample_refusal why)
{
        struct target *const of[] = {p->target, p->more ? p->more->single : NULL, p->more ? p->more->whole : NULL};
        for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
                if (of[i])
                        sample_refused(of[i], why, p, loop_now(learner->loop).wall.ms, learner->live->interval_ms);
}

void ingest_fold(void *arg, const struct pod_metrics_view *m, struct wall date)
{
        struct learner *learner = arg;
        learner->date = date;
        learner->count.odd_containers += (uint64_t)m->odd;
        struct pod *p = pod_at(learner->cache, m->ns, m->name, &learner->cursor);
        if (!p) {
                learner->count.unknown_pods++;
                return;
        }
        if (m->at.ms != 0) {
                pod_measured(p, m);
                if (p->more)
                        dimension_fold(learner, p, m);
        }
        if (m->lacks)
                ingest_refuse(learner, p, REFUSED_CONTAINER);
        for (int i = 0; i < m->containers; i++)
                for (int k = 0; k < p->containers; k++)
                        if (text_is(m->container[i].name, p->container[k].name) && p->container[k].role != ROLE_INIT) {
                                if (m->container[i].doubtful)
                                        ingest_refuse(learner, p, REFUSED_SHARED);
                                else if (p->target)
                                        ingest_fold_container(learner, p, &p->container[k], m->at, &m->container[i]);
                                else
                                        pod_sampled(&p->container[k], m->at, &m->container[i]);
                                break;
                        }
}

/* --- polling --- */

static void poll_next(struct learner *learner);

static void ingest_source_went(struct learner *learner, const struct metrics_result *r)
{
        char error[256];
        learner->count.polls_failed++;
        snprintf(error, sizeof error, "%.200s%s", r->err.text, r->absent ? learner->source->if_absent : "");
        notice_usage_away(learner->notices, error, &r->err);
}

/* Count the minutes in which pods run, so that minutes without a sample lower the coverage. */
void ingest_running(struct learner *learner)
{
        struct wall now = {
                clock_skew_earlier(learner->skew)}; /* the earlier clock: a time far ahead would stop the count */
        for (size_t i = 0; i < learner->cache->ordered; i++) {
                const struct pod *p = learner->cache->order[i];
                for (int k = 0; p->running && p->target && k < p->containers; k++)
                        if (p->container[k].history)
                                usage_running(history_usage(p->container[k].history), now);
        }
}

static void ingest_polled_all(struct learner *learner)
{
        ingest_running(learner);
        dimension_polled(learner);
        learner->options.polled(learner->options.arg);
}

static void ingest_polled(void *arg, const struct metrics_result *r)
{
        struct learner *learner = arg;
        learner->count.unread_items += (uint64_t)r->refused;
        if (r->err.code == 0 && learner->poll_left > 0) {
                poll_next(learner);
                return;
        }
        learner->poll_left = 0;
        if (r->err.code != 0 && r->pods == 0) {
                ingest_source_went(learner, r);
        } else {
                notice_usage_back(learner->notices);
                notice_usage_partial(learner->notices, r->pods, &r->err);
        }
        clock_skew_compare(learner->skew, learner->date, notice_cycle(learner->notices));
        ingest_polled_all(learner);
}

/* --- polling without cycles --- */

static void ingest_polled_one(void *arg, const struct metrics_result *r)
{
        const struct learner *learner = arg;
        learner->poll_done(learner->poll_arg, r);
}

void ingest_poll(struct learner *learner, const char *ns, int64_t deadline_ms,
                 void (*done)(void *arg, const struct metrics_result *r), void *arg)
{
        learner->poll_done = done;
        learner->poll_arg = arg;
        learner->cursor = 0;
        learner->source->poll(learner->source, ns, deadline_ms,
                              (struct usage_sink){ingest_fold, ingest_polled_one, learner});
}

/* --- polling each cycle --- */

static void poll_next(struct learner *learner)
{
        const char *ns = learner->poll_ns ? learner->poll_ns[--learner->poll_left] : NULL;
        int64_t left_ms = (learner->poll_until.ns - loop_now(learner->loop).mono.ns) / 1000000;
        left_ms = left_ms > 1 ? left_ms : 1;
        learner->cursor = 0;
        learner->source->poll(learner->source, ns, left_ms, (struct usage_sink){ingest_fold, ingest_polled, learner});
}

/*
 * Choose the namespaces to poll one by one: those with targets that need usage, if they are at most PER_NAMESPACE_POLLS
 * and have less than a quarter of all pods. Returns the number of namespaces; 0: poll the whole cluster. *ret_any:
 * whether some target needs usage.
 */
static size_t choose_namespaces(struct learner *learner, bool *ret_any)
{
        const struct target *t;
        int64_t pods = 0;
        size_t count = 0;
        *ret_any = false;
        if (learner->cache->others[DIMENSION_NODE] > 0) { /* pods of any namespace may be on nodes that are targets */
                *ret_any = true;
                return 0;
        }
        for (size_t at = 0; (t = map_each(&learner->cache->targets, &at));) {
                bool known = !(t->workload && t->profile);
                *ret_any |= !known;
                pods += t->pod_count;
                for (size_t i = 0; i < count && !known; i++)
                        known = learner->poll_ns[i] == t->ns;
                if (known)
                        continue;
                if (count == PER_NAMESPACE_POLLS)
                        return 0;
                learner->poll_ns[count++] = t->ns;
        }
        return (size_t)pods * 4 < learner->cache->ordered ? count : 0;
}

/* How long a cycle's polls may take, in ms: an interval, but 5 s to 30 s, because decisions wait for the polls. */
static int64_t poll_ms(const struct learner *learner)
{
        enum { LEAST_MS = 5 * SECOND_MS, MOST_MS = 30 * SECOND_MS };
        int64_t ms = learner->live->interval_ms;
        return ms < LEAST_MS ? LEAST_MS : ms > MOST_MS ? MOST_MS : ms;
}

void ingest_start(struct learner *learner)
{
        bool any;
        mem_free(learner->poll_ns);
        learner->poll_ns = mem_new_array(PER_NAMESPACE_POLLS, sizeof *learner->poll_ns);
        learner->poll_left = choose_namespaces(learner, &any);
        if (learner->poll_left == 0) {
                mem_free(learner->poll_ns);
                learner->poll_ns = NULL;
        }
        learner->date = (struct wall){0};
        learner->poll_until.ns = loop_now(learner->loop).mono.ns + poll_ms(learner) * 1000000;
        if (any || learner->options.nodes_polled)
                node_usage_start(learner, poll_ms(learner));
        if (any) {
                poll_next(learner);
                return;
        }
        notice_usage_unasked(learner->notices);
        ingest_polled_all(learner);
}
