#include "core/guard_verdict.h"

#include <assert.h>
#include <string.h>

enum { PATIENCE_SHARE = 4 };
static const int64_t step_least_ms = DAY_MS, step_most_ms = INT64_C(7) * DAY_MS;

static const char *const names[GUARD_CAUSES] = {
        [GUARD_NONE] = "",
        [GUARD_EVICTED] = "Evicted",
        [GUARD_OUT_OF_MEMORY] = "OutOfMemory",
        [GUARD_RESTARTS] = "Restarts",
        [GUARD_NOT_READY] = "NotReady",
};

const char *guard_cause_name(enum guard_cause c)
{
        assert(c < GUARD_CAUSES);
        return names[c];
}

enum guard_cause guard_cause_find(const char *name)
{
        enum guard_cause c = GUARD_CAUSES - 1;
        while (c > GUARD_NONE && strcmp(name, names[c]) != 0)
                c--;
        return c;
}

bool guard_watches(const struct guard_policy *p, struct wall change, struct wall at)
{
        return change.ms > 0 && at.ms >= change.ms && at.ms - change.ms <= p->watch_ms;
}

/* The products have 128 bits, because made-up counts of pods may be of any size. Without pods now both products are 0,
 * so the answer is false. */
bool guard_below(struct guard_pods before, struct guard_pods pods)
{
        return before.count > 0 && (__int128)pods.ready * before.count < (__int128)before.ready * pods.count;
}

int64_t guard_patience_ms(const struct guard_policy *p)
{
        return p->watch_ms / PATIENCE_SHARE;
}

static bool is_killed(const struct guard_facts *f, bool evicted)
{
        const struct guard_kill *k = &f->kill;
        return (k->cause == KILL_EVICTION) == evicted && guard_watches(f->policy, k->since, k->at);
}

static bool guard_restarts_too_often(const struct guard_facts *f)
{
        return f->policy->restarts > 0 && f->restarts >= f->policy->restarts;
}

static bool is_not_ready(const struct guard_facts *f)
{
        return f->below.ms > 0 && f->now.ms - f->below.ms >= guard_patience_ms(f->policy) &&
               guard_below(f->before, f->pods);
}

enum guard_cause guard_judge(const struct guard_facts *f)
{
        bool watches = guard_watches(f->policy, f->changed, f->now);
        if (!f->policy->enabled)
                return GUARD_NONE;
        if (is_killed(f, true))
                return GUARD_EVICTED;
        if (is_killed(f, false))
                return GUARD_OUT_OF_MEMORY;
        if (watches && guard_restarts_too_often(f))
                return GUARD_RESTARTS;
        return watches && is_not_ready(f) ? GUARD_NOT_READY : GUARD_NONE;
}

int64_t guard_step_ms(int64_t before_ms)
{
        int64_t twice_ms = 2 * guard_step_bound(before_ms);
        return twice_ms < step_least_ms ? step_least_ms : guard_step_bound(twice_ms);
}

int64_t guard_step_bound(int64_t ms)
{
        return ms < 0 ? 0 : ms > step_most_ms ? step_most_ms : ms;
}
