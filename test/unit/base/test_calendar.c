#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/calendar.h"

static uint64_t random_state = 1;

static int64_t random_between(int64_t least, int64_t most)
{
        random_state = random_state * 6364136223846793005 + 1442695040888963407;
        return least + (int64_t)((random_state >> 16) % (uint64_t)(most - least + 1));
}

/* Every day of 800 years, then random ones, against the C library. */
static void dates_are_the_system_s(void **state)
{
        (void)state;
        for (int64_t i = 0; i < 500000; i++) {
                int64_t day = i < 300000 ? i - 150000 : random_between(-200000000000, 200000000000);
                time_t at = day * 86400;
                struct tm tm;
                if (!gmtime_r(&at, &tm))
                        continue; /* a year beyond int */
                struct date d = date_of_day(day);
                if (d.year != (int64_t)tm.tm_year + 1900 || d.month != tm.tm_mon + 1 || d.day != tm.tm_mday)
                        fail_msg("day %" PRId64 " is %" PRId64 "-%d-%d", day, d.year, d.month, d.day);
                if (weekday_of_day(day) != tm.tm_wday)
                        fail_msg("day %" PRId64 " is weekday %d, not %d", day, weekday_of_day(day), tm.tm_wday);
                if (day_of_date(d) != day || d.day > days_in_month(d.year, d.month))
                        fail_msg("%" PRId64 "-%d-%d", d.year, d.month, d.day);
        }
        assert_int_equal(days_in_month(1900, 2), 28);
        assert_int_equal(days_in_month(2000, 2), 29);
        assert_int_equal(days_in_month(-4, 2), 29);
}

static void divisions_round_down(void **state)
{
        (void)state;
        static const struct {
                int64_t a, b, want;
        } row[] = {
                {0, 7, 0},
                {6, 7, 0},
                {7, 7, 1},
                {-1, 7, -1},
                {-7, 7, -1},
                {-8, 7, -2},
                {-1, 1, -1},
                {INT64_MIN, 2, INT64_MIN / 2},
                {INT64_MAX, 86400, INT64_MAX / 86400},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (divide_down(row[i].a, row[i].b) != row[i].want)
                        fail_msg("%" PRId64 " / %" PRId64, row[i].a, row[i].b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(dates_are_the_system_s),
                cmocka_unit_test(divisions_round_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
