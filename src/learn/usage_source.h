/*
 * A usage source is polled once or more in each cycle and delivers measurements of pods as the metrics API has them,
 * and once in each cycle those of nodes. To add a source, write a file with these four functions and choose it in
 * learner_source (docs/internals/add-a-usage-source.md).
 */
#ifndef HALFLIFE_LEARN_USAGE_SOURCE_H
#define HALFLIFE_LEARN_USAGE_SOURCE_H

#include "cache/cache.h"
#include "cache/live_settings.h"
#include "kube/pod_metrics.h"
#include "prometheus/prometheus.h"

/* The callbacks that receive the measurements of a poll. */
struct usage_sink {
        /* Called for each pod, ordered by namespace and name; date is the answer's Date header. */
        void (*each)(void *arg, const struct pod_metrics_view *m, struct wall date);
        /* Called once at the end, never from within poll. */
        void (*done)(void *arg, const struct metrics_result *r);
        void *arg;
};

/* The same for nodes, in any order. */
struct node_usage_sink {
        void (*each)(void *arg, const struct node_metrics_view *m, struct wall date);
        void (*done)(void *arg, const struct metrics_result *r);
        void *arg;
};

struct usage_source {
        const char *if_absent; /* hint appended to the error if the source is not installed (metrics_result.absent) */
        /* Start a poll; only one may be under way. ns NULL: all namespaces; ns must stay valid until done. The poll
         * ends deadline_ms after its start at the latest, and measurements received until then count. */
        void (*poll)(struct usage_source *s, const char *ns, int64_t deadline_ms, struct usage_sink to);
        /* The same for nodes; one such poll may be under way beside one of pods. A source that knows no nodes ends it
         * without one, and without an error. */
        void (*poll_nodes)(struct usage_source *s, int64_t deadline_ms, struct node_usage_sink to);
        void (*stop)(struct usage_source *s); /* end the polls under way, if any, without further callbacks */
        void (*free)(struct usage_source *s); /* after the client is freed */
};

/* Usage from metrics-server, through the API server. */
struct usage_source *metrics_source_new(struct client *client);
/* Usage from Prometheus: the newest value of each container. All arguments stay the caller's. */
struct usage_source *prometheus_source_new(struct prometheus *p, struct loop *l, const struct cache *cache,
                                           const struct live_settings *live);

#endif
