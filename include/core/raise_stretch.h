/*
 * Raising a request at once where usage has outgrown it, without waiting for the next regular change. A stretch is a
 * run of samples above the request. Once a stretch lasts for the policy's `after`, the request becomes
 *
 *      min(factor * the stretch's highest sample, most * request, original)
 *
 * with each product rounded up to round_to. Each (pod, container, resource) has a stretch of its own. Units are
 * millicores or bytes. The caller rounds usage up to whole units, so that any use above a request counts as above.
 */
#ifndef HALFLIFE_CORE_RAISE_STRETCH_H
#define HALFLIFE_CORE_RAISE_STRETCH_H

#include "base/clock.h"
#include "core/amount.h"

/* The longest time between two samples of one stretch; a later sample begins a new stretch. */
enum { RAISE_GAP_MS = 10 * MINUTE_MS };

/* A run of samples above the same request, each at most RAISE_GAP_MS after the one before. {0}: there is no stretch, so
 * the caller need not keep the struct. */
struct raise_stretch {
        int64_t since_ms, last_ms; /* times of the first and the newest sample */
        int64_t request;           /* the request that all samples are above */
        int64_t highest;           /* the highest sample; 0: there is no stretch */
};

struct raise_facts {
        const struct raise_policy *policy;
        struct wall at;         /* the time of the sample */
        int64_t used;           /* usage in the sample, >= 0 */
        int64_t request;        /* the request in force in that pod when the sample was taken, >= 0 */
        struct amount original; /* the effective original; unset: none is known, so the request is never raised */
        int64_t round_to;       /* requests are rounded up to multiples of this, >= 1 */
};

/*
 * Add a sample of usage to the stretch. Returns whether to raise the request now, and then sets *ret_request to a value
 * above the request and at most the original. Each further sample of the stretch returns true again until the request
 * changes.
 *
 * A sample at or below the request ends the stretch. A sample after a gap begins a new stretch, and so does a request
 * higher than the stretch's own; a lowered request keeps the stretch, because its samples are above that request too.
 *
 * A sample no newer than the last one is ignored. But a sample more than RAISE_GAP_MS older shows that the last one
 * came from a clock that was ahead, so it begins a new stretch. With the policy off there is no stretch.
 */
bool raise_sample(struct raise_stretch *s, const struct raise_facts *f, int64_t *ret_request);

#endif
