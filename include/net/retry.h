/*
 * Back-off with jitter: base, doubled on each failure to a cap, each delay drawn from [d, 2d); forgotten after a quiet
 * time.
 */
#ifndef HALFLIFE_NET_RETRY_H
#define HALFLIFE_NET_RETRY_H

#include "base/clock.h"

struct retry {
        int64_t least_ms, most_ms, reset_ms;
        int64_t next_ms;  /* base of the next delay; 0: least */
        struct mono last; /* when a delay was asked for last */
};
/* The reflector's: 800 ms, doubling to 30 s, forgotten after 2 min. */
#define RETRY_REFLECTOR ((struct retry){.least_ms = 800, .most_ms = 30000, .reset_ms = 120000})

/* The delay before the next try; at_least_ms is what the server asked for (Retry-After), 0 where it did not. */
int64_t retry_delay_ms(struct retry *r, struct mono now, int64_t at_least_ms);
void retry_reset(struct retry *r);

#endif
