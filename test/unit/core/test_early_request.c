#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/early_request.h"
#include "core/rules.h"

static const struct early_policy usual = {true, INT64_C(3) * HOUR_MS, 1500};

static void test_margin(void **state)
{
        const struct {
                const char *name;
                struct early_policy p;
                int64_t learned_ms, min_history_ms;
                int want;
        } row[] = {
                {"off", {false, 0, 1500}, DAY_MS, DAY_MS, 0},
                {"too young", usual, 3 * HOUR_MS - 1, DAY_MS, 0},
                {"three hours", usual, 3 * HOUR_MS, DAY_MS, 1500},
                {"a millisecond later, rounded up", usual, 3 * HOUR_MS + 1, DAY_MS, 1500},
                {"ten hours", usual, 10 * HOUR_MS, DAY_MS, 1334},
                {"half of the way", usual, 13 * HOUR_MS + HOUR_MS / 2, DAY_MS, 1250},
                {"23 hours", usual, 23 * HOUR_MS, DAY_MS, 1024},
                {"a millisecond before", usual, DAY_MS - 1, DAY_MS, 1001},
                {"the least margin, a millisecond before", {true, 0, 1001}, DAY_MS - 1, DAY_MS, 1001},
                {"minHistory", usual, DAY_MS, DAY_MS, 1000},
                {"later: few samples", usual, 9 * DAY_MS, DAY_MS, 1000},
                {"not before minHistory", usual, HOUR_MS, 2 * HOUR_MS, 0},
                {"from the first sample on", {true, 0, 2000}, 0, DAY_MS, 2000},
                {"no margin", {true, 0, 1000}, 1, DAY_MS, 1000},
                {"the largest", {true, 0, 10000}, 1, INT64_C(8760) * HOUR_MS, 10000},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (early_margin(&row[i].p, row[i].learned_ms, row[i].min_history_ms) != row[i].want)
                        fail_msg("%s: %d", row[i].name,
                                 early_margin(&row[i].p, row[i].learned_ms, row[i].min_history_ms));
}

static void test_margin_falls(void **state)
{
        int before = INT32_MAX;
        (void)state;
        for (int64_t at = usual.after_ms; at <= DAY_MS; at += MINUTE_MS) {
                int margin = early_margin(&usual, at, DAY_MS);
                assert_in_range(margin, 1000, usual.multiplier);
                assert_true(margin <= before);
                before = margin;
        }
        assert_int_equal(before, 1000);
}

static void test_request(void **state)
{
        static const struct {
                int64_t model;
                int multiplier, margin;
                int64_t round_to, want;
        } row[] = {
                {412, 1100, 1500, 1, 680}, /* 679.8 */
                {412, 1100, 1000, 1, 454},   {400, 1100, 1250, 1, 550},
                {400, 1100, 1250, 100, 600}, {400, 1000, 1000, 100, 400},
                {1, 1000, 1001, 1, 2},       {999001, 1001, 1, 1, 1001}, /* 1000.000001 */
                {0, 1100, 1500, 50, 0},      {INT64_MAX, 100000, 10000, 1, INT64_MAX},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct resource_policy p = {.multiplier = row[i].multiplier, .round_to = row[i].round_to};
                assert_int_equal(early_request(row[i].model, &p, row[i].margin), row[i].want);
        }
}

/* Once minHistory is over, the request is the target of the usual rule; before, it is never below that. */
static void test_request_ends_at_the_usual(void **state)
{
        (void)state;
        for (int64_t model = 0; model < 3000; model += 7)
                for (int multiplier = 100; multiplier < 3000; multiplier += 113)
                        for (int64_t round_to = 1; round_to < 300; round_to *= 7) {
                                const struct resource_policy p = {.multiplier = multiplier, .round_to = round_to};
                                int64_t usually = correct_scale(model, multiplier, round_to);
                                assert_int_equal(early_request(model, &p, early_margin(&usual, DAY_MS, DAY_MS)),
                                                 usually);
                                assert_true(early_request(model, &p, 1001) >= usually);
                                assert_true(early_request(model, &p, 1500) >= early_request(model, &p, 1001));
                        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_margin),
                cmocka_unit_test(test_margin_falls),
                cmocka_unit_test(test_request),
                cmocka_unit_test(test_request_ends_at_the_usual),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
