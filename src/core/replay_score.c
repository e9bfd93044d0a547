#include <assert.h>

#include "base/clock.h"
#include "core/replay_score.h"

enum { WEEK_HOURS = 168 };

void score_row(struct score *s, double used, double requested, int64_t span_ms)
{
        assert(span_ms >= 0 && span_ms <= INT64_C(600) * SECOND_MS);
        double hours = (double)span_ms / HOUR_MS;
        s->requested_hours += requested * hours;
        s->used_hours += used * hours;
        s->entity_weeks += hours / WEEK_HOURS;
        s->rows++;
        s->over += used > requested;
}

double score_slack(const struct score *s)
{
        return s->requested_hours > 0 ? 1 - s->used_hours / s->requested_hours : 0;
}

double score_overrun(const struct score *s)
{
        return s->rows ? (double)s->over / (double)s->rows : 0;
}

double score_changes_per_week(const struct score *s)
{
        return s->entity_weeks > 0 ? (double)s->changes / s->entity_weeks : 0;
}
