/*
 * A Prometheus histogram of durations in seconds, with fixed bounds. The code that measures durations owns the
 * histogram; the metrics export reads it.
 */
#ifndef HALFLIFE_BASE_METRIC_SECONDS_H
#define HALFLIFE_BASE_METRIC_SECONDS_H

#include <stdint.h>

enum { METRIC_BOUNDS = 12 };
extern const double metric_bounds[METRIC_BOUNDS]; /* upper bounds of the buckets in seconds, ascending, inclusive */

struct metric_seconds {
        uint64_t count[METRIC_BOUNDS + 1]; /* durations per bucket, not cumulative; the last is above all bounds */
        double sum;
};
void metric_observe(struct metric_seconds *s, double seconds);

#endif
