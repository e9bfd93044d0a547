/* Reports of the ledger: what is in their stretch, one account alone, and bounds. test_ledger.c has random histories.
 */
#include "ledger/ledger_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/clock.h"

static const int64_t DAY_ONE = INT64_C(20000) * DAY_MS;
static const struct ledger_sum second = {.pod_ms = 1000}, away = {.unbooked_ms = 7};

static struct ledger_report *report(enum ledger_span span, int64_t since_ms, const char *ns, int64_t now_ms)
{
        struct ledger_ask ask = {.axis = LEDGER_NAMESPACE, .span = span, .since_ms = since_ms};
        snprintf(ask.ns, sizeof ask.ns, "%s", ns);
        return ledger_report_new(&ask, now_ms);
}

static void test_stretch(void **state)
{
        (void)state;
        struct ledger_report *r = report(LEDGER_DAY, 2 * (int64_t)DAY_MS, "", DAY_ONE + HOUR_MS);
        assert_true(r->from_ms == DAY_ONE - 2 * (int64_t)DAY_MS);
        for (int day = 3; day >= -3; day--) /* in any order */
                ledger_report_add(r, DAY_ONE + day * (int64_t)DAY_MS, TEXT("a"), &second);
        assert_int_equal(r->periods, 3);
        assert_int_equal(ledger_report_total(r).pod_ms, 3000);
        for (size_t i = 0; i < r->periods; i++)
                assert_true(r->period[i].start_ms == DAY_ONE + ((int64_t)i - 2) * (int64_t)DAY_MS);
        assert_int_equal(r->rows, 1);
        assert_int_equal(r->row[0]->sum.pod_ms, 3000);
        ledger_report_free(r);
        r = report(LEDGER_HOUR, INT64_MAX, "", 5); /* the clock says 1970 */
        assert_true(r->from_ms == 0 && r->until_ms == 5);
        ledger_report_free(r);
        r = report(LEDGER_HOUR, HOUR_MS, "", -5);
        assert_true(r->from_ms == 0 && r->until_ms == 0);
        ledger_report_free(r);
        ledger_report_free(NULL);
}

/* Of the others nothing is added but the time that was not booked. */
static void test_one_account(void **state)
{
        (void)state;
        struct ledger_report *r = report(LEDGER_DAY, DAY_MS, "shop", DAY_ONE);
        ledger_report_add(r, DAY_ONE, TEXT("bank"), &second);
        ledger_report_add(r, DAY_ONE, TEXT(""), &away);
        ledger_report_add(r, DAY_ONE, TEXT("shop"), &second);
        struct ledger_sum total = ledger_report_total(r);
        assert_int_equal(r->rows, 1);
        assert_int_equal(total.pod_ms, 1000);
        assert_int_equal(total.unbooked_ms, 7);
        ledger_report_free(r);
}

/* Of one workload no other account makes a day. */
static void test_one_workload(void **state)
{
        (void)state;
        const struct ledger_ask ask = {.axis = LEDGER_WORKLOAD,
                                       .span = LEDGER_DAY,
                                       .since_ms = 3 * (int64_t)DAY_MS,
                                       .workload = "shop/apps/Deployment/web"};
        struct ledger_report *r = ledger_report_new(&ask, DAY_ONE);
        assert_true(text_is(ledger_report_only(r), ask.workload));
        ledger_report_add(r, DAY_ONE, TEXT("shop/apps/Deployment/web-2"), &second);
        ledger_report_add(r, DAY_ONE, TEXT(""), &away);
        assert_int_equal(r->periods, 0);
        ledger_report_add(r, DAY_ONE, text_of(ask.workload), &second);
        ledger_report_add(r, DAY_ONE - (int64_t)DAY_MS, text_of(ask.workload), &second);
        assert_int_equal(r->periods, 2);
        assert_int_equal(r->rows, 1);
        assert_int_equal(ledger_report_total(r).pod_ms, 2000);
        ledger_report_free(r);
}

/* By the value of the label that is asked for. Of accounts by another key the value is not known. */
static void test_by_label(void **state)
{
        static const struct {
                const char *account, *row;
        } one[] = {{"team=pay", "pay"}, {"team=", ""},      {"", ""},
                   {"owner=x", ""},     {"teams=x", ""},    {LEDGER_OTHERS, LEDGER_OTHERS},
                   {"team", ""},        {"team=a=b", "a=b"}};
        (void)state;
        for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
                struct ledger_ask ask = {.axis = LEDGER_LABEL, .span = LEDGER_DAY, .since_ms = DAY_MS, .label = "team"};
                struct ledger_report *r = ledger_report_new(&ask, DAY_ONE);
                ledger_report_add(r, DAY_ONE, text_of(one[i].account), &second);
                assert_int_equal(r->rows, 1);
                assert_string_equal(r->row[0]->name, one[i].row);
                assert_int_equal(ledger_report_total(r).pod_ms, 1000);
                ledger_report_free(r);
        }
}

static void test_bounds(void **state)
{
        (void)state;
        struct ledger_report *r = report(LEDGER_HOUR, DAY_ONE, "", DAY_ONE);
        char name[16];
        for (int i = 0; i < LEDGER_REPORT_ROWS + 50; i++) {
                snprintf(name, sizeof name, "ns-%d", i);
                ledger_report_add(r, DAY_ONE, text_of(name), &second);
        }
        assert_int_equal(r->rows, LEDGER_REPORT_ROWS + 1);
        const struct ledger_report_row *others = map_get(&r->by_name, TEXT(LEDGER_OTHERS));
        assert_non_null(others);
        assert_int_equal(others->sum.pod_ms, 50 * 1000);
        for (int i = 0; i < 2 * LEDGER_REPORT_PERIODS; i++)
                ledger_report_add(r, DAY_ONE - i * (int64_t)HOUR_MS, TEXT("ns-0"), &second);
        assert_int_equal(r->periods, LEDGER_REPORT_PERIODS);
        ledger_report_free(r);
}

static void test_damaged_page(void **state)
{
        (void)state;
        static uint8_t packed[LEDGER_PAGE_BYTES];
        const struct ledger_page_key key = {LEDGER_NAMESPACE, LEDGER_DAY, DAY_ONE, 0};
        struct ledger_report *r = report(LEDGER_DAY, DAY_MS, "", DAY_ONE);
        size_t len = ledger_page_add(packed, ledger_page_begin(packed), TEXT("a"), &second);
        ledger_report_page(r, &key, (struct text){(const char *)packed, len});
        ledger_report_page(r, &key, (struct text){(const char *)packed, len - 1});
        ledger_report_page(r, &key, TEXT(""));
        assert_int_equal(r->damaged, 2);
        assert_int_equal(ledger_report_total(r).pod_ms, 1000);
        ledger_report_free(r);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_stretch),      cmocka_unit_test(test_one_account),
                cmocka_unit_test(test_one_workload), cmocka_unit_test(test_by_label),
                cmocka_unit_test(test_bounds),       cmocka_unit_test(test_damaged_page),
        };
        return cmocka_run_group_tests_name("ledger_report", tests, NULL, NULL);
}
