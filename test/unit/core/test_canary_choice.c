/* Which pods and workloads are changed first, and when the others follow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/canary_choice.h"

/* The first four bytes of the SHA-256 of "ns/kind/name/", as any other program has them. */
static void test_ranks_are_those_of_the_hash(void **state)
{
        (void)state;
        static const struct {
                const char *ns, *kind, *name;
                uint32_t want;
        } row[] = {
                {"shop", "Deployment", "web", 0x5ceb5856},
                {"shop", "Deployment", "api", 0x9e25d3a6},
                {"", "", "", 0x732c4e97},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                uint32_t got = canary_rank_of(text_of(row[i].ns), text_of(row[i].kind), text_of(row[i].name));
                if (got != row[i].want)
                        print_error("%s %s %s: %08x\n", row[i].ns, row[i].kind, row[i].name, got);
                assert_int_equal(got, row[i].want);
        }
        assert_int_equal(canary_rank(text_of("shop"), text_of("web-0")), 0x629dc5cf);
        assert_int_not_equal(canary_rank_of(text_of("a"), text_of("b"), text_of("c")),
                             canary_rank_of(text_of("a"), text_of("bc"), text_of("")));
}

static void test_edges(void **state)
{
        (void)state;
        static const struct {
                uint32_t rank;
                int percent;
                bool want;
        } row[] = {
                {0, 1, true},
                {UINT32_MAX, 100, true},
                {UINT32_MAX, 99, false},
                {UINT32_MAX / 2, 50, true},      /* 0x7fffffff of 2^32 */
                {UINT32_MAX / 2 + 1, 50, false}, /* half of it exactly */
                {42949672, 1, true},             /* 42949672.96 is a hundredth */
                {42949673, 1, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                if (canary_chosen(row[i].rank, row[i].percent) != row[i].want)
                        print_error("row %zu: %u at %d\n", i, row[i].rank, row[i].percent);
                assert_int_equal(canary_chosen(row[i].rank, row[i].percent), row[i].want);
        }
}

static void test_of_ten_thousand_names_the_share_is_chosen(void **state)
{
        (void)state;
        enum { NAMES = 10000 };
        int chosen[101] = {0};
        for (int i = 0; i < NAMES; i++) {
                char name[32];
                snprintf(name, sizeof name, "service-%d", i);
                uint32_t rank = canary_rank_of(text_of("shop"), text_of("Deployment"), text_of(name));
                bool before = false;
                for (int p = 1; p <= 100; p++) {
                        bool now = canary_chosen(rank, p);
                        assert_true(now || !before); /* a canary stays a canary at every larger share */
                        before = now;
                        chosen[p] += now;
                }
                assert_true(before);
        }
        for (int p = 1; p <= 100; p++) {
                int off = chosen[p] - p * NAMES / 100;
                if (off < -150 || off > 150) /* three deviations: sqrt(10000 / 4) = 50 */
                        print_error("%d %%: %d\n", p, chosen[p]);
                assert_in_range(off + 150, 0, 300);
        }
}

static void test_shares_of_pods(void **state)
{
        (void)state;
        static const struct {
                size_t n;
                int percent;
                size_t want;
        } row[] = {{0, 10, 0},    {1, 1, 1},     {1, 100, 1},   {3, 10, 1},  {10, 10, 1},
                   {10, 25, 2},   {10, 99, 9},   {10, 100, 10}, {19, 10, 1}, {20, 10, 2},
                   {250, 30, 75}, {199, 50, 99}, {5000, 1, 50}, {7, 50, 3},  {SIZE_MAX, 100, SIZE_MAX}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                if (canary_share(row[i].n, row[i].percent) != row[i].want)
                        print_error("%d %% of %zu: %zu\n", row[i].percent, row[i].n,
                                    canary_share(row[i].n, row[i].percent));
                assert_int_equal(canary_share(row[i].n, row[i].percent), row[i].want);
        }
        for (size_t n = 1; n < 300; n++)
                for (int p = 2; p <= 100; p++)
                        assert_true(canary_share(n, p) >= canary_share(n, p - 1) && canary_share(n, p) <= n);
}

static void test_when_the_rest_opens(void **state)
{
        (void)state;
        static const struct {
                struct canary_tally t;
                bool want;
        } row[] = {
                {{0, 0, 0, 0, 0}, false}, /* nobody to try it on */
                {{3, 0, 0, 0, 0}, false}, /* none was changed yet */
                {{3, 1, 0, 0, 0}, false}, {{3, 1, 1, 0, 0}, true},  {{3, 2, 1, 0, 0}, false},
                {{3, 3, 3, 0, 0}, true},  {{3, 2, 2, 1, 0}, false}, /* one was taken back */
                {{3, 2, 2, 0, 1}, false},                           /* one is to be lowered further */
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                if (canary_is_complete(&row[i].t) != row[i].want)
                        print_error("row %zu\n", i);
                assert_int_equal(canary_is_complete(&row[i].t), row[i].want);
        }
}

static void test_when_a_change_stood(void **state)
{
        (void)state;
        static const struct {
                int64_t since, now, watch;
                bool want;
        } row[] = {
                {0, HOUR_MS * 9, HOUR_MS, false},           /* it is not in force */
                {-1, HOUR_MS * 9, HOUR_MS, false},          /* nor yet */
                {1000, 1000 + HOUR_MS - 1, HOUR_MS, false}, /* not for long enough */
                {1000, 1000 + HOUR_MS, HOUR_MS, true},
                {1, 1 + HOUR_MS, HOUR_MS, true},     /* the first moment there is */
                {1000, 1000, 0, true},               /* at once */
                {HOUR_MS * 9, 1000, HOUR_MS, false}, /* a clock that was ahead */
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                if (canary_passed(row[i].since, row[i].now, row[i].watch) != row[i].want)
                        print_error("row %zu\n", i);
                assert_int_equal(canary_passed(row[i].since, row[i].now, row[i].watch), row[i].want);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ranks_are_those_of_the_hash),
                cmocka_unit_test(test_edges),
                cmocka_unit_test(test_of_ten_thousand_names_the_share_is_chosen),
                cmocka_unit_test(test_shares_of_pods),
                cmocka_unit_test(test_when_the_rest_opens),
                cmocka_unit_test(test_when_a_change_stood),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
