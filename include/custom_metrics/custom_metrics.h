/*
 * The custom metrics API (custom.metrics.k8s.io, v1beta1 and v1beta2) as a pure function, as far as autoscalers need
 * it. The function takes an HTTP request and a snapshot, and gives an object of that API or a Status.
 *
 *   GET /apis, /apis/custom.metrics.k8s.io, …/VERSION                 discovery
 *   GET …/VERSION/namespaces/NS/pods/NAME/METRIC                      usage relative to limits or original requests
 *
 * The pod name * stands for all pods that ?labelSelector= selects.
 *
 * The metrics are halflife_pod_cpu_utilization and halflife_pod_memory_utilization, for the pods in the snapshot.
 * Values are in thousandths ("632m"). The metrics have no labels, so a metricLabelSelector that requires a label
 * matches nothing.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_H
#define HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_H

#include "snapshot/snapshot.h"

#define CUSTOM_METRICS_GROUP "custom.metrics.k8s.io"
#define CUSTOM_METRICS_V1    "v1beta1"
#define CUSTOM_METRICS_V2    "v1beta2"

struct custom_request {
        const char *method, *path;                    /* `path`: percent-decoded, without the query */
        const char *label_selector, *metric_selector; /* NULL: none */
        bool watch;
};
struct custom_answer {
        unsigned status;
        char *body; /* JSON; the caller frees it (free) */
        size_t len;
};
void custom_metrics_answer(const struct custom_request *r, const struct snapshot *v, struct custom_answer *ret);

/* Build a Status object for an HTTP error with the message `text`, cut to 1023 bytes. Clients retry after a 503. */
void custom_metrics_refuse(unsigned status, const char *text, struct custom_answer *ret);

#endif
