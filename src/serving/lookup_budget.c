#include "lookup_budget.h"

#include <assert.h>

enum { LATELY_MS = 2 * SECOND_MS, CLIENTS_MAX = 4096 };

void lookup_budget_init(struct lookup_budget *b, double rate, double burst, int most, struct mono now)
{
        *b = (struct lookup_budget){.most = most};
        rate_limit_init(&b->rate, rate, burst, now);
        recent_count_init(&b->lately, LATELY_MS, CLIENTS_MAX, now);
}

void lookup_budget_release(struct lookup_budget *b)
{
        recent_count_release(&b->lately);
}

bool lookup_budget_has(struct lookup_budget *b, struct mono now)
{
        return b->running < b->most && rate_limit_has(&b->rate, 1, now);
}

uint64_t lookup_budget_rank(struct lookup_budget *b, const struct lookup_client *c, struct mono now)
{
        return recent_count_get(&b->lately, c->address, now) << 32 | recent_count_get(&b->lately, c->tenant, now);
}

void lookup_budget_begin(struct lookup_budget *b, const struct lookup_client *c, struct mono now)
{
        assert(b->running < b->most);
        rate_limit_take(&b->rate);
        b->running++;
        recent_count_add(&b->lately, c->address, 1, now);
        recent_count_add(&b->lately, c->tenant, 1, now);
}

void lookup_budget_end(struct lookup_budget *b)
{
        assert(b->running > 0);
        b->running--;
}
