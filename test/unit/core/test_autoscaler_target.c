#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/autoscaler_target.h"

enum { PAIRS = 4 };
#define MOST ((int64_t)INT64_MAX)
#define YES(v)                                                                                                         \
        {                                                                                                              \
                true, (v)                                                                                              \
        }
#define NONE                                                                                                           \
        {                                                                                                              \
                false, 0                                                                                               \
        }

/* A container: what its owner asks for, and what it asks for now. */
struct pair {
        struct amount original, request;
};

static void test_a_target_follows_the_requests(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                int64_t old;
                int containers;
                struct pair of[PAIRS];
                int64_t want;
        } row[] = {
                {"nothing runs", 70, 0, {{NONE, NONE}}, 70},
                {"nothing was lowered", 70, 2, {{YES(500), YES(500)}, {YES(100), YES(100)}}, 70},
                {"half", 70, 1, {{YES(1000), YES(500)}}, 140},
                {"454 of 2000", 70, 1, {{YES(2000), YES(454)}}, 308},
                {"half a per cent goes up", 1, 1, {{YES(3), YES(2)}}, 2},
                {"less goes down", 1, 1, {{YES(149), YES(100)}}, 1},
                {"a little more goes up", 1, 1, {{YES(151), YES(100)}}, 2},
                {"a sidecar that stays", 60, 2, {{YES(900), YES(300)}, {YES(100), YES(100)}}, 150},
                {"old and new pods",
                 50,
                 4,
                 {{YES(1000), YES(1000)}, {YES(1000), YES(1000)}, {YES(1000), YES(500)}, {YES(1000), YES(500)}},
                 67},
                {"of each pod its own original", 50, 2, {{YES(1000), YES(500)}, {YES(3000), YES(3000)}}, 57},
                {"a pod without a record", 50, 2, {{NONE, YES(1000)}, {YES(1000), YES(500)}}, 67},
                {"raised by another", 80, 1, {{YES(1000), YES(2000)}}, 40},
                {"one asks for nothing", 80, 2, {{YES(1000), YES(500)}, {NONE, NONE}}, 80},
                {"one asks for zero", 80, 2, {{YES(1000), YES(500)}, {YES(0), YES(0)}}, 80},
                {"never below one", 1, 1, {{YES(1), YES(1000)}}, 1},
                {"never beyond int32", 100, 1, {{YES(MOST), YES(1)}}, INT32_MAX},
                {"the largest there are", INT32_MAX, 2, {{YES(MOST), YES(MOST)}, {YES(MOST), YES(MOST)}}, INT32_MAX},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct retune_sum s = {0};
                for (int k = 0; k < row[i].containers; k++)
                        retune_add(&s, row[i].of[k].original, row[i].of[k].request);
                int64_t got = retune_target(row[i].old, &s);
                if (got != row[i].want)
                        fail_msg("%s: %lld, not %lld", row[i].what, (long long)got, (long long)row[i].want);
        }
}

/* A kind of random that is the same everywhere. */
static int64_t dice(uint64_t *seed, int64_t sides)
{
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        return (int64_t)((*seed >> 33) % (uint64_t)sides);
}

/* As Kubernetes counts: the utilization is a whole per cent, rounded down; the count is rounded up. */
static int64_t desired(int64_t usage, int64_t requests, int64_t target, int64_t pods)
{
        int64_t utilization = usage * 100 / requests;
        return (utilization * pods + target - 1) / target;
}

/*
 * Pods turn over one by one. A target that was right for the pods before the last of them came is never above the one
 * that is right now, and what is wanted by it never less: being late can only make more pods. The last is exact: with
 * all pods turned over and requests in whole parts, as many are wanted as before.
 */
static void test_being_late_only_scales_out(void **state)
{
        (void)state;
        uint64_t seed = 5;
        for (int round = 0; round < 2000; round++) {
                int64_t old = 1 + dice(&seed, 100), pods = 2 + dice(&seed, 30), part = 1 + dice(&seed, 20);
                int64_t request = 10 + dice(&seed, 1000), original = request * part;
                int64_t usage = pods * (1 + dice(&seed, original * 2)), late = 0;
                for (int64_t turned = 0; turned <= pods; turned++) {
                        struct retune_sum s = {0};
                        for (int64_t p = 0; p < pods; p++)
                                retune_add(&s, (struct amount){true, original},
                                           (struct amount){true, p < turned ? request : original});
                        int64_t now = retune_target(old, &s), sum = (int64_t)s.request;
                        if (late && (late > now || desired(usage, sum, late, pods) < desired(usage, sum, now, pods)))
                                fail_msg("round %d, %lld turned: %lld after %lld", round, (long long)turned,
                                         (long long)now, (long long)late);
                        late = now;
                }
                assert_int_equal(late, old * part);
        }
}

static void test_whose_a_target_is(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                struct retune_facts f;
                struct retune_origin want;
        } row[] = {
                {"never touched", {70, NONE, NONE}, {70, false, false}},
                {"ours", {154, YES(70), YES(154)}, {70, true, false}},
                {"put back", {70, YES(70), YES(154)}, {70, false, true}},
                {"its owner has spoken", {80, YES(70), YES(154)}, {80, false, false}},
                {"moved by nothing", {70, YES(70), YES(70)}, {70, true, false}},
                {"what we wrote was lost", {154, YES(70), NONE}, {70, true, false}},
                {"what we wrote was lost, and it is back", {70, YES(70), NONE}, {70, false, false}},
                {"what it was is lost", {154, NONE, YES(154)}, {154, false, false}},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct retune_origin got = retune_origin(&row[i].f);
                if (got.original != row[i].want.original || got.ours != row[i].want.ours ||
                    got.reset != row[i].want.reset)
                        fail_msg("%s: %lld ours=%d reset=%d", row[i].what, (long long)got.original, got.ours,
                                 got.reset);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_target_follows_the_requests),
                cmocka_unit_test(test_being_late_only_scales_out),
                cmocka_unit_test(test_whose_a_target_is),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
