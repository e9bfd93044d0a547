#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/policy.h"

static void test_cpu_defaults(void **state)
{
        (void)state;
        struct resource_policy p;
        resource_policy_defaults(CPU, &p);
        assert_true(p.enabled);
        assert_int_equal(p.percentile, 950);
        assert_int_equal(p.multiplier, 1100);
        assert_int_equal(p.half_life_ms, 24 * INT64_C(3600000));
        assert_int_equal(p.round_to, 1);
        assert_int_equal(p.min, 10);
        assert_int_equal(p.max, 0);
        assert_int_equal(p.window_ms, 0);
        assert_int_equal(p.oom_hold_ms, 0);
        assert_int_equal(p.oom_bump, 0);
        assert_int_equal(p.static_factor, 1000);
        assert_int_equal(p.ignore_first_ms, 0);
}

static void test_memory_defaults(void **state)
{
        (void)state;
        struct resource_policy p;
        resource_policy_defaults(MEMORY, &p);
        assert_false(p.enabled);
        assert_int_equal(p.percentile, 990);
        assert_int_equal(p.multiplier, 1150);
        assert_int_equal(p.half_life_ms, 24 * INT64_C(3600000));
        assert_int_equal(p.round_to, 1048576);
        assert_int_equal(p.min, 16777216);
        assert_int_equal(p.max, 0);
        assert_int_equal(p.window_ms, 0);
        assert_int_equal(p.oom_hold_ms, 168 * INT64_C(3600000));
        assert_int_equal(p.oom_bump, 1200);
        assert_false(p.weekly_peak);
        assert_int_equal(p.static_factor, 1000);
        assert_int_equal(p.ignore_first_ms, 0);
}

static void test_apply_defaults(void **state)
{
        (void)state;
        static const struct {
                enum apply_mode mode;
                int min_change;
                int64_t cooldown_h;
        } row[] = {{APPLY_RECOMMEND, 10, 12}, {APPLY_ON_DEPLOY, 10, 12}, {APPLY_ROLLOUT, 20, 168}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct apply_policy p;
                apply_policy_defaults(row[i].mode, &p);
                assert_int_equal(p.mode, row[i].mode);
                assert_int_equal(p.overcommit, OVERCOMMIT_DYNAMIC);
                assert_int_equal(p.at, AT_POD);
                assert_int_equal(p.hpa, HPA_HOLD);
                assert_int_equal(p.runtime, RUNTIME_RESPECT);
                assert_int_equal(p.min_history_ms, DAY_MS);
                assert_int_equal(p.min_change_percent, row[i].min_change);
                assert_int_equal(p.max_decrease_percent, 50);
                assert_int_equal(p.cooldown_ms, row[i].cooldown_h * HOUR_MS);
                assert_int_equal(p.min_replicas, 2);
                assert_false(p.keep_guaranteed);
                assert_int_equal(p.guard.watch_ms, HOUR_MS);
                assert_int_equal(p.canary.percent, 100);
                assert_true(p.guard.enabled);
                assert_int_equal(p.guard.restarts, 2);
                assert_true(p.raise.enabled);
                assert_int_equal(p.raise.most, 3000);
                assert_false(p.early.enabled);
                assert_int_equal(p.early.after_ms, 3 * HOUR_MS);
                assert_int_equal(p.early.multiplier, 1500);
                assert_int_equal(p.startup.request, STARTUP_TARGET);
                assert_int_equal(p.startup.until, STARTUP_UNTIL_READY);
                assert_int_equal(p.startup.after_ms, 30 * SECOND_MS);
                assert_int_equal(p.startup.most_ms, 10 * MINUTE_MS);
        }
}

static void test_raise_defaults(void **state)
{
        (void)state;
        struct raise_policy p;
        raise_policy_defaults(&p);
        assert_true(p.enabled);
        assert_int_equal(p.after_ms, 15 * MINUTE_MS);
        assert_int_equal(p.factor, 1100);
        assert_int_equal(p.most, 3000);
}

static void test_resource_names(void **state)
{
        (void)state;
        assert_string_equal(resource_name(CPU), "cpu");
        assert_string_equal(resource_name(MEMORY), "memory");
}

static void test_modes_that_write(void **state)
{
        (void)state;
        assert_null(apply_mode_writes(APPLY_RECOMMEND));
        assert_string_equal(apply_mode_writes(APPLY_ROLLOUT), "Rollout");
        assert_string_equal(apply_mode_writes(APPLY_ON_DEPLOY), "OnDeploy");
        assert_string_equal(apply_mode_writes(APPLY_IN_PLACE), "InPlace");
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cpu_defaults),     cmocka_unit_test(test_memory_defaults),
                cmocka_unit_test(test_modes_that_write), cmocka_unit_test(test_apply_defaults),
                cmocka_unit_test(test_resource_names),   cmocka_unit_test(test_raise_defaults),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
