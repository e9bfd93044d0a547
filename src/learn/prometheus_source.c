/*
 * Live usage from Prometheus, for clusters without metrics-server. In each cycle, this source delivers the newest value
 * of each container in the form of PodMetrics.
 */
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "cache/pod.h"
#include "doubt_span.h"
#include "usage_source.h"

enum { DOUBTS_MOST = 10000 };

/* A container whose usage is in doubt. */
struct doubted {
        struct doubt_span span;
        char key[]; /* the doubted container: "ns/pod/container" */
};

struct prometheus_source {
        struct usage_source source;
        struct prometheus *prometheus;
        struct loop *loop;
        const struct cache *cache;
        const struct live_settings *live;
        struct prometheus_fetch *fetch, *node_fetch; /* queries for pods and for nodes; NULL: none is under way */
        const char *ns;                              /* namespace of the poll under way; NULL: all namespaces */
        struct usage_sink to;
        struct node_usage_sink nodes_to;
        struct map doubted; /* containers in doubt: key -> struct doubted */
        bool told;          /* the log has reported that some container's doubt lasts */
};

/* --- doubt --- */

static char *prometheus_source_key(const struct prometheus_series *of)
{
        return mem_printf("%.*s/%.*s/%.*s", TEXT_ARG(of->ns), TEXT_ARG(of->pod), TEXT_ARG(of->container));
}

/* Whether the usage of a container has been in doubt for long. Beyond DOUBTS_MOST containers in doubt, the answer is
 * true at once. */
static bool prometheus_source_doubts(struct prometheus_source *s, const struct prometheus_series *of, struct wall at)
{
        AUTO(mem_free) char *key = prometheus_source_key(of);
        struct doubted *d = map_get(&s->doubted, text_of(key));
        if (!d && s->doubted.count == DOUBTS_MOST)
                return true;
        if (!d) {
                size_t len = strlen(key);
                d = mem_new(sizeof *d + len + 1);
                d->span = (struct doubt_span){0};
                memcpy(d->key, key, len + 1);
                map_put(&s->doubted, (struct text){d->key, len}, d);
        }
        return doubt_span_lasts(&d->span, at.ms, s->live->interval_ms);
}

/* Forget the containers that were last in doubt before before_ms; INT64_MAX: all. */
static void prometheus_source_forget(struct prometheus_source *s, int64_t before_ms)
{
        struct doubted *d;
        for (size_t at = 0; (d = map_each(&s->doubted, &at));)
                if (d->span.last_ms < before_ms) {
                        map_drop(&s->doubted, text_of(d->key));
                        mem_free(d);
                }
}

static void prometheus_source_tell(struct prometheus_source *s, const struct prometheus_series *of)
{
        AUTO(mem_free) char *key = prometheus_source_key(of);
        if (!s->told)
                log_warn("usage of a container cannot be told from another's: the cgroups are of several pods with the "
                         "same names; it gets no samples; is --prometheus-matchers right?",
                         KV("container", key));
        s->told = true;
}

/* --- measurements --- */

/* Round down to a whole number, without an overflow. Absurd values are refused later, when the sample is judged. */
static int64_t whole_amount(double value)
{
        return value < 9e18 ? (int64_t)value : INT64_MAX;
}

static void to_container(const struct prometheus_point *p, struct text name, bool doubtful,
                         struct pod_metrics_container_view *ret)
{
        *ret = (struct pod_metrics_container_view){.name = name, .doubtful = doubtful};
        if (doubtful)
                return;
        ret->has[CPU] = p->has[CPU];
        ret->has[MEMORY] = p->has[MEMORY];
        ret->cpu_nano = whole_amount(p->value[CPU] * 1e9);
        ret->memory_bytes = whole_amount(p->value[MEMORY]);
}

static bool same_pod(const struct prometheus_series *a, const struct prometheus_series *b)
{
        return text_equal(a->ns, b->ns) && text_equal(a->pod, b->pod);
}

/* Deliver the points of each pod as one measurement. Points of one time are ordered by namespace and pod, as in the
 * metrics API. Returns the number of pods. */
static int64_t prometheus_source_deliver(struct prometheus_source *s, const struct prometheus_answer *a,
                                         int64_t *ret_doubtful)
{
        struct pod_metrics_view *view = MEM_NEW(struct pod_metrics_view);
        int64_t pods = 0;
        for (size_t i = 0; i < a->points; pods++) {
                const struct prometheus_series *pod = &a->series[a->point[i].series];
                view->ns = pod->ns;
                view->name = pod->pod;
                view->at = a->point[i].at;
                view->containers = view->odd = 0;
                view->lacks = false;
                for (; i < a->points && same_pod(&a->series[a->point[i].series], pod); i++) {
                        const struct prometheus_series *of = &a->series[a->point[i].series];
                        if (view->containers == VIEW_CONTAINERS)
                                continue;
                        bool doubtful = a->point[i].doubtful && prometheus_source_doubts(s, of, a->point[i].at);
                        if (doubtful && ++*ret_doubtful)
                                prometheus_source_tell(s, of);
                        to_container(&a->point[i], of->container, doubtful, &view->container[view->containers++]);
                }
                s->to.each(s->to.arg, view, a->date);
        }
        mem_free(view);
        return pods;
}

static bool anything_runs(const struct cache *cache, const char *ns)
{
        for (size_t i = 0; i < cache->ordered; i++) {
                const struct pod *p = cache->order[i];
                if (p->running && p->target && (!ns || p->ns == ns))
                        return true;
        }
        return false;
}

static void prometheus_source_done(void *arg, const struct prometheus_answer *a)
{
        struct prometheus_source *s = arg;
        struct metrics_result result = {.refused = (int64_t)a->refused, .date = a->date, .err = a->err};
        s->fetch = NULL;
        if (a->err.code == 0) {
                int64_t doubtful = 0;
                result.pods = prometheus_source_deliver(s, a, &doubtful);
                result.refused += doubtful;
                prometheus_source_forget(s, loop_now(s->loop).wall.ms - DAY_MS);
                s->told &= s->doubted.count > 0;
        }
        if (a->err.code == 0 && a->points == 0 && anything_runs(s->cache, s->ns))
                err_set(&result.err, ERR_NOTFOUND,
                        "Prometheus has no usage of any container in the last minutes: are --prometheus-names "
                        "and --prometheus-matchers right?");
        result.whole = result.err.code == 0;
        s->to.done(s->to.arg, &result);
}

/* A query for one point, the present time; the point covers one interval. */
static struct prometheus_slice prometheus_source_slice(const struct prometheus_source *s, enum prometheus_of of,
                                                       int64_t deadline_ms)
{
        int64_t seconds = (s->live->interval_ms + SECOND_MS - 1) / SECOND_MS;
        struct wall now = {whole_second(loop_now(s->loop).wall.ms)};
        return (struct prometheus_slice){.of = of,
                                         .from = now,
                                         .to = now,
                                         .step_ms = seconds * SECOND_MS,
                                         .deadline_ms = deadline_ms,
                                         .points_most =
                                                 PROMETHEUS_INSTANT_POINTS + PROMETHEUS_POD_POINTS * s->cache->ordered};
}

static void prometheus_source_poll(struct usage_source *source, const char *ns, int64_t deadline_ms,
                                   struct usage_sink to)
{
        struct prometheus_source *s = (struct prometheus_source *)source;
        struct prometheus_slice slice = prometheus_source_slice(s, PROMETHEUS_USAGE, deadline_ms);
        slice.ns = ns;
        s->ns = ns;
        s->to = to;
        s->fetch = prometheus_fetch(s->prometheus, &slice, prometheus_source_done, s);
}

/* --- nodes --- */

static void prometheus_source_nodes_done(void *arg, const struct prometheus_answer *a)
{
        struct prometheus_source *s = arg;
        struct metrics_result result = {.refused = (int64_t)a->refused, .date = a->date, .err = a->err};
        s->node_fetch = NULL;
        for (size_t i = 0; a->err.code == 0 && i < a->points; i++, result.pods++) {
                const struct prometheus_point *p = &a->point[i];
                const struct node_metrics_view m = {.name = a->series[p->series].pod,
                                                    .at = p->at,
                                                    .has = {p->has[CPU], p->has[MEMORY]},
                                                    .cpu_nano = whole_amount(p->value[CPU] * 1e9),
                                                    .memory_bytes = whole_amount(p->value[MEMORY])};
                s->nodes_to.each(s->nodes_to.arg, &m, a->date);
        }
        if (a->err.code == 0 && a->points == 0)
                err_set(&result.err, ERR_NOTFOUND,
                        "Prometheus has no usage of any node in the last minutes: are --prometheus-names and "
                        "--prometheus-matchers right, and are the kubelets' totals scraped?");
        result.whole = result.err.code == 0;
        s->nodes_to.done(s->nodes_to.arg, &result);
}

static void prometheus_source_poll_nodes(struct usage_source *source, int64_t deadline_ms, struct node_usage_sink to)
{
        struct prometheus_source *s = (struct prometheus_source *)source;
        struct prometheus_slice slice = prometheus_source_slice(s, PROMETHEUS_NODES, deadline_ms);
        s->nodes_to = to;
        s->node_fetch = prometheus_fetch(s->prometheus, &slice, prometheus_source_nodes_done, s);
}

static void prometheus_source_stop(struct usage_source *source)
{
        struct prometheus_source *s = (struct prometheus_source *)source;
        if (s->fetch)
                prometheus_cancel(s->fetch);
        if (s->node_fetch)
                prometheus_cancel(s->node_fetch);
        s->fetch = s->node_fetch = NULL;
}

static void prometheus_source_free(struct usage_source *source)
{
        struct prometheus_source *s = (struct prometheus_source *)source;
        prometheus_source_stop(source);
        prometheus_source_forget(s, INT64_MAX);
        map_release(&s->doubted);
        mem_free(s);
}

struct usage_source *prometheus_source_new(struct prometheus *p, struct loop *l, const struct cache *cache,
                                           const struct live_settings *live)
{
        struct prometheus_source *s = MEM_NEW(struct prometheus_source);
        *s = (struct prometheus_source){.source = {.if_absent = "",
                                                   .poll = prometheus_source_poll,
                                                   .poll_nodes = prometheus_source_poll_nodes,
                                                   .stop = prometheus_source_stop,
                                                   .free = prometheus_source_free},
                                        .prometheus = p,
                                        .loop = l,
                                        .cache = cache,
                                        .live = live};
        return &s->source;
}
