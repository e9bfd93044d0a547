/*
 * Usage: one list of PodMetrics for the cluster where the profiles ask for most of it, a list for each namespace where
 * they ask for little; each item folded as it comes.
 */
#include <stdio.h>
#include <string.h>

#include "learner_private.h"

/* --- folding --- */

/* Room grows by a quarter and at least four buckets: what is learned spreads slowly. */
void ingest_lend(struct usage *u, const struct usage_room *room)
{
        int cap = room->cap + room->cap / 4 + 4;
        if (cap > HISTOGRAM_BUCKETS)
                cap = HISTOGRAM_BUCKETS;
        mem_free(histogram_lend(&u->of[room->resource], mem_new_array((size_t)cap, sizeof(double)), cap));
}

enum sample_verdict ingest_put(struct learner *learner, struct history *h, struct sample_watermark *watermark,
                               const struct sample *s)
{
        struct wall now = loop_now(learner->loop).wall, latest = learner->date.ms > now.ms ? learner->date : now;
        enum sample_verdict verdict;
        struct usage_room room;
        while (usage_add(&h->usage, watermark, s, latest, &verdict, &room) == ERR_NOSPACE)
                ingest_lend(&h->usage, &room);
        if (verdict == SAMPLE_ACCEPTED || verdict == SAMPLE_NO_MEMORY)
                h->dirty = true;
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
        pod_history(pc, history_get(t, pc->name, profile_spec_container(t->profile->spec, text_of(pc->name), &ignore)));
        if (pc->history->cpu_weight == 0) /* the first sample weighs as all others, also after a restart */
                pc->history->cpu_weight = plan_cpu_weight(learner->cache, t, pc);
        return pc->history;
}

/* A Job of a CronJob seen with a sample for the first time is one more run. */
static void count_run(struct history *h, const struct pod *p)
{
        const struct workload *run = p->owner;
        if (!run || !run->owner || !(run->owner->kind->flags & KIND_BY_RUNS) || run->created_ms <= h->usage.last_run_ms)
                return;
        h->usage.last_run_ms = run->created_ms;
        h->usage.runs++;
}

static void ingest_fold_container(struct learner *learner, struct pod *p, struct pod_container *pc, struct wall at,
                                  const struct pod_metrics_container_view *v)
{
        struct history *h = pc->history; /* nearly always: the target, which is far off in memory, is not asked */
        if (!h)
                h = ingest_history(learner, p, pc);
        if (!h) { /* its profile went */
                pod_sampled(pc, at, v);
                return;
        }
        struct sample s = {
                .at = at,
                .has = {v->has[CPU], v->has[MEMORY]},
                .value = {(double)v->cpu_nano / 1e9, (double)v->memory_bytes},
                .cpu_weight = h->cpu_weight,
        };
        enum sample_verdict verdict = ingest_put(learner, h, &pc->watermark, &s);
        learner->count.samples[verdict]++;
        if (verdict != SAMPLE_ACCEPTED && verdict != SAMPLE_NO_MEMORY)
                return;
        pod_sampled(pc, at, v);
        if (v->has[CPU])
                pod_cpu_told(p, pc, v->cpu_nano);
        if (h->original && h->target->profile)
                raise_see(h, p, (int)(pc - p->container), v, at);
        count_run(h, p);
}

void ingest_fold(void *arg, const struct pod_metrics_view *m, struct wall date)
{
        struct learner *learner = arg;
        learner->date = date;
        struct pod *p = pod_at(learner->cache, m->ns, m->name, &learner->cursor);
        if (!p) {
                learner->count.unknown_pods++;
                return;
        }
        if (p->more)
                dimension_fold(learner, p, m);
        for (int i = 0; i < m->containers; i++)
                for (int k = 0; k < p->containers; k++)
                        if (text_is(m->container[i].name, p->container[k].name) && p->container[k].role != ROLE_INIT) {
                                if (p->target)
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
        snprintf(error, sizeof error, "%.200s%s", r->err.text, r->absent ? "; is metrics-server installed?" : "");
        report_usage_away(learner->report, error, &r->err);
}

/* Coverage is measured in minutes: a container that runs without samples makes its history less certain. */
void ingest_running(struct learner *learner)
{
        struct wall now = {
                clock_skew_earlier(learner->skew)}; /* as samples are dated; one far ahead would stop the count */
        for (size_t i = 0; i < learner->cache->ordered; i++) {
                struct pod *p = learner->cache->order[i];
                for (int k = 0; p->running && p->target && k < p->containers; k++)
                        if (p->container[k].history)
                                usage_running(&p->container[k].history->usage, now);
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
        learner->poll = NULL;
        learner->count.unread_items += (uint64_t)r->refused;
        if (r->err.code == 0 && learner->poll_left > 0) {
                poll_next(learner);
                return;
        }
        learner->poll_left = 0;
        if (r->err.code != 0 && r->pods == 0) {
                ingest_source_went(learner, r);
        } else {
                report_usage_back(learner->report);
                report_usage_partial(learner->report, r->pods, &r->err);
        }
        clock_skew_compare(learner->skew, learner->date, report_cycle(learner->report));
        ingest_polled_all(learner);
}

static void poll_next(struct learner *learner)
{
        const char *ns = learner->poll_ns ? learner->poll_ns[--learner->poll_left] : NULL;
        int64_t left_ms = (learner->poll_until.ns - loop_now(learner->loop).mono.ns) / 1000000;
        left_ms = left_ms > 1 ? left_ms : 1;
        learner->cursor = 0;
        if (learner->options.usage_from_prometheus)
                scrape_poll(learner, ns, left_ms, ingest_polled);
        else
                learner->poll = metrics_poll(learner->client, ns, left_ms, ingest_fold, ingest_polled, learner);
}

/*
 * Namespaces that hold targets, where they are few and hold less than a quarter of all pods; else none: one list for
 * all. *ret_any: there is a target at all.
 */
static size_t choose_namespaces(struct learner *learner, bool *ret_any)
{
        struct target *t;
        int64_t pods = 0;
        size_t count = 0;
        *ret_any = false;
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

/* Usage that comes late keeps deciding waiting: no longer than a cycle, and 30 s. */
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
        if (any) {
                poll_next(learner);
                return;
        }
        report_usage_unasked(learner->report);
        ingest_polled_all(learner);
}
