#include "ledger/ledger_sum.h"

#include <assert.h>

void ledger_sum_flow(struct ledger_sum *to, const struct ledger_rates *rates, int64_t ms)
{
        assert(ms >= 0 && ms <= INT32_MAX);
        to->pod_ms += (uint64_t)rates->pods * (uint64_t)ms;
        for (int f = 0; f < LEDGER_FLOWS; f++)
                for (int r = 0; r < RESOURCES; r++) {
                        int64_t rate = rates->of[f][r];
                        if (f == LEDGER_ASKED && rate < rates->of[LEDGER_IN_FORCE][r])
                                rate = rates->of[LEDGER_IN_FORCE][r];
                        if (rate > 0)
                                to->of[f][r] += (unsigned __int128)rate * (uint64_t)ms;
                }
}

void ledger_sum_add(struct ledger_sum *to, const struct ledger_sum *s)
{
        for (int f = 0; f < LEDGER_FLOWS; f++)
                for (int r = 0; r < RESOURCES; r++)
                        to->of[f][r] += s->of[f][r];
        to->pod_ms += s->pod_ms;
        to->unbooked_ms += s->unbooked_ms;
        for (int e = 0; e < LEDGER_EVENTS; e++)
                to->events[e] += s->events[e];
}

bool ledger_sum_equal(const struct ledger_sum *a, const struct ledger_sum *b)
{
        bool equal = a->pod_ms == b->pod_ms && a->unbooked_ms == b->unbooked_ms;
        for (int f = 0; f < LEDGER_FLOWS; f++)
                for (int r = 0; r < RESOURCES; r++)
                        equal &= a->of[f][r] == b->of[f][r];
        for (int e = 0; e < LEDGER_EVENTS; e++)
                equal &= a->events[e] == b->events[e];
        return equal;
}

double ledger_sum_seconds(const struct ledger_sum *s, enum ledger_flow f, enum resource r)
{
        static const double unit[RESOURCES] = {[CPU] = 1e6, [MEMORY] = 1e3 * (1 << 30)};
        return (double)s->of[f][r] / unit[r];
}
