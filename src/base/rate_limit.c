#include "base/rate_limit.h"

#include <assert.h>
#include <math.h>

void rate_limit_init(struct rate_limit *l, double rate, double burst, struct mono now)
{
        assert(rate >= 0 && burst >= 1);
        *l = (struct rate_limit){.rate = rate, .burst = burst, .tokens = burst, .filled = now};
}

void rate_limit_set(struct rate_limit *l, double rate, double burst)
{
        assert(rate >= 0 && burst >= 1);
        l->rate = rate;
        l->burst = burst;
        l->tokens = fmin(l->tokens, burst);
}

bool rate_limit_has(struct rate_limit *l, double tokens, struct mono now)
{
        l->tokens = fmin(l->burst, l->tokens + (double)(now.ns - l->filled.ns) * 1e-9 * l->rate);
        l->filled = now;
        return l->tokens >= tokens;
}

int64_t rate_limit_wait_ms(struct rate_limit *l, struct mono now)
{
        assert(l->rate > 0);
        return rate_limit_has(l, 1, now) ? 0 : (int64_t)((1 - l->tokens) / l->rate * 1000) + 1;
}

void rate_limit_take(struct rate_limit *l)
{
        assert(l->tokens >= 1);
        l->tokens -= 1;
}
