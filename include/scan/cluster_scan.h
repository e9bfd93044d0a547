/*
 * Reads a cluster once and decides in memory what halflife run would recommend. Lists fill the cache that halflife run
 * fills by watches; usage goes through the same histories, rules and gates. A scan needs no CRDs and no database, and
 * writes nothing. The calls turn the client's loop and wait, so only commands may call them.
 */
#ifndef HALFLIFE_SCAN_CLUSTER_SCAN_H
#define HALFLIFE_SCAN_CLUSTER_SCAN_H

#include <jansson.h>

#include "kube/client.h"
#include "plan/plan.h"
#include "prometheus/prometheus.h"

/* How much of the past usage was read so far. */
struct cluster_scan_progress {
        uint64_t targets_read, targets; /* workloads: those whose past was read; all whose past is to be read */
        uint64_t points;                /* points read so far */
};

struct cluster_scan_options { /* everything belongs to the caller and must stay valid until cluster_scan_free */
        struct client *client;
        const char *ns;            /* NULL: all namespaces */
        const char *labels;        /* kubectl's text form: only workloads with these labels; NULL: all */
        const json_t *profiles;    /* ClusterProfile and Profile documents; NULL: the defaults of a ClusterProfile */
        const char *profiles_file; /* name of the file that had the profiles, for error texts; NULL: no name */
        const char *profiles_ns;   /* the namespace of Profiles that name none */
        /* NULL: usage is read from the metrics API once, and only CPU is judged. A Prometheus also has the past. */
        const struct prometheus_options *prometheus;
        int64_t history_ms, step_ms; /* past usage: how far back it is read, and the time between two points */
        /* Called with one line about usage or objects that could not be read or believed; the scan goes on. */
        void (*tell)(void *arg, const char *line);
        /* Called now and then while past usage is read; may be NULL. */
        void (*progress)(void *arg, const struct cluster_scan_progress *p);
        void *arg;
};

struct cluster_scan;
/* Make a scan; nothing is read yet. ERR_INVALID: a profile, the selector, or Prometheus' settings are wrong. */
int cluster_scan_new(const struct cluster_scan_options *o, struct cluster_scan **ret, struct err *err);
void cluster_scan_free(struct cluster_scan *s); /* then free the client before the loop turns; NULL is fine */

/* List the cluster's objects. Returns 0, or an error after which there is nothing to decide: the API server is away,
 * the namespace does not exist, or the credentials may read no pod. */
int cluster_scan_list(struct cluster_scan *s, struct err *err);
/* Read the usage of the workloads listed. Returns 0, or an error: there is no usage at all. */
int cluster_scan_measure(struct cluster_scan *s, struct err *err);

/* Decide about each workload, pod or namespace that a profile selects. A plan lives until `each` returns. A profile of
 * mode Recommend is judged as one of mode OnDeploy, because the gate of mode Recommend would hide all other gates. */
void cluster_scan_decide(struct cluster_scan *s, void (*each)(void *arg, const struct plan *p), void *arg);
bool cluster_scan_unselected(const struct cluster_scan *s); /* whether no profile selects a workload */

#endif
