/* One account of the ledger, found among pages of many days: the sum of each day is what was booked for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/store_image.h"
#include "../../support/tmp.h"
#include "base/mem.h"

enum { DAYS = 6, ACCOUNTS = 700 }; /* six pages a day */
static const int64_t DAY_ONE = INT64_C(20000) * DAY_MS;
static uint64_t booked[ACCOUNTS][DAYS];

static void account_name(int account, char out[static 64])
{
        snprintf(out, 64, "shop/apps/Deployment/web-%d", account);
}

static void put_page(void *to, const struct ledger_page_key *key, struct text packed)
{
        store_batch_ledger(to, key, packed);
}

static void book(struct ledger *l, int account, int day)
{
        char name[64];
        account_name(account, name);
        const struct ledger_names names = {{"shop", "", "", name}};
        const struct ledger_sum sum = {.pod_ms = (uint64_t)(account + 1) * 1000 + (uint64_t)day};
        ledger_book(l, &names, &sum, DAY_ONE + day * (int64_t)DAY_MS);
        booked[account][day] += sum.pod_ms;
}

/* Each day in an order of its own, some accounts not on every day, and one day opened again behind the last. */
static void book_all(struct store *s)
{
        struct ledger *l = ledger_new(77);
        for (int turn = 0; turn <= DAYS; turn++) {
                int day = turn < DAYS ? turn : 1;
                struct store_batch *b = store_batch_new();
                for (int i = 0; i < ACCOUNTS; i++) {
                        int account = (i * (turn % 2 ? 1 : 3) + 40 * turn) % ACCOUNTS;
                        if (account % (day + 2) != 1)
                                book(l, account, day);
                }
                ledger_write(l, DAY_ONE + day * (int64_t)DAY_MS, put_page, b);
                store_submit(s, b);
        }
        ledger_free(l);
}

static struct ledger_report *ask(struct store *s, const char *name, int results)
{
        struct ledger_ask of = {.axis = LEDGER_WORKLOAD, .span = LEDGER_DAY, .since_ms = (DAYS - 2) * (int64_t)DAY_MS};
        snprintf(of.workload, sizeof of.workload, "%s", name);
        struct ledger_report *r = ledger_report_new(&of, DAY_ONE + (DAYS - 1) * (int64_t)DAY_MS + HOUR_MS);
        store_read_ledger(s, r, NULL);
        image_wait(results);
        assert_ptr_equal(image_told.report, r);
        assert_int_equal(image_told.err.code, 0);
        assert_int_equal(r->damaged, 0);
        return r;
}

static void test_each_account(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = mem_printf("%s/account.db", tmp_dir());
        image_remove(path);
        struct store *s = image_open(path);
        book_all(s);
        image_wait(DAYS + 1);
        int results = image_results();
        for (int account = 0; account < ACCOUNTS; account += 7) {
                char name[64];
                account_name(account, name);
                struct ledger_report *r = ask(s, name, ++results);
                size_t at = 0;
                for (int day = 1; day < DAYS; day++) {
                        if (!booked[account][day])
                                continue;
                        assert_true(at < r->periods);
                        assert_true(r->period[at].start_ms == DAY_ONE + day * (int64_t)DAY_MS);
                        assert_int_equal(r->period[at++].sum.pod_ms, booked[account][day]);
                }
                assert_int_equal(r->periods, at);
                assert_int_equal(r->rows, at > 0);
                ledger_report_free(r);
        }
        static const char *const none[] = {"shop/apps/Deployment/web", "shop/apps/Deployment/web-1x", "x"};
        for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
                struct ledger_report *r = ask(s, none[i], ++results);
                assert_int_equal(r->periods, 0);
                ledger_report_free(r);
        }
        image_close(s);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_account)};
        return cmocka_run_group_tests_name("ledger_account", tests, NULL, NULL);
}
