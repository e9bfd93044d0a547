#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay/trace.h"

/* --- numbers ----------------------------------------------------------------------------------------------------- */

static void test_numbers(void **state)
{
        (void)state;
        static const char *const good[] = {
                "0",
                "-0",
                "+1",
                "1",
                "007",
                "0.1",
                "0.10",
                ".5",
                "5.",
                "1e3",
                "1E-3",
                "1.5e+2",
                "0.0292",
                "38118.25",
                "12345678.9",
                "1e22",
                "1e23",
                "1e-22",
                "1e-23",
                "9007199254740992",
                "9007199254740993",
                "9007199254740991e22",
                "1e308",
                "1e309",
                "1e-400",
                "4.9e-324",
                "2.2250738585072011e-308",
                "0.000000000000000000000000001",
                "1234567890123456789",
                "12345678901234567890",
                "0.30000000000000004",
                "123456789012345678901234567890",
                "0e99999999999999999999",
                "1e99999999999999999999",
                "1e-99999999999999999999",
                "-1.5",
                "179769313486231580793728971405301e0",
                "8.5070591730234615865843651857942052864e37",
        };
        for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
                double got = 77, want = strtod(good[i], NULL);
                if (!trace_number((struct text){good[i], strlen(good[i])}, &got) || memcmp(&got, &want, sizeof got))
                        fail_msg("%s: %.17g, not %.17g", good[i], got, want);
        }
}

static void test_no_numbers(void **state)
{
        (void)state;
        static const char *const bad[] = {"",      ".",    "+",   "-",   "e5",  ".e5", "1e",   "1e+", "1e5.0",
                                          "1.2.3", "0x1",  "inf", "nan", "NaN", "1 ",  " 1",   "--1", "1,",
                                          "1_0",   "1e5x", "1d3", "١",   "1f",  "+-1", "1e--3"};
        double got;
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
                if (trace_number(text_of(bad[i]), &got))
                        fail_msg("'%s' was read as %g", bad[i], got);
        char long_one[600];
        memset(long_one, '1', sizeof long_one);
        assert_true(trace_number((struct text){long_one, 511}, &got));
        assert_false(trace_number((struct text){long_one, 512}, &got));
}

static uint64_t seed = 88172645463325252;

static unsigned pick(unsigned below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (unsigned)(seed >> 33) % below;
}

/* Any digits, point and exponent: bit for bit what strtod says. */
static void test_random_numbers(void **state)
{
        (void)state;
        for (int i = 0; i < 200000; i++) {
                char s[64];
                size_t n = 0, whole = pick(12) + 1, fraction = pick(14);
                for (size_t k = 0; k < whole; k++)
                        s[n++] = (char)('0' + pick(10));
                if (fraction)
                        s[n++] = '.';
                for (size_t k = 0; k < fraction; k++)
                        s[n++] = (char)('0' + pick(10));
                s[n] = '\0';
                if (pick(2))
                        n += (size_t)snprintf(s + n, sizeof s - n, "e%d", (int)pick(80) - 40);
                double got, want = strtod(s, NULL);
                if (!trace_number((struct text){s, n}, &got) || memcmp(&got, &want, sizeof got))
                        fail_msg("%s: %.17g, not %.17g", s, got, want);
        }
}

/* --- lines ------------------------------------------------------------------------------------------------------- */

static void test_lines(void **state)
{
        (void)state;
        static const struct {
                const char *line, *entity;
                int64_t at_s;
                bool has[RESOURCES];
                double value[RESOURCES];
        } row[] = {
                {"a,0,0.5,1000", "a", 0, {true, true}, {0.5, 1000}},
                {"web-0,1377986700,,2e9", "web-0", 1377986700, {false, true}, {0, 2e9}},
                {"web/app 1,999999999999,1,", "web/app 1", 999999999999, {true, false}, {1, 0}},
                {"b,00012,-1,0", "b", 12, {true, true}, {-1, 0}}, /* usage_add judges values */
                {"\xc3\xa4,1,1,1", "\xc3\xa4", 1, {true, true}, {1, 1}},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct trace_row got;
                const char *why = "";
                if (trace_parse(text_of(row[i].line), &got, &why) < 0)
                        fail_msg("'%s': %s", row[i].line, why);
                bool same = text_is(got.entity, row[i].entity) && got.at_s == row[i].at_s &&
                            memcmp(got.has, row[i].has, sizeof got.has) == 0 &&
                            memcmp(got.value, row[i].value, sizeof got.value) == 0;
                if (!same)
                        fail_msg("'%s' was read as something else", row[i].line);
        }
}

static void test_bad_lines(void **state)
{
        (void)state;
        static const struct {
                const char *line, *why;
        } row[] = {
                {"a", "four columns"},
                {"a,1,1", "four columns"},
                {"a,1,1,1,", "four columns"},
                {",1,1,1", "entity is empty"},
                {"a\x1b[2J,1,1,1", "control characters"},
                {"a\x7f,1,1,1", "control characters"},
                {"\xff,1,1,1", "UTF-8"},
                {"\xc3,1,1,1", "UTF-8"},
                {"a,,1,1", "timestamp_s"},
                {"a,-1,1,1", "timestamp_s"},
                {"a,1.5,1,1", "timestamp_s"},
                {"a,1234567890123,1,1", "timestamp_s"},
                {"a,1,x,1", "cpu_cores is not a number"},
                {"a,1,NaN,1", "cpu_cores is not a number"},
                {"a,1,1,1Gi", "memory_bytes is not a number"},
                {"a,1,,", "both empty"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct trace_row got = {.at_s = 77};
                const char *why = "";
                if (trace_parse(text_of(row[i].line), &got, &why) != ERR_INVALID || !strstr(why, row[i].why) ||
                    got.at_s != 77)
                        fail_msg("'%s': '%s'", row[i].line, why);
        }
        char line[600];
        memset(line, 'e', sizeof line);
        memcpy(line + 512, ",1,1,1", 7);
        struct trace_row got;
        const char *why;
        assert_int_equal(trace_parse(text_of(line), &got, &why), 0);
        line[512] = 'e';
        memcpy(line + 513, ",1,1,1", 7);
        assert_int_equal(trace_parse(text_of(line), &got, &why), ERR_INVALID);
        assert_string_equal(why, "entity is longer than 512 bytes");
}

/* --- the stream -------------------------------------------------------------------------------------------------- */

struct bytes {
        const char *p;
        size_t len, at, chunk;
        int interrupts; /* left before each read */
        bool broken;    /* at the end: EIO */
};

static ssize_t give(void *arg, void *buf, size_t size)
{
        struct bytes *b = arg;
        if (b->interrupts > 0) {
                b->interrupts--;
                errno = EINTR;
                return -1;
        }
        if (b->at == b->len && b->broken) {
                errno = EIO;
                return -1;
        }
        size_t n = b->len - b->at;
        if (n > b->chunk)
                n = b->chunk;
        if (n > size)
                n = size;
        memcpy(buf, b->p + b->at, n);
        b->at += n;
        return (ssize_t)n;
}

/* What a whole stream gives: "a@1 b@2 !3:why", joined. */
static void read_all(struct bytes *b, char *out, size_t size)
{
        struct trace t;
        struct trace_row row;
        struct err err = {0};
        size_t n = 0;
        int rc;
        trace_init(&t, give, b);
        out[0] = '\0';
        while ((rc = trace_next(&t, &row, &err)) == 1 || rc == ERR_INVALID) {
                if (rc == 1)
                        n += (size_t)snprintf(out + n, size - n, "%.*s@%lld ", TEXT_ARG(row.entity),
                                              (long long)row.at_s);
                else
                        n += (size_t)snprintf(out + n, size - n, "!%lld:%.12s ", (long long)t.line, err.text);
        }
        if (rc < 0)
                snprintf(out + n, size - n, "%s", err.text);
        assert_true(t.bytes == (int64_t)b->at);
        trace_release(&t);
}

static void test_streams(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
        } row[] = {
                {"", ""},
                {"\n\n", ""},
                {TRACE_HEADER, ""},
                {TRACE_HEADER "\na,1,1,1\nb,2,2,2\n", "a@1 b@2 "},
                {TRACE_HEADER "\r\na,1,1,1\r\n\r\nb,2,2,2", "a@1 b@2 "},
                {"a,1,1,1\n" TRACE_HEADER "\n", "a@1 !2:timestamp_s  "},
                {"a,1,1,1\nbad\n\nb,2,2,2\nworse", "a@1 !2:it does not  b@2 !5:it does not  "},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                for (size_t chunk = 1; chunk < 90; chunk++) {
                        char got[512];
                        struct bytes b = {row[i].in, strlen(row[i].in), 0, chunk, 2, false};
                        read_all(&b, got, sizeof got);
                        if (strcmp(got, row[i].want))
                                fail_msg("'%s' in chunks of %zu: '%s'", row[i].in, chunk, got);
                }
}

static void test_long_lines(void **state)
{
        (void)state;
        static char in[3 << 20];
        static const size_t lens[] = {4096, 4097, 5000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (2 << 20) + 7};
        for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++)
                for (size_t chunk = 1000; chunk < 3 << 20; chunk *= 37) {
                        char got[256];
                        memset(in, 'x', lens[i]);
                        memcpy(in + lens[i], "\na,1,1,1\n", 10);
                        struct bytes b = {in, lens[i] + 9, 0, chunk, 0, false};
                        read_all(&b, got, sizeof got);
                        if (strcmp(got, lens[i] > 4096 ? "!1:the line is  a@1 " : "!1:it does not  a@1 "))
                                fail_msg("%zu bytes in chunks of %zu: '%s'", lens[i], chunk, got);
                        b = (struct bytes){in, lens[i], 0, chunk, 0, false}; /* and at the end of all */
                        read_all(&b, got, sizeof got);
                        assert_memory_equal(got, "!1:", 3);
                }
}

static void test_a_source_that_fails(void **state)
{
        (void)state;
        char got[256];
        struct bytes b = {"a,1,1,1\nb,2", 11, 0, 3, 0, true};
        read_all(&b, got, sizeof got);
        assert_string_equal(got, "a@1 read: Input/output error");
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_numbers),        cmocka_unit_test(test_no_numbers),
                cmocka_unit_test(test_random_numbers), cmocka_unit_test(test_lines),
                cmocka_unit_test(test_bad_lines),      cmocka_unit_test(test_streams),
                cmocka_unit_test(test_long_lines),     cmocka_unit_test(test_a_source_that_fails),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
