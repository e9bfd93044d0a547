#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/replay_score.h"

static void assert_near(double got, double want)
{
        if (!(got >= want - 1e-12 && got <= want + 1e-12)) /* NaN is near nothing */
                fail_msg("%.17g is not %.17g", got, want);
}

static void test_empty(void **state)
{
        (void)state;
        struct score s = {0};
        assert_near(score_slack(&s), 0);
        assert_near(score_overrun(&s), 0);
        assert_near(score_changes_per_week(&s), 0);
}

static void test_sums(void **state)
{
        (void)state;
        struct score s = {0};
        score_row(&s, 0.5, 1, 600000);
        score_row(&s, 1, 1, 300000); /* at the request is not over it */
        score_row(&s, 2, 1, 300000);
        assert_near(s.requested_hours, 1.0 / 3);
        assert_near(s.used_hours, 1.0 / 12 + 1.0 / 12 + 1.0 / 6);
        assert_int_equal(s.rows, 3);
        assert_int_equal(s.over, 1);
        assert_near(score_slack(&s), 0);
        assert_near(score_overrun(&s), 1.0 / 3);
}

static void test_weeks(void **state)
{
        (void)state;
        struct score s = {.changes = 3};
        for (int i = 0; i < 2 * 168 * 6; i++)
                score_row(&s, 0.25, 1, 600000);
        assert_true(s.entity_weeks > 1.999999 && s.entity_weeks < 2.000001);
        assert_true(score_changes_per_week(&s) > 1.499999 && score_changes_per_week(&s) < 1.500001);
        assert_near(score_slack(&s), 0.75);
}

static void test_little_time(void **state)
{
        (void)state;
        struct score s = {.changes = 1};
        score_row(&s, 0.25, 1, 60000);
        assert_near(score_slack(&s), 0.75);
        assert_true(score_changes_per_week(&s) > 168 * 60 - 1e-6 && score_changes_per_week(&s) < 168 * 60 + 1e-6);
}

static void test_a_row_without_time(void **state)
{
        (void)state;
        struct score s = {0};
        score_row(&s, 3, 1, 0);
        assert_int_equal(s.rows, 1);
        assert_near(score_overrun(&s), 1);
        assert_near(score_slack(&s), 0);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_sums),
                cmocka_unit_test(test_weeks),
                cmocka_unit_test(test_little_time),
                cmocka_unit_test(test_a_row_without_time),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
