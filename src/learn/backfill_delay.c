#include "backfill_delay.h"

const struct backfill_delay *backfill_delay_by(const struct prometheus_answer *a)
{
        static const struct backfill_delay by[] = {
                {5 * MINUTE_MS, 6 * HOUR_MS,
                 "Prometheus refuses the back-fill query of this namespace; other namespaces go on, and this one is "
                 "tried again later"},
                {5 * SECOND_MS, 10 * MINUTE_MS,
                 "Prometheus answers the back-fill query of this namespace only in part, of which nothing is learned; "
                 "other namespaces go on, and this one is tried again later"},
        };
        return &by[a->partial];
}

int64_t backfill_delay_ms(const struct backfill_delay *d, int times)
{
        int64_t ms = d->least_ms;
        for (int i = 0; i < times && ms < d->most_ms; i++)
                ms *= 2;
        return ms < d->most_ms ? ms : d->most_ms;
}
