/*
 * Reads a cluster once and decides in memory what halflife run would recommend. Lists fill the cache that run fills by
 * watches; usage goes through the same histories, rules and gates. It needs no CRDs and no database, and writes
 * nothing. For commands: the calls turn the client's loop.
 */
#ifndef HALFLIFE_SCAN_CLUSTER_SCAN_H
#define HALFLIFE_SCAN_CLUSTER_SCAN_H

#include <jansson.h>

#include "kube/client.h"
#include "plan/plan.h"
#include "prometheus/prometheus.h"

/* How far the usage of the past is read. */
struct cluster_scan_progress {
        uint64_t targets_read, targets; /* workloads whose history is read, of how many */
        uint64_t points;                /* points read so far */
};

struct cluster_scan_options { /* everything belongs to the caller and must stay valid until cluster_scan_free */
        struct client *client;
        const char *ns;            /* NULL: all namespaces */
        const char *labels;        /* kubectl's text form: only workloads with these labels; NULL: all */
        const json_t *profiles;    /* ClusterProfile and Profile documents; NULL: the defaults of a ClusterProfile */
        const char *profiles_file; /* their file's name, for errors; NULL: without */
        const char *profiles_ns;   /* the namespace of Profiles that name none */
        /* NULL: usage is read from the metrics API once, and only CPU is judged. A Prometheus also has the past. */
        const struct prometheus_options *prometheus;
        int64_t history_ms, step_ms; /* of the past: how far back, and between two points */
        /* One line about what could not be read, or not be believed; the scan goes on. */
        void (*tell)(void *arg, const char *line);
        void (*progress)(void *arg, const struct cluster_scan_progress *p); /* now and then; may be NULL */
        void *arg;
};

struct cluster_scan;
/* ERR_INVALID: a profile, the selector, or Prometheus' settings are wrong. */
int cluster_scan_new(const struct cluster_scan_options *o, struct cluster_scan **ret, struct err *err);
void cluster_scan_free(struct cluster_scan *s); /* the loop does not turn until the client is freed; NULL is fine */

/* List the cluster. Returns 0, or an error after which there is nothing to decide: the API server is away, the
 * namespace does not exist, or no pod may be read. */
int cluster_scan_list(struct cluster_scan *s, struct err *err);
/* Read the usage of the workloads listed. Returns 0, or an error: there is no usage at all. */
int cluster_scan_measure(struct cluster_scan *s, struct err *err);

/* Decide about each workload, pod or namespace that a profile selects. A plan lives until `each` returns. A profile
 * that only recommends is judged as one of mode OnDeploy, because its own gate would hide all others. */
void cluster_scan_decide(struct cluster_scan *s, void (*each)(void *arg, const struct plan *p), void *arg);
bool cluster_scan_unselected(const struct cluster_scan *s); /* no workload is selected */

#endif
