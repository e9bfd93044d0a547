#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "core/limit_advice.h"

#define MI INT64_C(1048576)
enum { HOLD_S = 600, NOW_S = 1000000, NONE = -1 };

/* Amounts in Mi, times in seconds before now; margin in thousandths, 0: the default of 1.1. */
static const struct {
        const char *name;
        int limit, killed_at, ago, margin;
        double held;
        int want, needed; /* want 0: nothing is advised */
} row[] = {
        {"killed just now", 500, 500, 0, 0, 600, 660, 600},
        {"at the end of the hold", 500, 500, HOLD_S, 0, 600, 660, 600},
        {"a second after the hold", 500, 500, HOLD_S + 1, 0, 600, 0, 0},
        {"by a clock that is ahead", 500, 500, -60, 0, 600, 660, 600},
        {"never killed", 500, 0, NOW_S, 0, 600, 0, 0},
        {"raised, but not enough", 659, 500, 0, 0, 600, 660, 600},
        {"raised as advised", 660, 500, 0, 0, 600, 0, 0},
        {"raised further", 2000, 500, 0, 0, 600, 0, 0},
        {"lowered since", 100, 500, 0, 0, 600, 660, 600},
        {"without a limit now", NONE, 500, 0, 0, 600, 0, 0},
        {"the sample rounds up to a whole Mi", 500, 500, 0, 1000, 599.1, 600, 600},
        {"no margin", 500, 500, 0, 1000, 600, 600, 600},
        {"a margin below 1 is none", 500, 500, 0, 500, 600, 600, 600},
        {"a margin of 2", 500, 500, 0, 2000, 600, 1200, 600},
        {"no kill sample any more: above the limit that killed", 500, 500, 0, 0, 0, 550, 500},
        {"a kill sample below the limit that killed", 500, 500, 0, 0, 400, 550, 500},
        {"no bump and no margin: a step above", 500, 500, 0, 1000, 500, 501, 500},
        {"and that ends it", 501, 500, 0, 1000, 500, 0, 0},
        {"the limit that killed is not known", 500, 0, 1, 0, 600, 660, 600},
        {"an odd number of Mi", 500, 500, 0, 0, 601, 662, 601},
        {"nor what it held", 500, 0, 1, 0, 0, 0, 0},
};

static void test_memory(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct resource_policy policy;
                resource_policy_defaults(MEMORY, &policy);
                policy.multiplier = row[i].margin ? row[i].margin : 1100;
                policy.round_to = MI;
                policy.oom_hold_ms = HOLD_S * (int64_t)SECOND_MS;
                struct limit_memory_facts f = {
                        .now = {NOW_S * (int64_t)SECOND_MS},
                        .policy = &policy,
                        .limit = {row[i].limit != NONE, row[i].limit * MI},
                        .kill = {(NOW_S - row[i].ago) * (int64_t)SECOND_MS, row[i].killed_at * MI},
                        .held = row[i].held * (double)MI,
                };
                struct limit_advice got = limit_advise_memory(&f);
                if (got.advised != row[i].want * MI || got.needed != row[i].needed * MI ||
                    got.reason != (row[i].want ? LIMIT_KILLED : LIMIT_FINE))
                        fail_msg("%s: %s %lld Mi, needs %lld Mi", row[i].name, limit_reason_name(got.reason),
                                 (long long)(got.advised / MI), (long long)(got.needed / MI));
        }
}

/* Limits as large as Kubernetes takes them neither wrap nor end below what killed. */
static void test_the_largest(void **state)
{
        (void)state;
        struct resource_policy policy;
        resource_policy_defaults(MEMORY, &policy);
        struct limit_memory_facts f = {.now = {1000},
                                       .policy = &policy,
                                       .limit = {true, INT64_MAX - 1},
                                       .kill = {1000, INT64_MAX},
                                       .held = 1e15};
        for (policy.multiplier = 1000; policy.multiplier <= 100000; policy.multiplier += 99000) {
                struct limit_advice got = limit_advise_memory(&f);
                assert_true(got.advised == INT64_MAX && got.needed == INT64_MAX);
        }
        f.kill.at_ms = 1;
        assert_int_equal(limit_advise_memory(&f).reason, LIMIT_KILLED);
        f.kill.at_ms = 0; /* no kill, however early it is */
        assert_int_equal(limit_advise_memory(&f).reason, LIMIT_FINE);
        f.kill.at_ms = 1000;
        f.limit.value = INT64_MAX;
        assert_int_equal(limit_advise_memory(&f).reason, LIMIT_FINE);
        /* a step above it would be the largest of all: no more is advised than there is */
        policy.multiplier = 1000;
        policy.round_to = 1;
        f.limit.value = f.kill.limit = INT64_MAX - 1;
        assert_int_equal(limit_advise_memory(&f).reason, LIMIT_FINE);
}

/* Amounts in millicores; model 0: none. */
static const struct {
        const char *name;
        int limit, percent, model, round_to, want, under; /* want 0: nothing is advised; under 0: the same limit */
} cpu[] = {
        {"throttled in a third of its periods", 1000, 30, 0, 1, 1300, 0},
        {"the model is less", 1000, 30, 800, 1, 1300, 0},
        {"the model with its margin is more", 1000, 30, 1300, 1, 1430, 0},
        {"at most twice the limit", 1000, 30, 5000, 1, 2000, 0},
        {"throttled always", 1000, 100, 0, 1, 2000, 0},
        {"rounded as targets are", 250, 30, 0, 100, 400, 0},
        {"but not beyond twice the limit", 250, 100, 0, 400, 500, 0},
        {"the smallest step", 1, 10, 0, 1, 2, 0},
        {"the least share", 1000, 1, 0, 1, 1010, 0},
        {"not throttled", 1000, 0, 5000, 1, 0, 0},
        {"without a limit", NONE, 90, 5000, 1, 0, 0},
        {"a limit of nothing", 0, 90, 5000, 1, 0, 0},
        {"raised since it was measured", 1001, 30, 0, 1, 0, 1000},
        {"lowered since", 1000, 30, 0, 1, 1300, 1001},
};

static void test_cpu(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof cpu / sizeof cpu[0]; i++) {
                struct resource_policy policy;
                resource_policy_defaults(CPU, &policy);
                policy.round_to = cpu[i].round_to;
                struct limit_cpu_facts f = {.policy = &policy,
                                            .limit = {cpu[i].limit != NONE, cpu[i].limit},
                                            .model = {cpu[i].model > 0, cpu[i].model},
                                            .throttled_percent = cpu[i].percent,
                                            .throttled_limit = cpu[i].under ? cpu[i].under : cpu[i].limit};
                struct limit_advice got = limit_advise_cpu(&f);
                if (got.advised != cpu[i].want || got.needed != 0 ||
                    got.reason != (cpu[i].want ? LIMIT_THROTTLED : LIMIT_FINE))
                        fail_msg("%s: %lld", cpu[i].name, (long long)got.advised);
        }
}

static void test_the_largest_cpu(void **state)
{
        (void)state;
        struct resource_policy policy;
        resource_policy_defaults(CPU, &policy);
        struct limit_cpu_facts f = {.policy = &policy,
                                    .limit = {true, INT64_MAX - 1},
                                    .model = {true, INT64_MAX},
                                    .throttled_percent = 100,
                                    .throttled_limit = INT64_MAX};
        assert_int_equal(limit_advise_cpu(&f).advised, INT64_MAX);
        f.limit.value = INT64_MAX;
        assert_int_equal(limit_advise_cpu(&f).reason, LIMIT_FINE);
}

static void test_throttling(void **state)
{
        (void)state;
        static const struct {
                int was;
                double now;
                int want;
        } step[] = {
                {0, 24.9, 0},        {0, 25, 20},          {0, 29.9, 20},
                {0, 30, 30},         {0, 100, 100},        {0, 1e300, 100},
                {0, (double)NAN, 0}, {0, -1, 0},           {0, (double)INFINITY, 100},
                {20, 12.4, 0},       {20, 12.5, 10},       {20, 15, 10},
                {20, 15.1, 20},      {20, 34.9, 20},       {20, 35, 30},
                {10, 12.5, 10},      {10, 24.9, 10},       {10, 25, 20},
                {10, 0, 0},          {20, (double)NAN, 0}, {100, 99, 100},
                {100, 95.1, 100},    {100, 95, 90},        {90, 100, 90},
                {80, 100, 100},      {90, 1e300, 90},
        };
        for (size_t i = 0; i < sizeof step / sizeof step[0]; i++) {
                int got = limit_throttle_next(step[i].was, step[i].now);
                if (got != step[i].want)
                        fail_msg("%d, then %g: %d is not %d", step[i].was, step[i].now, got, step[i].want);
                if (got > 0) /* what has not moved stays */
                        assert_int_equal(limit_throttle_next(got, step[i].now), got);
        }
}

static void test_names(void **state)
{
        (void)state;
        for (int r = 0; r < LIMIT_REASONS; r++)
                assert_int_equal(limit_reason_find(limit_reason_name((enum limit_reason)r)), r);
        assert_string_equal(limit_reason_name(LIMIT_KILLED), "KilledAtLimit");
        assert_string_equal(limit_reason_name(LIMIT_THROTTLED), "Throttled");
        assert_int_equal(limit_reason_find("OfALaterVersion"), LIMIT_FINE);
        assert_int_equal(limit_reason_find(""), LIMIT_FINE);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_memory),     cmocka_unit_test(test_the_largest),
                cmocka_unit_test(test_cpu),        cmocka_unit_test(test_the_largest_cpu),
                cmocka_unit_test(test_throttling), cmocka_unit_test(test_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
