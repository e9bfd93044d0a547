/*
 * Usage from a Prometheus: CPU and memory of containers over a span of time. A fetch sends two range queries at once
 * and reads the answers series by series as the bytes arrive. Bounded are the points of a fetch, the bytes of an
 * answer, and the number of concurrent queries.
 *
 * The queries, whose series carry the labels namespace, pod and container, and cAdvisor's also id, the cgroup:
 *
 *     max by (namespace, pod, container, id) (sum without (cpu) (rate(container_cpu_usage_seconds_total{…}[window])))
 *     max by (namespace, pod, container, id) (max_over_time(container_memory_working_set_bytes{…}[step]))
 *
 * A fetch of throttling sends one query instead. Its values, of resource CPU, are shares of throttled periods in the
 * hour before each point, and only shares of at least PROMETHEUS_THROTTLED_LEAST thousandths are asked for. Only
 * cAdvisor has these series, so they are read by its names even if usage is not.
 *
 *     sum by (namespace, pod, container) (increase(container_cpu_cfs_throttled_periods_total{…}[1h]))
 *             / sum by (namespace, pod, container) (increase(container_cpu_cfs_periods_total{…}[1h])) >= 0.125
 *
 * A fetch of nodes sends the two queries below; by cAdvisor's names it queries the root cgroup instead. It takes a
 * node's name from the label node, or without that label from instance, up to the port:
 *
 *     max by (node, instance) (sum without (cpu) (rate(node_cpu_usage_seconds_total{…}[window])))
 *     max by (node, instance) (max_over_time(node_memory_working_set_bytes{…}[step]))
 *
 * A fetch of prices sends the two queries below for the metrics of OpenCost, and takes a node's name from the label
 * node. The values are the prices of a core-hour and of a GiB-hour.
 *
 *     max by (node) (node_cpu_hourly_cost{…})
 *     max by (node) (node_ram_hourly_cost{…})
 *
 * `sum` joins the series of single cores. Series of one cgroup that differ in other labels, such as replica or job,
 * report the same usage again, so `max` takes the largest. A fetch joins the cgroups of a container to one series
 * (prometheus/cgroup_choice.h). The window is the step or rate_window_ms, whichever is longer. A memory point is the
 * maximum of its step, because a short peak is enough for an OOM kill.
 */
#ifndef HALFLIFE_PROMETHEUS_PROMETHEUS_H
#define HALFLIFE_PROMETHEUS_PROMETHEUS_H

#include "core/policy.h"
#include "net/http.h"

/* Which series to read: cAdvisor's, where totals of pods and pause containers have to be left out, or the kubelet's own
 * from /metrics/resource. If both are scraped, only one may count; the label metrics_path tells them apart. */
enum prometheus_names { PROMETHEUS_CADVISOR, PROMETHEUS_KUBELET };

/* What authorises queries to Prometheus: the token, password and certificate in files; or credentials that a cloud
 * platform gives to the process, found by environment variables: AWS (queries are signed), Google, Azure. */
enum prometheus_auth { PROMETHEUS_AUTH_FILES, PROMETHEUS_AUTH_SIGV4, PROMETHEUS_AUTH_GOOGLE, PROMETHEUS_AUTH_AZURE };

/* A Prometheus behind another server, such as the API server's service proxy. `peer` and `bearer` give that server's
 * address and token, and are called for each query, as both may change. A query is a GET, which needs the least
 * permission. */
struct prometheus_via {
        const char *prefix; /* the path of Prometheus at that server, to which each query's path is added */
        const struct http_peer *(*peer)(void *arg);
        const char *(*bearer)(void *arg); /* NULL: none */
        void *arg;
};

/* The caller keeps all strings until prometheus_free. Files are read again by a fetch that starts while no other runs.
 */
struct prometheus_options {
        const char *url; /* "https://host:port/prefix" */
        enum prometheus_names names;
        const char *matchers;             /* label matchers added to every query, in PromQL: cluster="a"; NULL: none */
        int64_t rate_window_ms;           /* the shortest window of rate(), which needs at least two scrapes */
        const char *bearer_file;          /* token; NULL: none */
        const char *user, *password_file; /* basic authentication; NULL: none */
        const char *headers_file;         /* further request headers, one "Name: value" a line; NULL: none */
        const char *ca_file;              /* NULL: the system's CAs */
        const char *cert_file, *key_file; /* client certificate; NULL: none */
        enum prometheus_auth auth;
        const char *region;   /* of PROMETHEUS_AUTH_SIGV4; NULL: AWS_REGION */
        const char *audience; /* PROMETHEUS_AUTH_AZURE: the audience of the token */
        const struct prometheus_via
                *via; /* NULL: queries go to url with the credentials above; else url is only shown */
        const char *user_agent;
        int queries; /* most concurrent queries, 1 .. 20 */
};

struct prometheus;
/* ERR_INVALID: settings that cannot work (a URL without scheme, a certificate without key, matchers that would end the
 * selector). */
int prometheus_new(struct loop *l, const struct prometheus_options *o, struct prometheus **ret, struct err *err);
void prometheus_free(struct prometheus *p); /* after its fetches have ended or were cancelled */

enum prometheus_of { PROMETHEUS_USAGE, PROMETHEUS_THROTTLING, PROMETHEUS_NODES, PROMETHEUS_PRICES };

/* The span to fetch: points at `from`, `from` + step_ms, … up to `to`, which is included. */
struct prometheus_slice {
        enum prometheus_of of;
        const char *ns; /* NULL: all namespaces; unused for PROMETHEUS_NODES and PROMETHEUS_PRICES */
        struct wall from, to;
        int64_t step_ms;     /* whole seconds, at least one */
        int64_t deadline_ms; /* for each query */
        size_t points_most;  /* bound on the points of both resources together; more end the fetch with ERR_TOOBIG */
};

struct prometheus_series {
        struct text ns, pod, container; /* of nodes and prices: pod is the node's name, the others are empty */
};
struct prometheus_point {
        struct wall at;
        uint32_t series; /* index in prometheus_answer.series */
        bool has[RESOURCES];
        double value[RESOURCES]; /* cores, bytes; prices: finite and not negative */
        bool doubtful; /* cgroups of several pods claim this point: its values are the largest, maybe another pod's */
};
/* Series are sorted by (namespace, pod, container), points by (time, series). The answer lives until done returns. */
struct prometheus_answer {
        const struct prometheus_series *series;
        size_t series_count;
        const struct prometheus_point *point;
        size_t points;
        uint64_t refused; /* values that are negative or not finite (NaN, +Inf), points more than a step after the
                             slice, and series that lack a label */
        struct wall date; /* the Date header; ms 0: none */
        bool partial;     /* the store says that parts of the answer are missing; err then quotes its words */
        /* code 0: both answers are complete. ERR_RETRY: unreachable, overloaded, or parts of the answer are missing.
         * ERR_DENIED: the credentials are refused. ERR_TOOBIG: a smaller slice may succeed. ERR_INVALID: the query is
         * refused, or the URL is not a Prometheus. */
        struct err err;
        int64_t retry_after_ms; /* -1: none given */
};

enum { PROMETHEUS_THROTTLED_LEAST = 125 };
/* For points_most of a fetch of one instant: room for containers of other clusters in the same store, and for each pod
 * of this cluster. */
enum { PROMETHEUS_INSTANT_POINTS = 512 << 10, PROMETHEUS_POD_POINTS = 32 };

struct prometheus_fetch;
/* Start a fetch. `done` is called once, never before this function returns. The handle is valid until `done` is called,
 * or until prometheus_cancel, after which `done` is not called. */
struct prometheus_fetch *prometheus_fetch(struct prometheus *p, const struct prometheus_slice *s,
                                          void (*done)(void *arg, const struct prometheus_answer *a), void *arg);
void prometheus_cancel(struct prometheus_fetch *f);

#endif
