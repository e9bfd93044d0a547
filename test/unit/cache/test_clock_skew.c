/* What a clock that was ahead wrote down, once no clock says so any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"

static const int64_t hour = HOUR_MS, day = DAY_MS, year = 365 * (int64_t)DAY_MS;

/* Times are ms from our clock's present. */
static const struct {
        const char *what;
        int64_t server, changed, contested, gone; /* server 0: no Date header so far */
        int64_t want_changed, want_contested, want_gone;
} row[] = {
        {"all is past", 0, -HOUR_MS, 23 * (int64_t)HOUR_MS, -5, -HOUR_MS, 23 * (int64_t)HOUR_MS, -5},
        {"a minute ahead is none", 0, MINUTE_MS, 0, 0, MINUTE_MS, 0, 0},
        {"a year ahead", 0, 365 * (int64_t)DAY_MS, 366 * (int64_t)DAY_MS, 365 * (int64_t)DAY_MS, 0, DAY_MS, 0},
        {"ours is an hour behind", HOUR_MS, 50 * MINUTE_MS, 0, 0, 50 * MINUTE_MS, 0, 0},
        {"ours is a year ahead", -365 * (int64_t)DAY_MS, -HOUR_MS, 0, -HOUR_MS, -HOUR_MS, 0, -HOUR_MS},
};

static bool about(int64_t is, int64_t want)
{
        return is - want < MINUTE_MS && want - is < MINUTE_MS;
}

static void test_mend(void **state)
{
        (void)state;
        struct rig c;
        rig_begin(&c);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct now now = loop_now(c.loop);
                int64_t at = now.wall.ms;
                struct target t = {.apply_state = {.changed_ms = at + row[i].changed,
                                                   .contested_ms = row[i].contested ? at + row[i].contested : 0,
                                                   .contest_step_ms = day,
                                                   .reset_seen_ms = at + row[i].changed},
                                   .gone_ms = row[i].gone ? at + row[i].gone : 0};
                struct clock_skew *skew = clock_skew_new(c.loop);
                clock_skew_compare(skew, (struct wall){row[i].server ? at + row[i].server : 0}, 1);
                clock_skew_clamp(skew, &t);
                mem_free(skew);
                int64_t contested = t.apply_state.contested_ms ? t.apply_state.contested_ms - at : 0;
                int64_t gone = t.gone_ms ? t.gone_ms - at : 0;
                if (!about(t.apply_state.changed_ms - at, row[i].want_changed) ||
                    !about(contested, row[i].want_contested) || !about(gone, row[i].want_gone) ||
                    t.apply_state.reset_seen_ms != t.apply_state.changed_ms)
                        fail_msg("%s: changed %lld, contested %lld, gone %lld", row[i].what,
                                 (long long)(t.apply_state.changed_ms - at), (long long)contested, (long long)gone);
        }
        rig_end(&c);
}

/* What is forgotten for ever goes by the earlier clock. */
static void test_earlier(void **state)
{
        (void)state;
        struct rig c;
        rig_begin(&c);
        struct now now = loop_now(c.loop);
        assert_true(about(clock_skew_earlier(c.skew), now.wall.ms));
        clock_skew_compare(c.skew, (struct wall){now.wall.ms - year}, 1);
        assert_true(clock_skew_is_apart(c.skew));
        assert_true(about(clock_skew_earlier(c.skew), now.wall.ms - year));
        assert_true(about(clock_skew_later(c.skew), now.wall.ms));
        clock_skew_compare(c.skew, (struct wall){now.wall.ms + hour}, 1);
        assert_true(clock_skew_is_apart(c.skew));
        assert_true(about(clock_skew_earlier(c.skew), now.wall.ms));
        assert_true(about(clock_skew_later(c.skew), now.wall.ms + hour));
        clock_skew_compare(c.skew, (struct wall){now.wall.ms - MINUTE_MS}, 1);
        assert_false(clock_skew_is_apart(c.skew));
        rig_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_mend),
                cmocka_unit_test(test_earlier),
        };
        return cmocka_run_group_tests_name("clocks", tests, NULL, NULL);
}
