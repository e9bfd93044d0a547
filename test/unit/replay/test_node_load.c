#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay/node_load.h"

enum { ASKS = 3 };

static void assert_same(double got, double want)
{
        if (got < want - 1e-6 || got > want + 1e-6)
                fail_msg("%g is not %g", got, want);
}

/* A slot has the mean of CPU, the most of memory, and knows where a value was missing. */
static void test_slots(void **state)
{
        (void)state;
        static const struct {
                int64_t at_s;
                double cpu, memory; /* below 0: missing */
                bool begins;
                double slot_cpu, slot_memory; /* of the newest slot, after it */
        } row[] = {
                {0, 1, 100, true, 1, 100}, {60, 2, 50, false, 1.5, 100}, {299, 3, 200, false, 2, 200},
                {300, 4, -1, true, 4, 0},  {1200, -1, 7, true, 0, 7},    {1201, 6, 5, false, 3, 7},
        };
        struct node_load l = {0};
        assert_true(node_load_begins_day(&l, (struct wall){0}));
        node_load_begin_day(&l, (struct wall){0}, ASKS, true);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const bool has[RESOURCES] = {row[i].cpu >= 0, row[i].memory >= 0};
                const double value[RESOURCES] = {row[i].cpu, row[i].memory};
                bool begins = node_load_add(&l, (struct wall){row[i].at_s * SECOND_MS}, has, value);
                if (begins != row[i].begins)
                        fail_msg("row %zu", i);
                assert_same((double)l.slot[l.slots - 1].of[CPU], row[i].slot_cpu);
                assert_same((double)l.slot[l.slots - 1].of[MEMORY], row[i].slot_memory);
        }
        assert_int_equal(l.slots, 3);
        assert_same((double)l.most[CPU], 4);
        assert_same((double)l.most[MEMORY], 200);
        node_load_release(&l);
}

/* Days keep their own asks and first slots, many of them too. */
static void test_days(void **state)
{
        (void)state;
        enum { DAYS = 100 };
        static const bool has[RESOURCES] = {true, true};
        static const double value[RESOURCES] = {1, 2};
        struct node_load l = {0};
        for (int day = 0; day < DAYS; day++) {
                struct wall at = {day * INT64_C(2) * DAY_MS + HOUR_MS};
                assert_true(node_load_begins_day(&l, at));
                double *ask = node_load_begin_day(&l, at, ASKS, day % 2);
                for (int i = 0; i < ASKS * RESOURCES; i++)
                        assert_same(ask[i], 0);
                ask[ASKS * RESOURCES - 1] = day;
                node_load_add(&l, at, has, value);
                assert_false(node_load_begins_day(&l, (struct wall){at.ms + 22 * HOUR_MS}));
                node_load_add(&l, (struct wall){at.ms + HOUR_MS}, has, value);
        }
        assert_int_equal(l.days, DAYS);
        for (int day = 0; day < DAYS; day++) {
                assert_int_equal(l.day[day].day, 2 * day);
                assert_int_equal(l.day[day].first, 2 * day);
                assert_int_equal(l.day[day].is_asked, day % 2);
                assert_same(l.ask[(day + 1) * ASKS * RESOURCES - 1], day);
        }
        node_load_release(&l);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_slots),
                cmocka_unit_test(test_days),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
