/*
 * Back-off with jitter. The base d starts at least_ms and doubles on each failure up to most_ms. A delay is drawn from
 * [d, 2d). When retry_delay_ms was not called for reset_ms, d starts anew at least_ms.
 */
#ifndef HALFLIFE_NET_RETRY_H
#define HALFLIFE_NET_RETRY_H

#include "base/clock.h"

struct retry {
        int64_t least_ms, most_ms, reset_ms;
        int64_t next_ms;  /* base of the next delay; 0: least_ms */
        struct mono last; /* time of the last call of retry_delay_ms */
};
/* The back-off of reflectors: 800 ms, doubling to 30 s, reset after 2 min without a failure. */
#define RETRY_REFLECTOR ((struct retry){.least_ms = 800, .most_ms = 30000, .reset_ms = 120000})

/* The delay in ms before the next try, never below at_least_ms: the server's Retry-After, 0 if there is none. */
int64_t retry_delay_ms(struct retry *r, struct mono now, int64_t at_least_ms);
void retry_reset(struct retry *r);

#endif
