#include "core/startup_stage.h"

#include <assert.h>

static int64_t startup_later(int64_t a, int64_t b)
{
        return a > b ? a : b;
}

enum startup_stage startup_stage_of(const struct startup_facts *f)
{
        const struct startup_policy *p = f->policy;
        if (p->request == STARTUP_TARGET)
                return STARTUP_OFF;
        int64_t age_ms = f->now.ms - f->began_ms;
        if (age_ms >= p->most_ms || age_ms < -p->most_ms)
                return f->ready ? STARTUP_OVER : STARTUP_LATE;
        if (!f->ready)
                return STARTUP_STARTS;
        return f->now.ms - startup_later(f->turned_ms, f->began_ms) < p->after_ms ? STARTUP_SETTLES : STARTUP_OVER;
}

int64_t startup_want(enum startup_stage stage, int64_t has, int64_t target, int64_t original)
{
        assert(target >= 0 && original >= 0);
        int64_t to = startup_holds_original(stage) ? original : stage == STARTUP_LATE && has > target ? has : target;
        return to < original ? to : original;
}
