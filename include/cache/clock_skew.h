/*
 * The difference between this machine's clock and the API server's clock. Times are wall ms.
 */
#ifndef HALFLIFE_CACHE_CLOCK_SKEW_H
#define HALFLIFE_CACHE_CLOCK_SKEW_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "net/loop.h"

struct clock_skew;
struct clock_skew *clock_skew_new(const struct loop *l); /* the caller frees it with mem_free */

/* Call it after a poll: compare this machine's clock with `date`, the Date header of the API server's answer; ms 0: the
 * answer had none. The log reports once that the clocks differ. */
void clock_skew_compare(struct clock_skew *s, struct wall date, uint64_t cycle);
bool clock_skew_is_apart(const struct clock_skew *s); /* do the clocks differ by more than five minutes? */

/* The API server's time if this machine's clock is more than five minutes ahead of it, else this machine's time. */
int64_t clock_skew_earlier(const struct clock_skew *s);
int64_t clock_skew_later(const struct clock_skew *s);      /* the later of both clocks */
struct wall clock_skew_latest(const struct clock_skew *s); /* a time later than this comes from a wrong clock */
/* The time by which an answer's samples are judged: the later of this machine's and the answer's Date. A Date more than
 * a day ahead is not believed, since no certificate would hold for both clocks. Otherwise a usage source with a false
 * Date could bring in samples of another year, and all samples of the present would then count as too old. */
struct wall clock_skew_judging(const struct clock_skew *s, struct wall date);
/* Set the target's stored times that are ahead of both clocks back to the present; a wrong clock wrote them. */
void clock_skew_clamp(const struct clock_skew *s, struct target *t);

#endif
