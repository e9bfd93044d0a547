/* What a report costs: which rows have a price, and that the pools are the total. */
#include "ledger/ledger_money.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after its needs */
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"

static const int64_t DAY_ONE = INT64_C(20000) * DAY_MS;

static struct ledger_report *report(enum ledger_axis axis, const char *prices)
{
        const struct ledger_ask ask = {.axis = axis, .span = LEDGER_DAY, .since_ms = DAY_MS};
        struct ledger_report *r = ledger_report_new(&ask, DAY_ONE);
        struct prices parsed;
        struct err err;
        if (!prices)
                return r;
        assert_int_equal(prices_parse(prices, &parsed, &err), 0);
        r->prices = prices_copy(&parsed);
        prices_release(&parsed);
        return r;
}

/* So many core-hours asked for and a half of them in force. */
static struct ledger_sum hours(uint64_t n)
{
        struct ledger_sum s = {.pod_ms = 1};
        s.of[LEDGER_ASKED][CPU] = (unsigned __int128)n * 3600000 * 1000;
        s.of[LEDGER_IN_FORCE][CPU] = s.of[LEDGER_ASKED][CPU] / 2;
        return s;
}

static void put(struct ledger_report *r, const char *name, uint64_t n)
{
        const struct ledger_sum s = hours(n);
        ledger_report_add(r, DAY_ONE, text_of(name), &s);
}

static void test_which_rows(void **state)
{
        static const struct {
                const char *prices, *name;
                enum ledger_axis axis;
                int64_t want; /* of one core-hour; -1: it has no price */
        } row[] = {
                {NULL, "spot", LEDGER_POOL, -1},
                {"EUR, spot=1/1", "spot", LEDGER_POOL, 1},
                {"EUR, spot=1/1", "other", LEDGER_POOL, -1},
                {"EUR, spot=1/1", "", LEDGER_POOL, -1},
                {"EUR, spot=1/1", "spot", LEDGER_NAMESPACE, -1},
                {"EUR, spot=1/1, *=2/1", "", LEDGER_POOL, 2},
                {"EUR, spot=1/1, *=2/1", "shop", LEDGER_NAMESPACE, -1},
                {"EUR, spot=1/1, *=2/1", LEDGER_OTHERS, LEDGER_POOL, -1},
                {"EUR, *=3/1", "shop", LEDGER_NAMESPACE, 3},
                {"EUR, *=3/1", "team", LEDGER_LABEL, 3},
                {"EUR, *=3/1", LEDGER_OTHERS, LEDGER_POOL, 3},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct ledger_report *r = report(row[i].axis, row[i].prices);
                struct ledger_money money;
                const struct ledger_sum one = hours(1);
                bool some = ledger_money_row(r, row[i].name, &one, &money);
                if (some != (row[i].want >= 0) ||
                    (some && money.of[LEDGER_ASKED] != (unsigned __int128)(row[i].want * PRICE_UNIT)))
                        fail_msg("row %zu: %d, %lld", i, some, (long long)money.of[LEDGER_ASKED]);
                ledger_report_free(r);
        }
}

static void test_total(void **state)
{
        struct ledger_money money;
        struct ledger_sum unpriced;
        (void)state;
        struct ledger_report *r = report(LEDGER_NAMESPACE, "EUR, spot=1/1, big=10/1");
        put(r, "shop", 9);
        assert_false(ledger_money_total(r, &money, &unpriced)); /* the pools were not read */
        r->pools = report(LEDGER_POOL, NULL);
        put(r->pools, "spot", 4);
        put(r->pools, "big", 2);
        put(r->pools, "gone", 3);
        assert_true(ledger_money_total(r, &money, &unpriced));
        assert_true(money.of[LEDGER_ASKED] == 24 * PRICE_UNIT && money.of[LEDGER_IN_FORCE] == 12 * PRICE_UNIT);
        assert_true(unpriced.of[LEDGER_ASKED][CPU] == hours(3).of[LEDGER_ASKED][CPU]);
        ledger_report_free(r);
        r = report(LEDGER_POOL, "EUR, other=1/1");
        put(r, "spot", 4);
        assert_false(ledger_money_total(r, &money, &unpriced)); /* nothing of it has a price */
        ledger_report_free(r);
        r = report(LEDGER_NAMESPACE, "EUR, *=2/1");
        put(r, "shop", 9);
        assert_true(ledger_money_total(r, &money, &unpriced));
        assert_true(money.of[LEDGER_ASKED] == 18 * PRICE_UNIT && unpriced.of[LEDGER_ASKED][CPU] == 0);
        ledger_report_free(r);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_which_rows),
                cmocka_unit_test(test_total),
        };
        return cmocka_run_group_tests_name("ledger_money", tests, NULL, NULL);
}
