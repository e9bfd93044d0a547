/* Prices: how the setting is read, and what sums cost. */
#include "ledger/prices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "base/mem.h"

#define MOST (~(unsigned __int128)0)

static void test_setting(void **state)
{
        static const struct {
                const char *text, *want; /* want: the pools with their prices, or what is wrong */
                bool good, asked;
        } row[] = {
                {"EUR, *=0.034/0.0045", "EUR *=34000000/4500000", true, false},
                {"EUR,spot=0.012/0.0015,*=1/0", "EUR spot=12000000/1500000 *=1000000000/0", true, false},
                {"  USD ,  a.b-c_D = 1000000 / 0.000000001 ", "USD a.b-c_D=1000000000000000/1", true, false},
                {"USD, opencost", "USD", true, true},
                {"", "it begins with '', not with a currency", false, false},
                {"Euro, *=1/1", "it begins with 'Euro'", false, false},
                {"eur, *=1/1", "it begins with 'eur'", false, false},
                {"*=1/1", "it begins with '*=1/1'", false, false},
                {"EUR", "it has no price: add *=CORE-HOUR/GIB-HOUR, or opencost", false, false},
                {"EUR,", "it has no price", false, false},
                {"EUR,,*=1/1", "'' is no price", false, false},
                {"EUR, spot=0.012", "'spot=0.012' is no price: give POOL=CORE-HOUR/GIB-HOUR", false, false},
                {"EUR, spot", "'spot' is no price", false, false},
                {"EUR, 1/2=3", "'1/2=3' is no price", false, false},
                {"EUR, a b=1/1", "'a b' is no value of a node's label, and not *", false, false},
                {"EUR, =1/1", "'' is no value of a node's label", false, false},
                {"EUR, **=1/1", "'**' is no value", false, false},
                {"EUR, *=-1/1", "'-1' in '*=-1/1' is no price: give a number", false, false},
                {"EUR, *=1/", "'' in '*=1/' is no price", false, false},
                {"EUR, *=1/nan", "'nan' in", false, false},
                {"EUR, *=1e3/1", "'1e3' in", false, false},
                {"EUR, *=0,5/1", "'*=0' is no price", false, false},
                {"EUR, *=.5/1", "'.5' in", false, false},
                {"EUR, *=5./1", "'5.' in", false, false},
                {"EUR, *=0.0000000001/1", "at most nine decimals", false, false},
                {"EUR, *=1000000.000000001/1", "from 0 to 1000000", false, false},
                {"EUR, *=99999999999999999999999999/1", "from 0 to 1000000", false, false},
                {"EUR, *=1/1/1", "'1/1' in", false, false},
                {"EUR, a=1/1, a=2/2", "pool 'a' has two prices: keep one", false, false},
                {"EUR, opencost, *=1/1", "both opencost and prices of its own", false, false},
                {"EUR, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1/1", "no value of a node's",
                 false, false},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct prices p = {.currency = "was"};
                struct err err = {0};
                char said[512];
                int rc = prices_parse(row[i].text, &p, &err), len = 0;
                if (rc == 0)
                        len = snprintf(said, sizeof said, "%s", p.currency);
                for (size_t k = 0; rc == 0 && k < p.count; k++)
                        len += snprintf(said + len, sizeof said - (size_t)len, " %s=%lld/%lld", p.price[k].pool,
                                        (long long)p.price[k].of[CPU], (long long)p.price[k].of[MEMORY]);
                if ((rc == 0) != row[i].good ||
                    (rc == 0 ? strcmp(said, row[i].want) != 0 || p.asked != row[i].asked
                             : rc != ERR_INVALID || !strstr(err.text, row[i].want) || strcmp(p.currency, "was") != 0))
                        fail_msg("'%s': %d '%s'", row[i].text, rc, rc == 0 ? said : err.text);
                if (rc == 0)
                        prices_release(&p);
        }
}

static void test_too_many(void **state)
{
        (void)state;
        for (int count = PRICES_MOST; count <= PRICES_MOST + 1; count++) {
                struct prices p;
                struct err err = {0};
                char *text = mem_new((size_t)count * 16 + 8);
                size_t len = (size_t)sprintf(text, "EUR");
                for (int i = 0; i < count; i++)
                        len += (size_t)sprintf(text + len, ",p%d=1/1", i);
                assert_int_equal(prices_parse(text, &p, &err), count > PRICES_MOST ? ERR_INVALID : 0);
                if (count > PRICES_MOST)
                        assert_non_null(strstr(err.text, "more than 1000 prices"));
                else
                        prices_release(&p);
                mem_free(text);
        }
}

static void test_which_counts(void **state)
{
        struct prices p, none = {0};
        struct err err;
        (void)state;
        assert_int_equal(prices_parse("EUR, spot=1/2, *=3/4", &p, &err), 0);
        struct prices *copy = prices_copy(&p);
        assert_null(prices_only(&p));
        prices_release(&p);
        assert_int_equal(prices_of(copy, "spot")->of[CPU], PRICE_UNIT);
        assert_int_equal(prices_of(copy, "other")->of[MEMORY], 4 * PRICE_UNIT);
        assert_int_equal(prices_of(copy, "")->of[MEMORY], 4 * PRICE_UNIT);
        prices_free(copy);
        assert_int_equal(prices_parse("EUR, *=3/4", &p, &err), 0);
        assert_non_null(prices_only(&p));
        prices_release(&p);
        assert_int_equal(prices_parse("EUR, spot=3/4", &p, &err), 0);
        assert_null(prices_only(&p));
        assert_null(prices_of(&p, ""));
        prices_release(&p);
        assert_null(prices_of(&none, "spot"));
        prices_free(NULL);
}

static void test_cost(void **state)
{
        static const struct price small = {"*", {34000000, 4500000}}, free_one = {"*", {0, 0}},
                                  large = {"*", {PRICE_LIMIT * PRICE_UNIT, PRICE_LIMIT * PRICE_UNIT}};
        struct ledger_sum hour = {0}, all = {0}, tiny = {0};
        (void)state;
        hour.of[LEDGER_ASKED][CPU] = (unsigned __int128)2000 * 3600000;
        hour.of[LEDGER_ASKED][MEMORY] = (unsigned __int128)(INT64_C(4) << 30) * 3600000;
        assert_true(price_cost(&small, &hour, LEDGER_ASKED) == 2 * 34000000 + 4 * 4500000);
        assert_true(price_cost(&small, &hour, LEDGER_USED) == 0);
        assert_true(price_cost(&free_one, &hour, LEDGER_ASKED) == 0);
        tiny.of[LEDGER_ASKED][CPU] = 3599; /* of 3.6e9 for a core-hour: 33.99 billionths */
        assert_true(price_cost(&small, &tiny, LEDGER_ASKED) == 33);
        /* a million cores of memory too, for 400 days at the highest price */
        all.of[LEDGER_ASKED][CPU] = (unsigned __int128)1000000000 * 34560000000;
        all.of[LEDGER_ASKED][MEMORY] = (unsigned __int128)(INT64_C(4000000) << 30) * 34560000000;
        assert_true(price_cost(&large, &all, LEDGER_ASKED) ==
                    (unsigned __int128)5000000 * 9600 * (uint64_t)(PRICE_LIMIT * PRICE_UNIT));
        all.of[LEDGER_ASKED][CPU] = all.of[LEDGER_ASKED][MEMORY] = MOST;
        assert_true(price_cost(&large, &all, LEDGER_ASKED) == MOST);
}

/* What is added first and priced then differs from what is priced first by less than one billionth for each. */
static void test_no_drift(void **state)
{
        static const struct price p = {"*", {33333333, 7777777}};
        struct ledger_sum all = {0};
        unsigned __int128 apart = 0;
        uint64_t seed = 88172645463325252u;
        enum { SUMS = 20000 };
        (void)state;
        for (int i = 0; i < SUMS; i++) {
                struct ledger_sum one = {0};
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        seed ^= seed << 13;
                        seed ^= seed >> 7;
                        seed ^= seed << 17;
                        one.of[LEDGER_IN_FORCE][r] = seed;
                }
                ledger_sum_add(&all, &one);
                apart += price_cost(&p, &one, LEDGER_IN_FORCE);
        }
        unsigned __int128 together = price_cost(&p, &all, LEDGER_IN_FORCE);
        assert_true(apart <= together && together - apart < 2 * SUMS);
}

static void test_print(void **state)
{
        static const struct {
                unsigned __int128 billionths;
                const char *want;
        } row[] = {
                {0, "0"},
                {1, "0.000000001"},
                {100000000, "0.1"},
                {1000000000, "1"},
                {1230000000, "1.23"},
                {(unsigned __int128)1000000 * 1000000000, "1000000"},
                {MOST, "340282366920938463463374607431.768211455"},
        };
        char out[PRICES_MONEY_MAX];
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                assert_string_equal(price_print(row[i].billionths, out), row[i].want);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_setting), cmocka_unit_test(test_too_many), cmocka_unit_test(test_which_counts),
                cmocka_unit_test(test_cost),    cmocka_unit_test(test_no_drift), cmocka_unit_test(test_print),
        };
        return cmocka_run_group_tests_name("prices", tests, NULL, NULL);
}
