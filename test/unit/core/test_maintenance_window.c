/*
 * Windows against a table of schedules, a zone made of transitions, and a walker that looks at every minute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/maintenance_window.h"

/* --- parsing ----------------------------------------------------------------------------------------------------- */

static uint64_t bits(int from, int to, int step)
{
        uint64_t set = 0;
        for (int v = from; v <= to; v += step)
                set |= UINT64_C(1) << v;
        return set;
}

static void test_fields(void **state)
{
        (void)state;
        static const struct {
                const char *field;
                int of; /* which field */
                int range[3], more[3];
        } row[] = {
                {"*", 0, {0, 59, 1}, {1, 0, 1}},        {"0", 0, {0, 0, 1}, {1, 0, 1}},
                {"59", 0, {59, 59, 1}, {1, 0, 1}},      {"*/15", 0, {0, 59, 15}, {1, 0, 1}},
                {"5/20", 0, {5, 59, 20}, {1, 0, 1}},    {"10-20", 0, {10, 20, 1}, {1, 0, 1}},
                {"10-20/5", 0, {10, 20, 5}, {1, 0, 1}}, {"10-10/5", 0, {10, 10, 1}, {1, 0, 1}},
                {"1,2", 0, {1, 2, 1}, {1, 0, 1}},       {"1-3,50-55/2", 0, {1, 3, 1}, {50, 55, 2}},
                {"*/1", 0, {0, 59, 1}, {1, 0, 1}},      {"*/99", 0, {0, 0, 1}, {1, 0, 1}},
                {"007", 0, {7, 7, 1}, {1, 0, 1}},       {"*", 1, {0, 23, 1}, {1, 0, 1}},
                {"23", 1, {23, 23, 1}, {1, 0, 1}},      {"*", 2, {1, 31, 1}, {1, 0, 1}},
                {"31", 2, {31, 31, 1}, {1, 0, 1}},      {"*/10", 2, {1, 31, 10}, {1, 0, 1}},
                {"*", 3, {1, 12, 1}, {1, 0, 1}},        {"jan", 3, {1, 1, 1}, {1, 0, 1}},
                {"DEC", 3, {12, 12, 1}, {1, 0, 1}},     {"Feb-apr,nov", 3, {2, 4, 1}, {11, 11, 1}},
                {"jun/2", 3, {6, 12, 2}, {1, 0, 1}},    {"*", 4, {0, 6, 1}, {1, 0, 1}},
                {"0", 4, {0, 0, 1}, {1, 0, 1}},         {"7", 4, {0, 0, 1}, {1, 0, 1}},
                {"sun", 4, {0, 0, 1}, {1, 0, 1}},       {"mon-fri", 4, {1, 5, 1}, {1, 0, 1}},
                {"6-7", 4, {6, 6, 1}, {0, 0, 1}},       {"sat-7", 4, {6, 6, 1}, {0, 0, 1}},
                {"0-7", 4, {0, 6, 1}, {1, 0, 1}},       {"1/2", 4, {1, 6, 2}, {1, 0, 1}},
                {"*/7", 4, {0, 0, 1}, {1, 0, 1}},       {"Tue,THU", 4, {2, 2, 1}, {4, 4, 1}},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char schedule[64];
                const char *part[5] = {"*", "*", "*", "*", "*"};
                part[row[i].of] = row[i].field;
                int len = snprintf(schedule, sizeof schedule, "%s %s %s %s %s", part[0], part[1], part[2], part[3],
                                   part[4]);
                struct window w;
                int field;
                if (window_parse(schedule, (size_t)len, &w, &field))
                        fail_msg("'%s' refused at field %d", schedule, field);
                uint64_t got[5] = {w.minutes, w.hours, w.days, w.months, w.weekdays};
                uint64_t want = bits(row[i].range[0], row[i].range[1], row[i].range[2]) |
                                bits(row[i].more[0], row[i].more[1], row[i].more[2]);
                if (got[row[i].of] != want)
                        fail_msg("'%s': %llx, not %llx", schedule, (unsigned long long)got[row[i].of],
                                 (unsigned long long)want);
                bool star = strcmp(row[i].field, "*") == 0;
                assert_int_equal(w.any_day, row[i].of != 2 || star);
                assert_int_equal(w.any_weekday, row[i].of != 4 || star);
                assert_int_equal(w.duration_ms, 0);
        }
}

static void test_refused(void **state)
{
        (void)state;
        static const struct {
                const char *schedule;
                int field;
        } row[] = {
                {"", 5},
                {" ", 5},
                {"* * * *", 5},
                {"* * * * * *", 5},
                {"@daily", 5},
                {"60 * * * *", 0},
                {"-1 * * * *", 0},
                {"1- * * * *", 0},
                {"5-1 * * * *", 0},
                {"1-60 * * * *", 0},
                {"*/0 * * * *", 0},
                {"*/ * * * *", 0},
                {"/5 * * * *", 0},
                {"** * * * *", 0},
                {"*5 * * * *", 0},
                {"1,,2 * * * *", 0},
                {",1 * * * *", 0},
                {"1, * * * *", 0},
                {"1-2-3 * * * *", 0},
                {"*/2/2 * * * *", 0},
                {"1x * * * *", 0},
                {"jan * * * *", 0},
                {"0000 * * * *", 0},
                {"99999999999999999999 * * * *", 0},
                {"*/9999 * * * *", 0},
                {"? * * * *", 0},
                {"0\n0 * * *", 5},
                {"* 24 * * *", 1},
                {"* * 0 * *", 2},
                {"* * 32 * *", 2},
                {"* * L * *", 2},
                {"* * * 0 *", 3},
                {"* * * 13 *", 3},
                {"* * * ja *", 3},
                {"* * * january *", 3},
                {"* * * xan *", 3},
                {"* * * jxn *", 3},
                {"* * * jax *", 3},
                {"* * * mon *", 3},
                {"* * * * 8", 4},
                {"* * * * sat-sun", 4},
                {"* * * * fri-mon", 4},
                {"* * * * jan", 4},
                {"* * * * 1#2", 4},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct window w = {.duration_ms = 77};
                int field = -1;
                int rc = window_parse(row[i].schedule, strlen(row[i].schedule), &w, &field);
                if (rc != ERR_INVALID || field != row[i].field || w.duration_ms != 77)
                        fail_msg("'%s': %d at field %d", row[i].schedule, rc, field);
        }
}

static void test_blanks(void **state)
{
        (void)state;
        struct window w;
        int field;
        assert_int_equal(window_parse("\t0  2 *\t* 1-5 ", 14, &w, &field), 0);
        assert_int_equal(w.minutes, 1);
        assert_int_equal(w.hours, 4);
        assert_int_equal(w.weekdays, 0x3e);
        assert_int_equal(window_parse("0 2 * * 1-5x", 11, &w, &field), 0); /* the length counts, not the NUL */
        assert_int_equal(window_parse("0 2 * * sun", 10, &w, &field), ERR_INVALID);
}

/* --- a zone of transitions --------------------------------------------------------------------------------------- */

struct transition {
        int64_t at_s;
        int32_t offset;
};
struct test_zone {
        const char *name;
        int32_t before;
        struct transition t[4]; /* at_s 0 ends */
};

static int32_t zone_shows(const void *zone, int64_t at_s)
{
        const struct test_zone *z = zone;
        int32_t offset = z->before;
        for (int i = 0; i < 4 && z->t[i].at_s && z->t[i].at_s <= at_s; i++)
                offset = z->t[i].offset;
        return offset;
}

static int zone_at(const void *zone, int64_t local_s, int64_t ret[static 2])
{
        const struct test_zone *z = zone;
        int n = 0;
        int32_t offset = z->before;
        int64_t since = INT64_MIN;
        for (int i = 0;; i++) {
                bool last = i == 4 || !z->t[i].at_s;
                int64_t until = last ? INT64_MAX : z->t[i].at_s;
                if (local_s - offset >= since && local_s - offset < until && n < 2)
                        ret[n++] = local_s - offset;
                if (last)
                        return n;
                if (n == 0 && local_s >= until + offset && local_s < until + z->t[i].offset)
                        ret[0] = until; /* skipped */
                since = until;
                offset = z->t[i].offset;
        }
}

static struct window_clock clock_of(const struct test_zone *z)
{
        return (struct window_clock){z, zone_shows, zone_at};
}

/* 2026: Berlin's summer begins 29 March 01:00Z and ends 25 October 01:00Z. */
static const struct test_zone utc = {"UTC", 0, {{0}}};
static const struct test_zone berlin = {"Berlin", 3600, {{1774746000, 7200}, {1792890000, 3600}}};
static const struct test_zone zones[] = {
        {"UTC", 0, {{0}}},
        {"Berlin", 3600, {{1774746000, 7200}, {1792890000, 3600}}},
        {"half an hour, gap then fold", 37800, {{1774746000, 39600}, {1775347200, 37800}}},
        {"a day skipped", -36000, {{1774778400, 50400}}},
        {"a day repeated", 50400, {{1774778400, -36000}}},
        {"a fold over midnight", 0, {{1774742400, -3600}, {1775347200, 0}}},
        {"a gap over midnight", -1800, {{1774742400, 1800}, {1775347200, -1800}}},
        {"west", -18000, {{1774746000, -14400}, {1775350800, -18000}}},
};

static struct window window_of(const char *schedule, int64_t minutes)
{
        struct window w;
        int field;
        assert_int_equal(window_parse(schedule, strlen(schedule), &w, &field), 0);
        w.duration_ms = minutes * MINUTE_MS;
        return w;
}

static int64_t utc_s(int year, int month, int day, int hour, int minute)
{
        struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute};
        return timegm(&tm);
}

static void expect(const struct test_zone *z, const char *schedule, int64_t minutes, int64_t at_ms, bool open,
                   int64_t change_ms)
{
        struct window w = window_of(schedule, minutes);
        struct window_clock clock = clock_of(z);
        struct wall change = {-1};
        bool got = window_open(&w, &clock, (struct wall){at_ms}, &change);
        if (got != open || change.ms != change_ms)
                fail_msg("'%s' in %s at %lld: open %d, change %lld, not %lld", schedule, z->name,
                         (long long)at_ms / 1000, got, (long long)change.ms, (long long)change_ms);
        assert_true(window_open(&w, &clock, (struct wall){at_ms}, NULL) == open);
}

static void test_edges(void **state)
{
        (void)state;
        int64_t two = utc_s(2026, 11, 23, 2, 0) * 1000, five = two + 3 * HOUR_MS; /* a Monday */
        expect(&utc, "0 2 * * 1-5", 180, two - 1, false, two);
        expect(&utc, "0 2 * * 1-5", 180, two, true, five);
        expect(&utc, "0 2 * * 1-5", 180, two + 1, true, five);
        expect(&utc, "0 2 * * 1-5", 180, five - 1, true, five);
        expect(&utc, "0 2 * * 1-5", 180, five, false, two + DAY_MS);
        expect(&utc, "0 0 * * *", 60, two - 2 * HOUR_MS - 30 * SECOND_MS, false, two - 2 * HOUR_MS);
        expect(&utc, "0 2 * * 1-5", 180, five + 4 * DAY_MS, false, two + 7 * DAY_MS);
}

static void test_day_fields(void **state)
{
        (void)state;
        int64_t sat = utc_s(2026, 11, 21, 0, 0) * 1000;           /* the 21st */
        expect(&utc, "0 0 22 * 1", 60, sat, false, sat + DAY_MS); /* the 22nd or a Monday */
        expect(&utc, "0 0 22 * 1", 60, sat + DAY_MS + HOUR_MS, false, sat + 2 * DAY_MS);
        expect(&utc, "0 0 22 * *", 60, sat + 2 * DAY_MS, false, utc_s(2026, 12, 22, 0, 0) * 1000);
        expect(&utc, "0 0 * * 1", 60, sat, false, sat + 2 * DAY_MS);
        expect(&utc, "0 0 */2 * 1", 60, sat, true, sat + HOUR_MS); /* a step restricts: odd days or Mondays */
        expect(&utc, "0 0 */2 * 1", 60, sat + HOUR_MS, false, sat + 2 * DAY_MS);
}

/* Eight hundred years, day by day, beside the C library: a window on that day and month alone is open then. */
static void test_calendar(void **state)
{
        (void)state;
        struct window_clock clock = clock_of(&utc);
        for (int64_t day = -140000; day < 160000; day++) {
                struct tm tm;
                time_t t = day * 86400;
                gmtime_r(&t, &tm);
                struct window w = {.minutes = 1,
                                   .hours = 1,
                                   .days = UINT32_C(1) << tm.tm_mday,
                                   .months = UINT32_C(1) << (tm.tm_mon + 1),
                                   .weekdays = (uint8_t)(1 << tm.tm_wday),
                                   .any_weekday = true,
                                   .duration_ms = MINUTE_MS};
                if (!window_open(&w, &clock, (struct wall){t * 1000}, NULL))
                        fail_msg("day %lld is not %d.%d.", (long long)day, tm.tm_mday, tm.tm_mon + 1);
        }
}

static void test_far_and_never(void **state)
{
        (void)state;
        int64_t now = utc_s(2026, 11, 21, 12, 0) * 1000;
        expect(&utc, "0 0 30 2 *", 60, now, false, 0);
        expect(&utc, "0 0 29 2 *", 60, now, false, 0); /* 2028 */
        expect(&utc, "0 0 29 2 *", 60, utc_s(2027, 3, 1, 0, 1) * 1000, false, utc_s(2028, 2, 29, 0, 0) * 1000);
        expect(&utc, "0 0 1 1 *", 60, now, false, utc_s(2027, 1, 1, 0, 0) * 1000);
        expect(&utc, "* * * * *", 1, now + 30, true, 0);
        expect(&utc, "0 */2 * * *", 120, now, true, 0);
        expect(&utc, "0 0 * * 0", 168 * 60, now, true, 0);
        expect(&utc, "0 0 * * 0", 168 * 60 - 1, now, true, utc_s(2026, 11, 21, 23, 59) * 1000);
        expect(&utc, "*/2 * * * *", 1, now + 59999, true, now + 60000);
        expect(&utc, "*/2 * * * *", 1, now + 60000, false, now + 120000);
        expect(&utc, "0 0 29 2 *", 60, utc_s(1896, 2, 29, 0, 30) * 1000, true, utc_s(1896, 2, 29, 1, 0) * 1000);
}

static void test_bounds_of_the_search(void **state)
{
        (void)state;
        int64_t leap = utc_s(2028, 2, 29, 0, 0) * 1000;
        expect(&utc, "0 0 29 2 *", 60, leap - INT64_C(366) * DAY_MS, false, leap);
        expect(&utc, "0 0 29 2 *", 60, leap - INT64_C(367) * DAY_MS, false, 0);
        int64_t fourth = utc_s(2026, 12, 4, 0, 0) * 1000; /* three days of windows that touch end then */
        expect(&utc, "* * 1-3 * *", 1, fourth - 4096 * MINUTE_MS, true, fourth);
        expect(&utc, "* * 1-3 * *", 1, fourth - 4097 * MINUTE_MS, true, 0);
}

static void test_overlaps_run_on(void **state)
{
        (void)state;
        int64_t ten = utc_s(2026, 11, 21, 10, 0) * 1000;
        expect(&utc, "0,30 10-11 * * *", 45, ten, true, ten + 135 * MINUTE_MS);
        expect(&utc, "0,30 10-11 * * *", 30, ten, true, ten + 120 * MINUTE_MS); /* touching is open throughout */
        expect(&utc, "0,30 10-11 * * *", 29, ten, true, ten + 29 * MINUTE_MS);
}

static void test_gap(void **state)
{
        (void)state;
        int64_t gap = utc_s(2026, 3, 29, 1, 0) * 1000; /* 02:00 becomes 03:00 */
        expect(&berlin, "30 2 * * *", 60, gap - 1, false, gap);
        expect(&berlin, "30 2 * * *", 60, gap, true, gap + HOUR_MS);
        expect(&berlin, "30 2 * * *", 60, gap + HOUR_MS, false, utc_s(2026, 3, 30, 0, 30) * 1000);
        expect(&berlin, "0 1 * * *", 180, gap, true, gap + 2 * HOUR_MS); /* elapsed time: until 05:00 */
}

static void test_repeat(void **state)
{
        (void)state;
        int64_t first = utc_s(2026, 10, 25, 0, 30) * 1000; /* 02:30, first pass */
        expect(&berlin, "30 2 * * *", 20, first, true, first + 20 * MINUTE_MS);
        expect(&berlin, "30 2 * * *", 20, first + HOUR_MS, false, utc_s(2026, 10, 26, 1, 30) * 1000);
        expect(&berlin, "30 2 * * *", 90, first + HOUR_MS, true, first + 90 * MINUTE_MS);
        expect(&berlin, "30 2 * * *", 45, first + 40 * MINUTE_MS, true, first + 45 * MINUTE_MS); /* shows 02:10 again */
}

/* --- against a walker of minutes ----------------------------------------------------------------------------- */

static bool minute_matches(const struct window *w, int64_t local_s)
{
        struct tm tm;
        time_t t = local_s;
        gmtime_r(&t, &tm);
        bool day = w->days >> tm.tm_mday & 1, weekday = w->weekdays >> tm.tm_wday & 1;
        bool restricted = !w->any_day && !w->any_weekday;
        return w->minutes >> tm.tm_min & 1 && w->hours >> tm.tm_hour & 1 && w->months >> (tm.tm_mon + 1) & 1 &&
               (restricted ? day || weekday : day && weekday);
}

enum { WALK_MINUTES = 24 * 1440 };

/* For each minute from since_s: is it open? A start is a minute at which the clock shows, or has jumped over, a
 * matching time that it has not shown before. */
static void walk(const struct window *w, const struct test_zone *z, int64_t since_s, bool open[static WALK_MINUTES])
{
        int64_t shown = since_s + zone_shows(z, since_s) - 60, until = 0;
        for (int i = 0; i < WALK_MINUTES; i++) {
                int64_t at = since_s + 60 * i, local = at + zone_shows(z, at);
                bool start = false;
                for (; shown < local; shown += 60)
                        start |= minute_matches(w, shown + 60);
                if (start && until < at * 1000 + w->duration_ms)
                        until = at * 1000 + w->duration_ms;
                open[i] = at * 1000 < until;
        }
}

static uint64_t seed = 0x2545f4914f6cdd1d;

static unsigned pick(unsigned below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (unsigned)(seed >> 33) % below;
}

static void pick_schedule(char *out, size_t len)
{
        static const char *const minutes[] = {"0", "30", "*/20", "0,45", "59", "*", "15-17"};
        static const char *const hours[] = {"0", "2", "23", "1-3", "*", "*/6", "0,12"};
        static const char *const days[] = {"*", "*", "29", "28-30", "*/5", "1,4"};
        static const char *const months[] = {"*", "*", "mar", "3-4"};
        static const char *const weekdays[] = {"*", "*", "sun", "1-5", "sat,7", "*/3"};
        snprintf(out, len, "%s %s %s %s %s", minutes[pick(7)], hours[pick(7)], days[pick(6)], months[pick(4)],
                 weekdays[pick(6)]);
}

static void compare(const char *schedule, const struct window *w, const struct test_zone *z, int64_t since_s)
{
        static bool open[WALK_MINUTES];
        struct window_clock clock = clock_of(z);
        walk(w, z, since_s, open);
        int64_t flip = -1;   /* the next change, walking back */
        int warm = 8 * 1440; /* windows that began before the walk have ended by then */
        for (int i = WALK_MINUTES - 1; i >= warm; i--) {
                if (i + 1 < WALK_MINUTES && open[i] != open[i + 1])
                        flip = i + 1;
                if (i % 31 && open[i] == open[i - 1])
                        continue;
                struct wall change;
                int64_t at = since_s + 60 * i;
                bool got = window_open(w, &clock, (struct wall){at * 1000}, &change);
                bool right =
                        got == open[i] && (flip < 0 || change.ms == 0 || change.ms == (since_s + 60 * flip) * 1000);
                if (!right || (flip >= 0 && change.ms == 0 && flip - i < 4096))
                        fail_msg("'%s' for %lld min in %s at %lld: open %d, change %lld; walked: %d, %lld", schedule,
                                 (long long)w->duration_ms / 60000, z->name, (long long)at, got,
                                 (long long)change.ms / 1000, open[i], (long long)(since_s + 60 * flip));
        }
}

static void test_walker_agrees(void **state)
{
        (void)state;
        static const int64_t minutes[] = {1, 2, 20, 59, 60, 90, 180, 1440, 2881, 168 * 60};
        int64_t since = utc_s(2026, 3, 17, 0, 0);
        for (size_t k = 0; k < sizeof zones / sizeof zones[0]; k++)
                for (int n = 0; n < 12; n++) {
                        char schedule[64];
                        pick_schedule(schedule, sizeof schedule);
                        struct window w = window_of(schedule, minutes[pick(10)]);
                        compare(schedule, &w, &zones[k], since);
                }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_blanks),
                cmocka_unit_test(test_edges),
                cmocka_unit_test(test_day_fields),
                cmocka_unit_test(test_calendar),
                cmocka_unit_test(test_far_and_never),
                cmocka_unit_test(test_overlaps_run_on),
                cmocka_unit_test(test_bounds_of_the_search),
                cmocka_unit_test(test_gap),
                cmocka_unit_test(test_repeat),
                cmocka_unit_test(test_walker_agrees),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
