#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/resize_verdict.h"

enum { MI = 1 << 20, NONE = -1 };

/* Only CPU varies; the memory request is 1 MiB, its limit memory_limit. */
struct told {
        enum container_role role;
        int64_t request, limit, want, memory_limit;
        bool restarts;
        int64_t to; /* NONE: nothing is written */
};

static struct amount amount_of(int64_t v)
{
        return (struct amount){v >= 0, v >= 0 ? v : 0};
}

static struct resize_container container_of(const struct told *t)
{
        return (struct resize_container){
                .role = t->role,
                .request = {amount_of(t->request), {true, MI}},
                .limit = {amount_of(t->limit), amount_of(t->memory_limit)},
                .want = {amount_of(t->want), {false, 0}},
                .restarts = {t->restarts, false},
        };
}

static void test_cpu(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                struct told container[3];
                size_t containers;
                enum resize_verdict verdict;
        } row[] = {
                {"no container", {{0}}, 0, RESIZE_STANDS},
                {"it has it", {{ROLE_MAIN, 500, 2000, 500, NONE, false, NONE}}, 1, RESIZE_STANDS},
                {"nothing is wanted", {{ROLE_MAIN, 500, 2000, NONE, NONE, false, NONE}}, 1, RESIZE_STANDS},
                {"lowered", {{ROLE_MAIN, 500, 2000, 200, NONE, false, 200}}, 1, RESIZE_WRITES},
                {"put back", {{ROLE_MAIN, 200, 2000, 500, NONE, false, 500}}, 1, RESIZE_WRITES},
                {"never above the limit", {{ROLE_MAIN, 200, 400, 500, NONE, false, 400}}, 1, RESIZE_WRITES},
                {"it asks for nothing", {{ROLE_MAIN, NONE, 2000, 500, NONE, false, NONE}}, 1, RESIZE_STANDS},
                {"runs to completion", {{ROLE_INIT, 500, 2000, 200, NONE, false, NONE}}, 1, RESIZE_STANDS},
                {"a sidecar", {{ROLE_SIDECAR, 500, 2000, 200, NONE, false, 200}}, 1, RESIZE_WRITES},
                {"an injected one", {{ROLE_INJECTED, 500, NONE, 200, NONE, false, 200}}, 1, RESIZE_WRITES},
                {"would restart", {{ROLE_MAIN, 500, 2000, 200, NONE, true, NONE}}, 1, RESIZE_RESTARTS},
                {"would restart, and stands", {{ROLE_MAIN, 200, 2000, 200, NONE, true, NONE}}, 1, RESIZE_STANDS},
                {"one of two would restart",
                 {{ROLE_MAIN, 500, 2000, 200, NONE, true, NONE}, {ROLE_MAIN, 500, 2000, 200, NONE, false, 200}},
                 2,
                 RESIZE_WRITES},
                {"Guaranteed", {{ROLE_MAIN, 500, 500, 200, MI, false, NONE}}, 1, RESIZE_QOS},
                {"Guaranteed, both of them",
                 {{ROLE_MAIN, 500, 500, 200, MI, false, NONE}, {ROLE_MAIN, 300, 300, 300, MI, false, NONE}},
                 2,
                 RESIZE_QOS},
                {"Guaranteed, and stands", {{ROLE_MAIN, 500, 500, 500, MI, false, NONE}}, 1, RESIZE_STANDS},
                {"one without a limit is none",
                 {{ROLE_MAIN, 500, 500, 200, MI, false, 200}, {ROLE_MAIN, 300, 300, NONE, NONE, false, NONE}},
                 2,
                 RESIZE_WRITES},
                {"a limit of none is none", {{ROLE_MAIN, 500, 500, 200, 0, false, 200}}, 1, RESIZE_WRITES},
                {"one that asks for nothing is not equal to its limit",
                 {{ROLE_MAIN, 500, 500, 200, MI, false, 200}, {ROLE_MAIN, NONE, 1, NONE, MI, false, NONE}},
                 2,
                 RESIZE_WRITES},
                {"an init container counts",
                 {{ROLE_INIT, 100, 200, NONE, MI, false, NONE}, {ROLE_MAIN, 500, 500, 200, MI, false, 200}},
                 2,
                 RESIZE_WRITES},
                {"lowered before it was Guaranteed", {{ROLE_MAIN, 200, 500, 500, MI, false, 499}}, 1, RESIZE_WRITES},
                {"as far as it goes", {{ROLE_MAIN, 499, 500, 500, MI, false, NONE}}, 1, RESIZE_STANDS},
                {"the second of two was lowered before it was",
                 {{ROLE_MAIN, 300, 300, NONE, MI, false, NONE}, {ROLE_MAIN, 200, 500, 500, MI, false, 499}},
                 2,
                 RESIZE_WRITES},
                {"Guaranteed, all three",
                 {{ROLE_MAIN, 500, 500, 200, MI, false, NONE},
                  {ROLE_MAIN, 500, 500, 200, MI, false, NONE},
                  {ROLE_MAIN, 500, 500, 200, MI, false, NONE}},
                 3,
                 RESIZE_QOS},
                {"another keeps it Burstable",
                 {{ROLE_MAIN, 200, 500, 500, MI, false, 500}, {ROLE_MAIN, 100, 300, NONE, MI, false, NONE}},
                 2,
                 RESIZE_WRITES},
                {"as large as all there is", {{ROLE_MAIN, INT64_MAX, NONE, 1, NONE, false, 1}}, 1, RESIZE_WRITES},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct resize_container c[3];
                for (size_t k = 0; k < row[i].containers; k++)
                        c[k] = container_of(&row[i].container[k]);
                enum resize_verdict got = resize_judge(c, row[i].containers);
                for (size_t k = 0; k < row[i].containers; k++) {
                        struct amount want = amount_of(row[i].container[k].to);
                        if (c[k].to[CPU].set != want.set || (want.set && c[k].to[CPU].value != want.value))
                                fail_msg("%s: container %zu gets %s%lld", row[i].name, k, c[k].to[CPU].set ? "" : "no ",
                                         (long long)c[k].to[CPU].value);
                        assert_false(c[k].to[MEMORY].set);
                }
                if (got != row[i].verdict)
                        fail_msg("%s: verdict %d, not %d", row[i].name, got, row[i].verdict);
        }
}

static void test_memory_steps_back_by_a_mebibyte(void **state)
{
        (void)state;
        struct resize_container c = {
                .request = {{true, 500}, {true, 100 * MI}},
                .limit = {{true, 500}, {true, 200 * MI}},
                .want = {{true, 500}, {true, 200 * MI}},
        };
        assert_int_equal(resize_judge(&c, 1), RESIZE_WRITES);
        assert_false(c.to[CPU].set);
        assert_true(c.to[MEMORY].set);
        assert_int_equal(c.to[MEMORY].value, 199 * MI);
}

static void test_nothing_asked_for_is_best_effort(void **state)
{
        (void)state;
        struct resize_container c = {.want = {{true, 500}, {true, MI}}};
        assert_int_equal(resize_judge(&c, 1), RESIZE_STANDS);
        c.request[CPU] = (struct amount){true, 0}; /* a request of zero is none */
        assert_int_equal(resize_judge(&c, 1), RESIZE_QOS);
        assert_false(c.to[CPU].set);
        c.request[CPU].value = 1;
        assert_int_equal(resize_judge(&c, 1), RESIZE_WRITES);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cpu),
                cmocka_unit_test(test_memory_steps_back_by_a_mebibyte),
                cmocka_unit_test(test_nothing_asked_for_is_best_effort),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
