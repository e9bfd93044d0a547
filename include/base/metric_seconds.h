/*
 * A histogram of durations in seconds, with fixed bounds: kept by whoever measures, shown by whoever exports.
 */
#ifndef HALFLIFE_BASE_METRIC_SECONDS_H
#define HALFLIFE_BASE_METRIC_SECONDS_H

#include <stdint.h>

enum { METRIC_BOUNDS = 12 };
extern const double metric_bounds[METRIC_BOUNDS]; /* seconds, rising; inclusive */

struct metric_seconds {
        uint64_t count[METRIC_BOUNDS + 1]; /* of each bucket by itself; the last is above all bounds */
        double sum;
};
void metric_observe(struct metric_seconds *s, double seconds);

#endif
