#include <assert.h>

#include "core/early_request.h"

enum { WHOLE = 1000 };

int early_margin(const struct early_policy *p, int64_t learned_ms, int64_t min_history_ms)
{
        if (!p->enabled || learned_ms < p->after_ms)
                return 0;
        if (learned_ms >= min_history_ms)
                return WHOLE;
        int64_t falls_ms = min_history_ms - p->after_ms, left_ms = min_history_ms - learned_ms;
        return WHOLE + (int)(((p->multiplier - WHOLE) * left_ms + falls_ms - 1) / falls_ms);
}

int64_t early_request(int64_t model, const struct resource_policy *p, int margin)
{
        enum { MILLION = WHOLE * WHOLE };
        assert(model >= 0 && margin >= 0 && p->multiplier >= 0 && p->round_to >= 1);
        __int128 scaled = ((__int128)model * p->multiplier * margin + MILLION - 1) / MILLION;
        __int128 rounded = (scaled + p->round_to - 1) / p->round_to * p->round_to;
        return rounded > INT64_MAX ? INT64_MAX : (int64_t)rounded;
}
