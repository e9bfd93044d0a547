/*
 * A token bucket: `rate` bounds how often a second something may start, `burst` how often at once. The caller passes
 * the time, which must never go back.
 */
#ifndef HALFLIFE_BASE_RATE_LIMIT_H
#define HALFLIFE_BASE_RATE_LIMIT_H

#include "base/clock.h"

struct rate_limit {
        double rate;        /* tokens a second, not negative */
        double burst;       /* the most tokens that the bucket holds, at least 1 */
        double tokens;      /* tokens in the bucket at the time filled */
        struct mono filled; /* time at which tokens was last updated */
};

/* Initialize a bucket, which starts full. */
void rate_limit_init(struct rate_limit *l, double rate, double burst, struct mono now);
/* Change rate and burst; tokens above the new burst are lost. */
void rate_limit_set(struct rate_limit *l, double rate, double burst);

/* Whether the bucket holds at least that many tokens. */
bool rate_limit_has(struct rate_limit *l, double tokens, struct mono now);
/* Milliseconds until the bucket holds a token; 0: it holds one. The rate must not be 0 (asserted). */
int64_t rate_limit_wait_ms(struct rate_limit *l, struct mono now);
/* Take one token. rate_limit_has or rate_limit_wait_ms must have shown that there is one (asserted). */
void rate_limit_take(struct rate_limit *l);

#endif
