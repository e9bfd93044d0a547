#include "core/pod_aggregate.h"

enum { FRESH_INTERVALS = 3, PATIENCE_INTERVALS = 5 };

static int64_t at_least_minutes(int64_t ms, int intervals)
{
        int64_t least = (int64_t)intervals * MINUTE_MS;
        return ms * intervals > least ? ms * intervals : least;
}

void pod_aggregate_begin(struct pod_aggregate *t, struct wall at, int64_t interval_ms)
{
        *t = (struct pod_aggregate){.at = at,
                                    .fresh_ms = at_least_minutes(interval_ms, FRESH_INTERVALS),
                                    .patience_ms = at_least_minutes(interval_ms, PATIENCE_INTERVALS)};
}

void pod_aggregate_add(struct pod_aggregate *t, const struct pod_aggregate_sample *s, int64_t started_ms)
{
        int64_t known_ms = s->at_ms > started_ms ? s->at_ms : started_ms, age_ms = t->at.ms - known_ms;
        bool fresh = age_ms <= t->fresh_ms;
        if (!fresh || s->at_ms == 0) {
                t->missing += !fresh && age_ms <= t->patience_ms;
                return;
        }
        t->counted++;
        for (int r = 0; r < RESOURCES; r++) {
                t->sum[r] += s->has[r] ? s->value[r] : 0;
                t->lacks[r] |= !s->has[r];
        }
}

bool pod_aggregate_sum(const struct pod_aggregate *t, struct sample *ret)
{
        if (t->counted == 0 || t->missing > 0 || (t->lacks[CPU] && t->lacks[MEMORY]))
                return false;
        *ret = (struct sample){.at = t->at};
        for (int r = 0; r < RESOURCES; r++) {
                ret->has[r] = !t->lacks[r];
                ret->value[r] = t->lacks[r] ? 0 : t->sum[r];
        }
        return true;
}
