#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/quantity.h"

#define MOST INT64_MAX
#define KI   INT64_C(1024)

/* A copy that ends where the text does, so that sanitizers see the first byte read behind it. */
static char *exactly(const char *text, size_t len)
{
        char *copy = malloc(len);
        memcpy(copy, text, len);
        return copy;
}

/* --- parsing --------------------------------------------------------------------------------------------------------
 */

static const struct {
        const char *in;
        int digits;
        int64_t want;
} parse_rows[] = {
        /* suffixes and exponents */
        {"0", 0, 0},
        {"0Ki", 0, 0},
        {"8Ki", 0, 8192},
        {"7Mi", 0, 7 * KI *KI},
        {"6Gi", 0, 6 * KI *KI *KI},
        {"5Ti", 0, 5 * KI *KI *KI *KI},
        {"4Pi", 0, 4 * KI *KI *KI *KI *KI},
        {"3Ei", 0, 3 * KI *KI *KI *KI *KI *KI},
        {"5n", 9, 5},
        {"4u", 9, 4000},
        {"3m", 3, 3},
        {"9", 0, 9},
        {"50k", 0, 50000},
        {"6M", 0, 6000000},
        {"5G", 0, 5000000000},
        {"4T", 0, 4000000000000},
        {"3P", 0, 3000000000000000},
        {"1E", 0, 1000000000000000000},
        {"1E-3", 3, 1},
        {"1e3", 0, 1000},
        {"1E6", 0, 1000000},
        {"1e14", 0, 100000000000000},
        {"1.3E+6", 0, 1300000},
        {"1.7E18", 0, 1700000000000000000},
        {"1e03", 0, 1000},
        {"100.035k", 0, 100035},
        {"100.035k", 3, 100035000},
        {"0.0005k", 3, 500},
        {"0.5e-2", 3, 5},
        {"6.987654321G", 0, 6987654321},
        {"100.035Ki", 0, 102436},
        {"100.035Ki", 3, 102435840},
        {"0.5Mi", 0, 524288},
        {"0.05Gi", 0, 53687092},
        {"0.05Gi", 3, 53687091200},
        {"1.5Gi", 0, 1610612736},
        /* what is finer than nano rounds away from zero */
        {"3.001n", 9, 4},
        {"1.1E-9", 9, 2},
        {"0.0000000001", 9, 1},
        {"0.9n", 9, 1},
        {"0.00000012345", 9, 124},
        {"9223372036854775807Ki", 0, MOST},
        {"0.000000000001Ki", 9, 2},
        {".001", 3, 1},
        {".0001k", 3, 100},
        {"1.", 0, 1},
        {"1.G", 0, 1000000000},
        {"0.999999999999", 9, 1000000000},
        {"1e-100", 9, 1},
        {"0.12345678949e1", 9, 1234567895},
        {"9.9999999999", 9, 10000000000},
        {"1.0000000001", 9, 1000000001},
        {"1.999999999", 9, 1999999999},
        {"1.9999999990", 9, 1999999999},
        {"9n", 9, 9},
        {"0.9999999989", 9, 999999999},
        /* and what is finer than the unit asked for */
        {"1n", 3, 1},
        {"1n", 0, 1},
        {"1000001n", 3, 2},
        {"1000000n", 3, 1},
        {"1001m", 0, 2},
        {"-1001m", 0, -2},
        {"-1n", 3, -1},
        {"0.1", 3, 100},
        {"250m", 3, 250},
        {"9.01", 3, 9010},
        {"9.01", 0, 10},
        {"-9.01", 0, -10},
        /* signs, zeros and Kubernetes' oddities */
        {"+1", 0, 1},
        {"-1", 0, -1},
        {"0001", 0, 1},
        {"0001Ki", 0, 1024},
        {"1.500", 3, 1500},
        {".", 0, 0},
        {"-", 0, 0},
        {"+", 0, 0},
        {"m", 3, 0},
        {"Ki", 0, 0},
        {"E", 0, 0},
        {"e3", 0, 0},
        {"-.0", 0, 0},
        {"0Ei", 0, 0},
        {"0e-20", 0, 0},
        {"1e4294967296", 0, 1},
        {"1e-4294967293", 0, 1000},
        /* the edges of int64 */
        {"9Ei", 0, MOST},
        {"8Ei", 0, MOST},
        {"7Ei", 0, 7 * KI *KI *KI *KI *KI *KI},
        {"1000Ei", 0, MOST},
        {"99999999999999999999Ki", 0, MOST},
        {"18014398509481983Ki", 0, MOST},
        {"9007199254740991Ki", 0, 9223372036854774784},
        {"9007199254740992Ki", 0, MOST},
        {"9007199254740991.9Ki", 0, 9223372036854775706},
        {"9007199254740991.9999Ki", 0, MOST},
        {"-9Ei", 0, -MOST},
        {"9223372036854775807", 0, MOST},
        {"-9223372036854775808", 0, INT64_MIN},
        {"9223372036854775806.1", 0, MOST},
        {"9223372036.854775807", 9, MOST},
        {"9.2E", 0, 9200000000000000000},
};

static void test_parse(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(parse_rows) / sizeof(parse_rows[0]); i++) {
                int64_t got = 42;
                size_t at = 99;
                char *in = exactly(parse_rows[i].in, strlen(parse_rows[i].in));
                int rc = quantity_parse(in, strlen(parse_rows[i].in), parse_rows[i].digits, &got, &at);
                free(in);
                if (rc != 0 || got != parse_rows[i].want)
                        fail_msg("'%s' to 10^-%d: rc %d, %lld instead of %lld", parse_rows[i].in, parse_rows[i].digits,
                                 rc, (long long)got, (long long)parse_rows[i].want);
        }
}

static const struct {
        const char *in;
        size_t at;
} refused_rows[] = {
        {"", 0},
        {"1.1.M", 3},
        {"1+1.0M", 3},
        {"0.1mi", 3},
        {"0.1am", 3},
        {"aoeu", 0},
        {".5i", 2},
        {"1i", 1},
        {"-3.01i", 5},
        {"-3.01e-", 5},
        {" 1", 0},
        {"1 ", 1},
        {"1K", 1},
        {"1ki", 1},
        {"1e", 1},
        {"1E2Ki", 3},
        {"1_000", 1},
        {"0x10", 1},
        {"e", 0},
        {"1e+", 1},
        {"1eE3", 1},
        {"1m5", 1},
        {"1+", 1},
        {"1-2", 1},
        {"1Gii", 1},
        {"1e1.5", 3},
        {"NaN", 0},
        {"Inf", 0},
        {"1/", 1},
        {"1:", 1},
        {"1e9223372036854775808", 1},
        {"1e-9223372036854775809", 1},
        {"1e99999999999999999999", 1},
        /* big decimals want a digit */
        {"Pi", 0},
        {"-Ei", 1},
        {".Pi", 1},
        {"e-10", 0},
        {"\xff", 0},
        {"1\xc3\xa9", 1},
};

/* Numbers without a sign are read in a shorter way: a sign before them makes no difference. */
static void test_a_sign_changes_nothing(void **state)
{
        (void)state;
        static const char *const number[] = {"0",
                                             "7",
                                             "007",
                                             "250",
                                             "1000000",
                                             "9223372036854775",
                                             "9223372036854775807",
                                             "9223372036854775808",
                                             "999999999999999999",
                                             "1000000000000000000"};
        static const char *const suffix[] = {"",     "n",           "u",  "m",   "k",   "M",    "G",   "T",
                                             "P",    "E",           "Ki", "Mi",  "Gi",  "Ti",   "Pi",  "Ei",
                                             "e0",   "e3",          "E9", "e-3", "e-9", "e-10", "e18", "e19",
                                             "e300", "e4294967296", "x",  "Kix", "e",   ".",    ".0",  " "};
        static const int digits[] = {QUANTITY_WHOLE, QUANTITY_MILLI, QUANTITY_NANO};
        for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
                for (size_t k = 0; k < sizeof suffix / sizeof suffix[0]; k++)
                        for (size_t d = 0; d < sizeof digits / sizeof digits[0]; d++) {
                                char text[64];
                                int len = snprintf(text, sizeof text, "+%s%s", number[i], suffix[k]);
                                int64_t full = -1, plain = -1;
                                size_t full_at = 0, plain_at = 0;
                                int rc = quantity_parse(text, (size_t)len, digits[d], &full, &full_at);
                                assert_int_equal(
                                        quantity_parse(text + 1, (size_t)len - 1, digits[d], &plain, &plain_at), rc);
                                assert_int_equal(plain, full);
                                assert_int_equal(rc ? plain_at + 1 : 0, rc ? full_at : 0);
                        }
}

static void test_refused(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(refused_rows) / sizeof(refused_rows[0]); i++) {
                const char *in = refused_rows[i].in;
                int64_t got = 42;
                size_t at = 99;
                char text[QUANTITY_TEXT_MAX];
                char *copy = exactly(in, strlen(in));
                int rc = quantity_parse(copy, strlen(in), 3, &got, &at);
                free(copy);
                if (rc != ERR_INVALID || at != refused_rows[i].at || got != 42)
                        fail_msg("'%s': rc %d at %zu instead of %zu", in, rc, at, refused_rows[i].at);
                if (quantity_parse(in, strlen(in), 3, &got, NULL) != ERR_INVALID ||
                    quantity_canonical(in, strlen(in), text) != ERR_INVALID)
                        fail_msg("'%s' is refused only once", in);
        }
        int64_t got;
        size_t at;
        assert_int_equal(quantity_parse(NULL, 0, 0, &got, &at), ERR_INVALID);
        assert_int_equal(at, 0);
        assert_int_equal(quantity_parse("\0001", 2, 0, &got, &at), ERR_INVALID);
        assert_int_equal(at, 0);
        assert_int_equal(quantity_parse("1\0.", 3, 0, &got, &at), ERR_INVALID);
        assert_int_equal(at, 1);
}

/* The limits of the two parts of an int64 exponent: one less is accepted. */
static void test_exponent_edges(void **state)
{
        (void)state;
        int64_t got;
        assert_int_equal(quantity_parse("1e9223372036854775807", 21, 9, &got, NULL), 0); /* low 32 bits: -1 */
        assert_int_equal(got, 100000000);
        assert_int_equal(quantity_parse("1e-9223372036854775808", 22, 0, &got, NULL), 0); /* low 32 bits: 0 */
        assert_int_equal(got, 1);
}

static const struct {
        const char *in;
        int digits;
} beyond_rows[] = {
        {"9223372036854775808", 0},
        {"-9223372036854775809", 0},
        {"9223372036854775807.1", 0},
        {"9Ei", 3},
        {"12E", 0},
        {"1e19", 0},
        {"1e999", 0},
        {"1e30", 9},
        {"9223372036.854775808", 9},
        {"99999999999999999999", 0},
        {"1234567890123456789012345678901234567890123456789012345678901234567890", 0},
};

static void test_beyond_int64(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(beyond_rows) / sizeof(beyond_rows[0]); i++) {
                const char *in = beyond_rows[i].in;
                int64_t got = 42;
                size_t at = 99;
                int rc = quantity_parse(in, strlen(in), beyond_rows[i].digits, &got, &at);
                if (rc != ERR_INVALID || at != strlen(in) || got != 42)
                        fail_msg("'%s': rc %d at %zu, %lld", in, rc, at, (long long)got);
        }
}

/* --- printing -------------------------------------------------------------------------------------------------------
 */

static const struct {
        const char *in, *want;
} print_rows[] = {
        {"1024Mi", "1Gi"},
        {"307200Ki", "300Mi"},
        {"1001Gi", "1001Gi"},
        {"1024Gi", "1Ti"},
        {"1Ti", "1Ti"},
        {"0.5Ki", "512"},
        {"0.001T", "1G"},
        {"1000M", "1G"},
        {"1.08", "1080m"},
        {"1234567M", "1234567M"},
        {"1234.567G", "1234.567G"},
        {"1025", "1025"},
        {".001e12", "1e9"},
        {"1e-3", "1e-3"},
        {"80e-3", "80e-3"},
        {"300e6", "300e6"},
        {"00", "0"},
        {"0", "0"},
        {"5000m", "5"},
        {"0.5", "500m"},
        {"1", "1"},
        {"1000", "1k"},
        {"1234000", "1234k"},
        {"2000", "2k"},
        {"1023Ki", "1023Ki"},
        /* never below 1024 and never a fraction in binary */
        {".001Ki", "1024m"},
        {".000001Ki", "1024u"},
        {".000000001Ki", "1024n"},
        {".000000000001Ki", "2n"},
        {"0.0009765625Ki", "1"},
        {"1.0Ki", "1Ki"},
        {"1.5Ki", "1536"},
        {"1.5Gi", "1536Mi"},
        {"1.25Mi", "1280Ki"},
        {"1.1Ki", "1126400m"},
        {"0.3Gi", "322122547200m"},
        {"0.5Ei", "512Pi"},
        {"0.999Ki", "1022976m"},
        {"1.001Ki", "1025024m"},
        {"1024", "1024"},
        {"1e19", "10e18"},
        {"1e100", "10e99"},
        {"1e-10", "1e-9"},
        {"100e-11", "1e-9"},
        {"0.12345678949e1", "1234567895e-9"},
        {"12345e-2", "123450e-3"},
        {"1e1", "10"},
        {"1E5", "100e3"},
        {"10e2", "1e3"},
        {"-1.5", "-1500m"},
        {"-.5Ki", "-512"},
        {"-2Ki", "-2Ki"},
        {"-8Ki", "-8Ki"},
        {"-16Ki", "-16Ki"},
        {"-0.1n", "-1n"},
        {"-0", "0"},
        {"-.0", "0"},
        {"9Ei", "9223372036854775807"},
        {"-12Ei", "-9223372036854775807"},
        {"1Pi", "1Pi"},
        {"1024Pi", "1Ei"},
        {"9.9999999999", "10"},
        {"12345678901234567890", "12345678901234567890"},
        {"12345678901234567890.", "12345678901234567890"},
        {"123456789012345678901234567890123456789000Ki", "9223372036854775807"},
        /* what looks canonical is kept */
        {"+1", "+1"},
        {"0001", "0001"},
        {"0001Ki", "0001Ki"},
        {"+1Ki", "+1Ki"},
        {"1.Ki", "1.Ki"},
        {"1.", "1."},
        {"1.G", "1.G"},
        {"1.500", "1.500"},
        {"1.000", "1"},
        {"1.50", "1500m"},
        {"1e03", "1e03"},
        {"1E6", "1E6"},
        {"1e-0", "1e-0"},
        {"100", "100"},
        {"1100", "1100"},
        {"11000", "11k"},
        {"1e4294967296", "1e4294967296"},
        {"00.5", "500m"},
        {"+0.5", "500m"},
        {"+8Ki", "8Ki"},
        {"+9Ki", "+9Ki"},
        {"+1.000000001", "+1.000000001"},
        {"+1.00000000000000001", "1000000001n"},
        /* up to 18 digits, and 14 places in binary */
        {"+123456789012345678", "+123456789012345678"},
        {"+1234567890123456789", "1234567890123456789"},
        {"+12345678901Ki", "+12345678901Ki"},
        {"+123456789013Ki", "123456789013Ki"},
        {"+12345679Mi", "+12345679Mi"},
        {"+123456789Mi", "123456789Mi"},
        {"+12345Gi", "+12345Gi"},
        {"+123457Gi", "123457Gi"},
        {"+13Ti", "+13Ti"},
        {"+123Ti", "123Ti"},
        {"+1Pi", "1Pi"},
        {"+1e-9", "+1e-9"},
        {"+1e-12", "1e-9"},
        /* lost suffix */
        {"1000E", "1"},
        {"10000E", "10"},
        {"1e2147483647", "10e2147483646"},
};

static void test_canonical(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(print_rows) / sizeof(print_rows[0]); i++) {
                char got[QUANTITY_TEXT_MAX] = "?", again[QUANTITY_TEXT_MAX] = "?";
                int rc = quantity_canonical(print_rows[i].in, strlen(print_rows[i].in), got);
                if (rc != 0 || strcmp(got, print_rows[i].want) != 0)
                        fail_msg("'%s': rc %d, '%s' instead of '%s'", print_rows[i].in, rc, got, print_rows[i].want);
                if (quantity_canonical(got, strlen(got), again) != 0 || strcmp(got, again) != 0)
                        fail_msg("'%s' is not canonical, '%s' is", got, again);
        }
}

/* The same digits, by their number: 63 and the NUL are all that fits. */
static void test_canonical_room(void **state)
{
        (void)state;
        char in[200], out[QUANTITY_TEXT_MAX];
        for (size_t digits = 1; digits < 100; digits++) {
                memset(in, '7', digits);
                int rc = quantity_canonical(in, digits, out);
                assert_int_equal(rc, digits < QUANTITY_TEXT_MAX ? 0 : ERR_TOOBIG);
                if (rc == 0)
                        assert_int_equal(strlen(out), digits);
                in[digits] = 'm';
                assert_int_equal(quantity_canonical(in, digits + 1, out),
                                 digits + 1 < QUANTITY_TEXT_MAX ? 0 : ERR_TOOBIG);
                memmove(in + 1, in, digits);
                in[0] = '-';
                assert_int_equal(quantity_canonical(in, digits + 1, out),
                                 digits + 1 < QUANTITY_TEXT_MAX ? 0 : ERR_TOOBIG);
                in[0] = '+'; /* 18 digits and fewer are kept with their sign */
                assert_int_equal(quantity_canonical(in, digits + 1, out), digits < QUANTITY_TEXT_MAX ? 0 : ERR_TOOBIG);
                /* two places more, to make the exponent a multiple of three */
                memmove(in, in + 1, digits);
                memcpy(in + digits, "e2", 2);
                assert_int_equal(quantity_canonical(in, digits + 2, out),
                                 digits + 2 < QUANTITY_TEXT_MAX ? 0 : ERR_TOOBIG);
                /* leading zeros are kept, where the text is */
                memset(in, '0', digits);
                in[digits] = '1';
                assert_int_equal(quantity_canonical(in, digits + 1, out),
                                 digits + 1 < QUANTITY_TEXT_MAX ? 0 : ERR_TOOBIG);
        }
        /* a carry through a hundred nines needs no room */
        memset(in, '9', 100);
        memcpy(in + 100, ".9999999999", 11);
        assert_int_equal(quantity_canonical(in, 111, out), 0);
        assert_string_equal(out, "10"); /* 10^100: beyond the largest suffix */
}

static const struct {
        int64_t value;
        const char *cpu, *memory;
} int64_rows[] = {
        {0, "0", "0"},
        {1, "1m", "1"},
        {454, "454m", "454"},
        {1000, "1", "1k"},
        {1023, "1023m", "1023"},
        {1024, "1024m", "1Ki"},
        {1500, "1500m", "1500"},
        {2000, "2", "2000"},
        {2000000, "2k", "2000000"},
        {812 * KI * KI, "851443712m", "812Mi"},
        {KI * KI, "1048576m", "1Mi"},
        {KI * KI * KI, "1073741824m", "1Gi"},
        {1234000, "1234", "1234000"},
        {-1024, "-1024m", "-1Ki"},
        {-1000, "-1", "-1k"},
        {INT64_MAX, "9223372036854775807m", "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808m", "-8Ei"},
};

static void test_print_int64(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(int64_rows) / sizeof(int64_rows[0]); i++) {
                char cpu[QUANTITY_TEXT_MAX], memory[QUANTITY_TEXT_MAX];
                assert_ptr_equal(quantity_print_cpu(int64_rows[i].value, cpu), cpu);
                assert_ptr_equal(quantity_print_memory(int64_rows[i].value, memory), memory);
                if (strcmp(cpu, int64_rows[i].cpu) != 0 || strcmp(memory, int64_rows[i].memory) != 0)
                        fail_msg("%lld: '%s', '%s' instead of '%s', '%s'", (long long)int64_rows[i].value, cpu, memory,
                                 int64_rows[i].cpu, int64_rows[i].memory);
        }
}

/* What is printed is read back as it was. */
static void test_print_then_parse(void **state)
{
        (void)state;
        uint64_t random = 88172645463325252u;
        for (int i = 0; i < 20000; i++) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                int64_t value = (int64_t)(random >> (i % 60 + 1)), got = -1;
                char text[QUANTITY_TEXT_MAX];
                quantity_print_cpu(value, text);
                assert_int_equal(quantity_parse(text, strlen(text), QUANTITY_MILLI, &got, NULL), 0);
                assert_int_equal(got, value);
                quantity_print_memory(value, text);
                assert_int_equal(quantity_parse(text, strlen(text), QUANTITY_WHOLE, &got, NULL), 0);
                assert_int_equal(got, value);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parse),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_a_sign_changes_nothing),
                cmocka_unit_test(test_exponent_edges),
                cmocka_unit_test(test_beyond_int64),
                cmocka_unit_test(test_canonical),
                cmocka_unit_test(test_canonical_room),
                cmocka_unit_test(test_print_int64),
                cmocka_unit_test(test_print_then_parse),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
