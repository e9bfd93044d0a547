/*
 * In each cycle, halflife polls the usage source once or more for measurements of pods, and once for those of nodes.
 * Both have the form of the metrics API. To add a source, write a file with these four functions and choose it in
 * learner_source (docs/internals/add-a-usage-source.md).
 */
#ifndef HALFLIFE_LEARN_USAGE_SOURCE_H
#define HALFLIFE_LEARN_USAGE_SOURCE_H

#include "cache/cache.h"
#include "cache/live_settings.h"
#include "kube/pod_metrics.h"
#include "prometheus/prometheus.h"

/* The callbacks that receive the measurements of a poll of the pods. */
struct usage_sink {
        /* Called for each pod, ordered by namespace and name; date is the answer's Date header. */
        void (*each)(void *arg, const struct pod_metrics_view *m, struct wall date);
        /* Called once at the end of a poll, never from within the function poll. */
        void (*done)(void *arg, const struct metrics_result *r);
        void *arg;
};

/* The callbacks that receive the measurements of a poll of nodes: `each` once per node, in any order, then `done`
 * once. */
struct node_usage_sink {
        void (*each)(void *arg, const struct node_metrics_view *m, struct wall date);
        void (*done)(void *arg, const struct metrics_result *r);
        void *arg;
};

struct usage_source {
        const char *if_absent; /* hint for people, appended to the error if the source is not installed
                                  (metrics_result.absent) */
        /* Start a poll of the pods; only one may be under way. ns NULL: all namespaces; ns must stay valid until
         * `done`. The poll ends deadline_ms after its start at the latest, and measurements received until then
         * count. */
        void (*poll)(struct usage_source *s, const char *ns, int64_t deadline_ms, struct usage_sink to);
        /* Start a poll of the nodes; one may be under way beside a poll of the pods. A source that knows no nodes ends
         * the poll without a measurement and without an error. */
        void (*poll_nodes)(struct usage_source *s, int64_t deadline_ms, struct node_usage_sink to);
        void (*stop)(struct usage_source *s); /* end the polls under way, if any, without further callbacks */
        void (*free)(struct usage_source *s); /* call it after the client is freed */
};

/* Usage from metrics-server, through the API server. */
struct usage_source *metrics_source_new(struct client *client);
/* Usage from Prometheus: the newest value of each container. All arguments stay the caller's. */
struct usage_source *prometheus_source_new(struct prometheus *p, struct loop *l, const struct cache *cache,
                                           const struct live_settings *live);

#endif
