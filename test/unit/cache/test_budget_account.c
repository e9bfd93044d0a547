#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/budget_account.h"

/* Several namespaces share the budget if one other than "shop" is named. */
static struct budget_account account_of(const char *other)
{
        struct budget_account a = {0};
        budget_account_see(&a, "shop");
        budget_account_see(&a, "shop");
        budget_account_see(&a, other);
        return a;
}

static void test_the_most_that_one_has(void **state)
{
        static const struct {
                const char *other;
                int64_t limit, want;
        } row[] = {
                {"shop", 10, 10},
                {"pay", 10, 5},
                {"pay", 3, 2},
                {"pay", 1, 1},
                {"pay", 0, 0},
                {"shop", 0, 0},
                {"pay", INT64_MAX, INT64_MAX / 2 + 1},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct budget_account a = account_of(row[i].other);
                if (budget_account_most(&a, row[i].limit) != row[i].want)
                        fail_msg("row %zu: %lld", i, (long long)budget_account_most(&a, row[i].limit));
        }
}

static void test_who_has_room(void **state)
{
        static const struct {
                const char *what, *other;
                int64_t shop, pay; /* count already */
                int64_t amount, limit;
                enum budget_verdict want;
        } row[] = {
                {"alone, all of it", "shop", 6, 0, 4, 10, BUDGET_HAS_ROOM},
                {"alone, one too many", "shop", 6, 0, 5, 10, BUDGET_ALL_USED},
                {"alone, above all", "shop", 0, 0, 99, 10, BUDGET_HAS_ROOM},
                {"alone, above all, one used", "shop", 1, 0, 99, 10, BUDGET_ALL_USED},
                {"no limit", "pay", 99, 99, 99, 0, BUDGET_HAS_ROOM},
                {"half", "pay", 3, 0, 2, 10, BUDGET_HAS_ROOM},
                {"one above half", "pay", 3, 0, 3, 10, BUDGET_SHARE_USED},
                {"half, the other has half", "pay", 3, 5, 2, 10, BUDGET_HAS_ROOM},
                {"half, the other had all of it", "pay", 3, 10, 2, 10, BUDGET_HAS_ROOM},
                {"above half, the other has half", "pay", 0, 5, 9, 10, BUDGET_HAS_ROOM},
                {"above half, the other has half, one used", "pay", 1, 5, 9, 10, BUDGET_ALL_USED},
                {"the last of an odd one", "pay", 2, 0, 1, 3, BUDGET_SHARE_USED},
                {"the other's last of an odd one", "pay", 1, 2, 1, 3, BUDGET_ALL_USED},
                {"a budget of one", "pay", 0, 0, 1, 1, BUDGET_HAS_ROOM},
                {"a budget of one, used", "pay", 1, 0, 1, 1, BUDGET_ALL_USED},
                {"a budget of one, the other's", "pay", 0, 1, 1, 1, BUDGET_ALL_USED},
                {"sums end", "pay", INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, BUDGET_SHARE_USED},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct budget_account a = account_of(row[i].other);
                budget_account_add(&a, "shop", BUDGET_CORES, row[i].shop);
                budget_account_add(&a, "pay", BUDGET_CORES, row[i].pay);
                enum budget_verdict v = budget_account_ask(&a, "shop", BUDGET_CORES, row[i].amount, row[i].limit);
                if (v != row[i].want)
                        fail_msg("%s: %d", row[i].what, v);
                assert_int_equal(budget_account_ask(&a, "shop", BUDGET_WORKLOADS, 1, 1), BUDGET_HAS_ROOM);
                budget_account_release(&a);
                assert_null(a.first);
        }
}

/* What no namespace is known of counts in full. */
static void test_of_no_namespace(void **state)
{
        (void)state;
        struct budget_account a = account_of("pay");
        assert_int_equal(budget_account_ask(&a, "shop", BUDGET_CORES, 1, 10), BUDGET_HAS_ROOM);
        budget_account_add(&a, "", BUDGET_CORES, 6);
        budget_account_add(&a, "", BUDGET_CORES, 3);
        assert_int_equal(budget_account_ask(&a, "shop", BUDGET_CORES, 1, 10), BUDGET_HAS_ROOM);
        assert_int_equal(budget_account_ask(&a, "shop", BUDGET_CORES, 2, 10), BUDGET_ALL_USED);
        assert_int_equal(budget_account_ask(&a, "shop", BUDGET_CORES, 2, 12), BUDGET_HAS_ROOM);
        assert_int_equal(budget_account_ask(&a, "shop", BUDGET_CORES, 2, 10), BUDGET_ALL_USED);
        budget_account_release(&a);
}

/* What is added after the sum was asked for, and under another limit, counts as if it had been there before. */
static void test_the_sum_follows(void **state)
{
        (void)state;
        struct budget_account a = account_of("pay");
        for (int n = 0; n < 9; n++)
                budget_account_add(&a, "pay", BUDGET_WORKLOADS, 1);
        assert_int_equal(budget_account_ask(&a, "shop", BUDGET_WORKLOADS, 1, 10), BUDGET_HAS_ROOM);
        budget_account_add(&a, "pay", BUDGET_WORKLOADS, 1); /* above its share already */
        for (int n = 0; n < 5; n++) {
                assert_int_equal(budget_account_ask(&a, "shop", BUDGET_WORKLOADS, 1, 10), BUDGET_HAS_ROOM);
                budget_account_add(&a, "shop", BUDGET_WORKLOADS, 1);
        }
        assert_int_equal(budget_account_of(&a, "shop", BUDGET_WORKLOADS), 5);
        assert_int_equal(budget_account_of(&a, "pay", BUDGET_WORKLOADS), 10);
        assert_int_equal(budget_account_of(&a, "else", BUDGET_WORKLOADS), 0);
        assert_int_equal(budget_account_ask(&a, "shop", BUDGET_WORKLOADS, 1, 10), BUDGET_ALL_USED);
        assert_int_equal(budget_account_ask(&a, "shop", BUDGET_WORKLOADS, 1, 40), BUDGET_HAS_ROOM);
        assert_int_equal(budget_account_ask(&a, "shop", BUDGET_WORKLOADS, 1, 10), BUDGET_ALL_USED);
        budget_account_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_most_that_one_has),
                cmocka_unit_test(test_who_has_room),
                cmocka_unit_test(test_of_no_namespace),
                cmocka_unit_test(test_the_sum_follows),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
