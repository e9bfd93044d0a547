/*
 * How long usage of a container has been in doubt (prometheus_point.doubtful). When a StatefulSet's pod is made again
 * under its name, both pods have series for a few minutes: then the largest value counts. Doubt that lasts comes of
 * containers with the same names elsewhere, such as in another cluster: then no value counts.
 */
#ifndef HALFLIFE_LEARN_DOUBT_SPAN_H
#define HALFLIFE_LEARN_DOUBT_SPAN_H

#include "base/clock.h"

struct doubt_span { /* {0}: the usage was never in doubt */
        int64_t since_ms, last_ms;
};

enum { DOUBT_MOST_MS = 10 * MINUTE_MS };

/* Note that the value at at_ms is in doubt. step_ms: the time between two values. Returns whether the doubt has lasted
 * for DOUBT_MOST_MS. */
static inline bool doubt_span_lasts(struct doubt_span *d, int64_t at_ms, int64_t step_ms)
{
        int64_t gap_ms = 2 * step_ms > DOUBT_MOST_MS ? 2 * step_ms : DOUBT_MOST_MS;
        if (d->last_ms == 0 || at_ms - d->last_ms > gap_ms)
                d->since_ms = at_ms;
        d->last_ms = at_ms;
        return at_ms - d->since_ms >= DOUBT_MOST_MS;
}

#endif
