#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/amount.h"

/* What is read, and how it is printed; print NULL: nothing is read. */
static void test_parse_and_print(void **state)
{
        (void)state;
        static const struct {
                const char *in;
                enum resource r;
                int64_t want;
                const char *print;
        } row[] = {
                {"2", CPU, 2000, "2"},
                {"250m", CPU, 250, "250m"},
                {"1n", CPU, 1, "1m"},
                {"0", CPU, 0, "0"},
                {"1.5Gi", MEMORY, 1610612736, "1536Mi"},
                {"1500m", MEMORY, 2, "2"},
                {"0", MEMORY, 0, "0"},
                {"-1m", CPU, 0, NULL},
                {"-1", MEMORY, 0, NULL},
                {"", CPU, 0, NULL},
                {"two", CPU, 0, NULL},
                {NULL, MEMORY, 0, NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct amount a = {false, 7};
                char text[QUANTITY_TEXT_MAX];
                int rc = amount_parse(text_of(row[i].in), row[i].r, &a);
                if (row[i].print ? rc != 0 || !a.set || a.value != row[i].want ||
                                           strcmp(amount_print(row[i].r, a.value, text), row[i].print) != 0
                                 : rc != ERR_INVALID || a.set || a.value != 7)
                        fail_msg("row %zu: %d, %d %lld", i, rc, a.set, (long long)a.value);
        }
}

static void test_equal(void **state)
{
        (void)state;
        static const struct amount none = {false, 1}, other = {false, 2}, one = {true, 1}, two = {true, 2};
        assert_true(amount_equal(none, other));
        assert_true(amount_equal(one, one));
        assert_false(amount_equal(one, two));
        assert_false(amount_equal(one, none));
        assert_false(amount_equal(none, one));
}

static void test_pack(void **state)
{
        (void)state;
        static const struct amount row[] = {{false, 0}, {true, 0}, {true, 1}, {true, 250}, {true, INT64_MAX}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct amount got = amount_unpack(amount_pack(row[i]));
                if (!amount_equal(got, row[i]) || got.value != row[i].value)
                        fail_msg("row %zu: %d %lld", i, got.set, (long long)got.value);
        }
        assert_false(amount_unpack((struct packed_amount){0}).set);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse_and_print), cmocka_unit_test(test_equal),
                                                  cmocka_unit_test(test_pack)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
