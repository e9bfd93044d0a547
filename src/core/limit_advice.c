#include "core/limit_advice.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/rules.h"

enum { PLAIN = 1000, PERCENT = 100, MEBIBYTE = 1 << 20 };

static const char *const limit_names[LIMIT_REASONS] = {
        [LIMIT_FINE] = "", [LIMIT_KILLED] = "KilledAtLimit", [LIMIT_THROTTLED] = "Throttled"};

const char *limit_reason_name(enum limit_reason r)
{
        assert(r < LIMIT_REASONS);
        return limit_names[r];
}

enum limit_reason limit_reason_find(const char *name)
{
        for (int r = LIMIT_FINE + 1; r < LIMIT_REASONS; r++)
                if (strcmp(name, limit_names[r]) == 0)
                        return (enum limit_reason)r;
        return LIMIT_FINE;
}

/* A value with the margin of targets, rounded up. A multiplier below 1 counts as 1, because a limit is no place to
 * save. */
static int64_t limit_with_margin(const struct resource_policy *policy, int64_t value)
{
        return correct_scale(value, policy->multiplier > PLAIN ? policy->multiplier : PLAIN, policy->round_to);
}

static int64_t limit_higher(int64_t a, int64_t b)
{
        return a > b ? a : b;
}

struct limit_advice limit_advise_memory(const struct limit_memory_facts *f)
{
        bool held = f->kill.at_ms > 0 && f->now.ms - f->kill.at_ms <= f->policy->oom_hold_ms;
        int64_t needed = (int64_t)ceil(f->held / MEBIBYTE) * MEBIBYTE;
        if (!held || !f->limit.set)
                return (struct limit_advice){0};
        needed = limit_higher(needed, f->kill.limit);
        int64_t advised = limit_with_margin(f->policy, needed);
        if (advised == f->kill.limit && advised < INT64_MAX - f->policy->round_to)
                advised += f->policy->round_to; /* there is no margin, and the kill sample was not bumped */
        if (advised <= f->limit.value)
                return (struct limit_advice){0};
        return (struct limit_advice){LIMIT_KILLED, advised, needed};
}

struct limit_advice limit_advise_cpu(const struct limit_cpu_facts *f)
{
        if (f->throttled_percent <= 0 || !f->limit.set || f->limit.value > f->throttled_limit)
                return (struct limit_advice){0};
        int64_t most = correct_scale(f->limit.value, 2 * PLAIN, 1);
        int64_t advised =
                correct_scale(f->limit.value, PLAIN + f->throttled_percent * (PLAIN / PERCENT), f->policy->round_to);
        if (f->model.set)
                advised = limit_higher(advised, limit_with_margin(f->policy, f->model.value));
        if (advised > most)
                advised = most;
        if (advised <= f->limit.value)
                return (struct limit_advice){0};
        return (struct limit_advice){.reason = LIMIT_THROTTLED, .advised = advised};
}

int limit_throttle_next(int was_percent, double now_percent)
{
        double least = was_percent > 0 ? LIMIT_THROTTLE_BEGINS / 2.0 : LIMIT_THROTTLE_BEGINS;
        if (!(now_percent >= least))
                return 0;
        double above = fmin(now_percent, PERCENT) - was_percent;
        if (was_percent > 0 && above > -LIMIT_THROTTLE_STEP / 2.0 && above < LIMIT_THROTTLE_STEP * 1.5)
                return was_percent;
        return (int)fmin(now_percent, PERCENT) / LIMIT_THROTTLE_STEP * LIMIT_THROTTLE_STEP;
}
