#include <stdio.h>
#include <string.h>

#include "backfill_delay.h"
#include "doubt_span.h"
#include "learner_private.h"
#include "net/retry.h"
#include "owner_by_name.h"

enum {
        SLICE_MOST_MS = DAY_MS,
        DEADLINE_MS = 2 * MINUTE_MS,
        POINTS_MOST = 200000,    /* points in one answer, so that reading it does not hold up the loop */
        BEGINNINGS_MOST = 100000 /* series with a known beginning; points of further series all count */
};

/* The separate history that the back-fill of one container of a target builds. */
struct filling {
        struct usage usage;
        double cpu_weight;
        const char *container; /* the container's name, interned */
        int64_t edge_ms;       /* start of the first slice that was read for this container */
        size_t target_len;
        char key[]; /* the target's key and the container: "ns/group/Kind/name/container" */
};

/* When the container of a series began. All slices share this, so that a series that resumes after a gap does not count
 * as begun again. */
struct beginning {
        int64_t at_ms; /* wall ms; 0: not known yet; 1: before the first slice */
        char key[];    /* names of the pod and the container: "pod/container" */
};

struct backfill {
        struct learner *learner;
        struct prometheus *prometheus;
        struct prometheus_fetch *fetch;
        int64_t history_ms, step_ms;
        struct backfill_counters count;

        /* the state of the namespace that is being back-filled */
        const char *ns;         /* the namespace's name, interned; NULL: none is being back-filled */
        struct wall from, to;   /* start of the next slice; end of the whole back-fill */
        struct wall first;      /* start of the first slice of the namespace */
        struct wall began;      /* when halflife sent the first slice's query */
        int64_t slice_ms;       /* length of the next slice, in ms */
        struct map filling;     /* the separate histories: key -> struct filling */
        struct map beginning;   /* key -> struct beginning, for containers whose first minutes the profile ignores */
        struct target **asking; /* the namespace's targets that need a back-fill; set only while an answer is read */
        size_t askings;
        struct retry retry;
        struct loop_timer timer; /* ends the back-off after a failed query */
        uint64_t doubtful;       /* points of this namespace left out, since they may be of another container */
        bool told;               /* the log has reported that queries fail, and reports it once only */
        bool stale_refused;      /* Prometheus refused a namespace and has answered no query since */
};

/* --- the owner of a series --- */

/* Whether a target of namespace ns needs a back-fill. Each workload gets one, also a new workload, because a workload
 * of this name may have existed before. */
static bool asks_for(const struct target *t, const char *ns)
{
        return t->dimension == DIMENSION_WORKLOAD && t->ns == ns && t->workload && t->profile && !t->backfilled;
}

/* Collect the namespace's targets that need a back-fill, once for each answer, so that not every series walks all
 * targets. */
static void gather_asking(struct backfill *b)
{
        struct target *t;
        size_t room = 0;
        b->askings = 0;
        for (size_t at = 0; (t = map_each(&b->learner->cache->targets, &at));) {
                if (!asks_for(t, b->ns))
                        continue;
                if (b->askings == room)
                        b->asking = mem_resize(b->asking, room = room * 2 + 16, sizeof(struct target *));
                b->asking[b->askings++] = t;
        }
}

static void forget_asking(struct backfill *b)
{
        mem_free(b->asking);
        b->asking = NULL;
        b->askings = 0;
}

static struct target *backfill_target_of(struct backfill *b, struct text pod)
{
        char *key = mem_printf("%s/%.*s", b->ns, TEXT_ARG(pod));
        const struct pod *p = map_get(&b->learner->cache->pods, text_of(key));
        mem_free(key);
        if (!p)
                return owner_by_name_find(b->asking, b->askings, pod);
        return p->target && asks_for(p->target, b->ns) ? p->target : NULL;
}

static const char *backfill_container_of(const struct target *t, struct text name)
{
        const struct workload *wl = t->workload;
        for (int i = 0; i < wl->containers; i++)
                if (wl->container[i].role != ROLE_INIT && text_is(name, wl->container[i].name))
                        return wl->container[i].name;
        return NULL;
}

static struct filling *filling_of(struct backfill *b, const struct target *t, const char *container)
{
        AUTO(mem_free) char *key = mem_printf("%s/%s", t->key, container);
        struct filling *f = map_get(&b->filling, text_of(key));
        bool ignore;
        if (f)
                return f;
        size_t len = strlen(key);
        f = mem_new(sizeof *f + len + 1);
        memcpy(f->key, key, len + 1);
        f->target_len = strlen(t->key);
        f->container = intern_keep(container);
        f->cpu_weight = plan_cpu_weight(b->learner->cache, t, &(struct pod_container){.name = container});
        usage_init(&f->usage, profile_spec_container(t->profile->spec, text_of(container), &ignore));
        map_put(&b->filling, (struct text){f->key, len}, f);
        return f;
}

static void filling_free(struct backfill *b, struct filling *f)
{
        for (int r = 0; r < RESOURCES; r++)
                mem_free(f->usage.of[r].w);
        mem_free(f->usage.starts);
        intern_drop(b->learner->cache->names, f->container);
        mem_free(f);
}

/* --- adding points --- */

/* What one series of an answer needs: the history that takes its points, and which points count. */
struct course {
        struct filling *filling; /* the history that takes the points; NULL: the series is ignored */
        const struct resource_policy *policy;
        struct beginning *beginning; /* when the series' container began; NULL: every point counts */
        int64_t until_ms; /* points from then on are ignored, because halflife watched the container itself */
        struct sample_watermark watermark;
        struct doubt_span doubt;
};

/* When the container of a series began, if its pod still exists, wall ms; 0: there is no such container. */
static int64_t began_of(const struct backfill *b, const struct prometheus_series *s)
{
        AUTO(mem_free) char *key = mem_printf("%s/%.*s", b->ns, TEXT_ARG(s->pod));
        const struct pod *p = map_get(&b->learner->cache->pods, text_of(key));
        for (int i = 0; p && i < p->containers; i++)
                if (text_is(s->container, p->container[i].name))
                        return pod_container_began_ms(p, &p->container[i]);
        return 0;
}

/* The beginning of a series, made if it is new; NULL: BEGINNINGS_MOST are known already, so every point counts. */
static struct beginning *beginning_of(struct backfill *b, const struct prometheus_series *s)
{
        AUTO(mem_free) char *key = mem_printf("%.*s/%.*s", TEXT_ARG(s->pod), TEXT_ARG(s->container));
        struct beginning *begun = map_get(&b->beginning, text_of(key));
        int64_t now_ms = began_of(b, s);
        if (!begun && b->beginning.count == BEGINNINGS_MOST)
                return NULL;
        if (!begun) {
                size_t len = strlen(key);
                begun = mem_new(sizeof *begun + len + 1);
                memcpy(begun->key, key, len + 1);
                map_put(&b->beginning, (struct text){begun->key, len}, begun);
        }
        if (now_ms > 0)
                begun->at_ms = now_ms;
        return begun;
}

static void course_find(struct backfill *b, const struct prometheus_series *s, struct course *ret)
{
        const struct target *t = backfill_target_of(b, s->pod);
        const char *container = t ? backfill_container_of(t, s->container) : NULL;
        *ret = (struct course){.until_ms = INT64_MAX};
        b->count.strangers += !container;
        if (!container)
                return;
        const struct history *h = history_find(t, container);
        if (h && history_live_since(h) > 0)
                ret->until_ms = history_live_since(h);
        ret->filling = filling_of(b, t, container);
        bool ignore;
        ret->policy = profile_spec_container(t->profile->spec, text_of(container), &ignore);
        if (ret->policy[CPU].ignore_first_ms == 0 && ret->policy[MEMORY].ignore_first_ms == 0)
                return;
        ret->beginning = beginning_of(b, s);
        if (ret->filling->edge_ms == 0) /* for a workload created during the back-fill, earlier slices were not read */
                ret->filling->edge_ms = t->workload->created_ms < b->began.ms ? b->first.ms : b->from.ms;
}

/* Mark a point of a container's first minutes. A series does not say when its container began: for a pod that is gone,
 * its first point counts as the beginning. But a series that begins with the first slice belongs to a container that
 * ran before, and all its points count. */
static void judge_point(const struct backfill *b, const struct course *course, struct sample *s)
{
        struct beginning *begun = course->beginning;
        if (!begun)
                return;
        if (begun->at_ms == 0)
                begun->at_ms = s->at.ms - course->filling->edge_ms > 2 * b->step_ms ? s->at.ms : 1;
        ingest_judge_start(&course->filling->usage, course->policy, begun->at_ms, s);
}

static void backfill_fold(struct backfill *b, struct course *course, const struct prometheus_point *p,
                          struct wall latest)
{
        struct filling *f = course->filling;
        enum sample_verdict verdict;
        struct usage_room room;
        if (!f || p->at.ms >= course->until_ms)
                return;
        if (p->doubtful && doubt_span_lasts(&course->doubt, p->at.ms, b->step_ms)) {
                b->doubtful++;
                b->count.doubtful++;
                return;
        }
        struct sample s = {.at = p->at,
                           .has = {p->has[CPU], p->has[MEMORY]},
                           .value = {p->value[CPU], p->value[MEMORY]},
                           .cpu_weight = f->cpu_weight,
                           .step_s = (double)b->step_ms / 1e3};
        judge_point(b, course, &s);
        while (usage_add(&f->usage, &course->watermark, &s, latest, &verdict, &room) == ERR_NOSPACE)
                ingest_lend(&f->usage, &room);
        b->count.points += verdict == SAMPLE_ACCEPTED;
}

static void fold_all(struct backfill *b, const struct prometheus_answer *a)
{
        struct wall latest = {clock_skew_later(b->learner->skew)};
        struct course *course = mem_new_array(a->series_count + 1, sizeof *course);
        gather_asking(b);
        for (size_t i = 0; i < a->series_count; i++)
                course_find(b, &a->series[i], &course[i]);
        for (size_t i = 0; i < a->points; i++)
                backfill_fold(b, &course[a->point[i].series], &a->point[i], latest);
        forget_asking(b);
        mem_free(course);
}

/* --- joining with the live histories --- */

static void backfill_join(struct backfill *b, struct filling *f)
{
        const struct cache *w = b->learner->cache;
        struct target *t = map_get(&w->targets, (struct text){f->key, f->target_len});
        struct usage_room room;
        bool ignore;
        int rc;
        if (!t || !asks_for(t, b->ns) || (f->usage.samples == 0 && !f->usage.starts))
                return;
        const struct resource_policy *policy = profile_spec_container(t->profile->spec, text_of(f->container), &ignore);
        struct history *h = history_get(t, f->container, policy);
        /* The profile may have changed during the back-fill: both histories get its present policy. */
        usage_adopt(&f->usage, policy);
        usage_adopt(history_usage(h), policy);
        while ((rc = usage_merge(history_usage(h), &f->usage, &room)) == ERR_NOSPACE)
                ingest_lend(history_usage(h), &room);
        if (rc == 0)
                history_learned(h);
        if (rc == 0 && f->usage.starts)
                target_record_changed(t);
}

static void backfill_forget(struct backfill *b)
{
        struct filling *f;
        for (size_t at = 0; (f = map_each(&b->filling, &at));)
                filling_free(b, f);
        map_release(&b->filling);
        b->filling = (struct map){0};
        struct beginning *begun;
        for (size_t at = 0; (begun = map_each(&b->beginning, &at));)
                mem_free(begun);
        map_release(&b->beginning);
        b->beginning = (struct map){0};
        intern_drop(b->learner->cache->names, b->ns);
        b->ns = NULL;
}

static void backfill_finish(struct backfill *b)
{
        struct learner *learner = b->learner;
        struct filling *f;
        struct target *t;
        uint64_t joined = 0;
        for (size_t at = 0; (f = map_each(&b->filling, &at));)
                backfill_join(b, f);
        for (size_t at = 0; (t = map_each(&learner->cache->targets, &at));)
                if (asks_for(t, b->ns)) {
                        target_set_backfilled(t);
                        joined++;
                }
        ns_backfilled(ns_get(learner->cache, text_of(b->ns)));
        checkpointer_namespace(learner->checkpointer, b->ns);
        b->count.targets += joined;
        log_info("back-filled the histories of a namespace from Prometheus", KV("namespace", b->ns),
                 KV_INT("targets", joined), KV_INT("containers", b->filling.count));
        if (b->doubtful)
                log_warn("left out points of the past that may be of other containers: their cgroups are of several "
                         "pods with the same names; is --prometheus-matchers right?",
                         KV("namespace", b->ns), KV_INT("points", b->doubtful));
        backfill_forget(b);
        schedule_pass(learner->leadership);
}

/* --- queries --- */

static void backfill_ask(struct backfill *b);

static void backfill_again(void *arg)
{
        backfill_ask(arg);
}

/* Whether all namespaces would meet this error: Prometheus does not answer, or denies access. Then halflife retries the
 * same namespace. */
static bool is_everybodys(int code)
{
        return code == ERR_RETRY || code == ERR_DENIED;
}

/* Put the namespace off, because Prometheus refuses it or answers in part. If Prometheus refuses all namespaces, the
 * log has only the first, until any query is answered. */
static void backfill_put_off(struct backfill *b, const struct prometheus_answer *a)
{
        struct ns *ns = ns_get(b->learner->cache, text_of(b->ns));
        const struct backfill_refusal *r = &ns->refusal;
        const struct backfill_delay *delay = backfill_delay_by(a);
        int64_t wait_ms = backfill_delay_ms(delay, r->times);
        ns_backfill_refused(ns, (struct mono){loop_now(b->learner->loop).mono.ns + wait_ms * 1000000});
        if (!r->told && !b->stale_refused) {
                log_warn(delay->log, KV("namespace", b->ns), KV("error", a->err.text));
                ns_backfill_refusal_told(ns);
        }
        b->stale_refused = true;
        backfill_forget(b);
        if (!a->partial) /* no pass at once after a partial answer: else halflife would query Prometheus without
                            a pause, for one namespace after the other */
                schedule_pass(b->learner->leadership);
}

static void backfill_failed(struct backfill *b, const struct prometheus_answer *a)
{
        struct learner *learner = b->learner;
        b->count.failures++;
        if (a->err.code == ERR_TOOBIG && b->slice_ms > b->step_ms) {
                b->slice_ms = b->slice_ms / 2 / b->step_ms * b->step_ms;
                b->slice_ms = b->slice_ms > b->step_ms ? b->slice_ms : b->step_ms;
                backfill_ask(b);
                return;
        }
        ns_backfill_failed(ns_get(learner->cache, text_of(b->ns)), a->err.text);
        if (a->partial || !is_everybodys(a->err.code)) {
                backfill_put_off(b, a);
                return;
        }
        int64_t wait_ms =
                retry_delay_ms(&b->retry, loop_now(learner->loop).mono, a->retry_after_ms > 0 ? a->retry_after_ms : 0);
        if (!b->told)
                log_warn("cannot back-fill histories from Prometheus yet; will try again", KV("namespace", b->ns),
                         KV("error", a->err.text));
        b->told = true;
        loop_timer_set(learner->loop, &b->timer, wait_ms, backfill_again, b);
}

static void backfill_answered(void *arg, const struct prometheus_answer *a)
{
        struct backfill *b = arg;
        b->fetch = NULL;
        if (a->err.code != 0) {
                backfill_failed(b, a);
                return;
        }
        if (b->told)
                log_info("Prometheus answers again", KV("namespace", b->ns));
        b->told = b->stale_refused = false;
        retry_reset(&b->retry);
        ns_backfill_failed(ns_get(b->learner->cache, text_of(b->ns)), NULL);
        b->count.slices++;
        fold_all(b, a);
        b->from.ms += b->slice_ms;
        if (b->from.ms > b->to.ms)
                backfill_finish(b);
        else
                backfill_ask(b);
}

static void backfill_ask(struct backfill *b)
{
        int64_t last_ms = b->from.ms + b->slice_ms - b->step_ms;
        struct prometheus_slice s = {
                .ns = b->ns,
                .from = b->from,
                .to = {last_ms < b->to.ms ? last_ms : b->to.ms},
                .step_ms = b->step_ms,
                .deadline_ms = DEADLINE_MS,
                .points_most = POINTS_MOST,
        };
        b->fetch = prometheus_fetch(b->prometheus, &s, backfill_answered, b);
}

/* The length of a slice, in ms, whose answer has about half of POINTS_MOST points, by the containers that run now. */
static int64_t slice_for(const struct backfill *b, int64_t containers)
{
        int64_t points = POINTS_MOST / 2 / RESOURCES / (containers > 0 ? containers : 1);
        int64_t ms = points * b->step_ms;
        return ms > SLICE_MOST_MS ? SLICE_MOST_MS / b->step_ms * b->step_ms : ms > b->step_ms ? ms : b->step_ms;
}

static void backfill_begin(struct backfill *b, const char *ns)
{
        struct learner *learner = b->learner;
        const struct target *t;
        int64_t containers = 0, now_ms = clock_skew_earlier(learner->skew);
        for (size_t at = 0; (t = map_each(&learner->cache->targets, &at));)
                if (asks_for(t, ns))
                        containers += t->pod_count * t->workload->containers;
        b->ns = intern_keep(ns);
        b->from.ms = (now_ms - b->history_ms) / b->step_ms * b->step_ms;
        b->to.ms = now_ms / b->step_ms * b->step_ms;
        b->first = b->from;
        b->began.ms = now_ms;
        b->slice_ms = slice_for(b, containers);
        b->doubtful = 0;
        backfill_ask(b);
}

static bool is_put_off(const struct backfill *b, const char *ns)
{
        struct learner *learner = b->learner;
        return ns_find(learner->cache, ns)->refusal.until.ns > loop_now(learner->loop).mono.ns;
}

void backfill_tick(struct backfill *b)
{
        struct learner *learner = b->learner;
        const char *later = NULL; /* the namespace last seen as put off: its other targets need no look-up */
        const struct target *t;
        if (b->ns || leadership_stops(learner->leadership))
                return;
        for (size_t at = 0; (t = map_each(&learner->cache->targets, &at));) {
                if (t->ns == later || !asks_for(t, t->ns))
                        continue;
                if (!is_put_off(b, t->ns)) {
                        backfill_begin(b, t->ns);
                        return;
                }
                later = t->ns;
        }
}

/* --- interface --- */

struct backfill *backfill_new(struct learner *learner, struct prometheus *p, int64_t history_ms, int64_t step_ms)
{
        struct backfill *b = MEM_NEW(struct backfill);
        *b = (struct backfill){.learner = learner,
                               .prometheus = p,
                               .history_ms = history_ms,
                               .step_ms = step_ms,
                               .retry = {.least_ms = 5 * SECOND_MS, .most_ms = 5 * MINUTE_MS, .reset_ms = HOUR_MS}};
        return b;
}

void backfill_free(struct backfill *b)
{
        if (!b)
                return;
        if (b->fetch)
                prometheus_cancel(b->fetch);
        loop_timer_stop(b->learner->loop, &b->timer);
        if (b->ns)
                backfill_forget(b);
        mem_free(b);
}

const struct backfill_counters *backfill_counted(const struct backfill *b)
{
        return &b->count;
}

bool backfill_busy(const struct backfill *b)
{
        return b->ns != NULL;
}
