#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pod_request_sum.h"

#define MAIN(v)                                                                                                        \
        {                                                                                                              \
                ROLE_MAIN,                                                                                             \
                {                                                                                                      \
                        true, v                                                                                        \
                }                                                                                                      \
        }
#define INIT(v)                                                                                                        \
        {                                                                                                              \
                ROLE_INIT,                                                                                             \
                {                                                                                                      \
                        true, v                                                                                        \
                }                                                                                                      \
        }
#define SIDECAR(v)                                                                                                     \
        {                                                                                                              \
                ROLE_SIDECAR,                                                                                          \
                {                                                                                                      \
                        true, v                                                                                        \
                }                                                                                                      \
        }

static void test_sum(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                struct {
                        enum container_role role;
                        struct amount a;
                } container[5];
                int containers;
                struct amount want;
        } row[] = {
                {"no container", {{0}}, 0, {false, 0}},
                {"none asks", {{ROLE_MAIN, {0}}, {ROLE_INIT, {0}}}, 2, {false, 0}},
                {"one", {MAIN(5)}, 1, {true, 5}},
                {"one asks for zero", {MAIN(0)}, 1, {true, 0}},
                {"one asks, one does not", {MAIN(5), {ROLE_MAIN, {0}}}, 2, {true, 5}},
                {"the whole is them", {MAIN(5), {ROLE_WHOLE, {true, 9}}}, 2, {true, 5}},
                {"together", {MAIN(5), MAIN(7), {ROLE_INJECTED, {true, 1}}}, 3, {true, 13}},
                {"a small init container", {INIT(3), MAIN(5)}, 2, {true, 5}},
                {"a large one", {INIT(9), INIT(8), MAIN(5)}, 3, {true, 9}},
                {"beside the sidecar before it", {SIDECAR(2), INIT(9), MAIN(5)}, 3, {true, 11}},
                {"before the sidecar", {INIT(9), SIDECAR(2), MAIN(5)}, 3, {true, 9}},
                {"main ones beside all sidecars", {SIDECAR(2), INIT(4), SIDECAR(3), MAIN(5)}, 4, {true, 10}},
                {"only init", {INIT(4)}, 1, {true, 4}},
                {"no end of it", {MAIN(INT64_MAX), MAIN(1)}, 2, {true, INT64_MAX}},
                {"no end of init", {SIDECAR(INT64_MAX), INIT(1)}, 2, {true, INT64_MAX}},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct pod_sum s = {0};
                for (int k = 0; k < row[i].containers; k++)
                        pod_sum_add(&s, row[i].container[k].role, row[i].container[k].a);
                struct amount got = pod_sum_total(&s);
                if (got.set != row[i].want.set || got.value != row[i].want.value)
                        fail_msg("%s: %d %lld", row[i].name, got.set, (long long)got.value);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_sum)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
