#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "usage_fixture.h"

/* --- kills ----------------------------------------------------------------------------------------------------------
 */

static void test_kill_sample(void **state)
{
        (void)state;
        static const struct {
                double last, limit, want;
        } row[] = {{1000 * MI, 0, 1200 * MI},
                   {0, 1000 * MI, 1200 * MI},
                   {900 * MI, 1000 * MI, 1200 * MI},
                   {1000 * MI, 900 * MI, 1200 * MI},
                   {100 * MI, 0, 200 * MI},
                   {500 * MI, 0, 600 * MI},
                   {501 * MI, 0, 601.2 * MI},
                   {0, 0, 100 * MI},
                   {(double)NAN, (double)INFINITY, 100 * MI},
                   {-1, 2e15, 100 * MI},
                   {1e15, 0, 1e15},
                   {1000 * MI, 1.1e15, 1200 * MI}};
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r;
                roomy_init(&r, 0);
                kill_at(&r, 100 * DAY, row[i].last, row[i].limit);
                if (fabs(hold_at(&r, 100 * DAY) - row[i].want) > 1e-3)
                        fail_msg("row %zu: %.0f", i, hold_at(&r, 100 * DAY));
                assert_int_equal(r.u.kills, 1);
                assert_int_equal(r.u.kill[1].at_ms, 0);
                assert_int_equal(r.u.of[MEMORY].count, 0);
        }
}

/* A further kill within a half-life starts from the model; three bumps in any half-life. */
static void test_kill_steps(void **state)
{
        (void)state;
        static const struct {
                int64_t at_ms;
                double last, want; /* Mi */
        } row[] = {
                {0, 1000, 1200},
                {HOUR, 1000, 1440},
                {2 * HOUR, 1000, 1728},
                {3 * HOUR, 1000, 1728},
                {4 * HOUR, 1000, 1728},
                {5 * HOUR, 2000, 2000},
                {DAY - 1, 1000, 2000},
                {DAY, 1000, 2400},
                {DAY + 1, 1000, 2400},
                {DAY + HOUR, 1000, 2880},
                {DAY + 2 * HOUR - 1, 0, 2880},
                {DAY + 2 * HOUR, 0, 3456},
                {3 * DAY + 2 * HOUR, 1000, 3456}, /* a half-life later: from what it used, and the hold stands */
        };
        struct roomy r;
        roomy_init(&r, 0);
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                int64_t at = 100 * DAY + row[i].at_ms;
                kill_at(&r, at, row[i].last * MI, 0);
                if (fabs(hold_at(&r, at) - row[i].want * MI) > 1)
                        fail_msg("row %zu: %.3f Mi", i, hold_at(&r, at) / MI);
                assert_int_equal(r.u.kills, i + 1);
        }
        assert_true(fabs(r.u.kill[0].bytes - 1200 * MI) < 1);
        /* a half-life after the newest kill exactly is no longer within it; just before it is */
        roomy_init(&r, 0);
        kill_at(&r, 100 * DAY, 1000 * MI, 0);
        kill_at(&r, 101 * DAY - 1, 1000 * MI, 0);
        assert_true(fabs(hold_at(&r, 101 * DAY) - 1440 * MI) < 1);
        kill_at(&r, 102 * DAY - 1, 1000 * MI, 0);
        assert_true(fabs(r.u.kill[0].bytes - 1200 * MI) < 1);
}

/* Bumps are kept newest first, in whichever order the kills are heard of: the last one may come a half-life after the
 * late one, not after the one before it. */
static void test_late_kill(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, 0);
        kill_at(&r, 100 * DAY, 1000 * MI, 0);
        kill_at(&r, 100 * DAY + 20 * HOUR, 1000 * MI, 0);
        kill_at(&r, 99 * DAY + 12 * HOUR, 1000 * MI, 0);
        assert_int_equal(r.u.step_ms[0], 100 * DAY + 20 * HOUR);
        assert_int_equal(r.u.step_ms[1], 100 * DAY);
        assert_int_equal(r.u.step_ms[2], 99 * DAY + 12 * HOUR);
        double held = hold_at(&r, 101 * DAY);
        kill_at(&r, 100 * DAY + 21 * HOUR, 0, 0);
        assert_true(fabs(hold_at(&r, 101 * DAY) - 1.2 * held) < MI);
}

/* The model is the percentile where that is more than what is held, in whole Mi. */
static void test_kill_starts_from_percentile(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, 0);
        add_memory(&r, 100 * DAY, 3e9);
        for (double bytes = 3e9; bytes < 1e12; bytes *= 1.06) {
                double percentile, model;
                roomy_init(&r, 0);
                add_memory(&r, 100 * DAY, bytes);
                assert_int_equal(usage_percentile(&r.u, MEMORY, 990, &percentile), 0);
                model = ceil(percentile / MI) * MI;
                kill_at(&r, 100 * DAY, 100 * MI, 0);
                assert_true(hold_at(&r, 100 * DAY) == 200 * MI);
                kill_at(&r, 100 * DAY + 1, 100 * MI, 0);
                assert_true(fabs(hold_at(&r, 100 * DAY + 1) - 1.2 * model) < 1);
        }
        /* and what is held where that is more */
        roomy_init(&r, 0);
        add_memory(&r, 100 * DAY, 50 * MB);
        kill_at(&r, 100 * DAY, 1000 * MI, 0);
        kill_at(&r, 100 * DAY + 1, 1000 * MI, 0);
        assert_true(fabs(hold_at(&r, 100 * DAY + 1) - 1440 * MI) < 1);
        /* and where nothing is known of the kill but that it was, the first as well */
        roomy_init(&r, 0);
        add_memory(&r, 100 * DAY, 3e9);
        double percentile;
        assert_int_equal(usage_percentile(&r.u, MEMORY, 990, &percentile), 0);
        kill_at(&r, 100 * DAY, 0, 0);
        assert_true(fabs(hold_at(&r, 100 * DAY) - 1.2 * ceil(percentile / MI) * MI) < 1);
        /* an expired hold is no model */
        roomy_init(&r, 0);
        r.policy[MEMORY].oom_hold_ms = HOUR;
        kill_at(&r, 100 * DAY, 1000 * MI, 0);
        kill_at(&r, 100 * DAY + HOUR + 1, 1000 * MI, 0);
        assert_true(fabs(hold_at(&r, 100 * DAY + HOUR + 1) - 1200 * MI) < 1);
}

static void test_kill_hold_ends(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, 0);
        assert_true(hold_at(&r, 0) == 0);
        kill_at(&r, 100 * DAY, 1000 * MI, 0);
        assert_true(hold_at(&r, 100 * DAY - 1) > 0);
        assert_true(hold_at(&r, 107 * DAY) > 0);
        assert_true(hold_at(&r, 107 * DAY + 1) == 0);
}

/* Kills larger than every newer one. */
static int kills_needed(const int64_t *at, const double *bytes, int n)
{
        int needed = 0;
        for (int i = 0; i < n; i++) {
                bool is_needed = true;
                for (int k = 0; k < n; k++)
                        if ((at[k] > at[i] && bytes[k] >= bytes[i]) || (at[k] == at[i] && bytes[k] > bytes[i]) ||
                            (k < i && at[k] == at[i] && bytes[k] >= bytes[i]))
                                is_needed = false;
                needed += is_needed;
        }
        return needed;
}

/* Kills that never bump, of any size and order: the largest of any hold, exactly, as long as four suffice. */
static void test_kills_against_all(void **state)
{
        (void)state;
        int exact = 0, upward = 0;
        for (int round = 0; round < 3000; round++) {
                struct roomy r, src;
                int64_t at[12];
                double bytes[12];
                int n = 1 + (int)draw(12);
                bool four_suffice = true;
                roomy_init(&r, 0);
                roomy_init(&src, 0);
                for (int i = 0; i < n; i++) {
                        at[i] = 1000 * DAY + (int64_t)draw(20) * DAY;
                        bytes[i] = (double)(1 + draw(12)) * 100 * MI;
                        src.u.kill[0] = (struct usage_kill){at[i], bytes[i]};
                        struct usage_room room;
                        assert_int_equal(usage_merge(&r.u, &src.u, &room), 0);
                        four_suffice &= kills_needed(at, bytes, i + 1) <= USAGE_KILLS;
                }
                for (int64_t hold = 0; hold <= 21 * DAY; hold += DAY) {
                        r.policy[MEMORY].oom_hold_ms = hold;
                        double want = 0, got = hold_at(&r, 1020 * DAY);
                        for (int i = 0; i < n; i++)
                                if (1020 * DAY - at[i] <= hold && bytes[i] > want)
                                        want = bytes[i];
                        if (four_suffice ? got != want : got < want)
                                fail_msg("round %d, hold %lld days: %g for %g", round, (long long)(hold / DAY), got,
                                         want);
                        exact += four_suffice;
                        upward += got > want;
                }
        }
        assert_true(exact > 1000 && upward > 0);
}

/* With four slots taken, what has expired goes first. */
static void test_expired_kill_makes_room(void **state)
{
        (void)state;
        static const struct {
                int64_t last_ms;
                double oldest;
        } row[] = {{107 * DAY, 2000}, {107 * DAY + 1, 1900}};
        for (int i = 0; i < 2; i++) {
                struct roomy r;
                roomy_init(&r, 0);
                for (int k = 0; k < USAGE_KILLS; k++)
                        r.u.kill[USAGE_KILLS - 1 - k] = (struct usage_kill){(100 + k) * DAY, (2000 - 100 * k) * MI};
                kill_at(&r, row[i].last_ms, 1000 * MI, 0);
                assert_true(r.u.kill[USAGE_KILLS - 1].bytes == row[i].oldest * MI);
                assert_int_equal(r.u.kill[USAGE_KILLS - 1].at_ms, 101 * DAY);
                assert_int_equal(r.u.kill[0].at_ms, row[i].last_ms);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kill_sample),
                cmocka_unit_test(test_kill_steps),
                cmocka_unit_test(test_late_kill),
                cmocka_unit_test(test_kill_starts_from_percentile),
                cmocka_unit_test(test_kill_hold_ends),
                cmocka_unit_test(test_kills_against_all),
                cmocka_unit_test(test_expired_kill_makes_room),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
