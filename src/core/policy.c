#include <assert.h>

#include "base/clock.h"
#include "core/policy.h"

enum { MEBIBYTE = 1 << 20 };

static const struct resource_policy resource_default[RESOURCES] = {
        [CPU] = {.enabled = true,
                 .percentile = 950,
                 .multiplier = 1100,
                 .static_factor = 1000,
                 .half_life_ms = DAY_MS,
                 .round_to = 1,
                 .min = 10},
        [MEMORY] = {.enabled = false,
                    .percentile = 990,
                    .multiplier = 1150,
                    .static_factor = 1000,
                    .half_life_ms = DAY_MS,
                    .round_to = MEBIBYTE,
                    .min = INT64_C(16) * MEBIBYTE,
                    .oom_hold_ms = INT64_C(7) * DAY_MS,
                    .oom_bump = 1200},
};

static const struct apply_policy apply_default = {
        .hpa = HPA_HOLD,
        .runtime = RUNTIME_RESPECT,
        .min_history_ms = DAY_MS,
        .min_change_percent = 10,
        .max_decrease_percent = 50,
        .cooldown_ms = INT64_C(12) * HOUR_MS,
        .min_replicas = 2,
        .canary = {.percent = 100},
        .guard = {.enabled = true, .restarts = 2, .watch_ms = HOUR_MS},
        .startup = {.request = STARTUP_TARGET, .after_ms = 30 * SECOND_MS, .most_ms = 10 * MINUTE_MS},
        .early = {.after_ms = INT64_C(3) * HOUR_MS, .multiplier = 1500},
};

static const struct raise_policy raise_default = {
        .enabled = true,
        .after_ms = INT64_C(15) * MINUTE_MS,
        .factor = 1100,
        .most = 3000,
};

void resource_policy_defaults(enum resource r, struct resource_policy *ret)
{
        assert(r < RESOURCES);
        *ret = resource_default[r];
}

void apply_policy_defaults(enum apply_mode mode, struct apply_policy *ret)
{
        assert(mode < APPLY_MODES);
        *ret = apply_default;
        ret->mode = mode;
        raise_policy_defaults(&ret->raise);
        if (mode == APPLY_ROLLOUT) { /* fewer changes, so that revisionHistoryLimit keeps the owner's own revisions */
                ret->min_change_percent = 20;
                ret->cooldown_ms = INT64_C(7) * DAY_MS;
        }
}

void raise_policy_defaults(struct raise_policy *ret)
{
        *ret = raise_default;
}

const char *apply_mode_name(enum apply_mode mode)
{
        static const char *const names[APPLY_MODES] = {[APPLY_RECOMMEND] = "Recommend",
                                                       [APPLY_ON_DEPLOY] = "OnDeploy",
                                                       [APPLY_ROLLOUT] = "Rollout",
                                                       [APPLY_IN_PLACE] = "InPlace"};
        return names[mode];
}

const char *apply_mode_writes(enum apply_mode mode)
{
        return mode == APPLY_RECOMMEND ? NULL : apply_mode_name(mode);
}
