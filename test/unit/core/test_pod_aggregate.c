#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pod_aggregate.h"

#define NOW_MS (INT64_C(1000) * HOUR_MS)

/* One pod, by the age of its newest sample and of its start in seconds (sample -1: none yet). */
struct pod_row {
        int sample_s, started_s;
        double cpu, memory;
        bool no_memory;
};

static const struct {
        const char *what;
        int interval_s;
        struct pod_row pod[3];
        int pods;
        bool want;
        double cpu, memory;
} row[] = {
        {"nothing runs", 60, {{0}}, 0, false, 0, 0},
        {"one", 60, {{20, 9000, 0.5, 100, false}}, 1, true, 0.5, 100},
        {"each of its own time", 60, {{0, 9000, 1, 10, false}, {59, 9000, 2, 20, false}}, 2, true, 3, 30},
        {"ahead of our clock", 60, {{-100, 9000, 1, 10, false}, {10, 9000, 2, 20, false}}, 2, true, 3, 30},
        {"missing for two cycles", 60, {{180, 9000, 1, 10, false}, {10, 9000, 2, 20, false}}, 2, true, 3, 30},
        {"a gap then", 60, {{181, 9000, 1, 10, false}, {10, 9000, 2, 20, false}}, 2, false, 0, 0},
        {"to the last", 60, {{300, 9000, 1, 10, false}, {10, 9000, 2, 20, false}}, 2, false, 0, 0},
        {"and on without it", 60, {{301, 9000, 1, 10, false}, {10, 9000, 2, 20, false}}, 2, true, 2, 20},
        {"long intervals, long patience", 600, {{1800, 90000, 1, 10, false}}, 1, true, 1, 10},
        {"a gap of long ones", 600, {{1801, 90000, 1, 10, false}, {0, 90000, 1, 10, false}}, 2, false, 0, 0},
        {"just begun", 60, {{-1, 5, 0, 0, false}, {10, 9000, 2, 20, false}}, 2, true, 2, 20},
        {"begun, and still not seen", 60, {{-1, 181, 0, 0, false}, {10, 9000, 2, 20, false}}, 2, false, 0, 0},
        {"never to be seen", 60, {{-1, 301, 0, 0, false}, {10, 9000, 2, 20, false}}, 2, true, 2, 20},
        {"all just begun", 60, {{-1, 5, 0, 0, false}}, 1, false, 0, 0},
        {"told without memory", 60, {{10, 9000, 1, 0, true}, {10, 9000, 2, 20, false}}, 2, true, 3, 0},
};

static void test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct pod_aggregate t;
                struct sample s = {0};
                pod_aggregate_begin(&t, (struct wall){NOW_MS}, row[i].interval_s * INT64_C(1000));
                for (int k = 0; k < row[i].pods; k++) {
                        const struct pod_row *p = &row[i].pod[k];
                        const struct pod_aggregate_sample sample = {
                                .at_ms = p->sample_s == -1 ? 0 : NOW_MS - p->sample_s * INT64_C(1000),
                                .has = {true, !p->no_memory},
                                .value = {p->cpu, p->memory},
                        };
                        pod_aggregate_add(&t, &sample, NOW_MS - p->started_s * INT64_C(1000));
                }
                bool got = pod_aggregate_sum(&t, &s);
                if (got != row[i].want || (got && (s.at.ms != NOW_MS || s.value[CPU] != row[i].cpu ||
                                                   s.value[MEMORY] != row[i].memory || !s.has[CPU])))
                        fail_msg("%s: %d, %g cores, %g bytes", row[i].what, got, s.value[CPU], s.value[MEMORY]);
                if (got && s.has[MEMORY] != (row[i].memory > 0))
                        fail_msg("%s: memory is %s", row[i].what, s.has[MEMORY] ? "told" : "not told");
        }
}

/* The order of the pods counts for nothing but the last bit, and there is none: binary fractions. */
static void test_any_order(void **state)
{
        (void)state;
        const struct pod_aggregate_sample a = {NOW_MS, {true, true}, {0.25, 3}},
                                          b = {NOW_MS - 1, {true, true}, {1.5, 5}};
        struct pod_aggregate one, other;
        struct sample x, y;
        pod_aggregate_begin(&one, (struct wall){NOW_MS}, MINUTE_MS);
        pod_aggregate_begin(&other, (struct wall){NOW_MS}, MINUTE_MS);
        pod_aggregate_add(&one, &a, 0);
        pod_aggregate_add(&one, &b, 0);
        pod_aggregate_add(&other, &b, 0);
        pod_aggregate_add(&other, &a, 0);
        assert_true(pod_aggregate_sum(&one, &x) && pod_aggregate_sum(&other, &y));
        assert_memory_equal(x.value, y.value, sizeof x.value);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_any_order)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
