/* What killed a container, and whether the report is to be believed: a table of what kubelets say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "core/kill_cause.h"

#define MI(n) (INT64_C(n) << 20)
#define NONE  KILL_NOT_MEASURED

static const struct {
        const char *what;
        int64_t exit_code;
        bool evicted, deleting, by_kubelet, node_short;
        int64_t limit, used, others, allocatable; /* limit, allocatable 0: none, unknown */
        enum kill_cause want;
} row[] = {
        /* believed or not */
        {"slowly into its limit", 137, 0, 0, 0, 0, MI(100), MI(95), NONE, 0, KILL_LIMIT},
        {"just at 80 %", 137, 0, 0, 0, 0, MI(100), MI(80), NONE, 0, KILL_LIMIT},
        {"just below 80 %", 137, 0, 0, 0, 0, MI(1000), MI(799), NONE, 0, KILL_UNKNOWN},
        {"a limit of one byte, used", 137, 0, 0, 0, 0, 1, 1, NONE, 0, KILL_LIMIT},
        {"replaced by a rollout, ended with 0", 0, 0, 1, 0, 0, MI(100), MI(20), MI(100), MI(3000), KILL_NOT_BELIEVED},
        {"the same, near its limit", 0, 0, 1, 0, 0, MI(100), MI(99), MI(100), MI(3000), KILL_NOT_BELIEVED},
        {"ended by itself with 1", 1, 0, 0, 0, 0, MI(100), MI(20), MI(100), MI(3000), KILL_NOT_BELIEVED},
        {"ended with 1, near its limit: a child was killed", 1, 0, 0, 0, 0, MI(100), MI(90), NONE, 0, KILL_LIMIT},
        {"ended with 0, near its limit, not deleted", 0, 0, 0, 0, 0, MI(100), MI(90), NONE, 0, KILL_LIMIT},
        {"ended with 1, no limit", 1, 0, 0, 0, 0, 0, MI(90), NONE, 0, KILL_NOT_BELIEVED},
        {"ended with 1, not measured", 1, 0, 0, 0, 0, MI(100), NONE, NONE, 0, KILL_NOT_BELIEVED},
        {"killed after its grace while being deleted", 137, 0, 1, 0, 0, MI(100), MI(20), NONE, 0, KILL_NOT_BELIEVED},
        {"the same, near its limit", 137, 0, 1, 0, 0, MI(100), MI(85), NONE, 0, KILL_LIMIT},
        {"killed by a probe", 137, 0, 0, 1, 0, MI(100), MI(20), NONE, 0, KILL_NOT_BELIEVED},
        {"killed by a probe, near its limit", 137, 0, 0, 1, 0, MI(100), MI(85), NONE, 0, KILL_LIMIT},
        {"a status without an exit code", KILL_EXIT_UNTOLD, 0, 0, 0, 0, MI(100), MI(95), NONE, 0, KILL_LIMIT},
        {"evicted, whatever it ended with", 0, 1, 1, 1, 0, MI(100), NONE, NONE, 0, KILL_EVICTION},
        /* limit or room */
        {"no limit", 137, 0, 0, 0, 0, 0, MI(20), NONE, 0, KILL_ROOM},
        {"jumped, the node has room for its limit", 137, 0, 0, 0, 0, MI(200), MI(20), MI(500), MI(3000), KILL_LIMIT},
        {"jumped, not measured itself", 137, 0, 0, 0, 0, MI(200), NONE, MI(500), MI(3000), KILL_LIMIT},
        {"a high limit on a full node", 137, 0, 0, 0, 0, MI(4096), MI(900), MI(2000), MI(3000), KILL_ROOM},
        {"a limit above the node", 137, 0, 0, 0, 0, MI(4096), MI(900), 0, MI(3000), KILL_ROOM},
        {"about as much as the node has", 137, 0, 0, 0, 0, MI(1000), MI(100), MI(2000), MI(3000), KILL_UNKNOWN},
        {"as much as the node has and a twentieth", 137, 0, 0, 0, 0, 2100, 1, 0, 2000, KILL_UNKNOWN},
        {"a byte more, which another has", 137, 0, 0, 0, 0, 2100, 1, 1, 2000, KILL_ROOM},
        {"as much as the node has but a twentieth", 137, 0, 0, 0, 0, 1900, 1, 0, 2000, KILL_UNKNOWN},
        {"a byte less, and nothing beside it", 137, 0, 0, 0, 0, 1899, 1, 0, 2000, KILL_LIMIT},
        {"a node of one byte", 137, 0, 0, 0, 0, MI(200), MI(20), 0, 1, KILL_ROOM},
        {"the others are not measured", 137, 0, 0, 0, 0, MI(200), MI(20), NONE, MI(3000), KILL_UNKNOWN},
        {"the others are not measured, and the limit is above the node", 137, 0, 0, 0, 0, MI(4096), MI(20), NONE,
         MI(3000), KILL_ROOM},
        {"the node is not known", 137, 0, 0, 0, 0, MI(200), MI(20), MI(500), 0, KILL_UNKNOWN},
        {"the node says that it was short", 137, 0, 0, 0, 1, MI(200), MI(20), MI(500), MI(3000), KILL_ROOM},
        {"the node was short, but it was at its limit", 137, 0, 0, 0, 1, MI(200), MI(190), NONE, 0, KILL_LIMIT},
        /* no overflow */
        {"as large as can be", 137, 0, 0, 0, 0, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, KILL_LIMIT},
        {"likewise, jumped", 137, 0, 0, 0, 0, INT64_MAX, 1, INT64_MAX, INT64_MAX, KILL_ROOM},
};

static struct amount some(int64_t value)
{
        return (struct amount){value != 0, value};
}

static void each_kill_is_judged(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                const struct kill_facts f = {
                        .evicted = row[i].evicted,
                        .exit_code = row[i].exit_code,
                        .deleting = row[i].deleting,
                        .by_kubelet = row[i].by_kubelet,
                        .limit = some(row[i].limit),
                        .used = row[i].used,
                        .node_short = row[i].node_short,
                        .allocatable = some(row[i].allocatable),
                        .others = row[i].others,
                };
                enum kill_cause got = kill_judge(&f);
                if (got != row[i].want)
                        fail_msg("%s: %s, not %s", row[i].what, kill_cause_name(got), kill_cause_name(row[i].want));
        }
}

/* Zero that is said is as if it were not said. */
static void zero_is_no_limit_and_no_node(void **state)
{
        (void)state;
        struct kill_facts f = {.exit_code = 137, .limit = {true, 0}, .allocatable = {true, MI(3000)}};
        assert_int_equal(kill_judge(&f), KILL_ROOM);
        f = (struct kill_facts){.exit_code = 137, .limit = {true, MI(200)}, .used = MI(20), .allocatable = {true, 0}};
        assert_int_equal(kill_judge(&f), KILL_UNKNOWN);
}

/* A limit of its own is never what the request is blamed for. */
static void who_tells_of_the_request(void **state)
{
        (void)state;
        assert_false(kill_tells_of_request(KILL_NOT_BELIEVED));
        assert_false(kill_tells_of_request(KILL_LIMIT));
        assert_true(kill_tells_of_request(KILL_ROOM));
        assert_true(kill_tells_of_request(KILL_UNKNOWN));
        assert_true(kill_tells_of_request(KILL_EVICTION));
        assert_string_equal(kill_cause_name(KILL_ROOM), "room");
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(each_kill_is_judged),
                                           cmocka_unit_test(zero_is_no_limit_and_no_node),
                                           cmocka_unit_test(who_tells_of_the_request)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
