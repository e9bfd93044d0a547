/*
 * Raising a request that usage has outgrown, without waiting for the next regular setting: usage above the request for
 * `after` without a break makes the request
 *
 *      min(factor * the stretch's maximum, most * request, original)
 *
 * each product rounded up to round_to. One stretch belongs to one (pod, container, resource). Units are millicores or
 * bytes; usage is to be rounded up to them, so that any use above a request is above it here.
 */
#ifndef HALFLIFE_CORE_RAISE_H
#define HALFLIFE_CORE_RAISE_H

#include "base/clock.h"
#include "core/amount.h"

/* A sample tells of ten minutes at most: one that comes later begins anew. */
enum { RAISE_GAP_MS = 10 * MINUTE_MS };

/* Samples above one and the same request, none of them more than RAISE_GAP_MS after the one before. {0}: there is none,
 * and nothing to be kept. */
struct raise_stretch {
        int64_t since_ms, last_ms; /* its first sample, its newest */
        int64_t request;           /* what they are all above */
        int64_t highest;           /* of them; 0: there is none */
};

struct raise_facts {
        const struct raise_policy *policy;
        struct wall at;         /* the sample's own time */
        int64_t used;           /* >= 0 */
        int64_t request;        /* in force in that pod when the sample was taken, >= 0 */
        struct amount original; /* effective; unset: the request is its owner's alone and never raised */
        int64_t round_to;       /* >= 1 */
};

/*
 * Take a sample. Returns whether the request is to be raised now, and *ret_request (else untouched) to what: above
 * request, at most the original. It goes on saying so, sample by sample, until the request is another.
 *
 * A stretch ends with a sample at or below the request; it begins anew after a gap, and with a request that is higher
 * than its own (one that was lowered since changes nothing: what was above is above). A sample that is not newer than
 * the last one is not looked at; but one that is RAISE_GAP_MS older shows that the last was of a clock that was ahead,
 * and begins anew. With the policy off there is no stretch.
 */
bool raise_sample(struct raise_stretch *s, const struct raise_facts *f, int64_t *ret_request);

#endif
