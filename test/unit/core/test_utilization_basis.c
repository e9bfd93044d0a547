#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/utilization_basis.h"

enum { MOST = 4, NONE = -1 };
#define CORE INT64_C(1000000000) /* in nanocores */

static void test_read(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                enum basis want;
        } row[] = {
                {"limit", BASIS_IS_LIMIT},   {"request", BASIS_IS_ORIGINAL}, {"", BASIS_IS_LIMIT},
                {"Request", BASIS_IS_LIMIT}, {"requests", BASIS_IS_LIMIT},   {"nonsense", BASIS_IS_LIMIT},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (basis_read(text_of(row[i].text)) != row[i].want)
                        fail_msg("'%s'", row[i].text);
}

struct part {
        enum container_role role;
        int64_t used, limit, original; /* negative: none */
};

static struct amount amount_of(int64_t v)
{
        return v < 0 ? (struct amount){0} : (struct amount){true, v};
}

static struct amount ask(const struct part *part, size_t parts, enum resource r, enum basis b)
{
        struct basis_container c[MOST] = {0};
        for (size_t i = 0; i < parts; i++) {
                c[i].role = part[i].role;
                c[i].sampled[r] = part[i].used >= 0;
                c[i].used[r] = part[i].used >= 0 ? part[i].used : 0;
                c[i].limit[r] = amount_of(part[i].limit);
                c[i].original[r] = amount_of(part[i].original);
        }
        return basis_utilization(c, parts, r, b);
}

static void test_utilization(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                struct part part[MOST];
                size_t parts;
                enum resource r;
                int64_t of_limit, of_original; /* thousandths; negative: none */
        } row[] = {
                {"half a core of one", {{ROLE_MAIN, CORE / 2, 1000, 2000}}, 1, CPU, 500, 250},
                {"idle", {{ROLE_MAIN, 0, 1000, 2000}}, 1, CPU, 0, 0},
                {"all of it", {{ROLE_MAIN, CORE, 1000, 1000}}, 1, CPU, 1000, 1000},
                {"more than it", {{ROLE_MAIN, 3 * CORE, 2000, 1000}}, 1, CPU, 1500, 3000},
                {"a nanocore", {{ROLE_MAIN, 1, 1000, 1000000}}, 1, CPU, 1, 1},
                {"just a thousandth", {{ROLE_MAIN, 1000000, 1000, 1000000}}, 1, CPU, 1, 1},
                {"a nanocore above a thousandth", {{ROLE_MAIN, 1000001, 1000, 1000}}, 1, CPU, 2, 2},
                {"a third", {{ROLE_MAIN, CORE, 3000, 3000}}, 1, CPU, 334, 334},
                {"bytes", {{ROLE_MAIN, 300 << 20, 1 << 30, 512 << 20}}, 1, MEMORY, 293, 586},
                {"sums, not the mean of shares",
                 {{ROLE_MAIN, CORE, 1000, 500}, {ROLE_SIDECAR, 0, 3000, 500}},
                 2,
                 CPU,
                 250,
                 1000},
                {"an injected one counts",
                 {{ROLE_MAIN, CORE, 2000, 1000}, {ROLE_INJECTED, CORE, 2000, 3000}},
                 2,
                 CPU,
                 500,
                 500},
                {"an init container does not",
                 {{ROLE_INIT, NONE, NONE, NONE}, {ROLE_MAIN, CORE, 2000, 4000}},
                 2,
                 CPU,
                 500,
                 250},
                {"no limit", {{ROLE_MAIN, CORE, NONE, 4000}}, 1, CPU, NONE, 250},
                {"one of two has no limit",
                 {{ROLE_MAIN, CORE, 2000, 4000}, {ROLE_SIDECAR, 0, NONE, 1000}},
                 2,
                 CPU,
                 NONE,
                 200},
                {"no request", {{ROLE_MAIN, CORE, 2000, NONE}}, 1, CPU, 500, NONE},
                {"a limit of nothing", {{ROLE_MAIN, CORE, 0, 0}}, 1, CPU, NONE, NONE},
                {"one of two has one of nothing",
                 {{ROLE_MAIN, CORE, 2000, 4000}, {ROLE_SIDECAR, 0, 0, 0}},
                 2,
                 CPU,
                 NONE,
                 NONE},
                {"not sampled", {{ROLE_MAIN, NONE, 1000, 1000}}, 1, CPU, NONE, NONE},
                {"one of two not sampled",
                 {{ROLE_MAIN, CORE, 1000, 1000}, {ROLE_SIDECAR, NONE, 1000, 1000}},
                 2,
                 CPU,
                 NONE,
                 NONE},
                {"no container", {{0}}, 0, CPU, NONE, NONE},
                {"only an init container", {{ROLE_INIT, 1, 1, 1}}, 1, CPU, NONE, NONE},
                {"as much as there is",
                 {{ROLE_MAIN, INT64_MAX, INT64_MAX, 1}, {ROLE_MAIN, INT64_MAX, INT64_MAX, 1}},
                 2,
                 MEMORY,
                 1000,
                 INT64_MAX},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const int64_t want[] = {row[i].of_limit, row[i].of_original};
                for (int b = BASIS_IS_LIMIT; b <= BASIS_IS_ORIGINAL; b++) {
                        struct amount got = ask(row[i].part, row[i].parts, row[i].r, (enum basis)b);
                        if (got.set != (want[b] >= 0) || (got.set && got.value != want[b]))
                                fail_msg("%s, basis %d: %d %lld", row[i].name, b, got.set, (long long)got.value);
                }
        }
}

/* The least t that covers what is used, for all small numbers. */
static void test_is_the_least(void **state)
{
        (void)state;
        for (int64_t used = 0; used <= 300; used++)
                for (int64_t limit = 1; limit <= 60; limit++) {
                        int64_t t = 0;
                        while (t * limit < used * 1000)
                                t++;
                        struct part bytes = {ROLE_MAIN, used, limit, NONE};
                        struct part cpu = {ROLE_MAIN, used * 1000000, limit, NONE};
                        struct amount of_bytes = ask(&bytes, 1, MEMORY, BASIS_IS_LIMIT);
                        struct amount of_cpu = ask(&cpu, 1, CPU, BASIS_IS_LIMIT);
                        if (of_bytes.value != t || of_cpu.value != t)
                                fail_msg("%lld of %lld: %lld and %lld, not %lld", (long long)used, (long long)limit,
                                         (long long)of_bytes.value, (long long)of_cpu.value, (long long)t);
                }
}

/* Autoscalers name these metrics. */
static void test_names_of_the_metrics(void **state)
{
        (void)state;
        assert_string_equal(custom_metric_name(CPU), "halflife_pod_cpu_utilization");
        assert_string_equal(custom_metric_name(MEMORY), "halflife_pod_memory_utilization");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_read),
                cmocka_unit_test(test_utilization),
                cmocka_unit_test(test_is_the_least),
                cmocka_unit_test(test_names_of_the_metrics),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
