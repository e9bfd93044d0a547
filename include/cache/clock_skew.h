/*
 * Two clocks, this machine's and the API server's. Times are wall ms.
 */
#ifndef HALFLIFE_CACHE_CLOCK_SKEW_H
#define HALFLIFE_CACHE_CLOCK_SKEW_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "net/loop.h"

struct clock_skew;
struct clock_skew *clock_skew_new(const struct loop *l); /* freed by mem_free */

/* After a poll: the Date of the server's answer; ms 0: it told none. The log says once that they are apart. */
void clock_skew_compare(struct clock_skew *s, struct wall date, uint64_t cycle);
bool clock_skew_is_apart(const struct clock_skew *s); /* by more than five minutes */

int64_t clock_skew_earlier(const struct clock_skew *s);    /* ours, or the server's where ours is ahead */
int64_t clock_skew_later(const struct clock_skew *s);      /* the later of ours and the server's */
struct wall clock_skew_latest(const struct clock_skew *s); /* later times are of a clock that is wrong */
/* What a clock that was ahead wrote down of a target counts from now on. */
void clock_skew_mend(const struct clock_skew *s, struct target *t);

#endif
