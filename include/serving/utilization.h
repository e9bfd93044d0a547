/*
 * What pods use of their limits, or of the requests that their owners asked for: what autoscalers of workloads whose
 * profile says apply.hpa: LimitBasis go by.
 */
#ifndef HALFLIFE_SERVING_UTILIZATION_H
#define HALFLIFE_SERVING_UTILIZATION_H

#include "base/buf.h"
#include "cache/cache.h"
#include "http/prometheus_text.h"

/* So many pods are told of as series; the API of custom metrics tells of all. */
enum { UTILIZATION_SERIES_PODS = 5000 };

/* Fills in the view's pods, of a settled world: those sampled not longer than fresh_ms before now, of which something
 * can be said. */
void snapshot_add_utilization(struct cache *w, struct wall now, int64_t fresh_ms, struct snapshot *v);

/* The series of one resource, m's family. */
void utilization_write(struct buf *out, const struct metric *m, const struct snapshot *v, enum resource r);
/* Of how many pods the view tells beyond those that are series. */
size_t utilization_left_out(const struct snapshot *v);

#endif
