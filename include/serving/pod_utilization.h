/*
 * The utilization of pods, relative to their limits or to their original requests. Autoscalers of workloads whose
 * profile has `apply.hpa: LimitBasis` scale by this utilization.
 */
#ifndef HALFLIFE_SERVING_POD_UTILIZATION_H
#define HALFLIFE_SERVING_POD_UTILIZATION_H

#include "base/buf.h"
#include "cache/cache.h"
#include "http/prometheus_text.h"

/* The maximum number of pods with series in /metrics; the custom metrics API has all pods. If there are more pods, each
 * namespace gets an equal share of the series, for those of its pods that come first by name. */
enum { UTILIZATION_SERIES_PODS = 5000 };

/* Add to v the pods that were sampled at most fresh_ms before now and have a utilization. The cache must be settled. */
void snapshot_add_utilization(struct cache *w, struct wall now, int64_t fresh_ms, struct snapshot *v);

/* Write the metric family m with the utilization of resource r: one series for each pod, within the maximum. */
void utilization_write(struct buf *out, const struct metric *m, const struct snapshot *v, enum resource r);
/* How many pods of the view have no series, because there are more than UTILIZATION_SERIES_PODS. */
size_t utilization_left_out(const struct snapshot *v);

#endif
