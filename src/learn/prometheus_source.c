/*
 * Usage from Prometheus as it is now, for who has no metrics-server: each cycle the newest value of each container, as
 * if a list of PodMetrics had come.
 */
#include "learner_private.h"

struct scrape {
        struct learner *learner;
        const char *ns; /* NULL: all */
        void (*done)(void *arg, const struct metrics_result *r);
        struct prometheus_fetch *fetch;
};

static void to_container(const struct prometheus_point *p, struct text name, struct pod_metrics_container_view *ret)
{
        *ret = (struct pod_metrics_container_view){.name = name};
        /* What is beyond any machine is the watermark's to refuse, and must fit until then. */
        double nano = p->value[CPU] * 1e9, bytes = p->value[MEMORY];
        ret->has[CPU] = p->has[CPU];
        ret->has[MEMORY] = p->has[MEMORY];
        ret->cpu_nano = nano < 9e18 ? (int64_t)nano : INT64_MAX;
        ret->memory_bytes = bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

static bool same_pod(const struct prometheus_series *a, const struct prometheus_series *b)
{
        return text_equal(a->ns, b->ns) && text_equal(a->pod, b->pod);
}

/* Points of one time are in the order of namespaces and names, as the metrics API lists them. */
static int64_t scrape_fold(struct learner *learner, const struct prometheus_answer *a)
{
        struct pod_metrics_view *view = MEM_NEW(struct pod_metrics_view);
        int64_t pods = 0;
        for (size_t i = 0; i < a->points; pods++) {
                const struct prometheus_series *pod = &a->series[a->point[i].series];
                view->ns = pod->ns;
                view->name = pod->pod;
                view->at = a->point[i].at;
                view->containers = 0;
                for (; i < a->points && same_pod(&a->series[a->point[i].series], pod); i++)
                        if (view->containers < VIEW_CONTAINERS)
                                to_container(&a->point[i], a->series[a->point[i].series].container,
                                             &view->container[view->containers++]);
                ingest_fold(learner, view, a->date);
        }
        mem_free(view);
        return pods;
}

static bool anything_runs(const struct learner *learner, const char *ns)
{
        for (size_t i = 0; i < learner->cache->ordered; i++) {
                const struct pod *p = learner->cache->order[i];
                if (p->running && p->target && (!ns || p->ns == ns))
                        return true;
        }
        return false;
}

static void scrape_answered(void *arg, const struct prometheus_answer *a)
{
        struct scrape *r = arg;
        struct learner *learner = r->learner;
        struct metrics_result result = {.refused = (int64_t)a->refused, .date = a->date, .err = a->err};
        learner->scrape = NULL;
        if (a->err.code == 0)
                result.pods = scrape_fold(learner, a);
        if (a->err.code == 0 && a->points == 0 && anything_runs(learner, r->ns))
                err_set(&result.err, ERR_NOTFOUND,
                        "usage from Prometheus: it has no container's usage of the last minutes: are "
                        "--prometheus-names "
                        "and --prometheus-matchers right?");
        result.whole = result.err.code == 0;
        r->done(learner, &result);
        mem_free(r);
}

void scrape_poll(struct learner *learner, const char *ns, int64_t deadline_ms,
                 void (*done)(void *arg, const struct metrics_result *r))
{
        int64_t seconds = (learner->live->interval_ms + SECOND_MS - 1) / SECOND_MS;
        struct wall now = {whole_second(loop_now(learner->loop).wall.ms)};
        struct scrape *r = MEM_NEW(struct scrape);
        struct prometheus_slice s = {.ns = ns,
                                     .from = now,
                                     .to = now,
                                     .step_ms = seconds * SECOND_MS,
                                     .deadline_ms = deadline_ms,
                                     .points_most = SIZE_MAX};
        *r = (struct scrape){.learner = learner, .ns = ns, .done = done};
        learner->scrape = r;
        r->fetch = prometheus_fetch(learner->prometheus, &s, scrape_answered, r);
}

void scrape_stop(struct learner *learner)
{
        if (!learner->scrape)
                return;
        prometheus_cancel(learner->scrape->fetch);
        mem_free(learner->scrape);
        learner->scrape = NULL;
}
