/*
 * Usage from a Prometheus: CPU and memory of containers over a span of time, by two range queries at a time, read
 * series by series as the bytes come. Bounded: the points of one fetch, the bytes of one answer, the queries at once.
 *
 * Asked for are, with a label namespace, pod and container each:
 *
 *     sum by (namespace, pod, container) (rate(container_cpu_usage_seconds_total{…}[window]))
 *     max by (namespace, pod, container) (max_over_time(container_memory_working_set_bytes{…}[step]))
 *
 * The sum joins the series of single cores; the window is the step, or the shortest that holds two scrapes where that
 * is longer; the largest of a step is what its point stands for, because a kill would come of it.
 */
#ifndef HALFLIFE_PROMETHEUS_PROMETHEUS_H
#define HALFLIFE_PROMETHEUS_PROMETHEUS_H

#include "core/policy.h"
#include "net/http.h"

/* Whose series: cAdvisor's, which also has sums of pods and pause containers, or those of the kubelet's own
 * /metrics/resource. Where both are scraped, only one may be counted; metrics_path tells them apart. */
enum prometheus_names { PROMETHEUS_CADVISOR, PROMETHEUS_KUBELET };

/* Strings are the caller's and stay as long as the struct prometheus. Files are read again for each query. */
struct prometheus_options {
        const char *url; /* "https://host:port/prefix" */
        enum prometheus_names names;
        const char *matchers;             /* more label matchers for every series, as PromQL has them: cluster="a";
                                             NULL: none */
        int64_t rate_window_ms;           /* the shortest of rate(): at least two scrapes */
        const char *bearer_file;          /* token; NULL: none */
        const char *user, *password_file; /* basic authentication; NULL: none */
        const char *ca_file;              /* NULL: the system's */
        const char *cert_file, *key_file; /* client certificate; NULL: none */
        const char *user_agent;
        int queries; /* at once, 1 .. 20 */
};

struct prometheus;
/* ERR_INVALID: settings that cannot work (a URL without scheme, a certificate without key, matchers that would end the
 * selector). */
int prometheus_new(struct loop *l, const struct prometheus_options *o, struct prometheus **ret, struct err *err);
void prometheus_free(struct prometheus *p); /* after its fetches have ended or were cancelled */

/* Points at from, from + step, … up to and with to. */
struct prometheus_slice {
        const char *ns; /* NULL: all namespaces */
        struct wall from, to;
        int64_t step_ms; /* >= 1 s, a whole number of them */
        int64_t deadline_ms;
        size_t points_most; /* of both resources together; more ends it with ERR_TOOBIG */
};

struct prometheus_series {
        struct text ns, pod, container;
};
struct prometheus_point {
        struct wall at;
        uint32_t series; /* its place in the answer's */
        bool has[RESOURCES];
        double value[RESOURCES]; /* cores, bytes: finite */
};
/* Series by (namespace, pod, container), points by (time, series): lives until done returns. */
struct prometheus_answer {
        const struct prometheus_series *series;
        size_t series_count;
        const struct prometheus_point *point;
        size_t points;
        uint64_t refused; /* values that are no finite number (NaN, +Inf), and series without one of the labels */
        struct wall date; /* the Date header; ms 0: none */
        /* code 0: both queries were answered whole. ERR_RETRY: not reached, or overloaded. ERR_DENIED: it wants other
         * credentials. ERR_TOOBIG: a smaller slice may do. ERR_INVALID: it does not take the query, or is none. */
        struct err err;
        int64_t retry_after_ms; /* -1: none given */
};

struct prometheus_fetch;
/* done once, never from within; the handle is valid until then, or until prometheus_cancel (which calls nobody). */
struct prometheus_fetch *prometheus_fetch(struct prometheus *p, const struct prometheus_slice *s,
                                          void (*done)(void *arg, const struct prometheus_answer *a), void *arg);
void prometheus_cancel(struct prometheus_fetch *f);

#endif
