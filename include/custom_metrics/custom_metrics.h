/*
 * The API of custom metrics (custom.metrics.k8s.io, v1beta1 and v1beta2), as much of it as autoscalers ask for, as a
 * pure function: a request and a view in, an object of that API or a Status out.
 *
 *   GET /apis, /apis/custom.metrics.k8s.io, …/VERSION                 discovery
 *   GET …/VERSION/namespaces/NS/pods/NAME/METRIC                      what a pod uses of its limits
 *
 * A star as the name asks for all that ?labelSelector= selects.
 *
 * The metrics are halflife_pod_cpu_utilization and halflife_pod_memory_utilization, of the pods that the view tells of;
 * values in thousandths ("632m"). A metric has no labels of its own, so a metricLabelSelector has to select none.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_H
#define HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_H

#include "snapshot/snapshot.h"

#define CUSTOM_METRICS_GROUP "custom.metrics.k8s.io"
#define CUSTOM_METRICS_V1    "v1beta1"
#define CUSTOM_METRICS_V2    "v1beta2"

struct custom_request {
        const char *method, *path;                    /* decoded; without the query */
        const char *label_selector, *metric_selector; /* NULL: none */
        bool watch;
};
struct custom_answer {
        unsigned status;
        char *body; /* JSON; free() it */
        size_t len;
};
void custom_metrics_answer(const struct custom_request *r, const struct snapshot *v, struct custom_answer *ret);

/* A Status for a status that is no success; 503 is one to come again from. text is cut. */
void custom_metrics_refuse(unsigned status, const char *text, struct custom_answer *ret);

#endif
