/*
 * Usage: one list of PodMetrics for the cluster where the profiles ask for most of it, a list for each namespace where
 * they ask for little; each item folded as it comes.
 */
#include <stdio.h>
#include <string.h>

#include "controller_private.h"

/* --- folding --- */

/* Room grows by a quarter and at least four buckets: what is learned spreads slowly. */
void ingest_lend(struct usage *u, const struct usage_room *room)
{
        int cap = room->cap + room->cap / 4 + 4;
        if (cap > HISTOGRAM_BUCKETS)
                cap = HISTOGRAM_BUCKETS;
        mem_free(histogram_lend(&u->of[room->resource], mem_new_array((size_t)cap, sizeof(double)), cap));
}

enum sample_verdict ingest_put(struct controller *c, struct history *h, struct sample_watermark *door,
                               const struct sample *s)
{
        struct wall now = loop_now(c->loop).wall, latest = c->date.ms > now.ms ? c->date : now;
        enum sample_verdict verdict;
        struct usage_room room;
        while (usage_add(&h->usage, door, s, latest, &verdict, &room) == ERR_NOSPACE)
                ingest_lend(&h->usage, &room);
        if (verdict == SAMPLE_ACCEPTED || verdict == SAMPLE_NO_MEMORY)
                h->dirty = true;
        return verdict;
}

struct history *ingest_history(struct controller *c, const struct pod *p, struct pod_container *pc)
{
        struct target *t = p->target;
        bool ignore;
        if (!t || !t->profile)
                return NULL;
        if (pc->history)
                return pc->history;
        pc->history = history_get(t, pc->name, profile_spec_container(t->profile->spec, text_of(pc->name), &ignore));
        if (pc->history->cpu_weight == 0) /* the first sample weighs as all others, also after a restart */
                pc->history->cpu_weight = plan_cpu_weight(&c->cache, t, pc);
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

static void ingest_fold_container(struct controller *c, struct pod *p, struct pod_container *pc, struct wall at,
                                  const struct pod_metrics_container_view *v)
{
        struct history *h = pc->history; /* nearly always: the target, which is far off in memory, is not asked */
        if (!h)
                h = ingest_history(c, p, pc);
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
        enum sample_verdict verdict = ingest_put(c, h, &pc->door, &s);
        c->count.samples[verdict]++;
        if (verdict != SAMPLE_ACCEPTED && verdict != SAMPLE_NO_MEMORY)
                return;
        pod_sampled(pc, at, v);
        if (v->has[CPU] && p->told)
                p->told->cpu[pc - p->container] = v->cpu_nano;
        if (h->original && h->target->profile)
                raise_see(h, p, (int)(pc - p->container), v, at);
        count_run(h, p);
}

void ingest_fold(void *arg, const struct pod_metrics_view *m, struct wall date)
{
        struct controller *c = arg;
        c->date = date;
        struct pod *p = pod_at(&c->cache, m->ns, m->name, &c->cursor);
        if (!p) {
                c->count.unknown_pods++;
                return;
        }
        if (p->more)
                dimension_fold(c, p, m);
        for (int i = 0; i < m->containers; i++)
                for (int k = 0; k < p->containers; k++)
                        if (text_is(m->container[i].name, p->container[k].name) && p->container[k].role != ROLE_INIT) {
                                if (p->target)
                                        ingest_fold_container(c, p, &p->container[k], m->at, &m->container[i]);
                                else
                                        pod_sampled(&p->container[k], m->at, &m->container[i]);
                                break;
                        }
}

/* --- polling --- */

static void poll_next(struct controller *c);

static void ingest_source_went(struct controller *c, const struct metrics_result *r)
{
        char error[256];
        c->count.polls_failed++;
        snprintf(error, sizeof error, "%.200s%s", r->err.text, r->absent ? "; is metrics-server installed?" : "");
        report_usage_away(c->report, error, &r->err);
}

static void ingest_polled(void *arg, const struct metrics_result *r)
{
        struct controller *c = arg;
        c->poll = NULL;
        c->count.unread_items += (uint64_t)r->refused;
        if (r->err.code == 0 && c->poll_left > 0) {
                poll_next(c);
                return;
        }
        c->poll_left = 0;
        if (r->err.code != 0 && r->pods == 0) {
                ingest_source_went(c, r);
        } else {
                report_usage_back(c->report);
                report_usage_partial(c->report, r->pods, &r->err);
        }
        clock_skew_compare(c->skew, c->date, report_cycle(c->report));
        cycle_polled(c);
}

static void poll_next(struct controller *c)
{
        const char *ns = c->poll_ns ? c->poll_ns[--c->poll_left] : NULL;
        int64_t left_ms = (c->poll_until.ns - loop_now(c->loop).mono.ns) / 1000000;
        left_ms = left_ms > 1 ? left_ms : 1;
        c->cursor = 0;
        if (c->options.usage_from_prometheus)
                scrape_poll(c, ns, left_ms, ingest_polled);
        else
                c->poll = metrics_poll(c->client, ns, left_ms, ingest_fold, ingest_polled, c);
}

/*
 * Namespaces that hold targets, where they are few and hold less than a quarter of all pods; else none: one list for
 * all. *ret_any: there is a target at all.
 */
static size_t choose_namespaces(struct controller *c, bool *ret_any)
{
        struct target *t;
        int64_t pods = 0;
        size_t count = 0;
        *ret_any = false;
        for (size_t at = 0; (t = map_each(&c->cache.targets, &at));) {
                bool known = !(t->workload && t->profile);
                *ret_any |= !known;
                pods += t->pod_count;
                for (size_t i = 0; i < count && !known; i++)
                        known = c->poll_ns[i] == t->ns;
                if (known)
                        continue;
                if (count == PER_NAMESPACE_POLLS)
                        return 0;
                c->poll_ns[count++] = t->ns;
        }
        return (size_t)pods * 4 < c->cache.ordered ? count : 0;
}

/* Usage that comes late keeps deciding waiting: no longer than a cycle, and 30 s. */
static int64_t poll_ms(const struct controller *c)
{
        enum { LEAST_MS = 5 * SECOND_MS, MOST_MS = 30 * SECOND_MS };
        int64_t ms = c->options.live.interval_ms;
        return ms < LEAST_MS ? LEAST_MS : ms > MOST_MS ? MOST_MS : ms;
}

void ingest_start(struct controller *c)
{
        bool any;
        mem_free(c->poll_ns);
        c->poll_ns = mem_new_array(PER_NAMESPACE_POLLS, sizeof *c->poll_ns);
        c->poll_left = choose_namespaces(c, &any);
        if (c->poll_left == 0) {
                mem_free(c->poll_ns);
                c->poll_ns = NULL;
        }
        c->date = (struct wall){0};
        c->poll_until.ns = loop_now(c->loop).mono.ns + poll_ms(c) * 1000000;
        if (any) {
                poll_next(c);
                return;
        }
        report_usage_unasked(c->report);
        cycle_polled(c);
}

/* Coverage is measured in minutes: a container that runs without samples makes its history less certain. */
void ingest_running(struct controller *c)
{
        struct wall now = {clock_skew_earlier(c->skew)}; /* as samples are dated; one far ahead would stop the count */
        for (size_t i = 0; i < c->cache.ordered; i++) {
                struct pod *p = c->cache.order[i];
                for (int k = 0; p->running && p->target && k < p->containers; k++)
                        if (p->container[k].history)
                                usage_running(&p->container[k].history->usage, now);
        }
}
