#include "throttling.h"

#include "cache/limit_harms.h"
#include "cache/pod_namespace_targets.h"

enum { SERIES_MOST = 100000, PERCENT = 100 };

struct throttling {
        struct learner *learner;
        struct prometheus_fetch *fetch; /* the query about throttling under way; NULL: none */
        struct mono asked, answered;    /* when the last query was sent, and when the last one was answered */
        bool begun;                     /* at least one query about throttling was sent */
        bool reported;                  /* the log has reported that queries fail, and reports it once only */
};

static void throttling_each(struct throttling *t, void (*each)(struct throttling *t, struct target *of))
{
        struct target *of;
        for (size_t at = 0; (of = map_each(&t->learner->cache->targets, &at));)
                each(t, of);
}

static void throttling_recall(struct throttling *t, struct target *of)
{
        limit_harms_recall(t->learner->cache, of);
}

static void throttling_judge(struct throttling *t, struct target *of)
{
        limit_harms_measured(t->learner->cache, of);
}

static void throttling_forget(struct throttling *t, struct target *of)
{
        (void)t;
        limit_harms_unmeasured(of);
}

/* Whether a share of throttled periods counts. It covers the last hour. If the container began within that hour, its
 * start or an earlier limit may have caused the throttling. */
static bool throttling_counts(const struct throttling *t, const struct pod *p, const struct pod_container *c)
{
        int64_t now_ms = loop_now(t->learner->loop).wall.ms;
        return pod_limit(c, CPU).set && now_ms - pod_container_began_ms(p, c) >= HOUR_MS;
}

static void throttling_put(struct throttling *t, const struct prometheus_series *s, double share, size_t *cursor)
{
        struct cache *w = t->learner->cache;
        struct pod *p = pod_at(w, s->ns, s->pod, cursor);
        for (int i = 0; p && i < p->containers; i++) {
                const struct pod_container *c = &p->container[i];
                if (!text_is(s->container, c->name) || !throttling_counts(t, p, c))
                        continue;
                if (p->target)
                        limit_harms_measure(w, p->target, c->name, share * PERCENT, pod_limit(c, CPU).value);
                if (p->more && p->more->single)
                        limit_harms_measure(w, p->more->single, c->name, share * PERCENT, pod_limit(c, CPU).value);
        }
}

static void throttling_take(struct throttling *t, const struct prometheus_answer *a)
{
        size_t cursor = 0; /* points of one time are ordered by namespace and name, as pods are */
        for (size_t i = 0; i < a->points; i++)
                if (a->point[i].has[CPU])
                        throttling_put(t, &a->series[a->point[i].series], a->point[i].value[CPU], &cursor);
        throttling_each(t, throttling_judge);
        t->answered = loop_now(t->learner->loop).mono;
        if (t->reported)
                log_info("Prometheus answers again how containers are throttled");
        t->reported = false;
}

static void throttling_done(void *arg, const struct prometheus_answer *a)
{
        struct throttling *t = arg;
        t->fetch = NULL;
        if (a->err.code == 0) {
                throttling_take(t, a);
                return;
        }
        if (!t->reported)
                log_warn("cannot ask Prometheus which containers are throttled, will try again; the last answer still "
                         "counts",
                         KV("error", a->err.text));
        t->reported = true;
}

static int64_t throttling_age_ms(struct mono then, struct mono now)
{
        return (now.ns - then.ns) / 1000000;
}

static void throttling_ask(struct throttling *t, struct mono at)
{
        enum { DEADLINE_MS = 30 * SECOND_MS, STEP_MS = MINUTE_MS };
        struct wall now = {whole_second(loop_now(t->learner->loop).wall.ms)};
        const struct prometheus_slice slice = {.of = PROMETHEUS_THROTTLING,
                                               .from = now,
                                               .to = now,
                                               .step_ms = STEP_MS,
                                               .deadline_ms = DEADLINE_MS,
                                               .points_most = SERIES_MOST};
        t->asked = at;
        t->fetch = prometheus_fetch(t->learner->prometheus, &slice, throttling_done, t);
}

/* How long Prometheus's last answer counts while no other comes, in ms: the hour that its shares cover, or two status
 * intervals, if longer. */
static int64_t throttling_kept_ms(const struct throttling *t)
{
        int64_t two_ms = 2 * t->learner->live->status_ms;
        return two_ms > HOUR_MS ? two_ms : HOUR_MS;
}

void throttling_tick(struct throttling *t, struct mono now)
{
        if (!t->begun) {
                throttling_each(t, throttling_recall);
                t->answered = now;
        } else if (throttling_age_ms(t->answered, now) > throttling_kept_ms(t)) {
                throttling_each(t, throttling_forget);
                t->answered = now;
        }
        if (!t->fetch && (!t->begun || throttling_age_ms(t->asked, now) >= t->learner->live->status_ms))
                throttling_ask(t, now);
        t->begun = true;
}

void throttling_stop(struct throttling *t)
{
        if (t && t->fetch) {
                prometheus_cancel(t->fetch);
                t->fetch = NULL;
        }
}

struct throttling *throttling_new(struct learner *learner)
{
        struct throttling *t = MEM_NEW(struct throttling);
        t->learner = learner;
        return t;
}

void throttling_free(struct throttling *t)
{
        throttling_stop(t);
        mem_free(t);
}
