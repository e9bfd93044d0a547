#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "base/time_zone.h"

MEM_AUTO(zone_free, struct zone *)

static const char *const zone_names[] = {
        "Europe/Berlin",     "America/New_York",  "Australia/Lord_Howe", "Asia/Kolkata",     "UTC",
        "Africa/Casablanca", "Europe/Dublin",     "America/Nuuk",        "Antarctica/Troll", "Asia/Kathmandu",
        "Pacific/Apia",      "America/Sao_Paulo", "Asia/Gaza",           "Africa/Monrovia",
};
enum { ZONES = sizeof zone_names / sizeof *zone_names };

static struct zone *zone_of(const char *name)
{
        struct zone *z = NULL;
        struct err err = {0};
        if (zone_read(NULL, name, &z, &err) != 0)
                fail_msg("%s", err.text);
        return z;
}

static uint64_t random_state = 1;

static int64_t random_between(int64_t least, int64_t most)
{
        random_state = random_state * 6364136223846793005 + 1442695040888963407;
        return least + (int64_t)((random_state >> 16) % (uint64_t)(most - least + 1));
}

/* Seconds since 1970 of a time on the wall, as if in UTC: "2026-03-29T02:30:00" */
static int64_t local(const char *s)
{
        char text[32];
        struct wall t;
        snprintf(text, sizeof text, "%sZ", s);
        assert_int_equal(wall_parse(text, strlen(text), &t), 0);
        return t.ms / 1000;
}

/* Four hundred years around now, the last transitions of tables and the rules behind them included. */
static void offsets_are_the_system_s(void **state)
{
        (void)state;
        for (size_t i = 0; i < ZONES; i++) {
                struct zone *z AUTO(zone_free) = zone_of(zone_names[i]);
                setenv("TZ", zone_names[i], 1);
                tzset();
                for (int n = 0; n < 20000; n++) {
                        time_t at = n % 2 ? random_between(-5000000000, 8000000000)
                                          : random_between(1500000000, 2300000000);
                        struct tm tm;
                        assert_non_null(localtime_r(&at, &tm));
                        if (zone_offset(z, at) != tm.tm_gmtoff)
                                fail_msg("%s at %" PRId64 ": %d, the system says %ld", zone_names[i], (int64_t)at,
                                         (int)zone_offset(z, at), tm.tm_gmtoff);
                }
        }
        unsetenv("TZ");
        tzset();
}

/* What zone_instants must say, by trying every offset of the days around. */
static int instants_by_trial(const struct zone *z, int64_t at_local, int64_t ret[4])
{
        int found = 0;
        int64_t tried[200];
        int count = 0;
        for (int64_t probe = at_local - 100000; probe <= at_local + 100000; probe += 1000) {
                int64_t at = at_local - zone_offset(z, probe);
                bool known = false;
                for (int i = 0; i < count; i++)
                        known = known || tried[i] == at;
                if (known || zone_offset(z, at) != at_local - at)
                        continue;
                tried[count++] = at;
                ret[found++] = at;
        }
        return found;
}

static void assert_instants(const struct zone *z, const char *name, int64_t at_local)
{
        int64_t got[2] = {0}, want[4];
        int count = zone_instants(z, at_local, got), expected = instants_by_trial(z, at_local, want);
        bool good = count == expected;
        if (good && count == 0) /* a gap: the clock jumps over the time right there */
                good = got[0] - 1 + zone_offset(z, got[0] - 1) < at_local && got[0] + zone_offset(z, got[0]) > at_local;
        for (int i = 0; good && i < count; i++)
                good = got[i] + zone_offset(z, got[i]) == at_local;
        if (!good || (count == 2 && got[0] >= got[1]))
                fail_msg("%s at local %" PRId64 ": %d instants (%" PRId64 ", %" PRId64 "), not %d", name, at_local,
                         count, got[0], got[1], expected);
}

/* Random times, and times around every change that bisection finds. */
static void instants_show_their_time(void **state)
{
        (void)state;
        for (size_t i = 0; i < ZONES; i++) {
                struct zone *z AUTO(zone_free) = zone_of(zone_names[i]);
                for (int n = 0; n < 300; n++)
                        assert_instants(z, zone_names[i], random_between(1000000000, 3000000000));
                for (int64_t low = 1700000000; low < 1900000000; low += 20 * 86400) {
                        int64_t high = low + 20 * 86400, at = low;
                        if (zone_offset(z, low) == zone_offset(z, high))
                                continue;
                        while (high - at > 1) {
                                int64_t middle = at + (high - at) / 2;
                                if (zone_offset(z, middle) == zone_offset(z, low))
                                        at = middle;
                                else
                                        high = middle;
                        }
                        for (int64_t shift = -7300; shift <= 7300; shift += 100) {
                                assert_instants(z, zone_names[i], high + zone_offset(z, low) + shift);
                                assert_instants(z, zone_names[i], high + zone_offset(z, high) + shift + 1);
                        }
                }
        }
}

static void gaps_and_repeats(void **state)
{
        (void)state;
        static const struct {
                const char *zone, *at;
                int count;
                const char *first, *second; /* UTC */
        } row[] = {
                {"Europe/Berlin", "2026-11-21T12:00:00", 1, "2026-11-21T11:00:00", NULL},
                {"Europe/Berlin", "2026-03-29T01:59:59", 1, "2026-03-29T00:59:59", NULL},
                {"Europe/Berlin", "2026-03-29T02:00:00", 0, "2026-03-29T01:00:00", NULL},
                {"Europe/Berlin", "2026-03-29T02:30:00", 0, "2026-03-29T01:00:00", NULL},
                {"Europe/Berlin", "2026-03-29T03:00:00", 1, "2026-03-29T01:00:00", NULL},
                {"Europe/Berlin", "2026-10-25T01:59:59", 1, "2026-10-24T23:59:59", NULL},
                {"Europe/Berlin", "2026-10-25T02:00:00", 2, "2026-10-25T00:00:00", "2026-10-25T01:00:00"},
                {"Europe/Berlin", "2026-10-25T02:59:59", 2, "2026-10-25T00:59:59", "2026-10-25T01:59:59"},
                {"Europe/Berlin", "2026-10-25T03:00:00", 1, "2026-10-25T02:00:00", NULL},
                {"Europe/Berlin", "2120-10-27T02:30:00", 2, "2120-10-27T00:30:00", "2120-10-27T01:30:00"},
                {"America/New_York", "2026-03-08T02:30:00", 0, "2026-03-08T07:00:00", NULL},
                {"America/New_York", "2026-11-01T01:30:00", 2, "2026-11-01T05:30:00", "2026-11-01T06:30:00"},
                {"Australia/Lord_Howe", "2026-10-04T02:15:00", 0, "2026-10-03T15:30:00", NULL},
                {"Australia/Lord_Howe", "2026-04-05T01:45:00", 2, "2026-04-04T14:45:00", "2026-04-04T15:15:00"},
                {"Australia/Lord_Howe", "2026-04-05T02:15:00", 1, "2026-04-04T15:45:00", NULL},
                {"Pacific/Apia", "2011-12-30T12:00:00", 0, "2011-12-30T10:00:00", NULL}, /* the day that was left out */
                {"Asia/Kolkata", "2026-06-01T00:00:00", 1, "2026-05-31T18:30:00", NULL},
                {"UTC", "2026-03-29T02:30:00", 1, "2026-03-29T02:30:00", NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct zone *z AUTO(zone_free) = zone_of(row[i].zone);
                int64_t got[2] = {0};
                int count = zone_instants(z, local(row[i].at), got);
                if (count != row[i].count || got[0] != local(row[i].first) ||
                    (row[i].second && got[1] != local(row[i].second)))
                        fail_msg("%s %s: %d, %" PRId64 ", %" PRId64, row[i].zone, row[i].at, count, got[0], got[1]);
        }
}

static void names_are_checked(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                int code;
        } row[] = {
                {"", ERR_INVALID},
                {"/etc/passwd", ERR_INVALID},
                {"../zoneinfo/UTC", ERR_INVALID},
                {"Europe/../UTC", ERR_INVALID},
                {"Europe//Berlin", ERR_INVALID},
                {"Europe/", ERR_INVALID},
                {".", ERR_INVALID},
                {"Europe/Berlin\n", ERR_INVALID},
                {"Europe/Ber lin", ERR_INVALID},
                {"Europe/Atlantis", ERR_NOTFOUND},
                {"europe/berlin", ERR_NOTFOUND},
                {"UTC/x", ERR_NOTFOUND},
        };
        struct zone *z = NULL;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                if (zone_read(NULL, row[i].name, &z, &err) != row[i].code || z || !err.text[0])
                        fail_msg("'%s': %s", row[i].name, err.text);
        }
        char name[300];
        memset(name, 'a', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        assert_int_equal(zone_read(NULL, name, &z, NULL), ERR_INVALID);
        assert_int_equal(zone_read("/nonexistent", "UTC", &z, NULL), ERR_NOTFOUND);
        assert_true(zone_read(NULL, "Europe", &z, NULL) < 0);
}

/* --- files of our own
 * ----------------------------------------------------------------------------------------------------------- */

static char dir[] = "/tmp/halflife-zone-XXXXXX";

static int make_dir(void **state)
{
        (void)state;
        return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
        (void)state;
        char path[64];
        snprintf(path, sizeof path, "%s/Mine", dir);
        unlink(path);
        return rmdir(dir);
}

static int read_bytes(const char *bytes, size_t len, struct zone **ret, struct err *err)
{
        char path[64];
        snprintf(path, sizeof path, "%s/Mine", dir);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(bytes, 1, len, f), len);
        fclose(f);
        return zone_read(dir, "Mine", ret, err);
}

/* A file without a table: the rule alone. */
static int read_rule(const char *rule, struct zone **ret)
{
        char bytes[300] = {0}, *second = bytes + 44 + 7;
        memcpy(bytes, "TZif2", 5);
        bytes[39] = bytes[43] = 1; /* one type, one character */
        memcpy(second, bytes, 44);
        char *text = second + 44 + 7;
        int len = snprintf(text, sizeof bytes - (size_t)(text - bytes), "\n%s\n", rule);
        return read_bytes(bytes, (size_t)(text + len - bytes), ret, NULL);
}

static void rules(void **state)
{
        (void)state;
        static const struct {
                const char *rule, *at; /* UTC */
                int32_t offset_s;
        } row[] = {
                {"UTC0", "2026-01-01T00:00:00", 0},
                {"<-03>3", "2026-01-01T00:00:00", -10800},
                {"<+0330>-3:30", "2026-01-01T00:00:00", 12600},
                {"ABC-1:02:03", "2026-01-01T00:00:00", 3723},
                {"EST5EDT,M3.2.0,M11.1.0", "2026-03-08T06:59:59", -18000},
                {"EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00", -14400},
                {"EST5EDT,M3.2.0,M11.1.0", "2026-11-01T05:59:59", -14400},
                {"EST5EDT,M3.2.0,M11.1.0", "2026-11-01T06:00:00", -18000},
                {"AAA0BBB-2,J60,J300", "2024-03-01T01:59:59", 0}, /* J60 is 1 March in every year */
                {"AAA0BBB-2,J60,J300", "2024-03-01T02:00:00", 7200},
                {"AAA0BBB-2,J60,J300", "2025-03-01T02:00:00", 7200},
                {"AAA0BBB-2,59,299", "2024-02-29T01:59:59", 0}, /* day 59 is 29 February in a leap year */
                {"AAA0BBB-2,59,299", "2024-02-29T02:00:00", 7200},
                {"AAA0BBB-2,59,299", "2025-03-01T02:00:00", 7200},
                {"XXX3EDT4,0/0,J365/23", "2026-01-01T02:59:59", -14400}, /* summer for ever */
                {"XXX3EDT4,0/0,J365/23", "2026-07-01T00:00:00", -14400},
                {"XXX3EDT4,0/0,J365/23", "2026-12-31T23:59:59", -14400},
                {"XXX3EDT4,0/0,J365/23", "2027-01-01T03:00:00", -14400},
                {"NZST-12NZDT,M9.5.0,M4.1.0/3", "2026-01-01T00:00:00", 46800}, /* south: summer over the new year */
                {"NZST-12NZDT,M9.5.0,M4.1.0/3", "2026-04-04T13:59:59", 46800},
                {"NZST-12NZDT,M9.5.0,M4.1.0/3", "2026-04-04T14:00:00", 43200},
                {"NZST-12NZDT,M9.5.0,M4.1.0/3", "2026-09-26T14:00:00", 46800},
                {"IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00:00",
                 0}, /* winter time as the exception, as in Dublin */
                {"IST-1GMT0,M10.5.0,M3.5.0/1", "2026-07-01T00:00:00", 3600},
                {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59", -7200},
                {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00", -3600},
                {"EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-28T00:00:00",
                 10800}, /* Thursday and 50 hours: Saturday at 2 */
                {"EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-27T23:59:59", 7200},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct zone *z AUTO(zone_free) = NULL;
                if (read_rule(row[i].rule, &z) != 0)
                        fail_msg("%s was refused", row[i].rule);
                if (zone_offset(z, local(row[i].at)) != row[i].offset_s)
                        fail_msg("%s at %s: %d", row[i].rule, row[i].at, (int)zone_offset(z, local(row[i].at)));
        }
}

static void malformed_rules_are_refused(void **state)
{
        (void)state;
        static const char *const row[] = {
                "U",
                "UT",
                "UTC",
                "UTC+",
                "UTCx",
                "UTC25",
                "UTC0:60",
                "<UTC0",
                "<+>0",
                "<+0 3>0",
                "UTC0 ",
                "EST5EDT",
                "EST5EDT,",
                "EST5EDT4",
                "EST5EDT,M3.2.0",
                "EST5EDT,M3.2.0,",
                "EST5EDT,M3.2.0,M11.1",
                "EST5EDT,M13.2.0,M11.1.0",
                "EST5EDT,M0.2.0,M11.1.0",
                "EST5EDT,M3.6.0,M11.1.0",
                "EST5EDT,M3.0.0,M11.1.0",
                "EST5EDT,M3.2.7,M11.1.0",
                "EST5EDT,J0,J2",
                "EST5EDT,J366,J2",
                "EST5EDT,366,2",
                "EST5EDT,M3.2.0/168,M11.1.0",
                "EST5EDT,M3.2.0/,M11.1.0",
                "EST5EDT,M3.2.0,M11.1.0,",
                "EST5EDT,M3.2.0,M11.1.0x",
                "EST99999999999",
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct zone *z = NULL;
                if (read_rule(row[i], &z) != ERR_DAMAGED || z)
                        fail_msg("%s was read", row[i]);
        }
        struct zone *z AUTO(zone_free) = NULL;
        zone_free(z);
        assert_int_equal(read_rule("", &z), 0); /* no rule: the last offset stands */
        assert_int_equal(zone_offset(z, 4000000000), 0);
}

static void damaged_files_are_refused(void **state)
{
        (void)state;
        size_t len;
        struct err err = {0};
        char *whole AUTO(mem_free) = file_read("/usr/share/zoneinfo/America/New_York", 1 << 20, &len, &err);
        assert_non_null(whole);
        for (size_t cut = 0; cut < len; cut += cut < 200 || cut + 60 > len ? 1 : 37) {
                struct zone *z = NULL;
                if (read_bytes(whole, cut, &z, &err) != ERR_DAMAGED || z)
                        fail_msg("cut at %zu was read", cut);
        }
        for (size_t at = 0; at < len; at += at < 100 ? 1 : 11) { /* any byte wrong: refused or read, never a crash */
                char kept = whole[at];
                whole[at] = (char)(kept ^ 0xff);
                struct zone *z AUTO(zone_free) = NULL;
                if (read_bytes(whole, len, &z, &err) == 0) {
                        int64_t got[2];
                        for (int64_t t = -3000000000; t < 6000000000; t += 400000000)
                                zone_instants(z, t + zone_offset(z, t), got);
                } else {
                        assert_null(z);
                }
                whole[at] = kept;
        }
        struct zone *z = NULL;
        whole[4] = '\0'; /* version 1 */
        assert_int_equal(read_bytes(whole, len, &z, &err), ERR_DAMAGED);
        assert_null(z);
}

/* Clocks that count leap seconds ("right/…") are some half minute off for everybody else. */
static void leap_seconds_are_refused(void **state)
{
        (void)state;
        char bytes[2 * (44 + 7) + 12 + 7] = "TZif2", *second = bytes + 44 + 7;
        bytes[39] = bytes[43] = 1;
        memcpy(second, bytes, 44);
        second[31] = 1;
        memcpy(bytes + sizeof bytes - 7, "\nUTC0\n", 6);
        struct zone *z = NULL;
        struct err err = {0};
        assert_int_equal(read_bytes(bytes, sizeof bytes - 1, &z, &err), ERR_DAMAGED);
        assert_non_null(strstr(err.text, "leap seconds"));
}

static void large_files_are_refused(void **state)
{
        (void)state;
        enum { LEN = 300 * 1024 };
        char *bytes AUTO(mem_free) = mem_new(LEN);
        memcpy(bytes, "TZif2", 5);
        struct zone *z = NULL;
        assert_int_equal(read_bytes(bytes, LEN, &z, NULL), ERR_TOOBIG);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(offsets_are_the_system_s),
                cmocka_unit_test(instants_show_their_time),
                cmocka_unit_test(gaps_and_repeats),
                cmocka_unit_test(names_are_checked),
                cmocka_unit_test(rules),
                cmocka_unit_test(malformed_rules_are_refused),
                cmocka_unit_test(damaged_files_are_refused),
                cmocka_unit_test(large_files_are_refused),
                cmocka_unit_test(leap_seconds_are_refused),
        };
        return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
