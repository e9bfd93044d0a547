#include "net/retry.h"

#include <assert.h>
#include <sys/random.h>

/* A random number in [0, below). The remainder's slight bias does not matter for a delay. */
static int64_t draw_below(int64_t below)
{
        uint64_t bits = 0;
        if (below <= 0 || getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
                return 0;
        return (int64_t)(bits % (uint64_t)below);
}

int64_t retry_delay_ms(struct retry *r, struct mono now, int64_t at_least_ms)
{
        assert(r->least_ms > 0 && r->most_ms >= r->least_ms);
        bool quiet = (now.ns - r->last.ns) / 1000000 > r->reset_ms;
        int64_t base = r->next_ms == 0 || quiet ? r->least_ms : r->next_ms;

        r->next_ms = base > r->most_ms / 2 ? r->most_ms : base * 2;
        r->last = now;
        int64_t delay = base + draw_below(base);
        return delay > at_least_ms ? delay : at_least_ms;
}

void retry_reset(struct retry *r)
{
        r->next_ms = 0;
}
