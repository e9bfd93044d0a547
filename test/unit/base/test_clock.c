#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"

static uint64_t random_state = 1;

static int64_t random_between(int64_t least, int64_t most)
{
        random_state = random_state * 6364136223846793005 + 1442695040888963407;
        return least + (int64_t)((random_state >> 16) % (uint64_t)(most - least + 1));
}

static void clocks_run(void **state)
{
        (void)state;
        struct now a = now_read(), b = now_read();
        assert_true(b.mono.ns >= a.mono.ns);
        assert_true(a.wall.ms > 1600000000000);
        assert_true(mono_read().ns >= b.mono.ns);
}

static void instants_are_read(void **state)
{
        (void)state;
        static const struct {
                const char *in;
                int64_t ms;
        } row[] = {
                {"1970-01-01T00:00:00Z", 0},
                {"2026-11-21T11:54:02Z", 1795262042000},
                {"2026-11-21T11:54:02.1Z", 1795262042100},
                {"2026-11-21T11:54:02.123Z", 1795262042123},
                {"2026-11-21T11:54:02.123456Z", 1795262042123},
                {"2026-11-21T11:54:02.000999999999999999Z", 1795262042000},
                {"2026-11-21T13:54:02+02:00", 1795262042000},
                {"2026-11-21T06:24:02-05:30", 1795262042000},
                {"2026-11-21T11:54:02-00:00", 1795262042000},
                {"2000-02-29T23:59:59Z", 951868799000},
                {"0001-01-01T00:00:00Z", -62135596800000},
                {"0000-01-01T00:00:00Z", -62167219200000},
                {"9999-12-31T23:59:59.999Z", 253402300799999},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct wall t = {-1};
                if (wall_parse(row[i].in, strlen(row[i].in), &t) != 0 || t.ms != row[i].ms)
                        fail_msg("%s: %" PRId64, row[i].in, t.ms);
        }
}

static void malformed_instants_are_refused(void **state)
{
        (void)state;
        static const char *const row[] = {
                "",
                "2026",
                "2026-11-21",
                "2026-11-21T11:54:02",
                "2026-11-21 11:54:02Z",
                "2026-11-21t11:54:02Z",
                "2026-11-21T11:54:02z",
                "2026-11-21T11:54Z",
                "2026-11-21T11:54:02.Z",
                "2026-11-21T11:54:02,5Z",
                "2026-11-21T11:54:60Z",
                "2026-11-21T24:00:00Z",
                "2026-11-21T11:60:00Z",
                "2026-13-21T11:54:02Z",
                "2026-00-21T11:54:02Z",
                "2026-11-31T11:54:02Z",
                "2026-11-00T11:54:02Z",
                "2025-02-29T11:54:02Z",
                "2026-11-21T11:54:02+2:00",
                "2026-11-21T11:54:02+0200",
                "2026-11-21T11:54:02+24:00",
                "2026-11-21T11:54:02+02:60",
                "2026-11-21T11:54:02Zx",
                "+2026-11-21T11:54:02Z",
                "-026-11-21T11:54:02Z",
                "20261-11-21T11:54:02Z",
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct wall t = {-1};
                if (wall_parse(row[i], strlen(row[i]), &t) != ERR_INVALID || t.ms != -1)
                        fail_msg("%s was read", row[i]);
        }
        const char good[] = "2026-11-21T11:54:02Z";
        struct wall t;
        for (size_t len = 0; len < sizeof good - 1; len++)
                if (wall_parse(good, len, &t) == 0)
                        fail_msg("%.*s was read", (int)len, good);
}

static void instants_are_printed(void **state)
{
        (void)state;
        static const struct {
                int64_t ms;
                const char *second, *micro;
        } row[] = {
                {0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
                {1795262042123, "2026-11-21T11:54:02Z", "2026-11-21T11:54:02.123000Z"},
                {-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999000Z"},
                {INT64_MIN, "0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000000Z"},
                {INT64_MAX, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999000Z"},
        };
        char out[WALL_TEXT_MAX];
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                assert_string_equal(wall_print((struct wall){row[i].ms}, out), row[i].second);
                assert_string_equal(wall_print_micro((struct wall){row[i].ms}, out), row[i].micro);
        }
        assert_string_equal(wall_print_milli((struct wall){1795262042007}, out), "2026-11-21T11:54:02.007Z");
}

static void printed_instants_read_back(void **state)
{
        (void)state;
        for (int i = 0; i < 100000; i++) {
                struct wall t = {random_between(-62167219200000, 253402300799999)}, back = {-1};
                char out[WALL_TEXT_MAX];
                wall_print_micro(t, out);
                if (wall_parse(out, strlen(out), &back) != 0 || back.ms != t.ms)
                        fail_msg("%" PRId64 " printed %s", t.ms, out);
        }
}

static void http_dates(void **state)
{
        (void)state;
        struct wall t = {0};
        assert_int_equal(wall_parse_http("Sat, 21 Nov 2026 11:54:02 GMT", &t), 0);
        assert_int_equal(t.ms, 1795262042000);
        static const char *const row[] = {
                "",
                "Sat",
                "Sat, 21 Nov 2026 11:54:02",
                "Sat, 21 Nov 2026 11:54:02 UTC",
                "Sat, 21 Nov 2026 11:54:02 GMT ",
                "Sat, 1 Nov 2026 11:54:02 GMT",
                "Sat, 31 Nov 2026 11:54:02 GMT",
                "Sat, 21 Nev 2026 11:54:02 GMT",
                "Sut, 21 Nov 2026 11:54:02 GMT",
                "Saturday, 21-Nov-26 11:54:02 GMT",
                "Sat Nov 21 11:54:02 2026",
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (wall_parse_http(row[i], &t) != ERR_INVALID)
                        fail_msg("%s was read", row[i]);
}

static void durations_are_read(void **state)
{
        (void)state;
        static const struct {
                const char *in;
                int64_t ms;
        } row[] = {
                {"0", 0},
                {"-0", 0},
                {"+0", 0},
                {"0s", 0},
                {"5s", 5000},
                {"+5s", 5000},
                {"-5s", -5000},
                {"1h30m", 5400000},
                {"1.5h", 5400000},
                {"336h", 1209600000},
                {"250ms", 250},
                {"90s", 90000},
                {"15.03s", 15030},
                {".5s", 500},
                {"1.s", 1000},
                {"1h2m3s4ms5us6ns", 3723005}, /* rounded once, away from zero */
                {"-1h2m3s4ms5us6ns", -3723005},
                {"100us", 1},
                {"100\u00b5s", 1},
                {"100\u03bcs", 1},
                {"1ns", 1},
                {"-1ns", -1},
                {"1000us", 1},
                {"0.0005s0.0005s", 1}, /* the sum is rounded, not its parts */
                {"1m1m", 120000},
                {"1s1h", 3601000},
                {"0.3333333333333333333h", 1200000},
                {"2562047h47m16.854s", 9223372036854},
                {"2562047h47m16.854775807s", 9223372036855},
                {"9223372036854775807ns", 9223372036855},
                {"0.100000000000000000000h", 360000},
                {"0.9223372036854775807m", 55341},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                int64_t ms = -7;
                if (duration_parse(row[i].in, strlen(row[i].in), &ms) != 0 || ms != row[i].ms)
                        fail_msg("%s: %" PRId64, row[i].in, ms);
        }
}

static void malformed_durations_are_refused(void **state)
{
        (void)state;
        static const char *const row[] = {
                "",
                "3",
                "-",
                "s",
                ".",
                "-.",
                ".s",
                "+.s",
                "1d",
                "1w",
                "1y",
                "1 s",
                " 1s",
                "1s ",
                "1h-5m",
                "1hh",
                "1..5s",
                "1.5.5s",
                "1e3s",
                "0x1s",
                "1S",
                "00",
                "1s3",
                "\xb5s",
                "1\xc2s",
                "--1s",
                "+-1s",
                "inf",
                "NaN",
                "3000000h",
                "2562047h47m16.854775808s",
                "9223372036854775808ns",
                "99999999999999999999h",
                "18446744073709551616ns",
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                int64_t ms = -7;
                if (duration_parse(row[i], strlen(row[i]), &ms) != ERR_INVALID || ms != -7)
                        fail_msg("'%s' was read as %" PRId64, row[i], ms);
        }
}

static void durations_are_printed(void **state)
{
        (void)state;
        static const struct {
                int64_t ms;
                const char *want;
        } row[] = {
                {0, "0s"},
                {1, "1ms"},
                {-1, "-1ms"},
                {250, "250ms"},
                {1000, "1s"},
                {1500, "1.5s"},
                {15030, "15.03s"},
                {15000, "15s"},
                {60000, "1m"},
                {60500, "1m0.5s"},
                {90000, "1m30s"},
                {5400000, "1h30m"},
                {1209600000, "336h"},
                {3605000, "1h5s"},
                {-5400000, "-1h30m"},
                {9223372036854, "2562047h47m16.854s"},
                {INT64_MAX, "2562047788015h12m55.807s"},
                {INT64_MIN, "-2562047788015h12m55.808s"},
        };
        char out[DURATION_TEXT_MAX];
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                assert_string_equal(duration_print(row[i].ms, out), row[i].want);
}

static void printed_durations_read_back(void **state)
{
        (void)state;
        for (int i = 0; i < 100000; i++) {
                int64_t most = (int64_t)1 << (i % 43), ms = random_between(-most, most), back = 0;
                char out[DURATION_TEXT_MAX];
                duration_print(ms, out);
                if (duration_parse(out, strlen(out), &back) != 0 || back != ms)
                        fail_msg("%" PRId64 " printed %s", ms, out);
        }
}

static void the_clock_has_ends(void **state)
{
        (void)state;
        static const struct {
                int64_t now_ns, ms, want_ns;
        } row[] = {{5, 0, 5},
                   {5, 3, 3000005},
                   {5, -3, -2999995},
                   {807, 9223372036854, 9223372036854000807},
                   {776000, 9223372036854, INT64_MAX},
                   {775807, 9223372036854, INT64_MAX},
                   {1, 9223372036855, INT64_MAX},
                   {0, INT64_MAX, INT64_MAX},
                   {-1, INT64_MIN, INT64_MIN},
                   {-775809, -9223372036854, INT64_MIN}};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct mono got = mono_after((struct mono){row[i].now_ns}, row[i].ms);
                if (got.ns != row[i].want_ns)
                        fail_msg("%" PRId64 " and %" PRId64 " ms: %" PRId64, row[i].now_ns, row[i].ms, got.ns);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(clocks_run),
                cmocka_unit_test(instants_are_read),
                cmocka_unit_test(malformed_instants_are_refused),
                cmocka_unit_test(instants_are_printed),
                cmocka_unit_test(printed_instants_read_back),
                cmocka_unit_test(http_dates),
                cmocka_unit_test(durations_are_read),
                cmocka_unit_test(malformed_durations_are_refused),
                cmocka_unit_test(durations_are_printed),
                cmocka_unit_test(printed_durations_read_back),
                cmocka_unit_test(the_clock_has_ends),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
