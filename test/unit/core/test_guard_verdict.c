#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/guard_verdict.h"

#define AT(minute)                                                                                                     \
        {                                                                                                              \
                INT64_C(1800000000000) + (minute)*MINUTE_MS                                                            \
        }
static const struct guard_policy policy = {.enabled = true, .restarts = 2, .watch_ms = HOUR_MS};
static const struct guard_policy off = {.enabled = false, .restarts = 2, .watch_ms = HOUR_MS};
static const struct guard_policy calm = {.enabled = true, .restarts = 0, .watch_ms = HOUR_MS};

/* --- one row a sentence; times are minutes after the change --- */

static const struct {
        const char *what;
        struct guard_facts f; /* policy NULL: the default */
        enum guard_cause want;
} rows[] = {
        {"nothing happened", {.now = AT(10), .changed = AT(0), .before = {3, 3}, .pods = {3, 3}}, GUARD_NONE},
        {"nothing was changed", {.now = AT(10)}, GUARD_NONE},

        {"evicted", {.now = AT(10), .kill = {AT(5), AT(0), KILL_EVICTION}}, GUARD_EVICTED},
        {"evicted at the moment of the change", {.now = AT(10), .kill = {AT(0), AT(0), KILL_EVICTION}}, GUARD_EVICTED},
        {"evicted before it", {.now = AT(10), .kill = {AT(-1), AT(0), KILL_EVICTION}}, GUARD_NONE},
        {"at the end of the watch time", {.now = AT(61), .kill = {AT(60), AT(0), KILL_EVICTION}}, GUARD_EVICTED},
        {"a moment later", {.now = AT(62), .kill = {AT(61), AT(0), KILL_EVICTION}}, GUARD_NONE},
        {"heard of a day later", {.now = AT(1440), .kill = {AT(5), AT(0), KILL_EVICTION}}, GUARD_EVICTED},
        {"by no change that is known", {.now = AT(10), .kill = {AT(5), {0}, KILL_EVICTION}}, GUARD_NONE},
        {"killed under its limit", {.now = AT(10), .kill = {AT(5), AT(0), KILL_ROOM}}, GUARD_OUT_OF_MEMORY},
        {"of a change that is no more ours alone",
         {.now = AT(10), .changed = {0}, .kill = {AT(5), AT(0), KILL_ROOM}, .restarts = 9},
         GUARD_OUT_OF_MEMORY},
        {"the kill is told before its restarts",
         {.now = AT(10), .changed = AT(0), .kill = {AT(5), AT(0), KILL_ROOM}, .restarts = 2},
         GUARD_OUT_OF_MEMORY},
        {"turned off", {.policy = &off, .now = AT(10), .kill = {AT(5), AT(0), KILL_EVICTION}}, GUARD_NONE},

        {"one restart", {.now = AT(10), .changed = AT(0), .restarts = 1}, GUARD_NONE},
        {"two", {.now = AT(10), .changed = AT(0), .restarts = 2}, GUARD_RESTARTS},
        {"more", {.now = AT(10), .changed = AT(0), .restarts = 300}, GUARD_RESTARTS},
        {"at the end of the watch time", {.now = AT(60), .changed = AT(0), .restarts = 2}, GUARD_RESTARTS},
        {"after it", {.now = AT(61), .changed = AT(0), .restarts = 2}, GUARD_NONE},
        {"before it, by a clock that was ahead", {.now = AT(-1), .changed = AT(0), .restarts = 2}, GUARD_NONE},
        {"of an owner's release", {.now = AT(10), .changed = {0}, .restarts = 2}, GUARD_NONE},
        {"they do not count", {.policy = &calm, .now = AT(10), .changed = AT(0), .restarts = 9}, GUARD_NONE},
        {"turned off", {.policy = &off, .now = AT(10), .changed = AT(0), .restarts = 9}, GUARD_NONE},
        {"restarts before readiness",
         {.now = AT(30), .changed = AT(0), .restarts = 2, .before = {3, 3}, .pods = {3, 2}, .below = AT(5)},
         GUARD_RESTARTS},

        {"not ready for a quarter",
         {.now = AT(20), .changed = AT(0), .before = {3, 3}, .pods = {3, 2}, .below = AT(5)},
         GUARD_NOT_READY},
        {"for less", {.now = AT(19), .changed = AT(0), .before = {3, 3}, .pods = {3, 2}, .below = AT(5)}, GUARD_NONE},
        {"as ready as before",
         {.now = AT(30), .changed = AT(0), .before = {3, 2}, .pods = {3, 2}, .below = AT(5)},
         GUARD_NONE},
        {"it is not below any more",
         {.now = AT(30), .changed = AT(0), .before = {3, 3}, .pods = {3, 2}, .below = {0}},
         GUARD_NONE},
        {"how it was is not known",
         {.now = AT(30), .changed = AT(0), .before = {0, 0}, .pods = {3, 0}, .below = AT(5)},
         GUARD_NONE},
        {"since the beginning of time",
         {.now = {15 * MINUTE_MS + 1}, .changed = {1}, .before = {3, 3}, .pods = {3, 2}, .below = {1}},
         GUARD_NOT_READY},
        {"not ready after the watch time",
         {.now = AT(61), .changed = AT(0), .before = {3, 3}, .pods = {3, 2}, .below = AT(5)},
         GUARD_NONE},
        {"of an owner's release",
         {.now = AT(30), .changed = {0}, .before = {3, 3}, .pods = {3, 0}, .below = AT(5)},
         GUARD_NONE},
};

static void test_judge(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct guard_facts f = rows[i].f;
                f.policy = f.policy ? f.policy : &policy;
                enum guard_cause got = guard_judge(&f);
                if (got != rows[i].want)
                        fail_msg("row %zu, %s: '%s', not '%s'", i, rows[i].what, guard_cause_name(got),
                                 guard_cause_name(rows[i].want));
        }
}

/* --- once more, as the header tells it: every combination of small numbers --- */

static enum guard_cause model(const struct guard_facts *f)
{
        const int64_t watch = f->policy->watch_ms;
        int64_t since_change = f->now.ms - f->changed.ms, until_kill = f->kill.at.ms - f->kill.since.ms;
        bool ours = f->changed.ms != 0 && since_change >= 0 && since_change <= watch;
        double was = f->before.count ? (double)f->before.ready / (double)f->before.count : 0;
        double is = f->pods.count ? (double)f->pods.ready / (double)f->pods.count : 1;
        if (!f->policy->enabled)
                return GUARD_NONE;
        if (f->kill.at.ms && f->kill.since.ms && until_kill >= 0 && until_kill <= watch)
                return f->kill.cause == KILL_EVICTION ? GUARD_EVICTED : GUARD_OUT_OF_MEMORY;
        if (ours && f->policy->restarts && f->restarts >= f->policy->restarts)
                return GUARD_RESTARTS;
        if (ours && is < was && f->below.ms && f->now.ms - f->below.ms >= watch / 4)
                return GUARD_NOT_READY;
        return GUARD_NONE;
}

static int64_t one_of(const int64_t *list, size_t n, unsigned *left)
{
        int64_t value = list[*left % (unsigned)n];
        *left /= (unsigned)n;
        return value;
}
#define ONE_OF(left, ...)                                                                                              \
        one_of((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), left)

static void test_model(void **state)
{
        (void)state;
        enum { MS = 1000 };
        unsigned seen[GUARD_CAUSES] = {0}, n = 0, left;
        do {
                left = n++;
                struct guard_policy p = {.watch_ms = 40};
                struct guard_facts f = {.policy = &p, .now = {MS}};
                p.enabled = ONE_OF(&left, 1, 0);
                p.restarts = (int)ONE_OF(&left, 0, 1, 2);
                f.changed.ms = ONE_OF(&left, 0, MS - 41, MS - 40, MS - 1, MS + 1);
                f.kill.at.ms = ONE_OF(&left, 0, MS - 41, MS - 40, MS);
                f.kill.since.ms = ONE_OF(&left, 0, MS - 80, MS - 40);
                f.kill.cause = (enum kill_cause)ONE_OF(&left, KILL_ROOM, KILL_UNKNOWN, KILL_EVICTION);
                f.restarts = ONE_OF(&left, 0, 1, 2);
                f.before = (struct guard_pods){ONE_OF(&left, 0, 3), ONE_OF(&left, 0, 2, 3)};
                f.pods = (struct guard_pods){ONE_OF(&left, 0, 2, 3), ONE_OF(&left, 0, 1, 2)};
                f.below.ms = ONE_OF(&left, 0, MS - 10, MS - 9);
                if (f.before.ready > f.before.count || f.pods.ready > f.pods.count)
                        continue;
                enum guard_cause got = guard_judge(&f), want = model(&f);
                seen[got]++;
                if (got != want)
                        fail_msg("combination %u: '%s', not '%s'", n - 1, guard_cause_name(got),
                                 guard_cause_name(want));
        } while (!left);
        for (int c = 0; c < GUARD_CAUSES; c++)
                assert_true(seen[c] > 0);
}

/* --- the rest --- */

static void test_watches(void **state)
{
        (void)state;
        static const struct {
                int64_t change_ms, at_ms;
                bool want;
        } row[] = {
                {0, 0, false},   {0, 1, false}, {1, 1, true},           {1, 0, false},
                {-1, -1, false}, {9, 8, false}, {9, 9 + HOUR_MS, true}, {9, 10 + HOUR_MS, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (guard_watches(&policy, (struct wall){row[i].change_ms}, (struct wall){row[i].at_ms}) != row[i].want)
                        fail_msg("row %zu", i);
}

static void test_below(void **state)
{
        (void)state;
        static const struct {
                struct guard_pods before, pods;
                bool want;
        } row[] = {
                {{3, 3}, {3, 3}, false},        {{3, 3}, {3, 2}, true},
                {{3, 2}, {3, 2}, false},        {{3, 1}, {3, 2}, false},
                {{2, 2}, {100, 99}, true},      {{100, 99}, {1, 1}, false},
                {{100, 99}, {200, 198}, false}, {{100, 99}, {200, 197}, true},
                {{3, 0}, {3, 0}, false},        {{0, 0}, {3, 0}, false},
                {{1, 1}, {1, 0}, true},         {{0, 1}, {3, 0}, false}, /* a record that was made up */
                {{3, 3}, {0, 0}, false},        {{INT64_MAX, INT64_MAX}, {INT64_MAX, INT64_MAX - 1}, true},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (guard_below(row[i].before, row[i].pods) != row[i].want)
                        fail_msg("row %zu", i);
}

static void test_steps(void **state)
{
        (void)state;
        static const int hours[] = {24, 48, 96, 168, 168};
        int64_t step = 0;
        for (size_t i = 0; i < sizeof hours / sizeof *hours; i++) {
                step = guard_step_ms(step);
                assert_int_equal(step, hours[i] * INT64_C(3600000));
        }
        assert_int_equal(guard_step_ms(-5), DAY_MS);
        assert_int_equal(guard_step_ms(1), DAY_MS); /* read from a record that was made up */
        assert_int_equal(guard_step_ms(DAY_MS / 2 + 1), DAY_MS + 2);
        assert_int_equal(guard_step_ms(INT64_MAX), 7 * DAY_MS);
        assert_int_equal(guard_patience_ms(&policy), 15 * MINUTE_MS);
}

static void test_step_bound(void **state)
{
        (void)state;
        static const int64_t week = 7 * (int64_t)DAY_MS;
        static const struct {
                int64_t in, want;
        } row[] = {{INT64_MIN, 0},       {-1, 0},      {0, 0},           {1, 1},           {2, 2},
                   {week - 1, week - 1}, {week, week}, {week + 1, week}, {INT64_MAX, week}};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (guard_step_bound(row[i].in) != row[i].want)
                        fail_msg("row %zu: %lld", i, (long long)guard_step_bound(row[i].in));
}

static void test_names(void **state)
{
        (void)state;
        for (enum guard_cause c = GUARD_NONE; c < GUARD_CAUSES; c++)
                assert_int_equal(guard_cause_find(guard_cause_name(c)), c);
        assert_int_equal(guard_cause_find("Throttled"), GUARD_NONE);
        assert_string_equal(guard_cause_name(GUARD_NONE), "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_judge), cmocka_unit_test(test_model), cmocka_unit_test(test_watches),
                cmocka_unit_test(test_below), cmocka_unit_test(test_steps), cmocka_unit_test(test_step_bound),
                cmocka_unit_test(test_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
