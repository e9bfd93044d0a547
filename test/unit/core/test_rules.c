#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/rules.h"

#define MI INT64_C(1048576)
#define YES(v)                                                                                                         \
        {                                                                                                              \
                true, (v)                                                                                              \
        }
#define NO                                                                                                             \
        {                                                                                                              \
                false, 0                                                                                               \
        }

/* --- the table: CPU in millicores, P95 x 1.1, round to 1, min 10 unless the row says otherwise ------------------- */

struct row {
        const char *name;
        enum state state;
        int64_t model; /* 0: no estimate */
        int64_t early;
        struct amount original, limit, range_min, range_ratio, last_good;
        enum container_role role;
        bool ignored, off, guaranteed, keep, unasked, more;
        int64_t max, round_to; /* 0: none, 1 */
        struct amount want;
        enum reason reason;
        bool under, qos;
};

static const struct row rows[] = {
        {.name = "lowered",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .want = YES(454),
         .reason = REASON_LOWERED},
        {.name = "more than the model, below the original",
         .state = STATE_READY,
         .model = 412,
         .more = true,
         .original = YES(2000),
         .want = YES(2000),
         .reason = REASON_AT_ORIGINAL},
        {.name = "more than the model, at most the profile's maximum",
         .state = STATE_READY,
         .model = 412,
         .more = true,
         .original = YES(2000),
         .max = 1500,
         .want = YES(1500),
         .reason = REASON_LOWERED},
        {.name = "more than the model, above the original",
         .state = STATE_READY,
         .model = 2412,
         .more = true,
         .original = YES(2000),
         .want = YES(2000),
         .reason = REASON_AT_ORIGINAL,
         .under = true},
        {.name = "more than the model, without an original",
         .state = STATE_READY,
         .model = 412,
         .more = true,
         .want = YES(454),
         .reason = REASON_NO_ORIGINAL},
        {.name = "one below the original",
         .state = STATE_READY,
         .model = 100,
         .original = YES(111),
         .want = YES(110),
         .reason = REASON_LOWERED},
        {.name = "at the original",
         .state = STATE_READY,
         .model = 100,
         .original = YES(110),
         .want = YES(110),
         .reason = REASON_AT_ORIGINAL},
        {.name = "at the original, odd",
         .state = STATE_READY,
         .model = 10,
         .original = YES(11),
         .want = YES(11),
         .reason = REASON_AT_ORIGINAL},
        {.name = "above the original",
         .state = STATE_READY,
         .model = 100,
         .original = YES(109),
         .want = YES(109),
         .reason = REASON_AT_ORIGINAL,
         .under = true},
        {.name = "min lifts",
         .state = STATE_READY,
         .model = 3,
         .original = YES(100),
         .want = YES(10),
         .reason = REASON_LOWERED},
        {.name = "min above the original is no need",
         .state = STATE_READY,
         .model = 3,
         .original = YES(5),
         .want = YES(5),
         .reason = REASON_AT_ORIGINAL},
        {.name = "max caps",
         .state = STATE_READY,
         .model = 900,
         .original = YES(2000),
         .max = 500,
         .want = YES(500),
         .reason = REASON_LOWERED},
        {.name = "the least max",
         .state = STATE_READY,
         .model = 900,
         .original = YES(2000),
         .max = 1,
         .want = YES(1),
         .reason = REASON_LOWERED},
        {.name = "the clamp comes after the step",
         .state = STATE_READY,
         .model = 900,
         .original = YES(2000),
         .max = 505,
         .round_to = 100,
         .want = YES(505),
         .reason = REASON_LOWERED},
        {.name = "max does not hide the need",
         .state = STATE_READY,
         .model = 900,
         .original = YES(500),
         .max = 400,
         .want = YES(400),
         .reason = REASON_LOWERED,
         .under = true},
        {.name = "round up",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .round_to = 50,
         .want = YES(500),
         .reason = REASON_LOWERED},
        {.name = "held computes on",
         .state = STATE_HELD,
         .model = 412,
         .original = YES(2000),
         .want = YES(454),
         .reason = REASON_LOWERED},
        {.name = "learning",
         .state = STATE_LEARNING,
         .model = 412,
         .original = YES(2000),
         .want = YES(2000),
         .reason = REASON_LEARNING},
        {.name = "early",
         .state = STATE_LEARNING,
         .model = 412,
         .early = 680,
         .original = YES(2000),
         .want = YES(680),
         .reason = REASON_EARLY},
        {.name = "early, the least",
         .state = STATE_LEARNING,
         .model = 1,
         .early = 1,
         .original = YES(2000),
         .want = YES(10), /* the least that a profile has */
         .reason = REASON_EARLY},
        {.name = "early, not below the original",
         .state = STATE_LEARNING,
         .model = 412,
         .early = 680,
         .original = YES(450),
         .want = YES(450),
         .reason = REASON_EARLY},
        {.name = "early, above max",
         .state = STATE_LEARNING,
         .model = 412,
         .early = 680,
         .original = YES(2000),
         .max = 500,
         .want = YES(500),
         .reason = REASON_EARLY},
        {.name = "early, above the limit",
         .state = STATE_LEARNING,
         .model = 412,
         .early = 680,
         .original = YES(2000),
         .limit = YES(300),
         .want = YES(300),
         .reason = REASON_EARLY},
        {.name = "early, LimitRange",
         .state = STATE_LEARNING,
         .model = 412,
         .early = 680,
         .original = YES(2000),
         .range_min = YES(900),
         .want = YES(900),
         .reason = REASON_EARLY},
        {.name = "early, Guaranteed",
         .state = STATE_LEARNING,
         .model = 412,
         .early = 680,
         .original = YES(2000),
         .limit = YES(2000),
         .guaranteed = true,
         .keep = true,
         .want = YES(2000),
         .reason = REASON_EARLY},
        {.name = "early, without an original",
         .state = STATE_LEARNING,
         .model = 412,
         .early = 680,
         .reason = REASON_NO_ORIGINAL},
        {.name = "early, off",
         .state = STATE_LEARNING,
         .model = 412,
         .early = 680,
         .original = YES(2000),
         .off = true,
         .want = YES(2000),
         .reason = REASON_CPU_OFF},
        {.name = "early, after a lost database",
         .state = STATE_LEARNING,
         .model = 412,
         .early = 680,
         .original = YES(2000),
         .last_good = YES(454),
         .want = YES(454),
         .reason = REASON_LEARNING},
        {.name = "early, orphaned",
         .state = STATE_LEARNING,
         .model = 412,
         .early = 680,
         .original = YES(2000),
         .unasked = true,
         .want = YES(2000),
         .reason = REASON_AT_ORIGINAL},
        {.name = "early no more",
         .state = STATE_READY,
         .model = 412,
         .early = 680,
         .original = YES(2000),
         .want = YES(454),
         .reason = REASON_LOWERED},
        {.name = "learning above max",
         .state = STATE_LEARNING,
         .model = 412,
         .original = YES(2000),
         .max = 500,
         .want = YES(2000),
         .reason = REASON_LEARNING},
        {.name = "no data",
         .state = STATE_NO_DATA,
         .original = YES(2000),
         .want = YES(2000),
         .reason = REASON_LEARNING},
        {.name = "ready, but not this resource",
         .state = STATE_READY,
         .original = YES(2000),
         .want = YES(2000),
         .reason = REASON_LEARNING},
        {.name = "a lost database",
         .state = STATE_LEARNING,
         .model = 20,
         .original = YES(2000),
         .last_good = YES(454),
         .want = YES(454),
         .reason = REASON_LEARNING},
        {.name = "a lost database, the owner went lower",
         .state = STATE_NO_DATA,
         .original = YES(300),
         .last_good = YES(454),
         .want = YES(300),
         .reason = REASON_LEARNING},
        {.name = "stale",
         .state = STATE_STALE,
         .model = 20,
         .original = YES(2000),
         .last_good = YES(454),
         .want = YES(454),
         .reason = REASON_STALE},
        {.name = "stale, nothing published",
         .state = STATE_STALE,
         .model = 20,
         .original = YES(2000),
         .want = YES(2000),
         .reason = REASON_STALE},
        {.name = "stale under a new max",
         .state = STATE_STALE,
         .original = YES(2000),
         .last_good = YES(454),
         .max = 400,
         .want = YES(400),
         .reason = REASON_STALE},
        {.name = "ready looks at no last value",
         .state = STATE_READY,
         .model = 100,
         .original = YES(2000),
         .last_good = YES(454),
         .want = YES(110),
         .reason = REASON_LOWERED},
        {.name = "nobody asks any more: the last value stands",
         .state = STATE_READY,
         .model = 100,
         .original = YES(2000),
         .last_good = YES(454),
         .unasked = true,
         .want = YES(454),
         .reason = REASON_LOWERED},
        {.name = "nobody asks any more, and nobody did",
         .state = STATE_READY,
         .model = 3000,
         .original = YES(2000),
         .unasked = true,
         .want = YES(2000),
         .reason = REASON_AT_ORIGINAL},
        {.name = "turned off",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .off = true,
         .want = YES(2000),
         .reason = REASON_CPU_OFF},
        {.name = "turned off without original",
         .state = STATE_READY,
         .model = 412,
         .off = true,
         .want = NO,
         .reason = REASON_CPU_OFF},
        {.name = "turned off and short",
         .state = STATE_READY,
         .model = 412,
         .original = YES(200),
         .off = true,
         .want = YES(200),
         .reason = REASON_CPU_OFF,
         .under = true},
        {.name = "ignored",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .ignored = true,
         .want = YES(2000),
         .reason = REASON_CONTAINER_IGNORED},
        {.name = "ignored beats off",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .ignored = true,
         .off = true,
         .want = YES(2000),
         .reason = REASON_CONTAINER_IGNORED},
        {.name = "an init container",
         .state = STATE_READY,
         .model = 412,
         .original = YES(300),
         .role = ROLE_INIT,
         .want = YES(300),
         .reason = REASON_INIT},
        {.name = "a sidecar is a container",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .role = ROLE_SIDECAR,
         .want = YES(454),
         .reason = REASON_LOWERED},
        {.name = "injected",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .role = ROLE_INJECTED,
         .want = YES(454),
         .reason = REASON_NOT_IN_TEMPLATE},
        {.name = "injected, not lowered",
         .state = STATE_READY,
         .model = 412,
         .original = YES(400),
         .role = ROLE_INJECTED,
         .want = YES(400),
         .reason = REASON_AT_ORIGINAL,
         .under = true},
        {.name = "LimitRange min below the target",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .range_min = YES(454),
         .want = YES(454),
         .reason = REASON_LOWERED},
        {.name = "LimitRange min between",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .range_min = YES(455),
         .want = YES(455),
         .reason = REASON_LIMIT_RANGE},
        {.name = "LimitRange min above the original",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .range_min = YES(2001),
         .want = YES(2000),
         .reason = REASON_LIMIT_RANGE},
        {.name = "LimitRange min is lower than policy min",
         .state = STATE_READY,
         .model = 1,
         .original = YES(2000),
         .range_min = YES(5),
         .want = YES(10),
         .reason = REASON_LOWERED},
        {.name = "at the original, LimitRange has no say",
         .state = STATE_READY,
         .model = 412,
         .original = YES(400),
         .range_min = YES(500),
         .want = YES(400),
         .reason = REASON_AT_ORIGINAL,
         .under = true},
        {.name = "the ratio rounds up",
         .state = STATE_READY,
         .model = 100,
         .original = YES(2000),
         .limit = YES(2000),
         .range_ratio = YES(3000),
         .want = YES(667),
         .reason = REASON_LIMIT_RANGE},
        {.name = "the ratio without a limit",
         .state = STATE_READY,
         .model = 100,
         .original = YES(2000),
         .range_ratio = YES(3000),
         .want = YES(110),
         .reason = REASON_LOWERED},
        {.name = "the ratio rounds up what is but just above",
         .state = STATE_READY,
         .model = 100,
         .original = YES(2998),
         .limit = YES(2998),
         .range_ratio = YES(3001),
         .want = YES(1000),
         .reason = REASON_LIMIT_RANGE},
        {.name = "the least ratio",
         .state = STATE_READY,
         .model = 100,
         .original = YES(2000),
         .limit = YES(2000),
         .range_ratio = YES(1),
         .want = YES(2000),
         .reason = REASON_LIMIT_RANGE},
        {.name = "a ratio of zero is none",
         .state = STATE_READY,
         .model = 100,
         .original = YES(2000),
         .limit = YES(2000),
         .range_ratio = YES(0),
         .want = YES(110),
         .reason = REASON_LOWERED},
        {.name = "the larger of min and ratio",
         .state = STATE_READY,
         .model = 100,
         .original = YES(2000),
         .limit = YES(2000),
         .range_min = YES(700),
         .range_ratio = YES(3000),
         .want = YES(700),
         .reason = REASON_LIMIT_RANGE},
        {.name = "stale, raised",
         .state = STATE_STALE,
         .original = YES(2000),
         .last_good = YES(454),
         .range_min = YES(500),
         .want = YES(500),
         .reason = REASON_STALE},
        {.name = "an original above the limit",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .limit = YES(300),
         .want = YES(300),
         .reason = REASON_LIMIT_BOUND},
        {.name = "off, an original above the limit",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .limit = YES(300),
         .off = true,
         .want = YES(300),
         .reason = REASON_LIMIT_BOUND},
        {.name = "learning above the limit",
         .state = STATE_LEARNING,
         .original = YES(2000),
         .limit = YES(300),
         .want = YES(300),
         .reason = REASON_LEARNING},
        {.name = "no original", .state = STATE_READY, .model = 412, .want = YES(454), .reason = REASON_NO_ORIGINAL},
        {.name = "no original, LimitRange",
         .state = STATE_READY,
         .model = 412,
         .range_min = YES(500),
         .want = YES(500),
         .reason = REASON_NO_ORIGINAL},
        {.name = "no original, learning",
         .state = STATE_LEARNING,
         .model = 412,
         .want = NO,
         .reason = REASON_NO_ORIGINAL},
        {.name = "no original, stale",
         .state = STATE_STALE,
         .model = 412,
         .last_good = YES(454),
         .want = YES(454),
         .reason = REASON_NO_ORIGINAL},
        {.name = "no original, injected",
         .state = STATE_READY,
         .model = 412,
         .role = ROLE_INJECTED,
         .want = YES(454),
         .reason = REASON_NO_ORIGINAL},
        {.name = "guaranteed and kept",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .limit = YES(2000),
         .guaranteed = true,
         .keep = true,
         .want = YES(2000),
         .reason = REASON_QOS},
        {.name = "guaranteed no more",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .limit = YES(2000),
         .guaranteed = true,
         .want = YES(454),
         .reason = REASON_LOWERED,
         .qos = true},
        {.name = "guaranteed, not lowered",
         .state = STATE_READY,
         .model = 1900,
         .original = YES(2000),
         .limit = YES(2000),
         .guaranteed = true,
         .keep = true,
         .want = YES(2000),
         .reason = REASON_AT_ORIGINAL,
         .under = true},
        {.name = "keeping needs a guaranteed pod",
         .state = STATE_READY,
         .model = 412,
         .original = YES(2000),
         .keep = true,
         .want = YES(454),
         .reason = REASON_LOWERED},
        {.name = "guaranteed, kept while stale",
         .state = STATE_STALE,
         .original = YES(2000),
         .limit = YES(2000),
         .last_good = YES(454),
         .guaranteed = true,
         .keep = true,
         .want = YES(2000),
         .reason = REASON_STALE},
        {.name = "an original of zero",
         .state = STATE_READY,
         .model = 412,
         .original = YES(0),
         .want = YES(0),
         .reason = REASON_AT_ORIGINAL,
         .under = true},
};

static void run_row(const struct row *r)
{
        struct resource_policy policy;
        resource_policy_defaults(CPU, &policy);
        policy.enabled = !r->off;
        policy.max = r->max;
        policy.round_to = r->round_to ? r->round_to : 1;
        struct correct_facts f = {
                .resource = CPU,
                .policy = &policy,
                .role = r->role,
                .ignored = r->ignored,
                .unasked = r->unasked,
                .state = r->state,
                .estimate = {.known = r->model > 0, .model = r->model, .early = r->early, .more = r->more},
                .original = r->original,
                .limit = r->limit,
                .range_min = r->range_min,
                .range_ratio = r->range_ratio,
                .last_good = r->last_good,
                .guaranteed = r->guaranteed,
                .keep_guaranteed = r->keep,
        };
        struct correction c;
        correct(&f, &c);
        if (c.target.set != r->want.set || c.target.value != r->want.value || c.reason != r->reason ||
            c.under_provisioned != r->under || c.qos_changes != r->qos)
                fail_msg("%s: %d %lld %s under %d qos %d", r->name, c.target.set, (long long)c.target.value,
                         reason_name(c.reason), c.under_provisioned, c.qos_changes);
}

/* What keeps a static target from being lower, where the reason stays Static. */
static void test_what_raises_a_target(void **state)
{
        (void)state;
        static const struct {
                int factor;
                int64_t min;
                struct amount range_min, heap_start;
                bool guaranteed;
                enum rule want;
        } row[] = {
                {.factor = 500, .want = RULE_STATIC},
                {.factor = 1000, .want = RULE_STATIC},
                {.factor = 500, .min = 100, .want = RULE_CLAMP},
                {.factor = 500, .min = 300, .want = RULE_CLAMP},
                {.factor = 500, .range_min = YES(150), .want = RULE_RANGE},
                {.factor = 500, .min = 60, .heap_start = YES(100), .want = RULE_HEAP},
                {.factor = 500, .guaranteed = true, .want = RULE_QOS},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct resource_policy policy;
                struct correction c;
                resource_policy_defaults(CPU, &policy);
                policy.static_factor = row[i].factor;
                policy.min = row[i].min;
                correct(&(struct correct_facts){.resource = CPU,
                                                .policy = &policy,
                                                .overcommit = OVERCOMMIT_STATIC,
                                                .original = YES(100),
                                                .range_min = row[i].range_min,
                                                .heap_start = row[i].heap_start,
                                                .guaranteed = row[i].guaranteed,
                                                .keep_guaranteed = true},
                        &c);
                if (c.reason != REASON_STATIC || c.raised_by != row[i].want || c.target.value != (i == 0 ? 50 : 100))
                        fail_msg("row %zu: %s by %s, %lld", i, reason_name(c.reason), rule_name(c.raised_by),
                                 (long long)c.target.value);
        }
}

static void test_table(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                run_row(&rows[i]);
}

static void test_memory(void **state)
{
        (void)state;
        struct resource_policy policy;
        struct correction c;
        resource_policy_defaults(MEMORY, &policy);
        struct correct_facts f = {.resource = MEMORY,
                                  .policy = &policy,
                                  .state = STATE_READY,
                                  .estimate = {.known = true, .model = 812 * MI},
                                  .original = YES(4096 * MI)};
        correct(&f, &c);
        assert_int_equal(c.target.value, 4096 * MI);
        assert_int_equal(c.reason, REASON_MEMORY_OFF);
        policy.enabled = true;
        correct(&f, &c);
        assert_int_equal(c.target.value, 934 * MI); /* 812 x 1.15 = 933.8 */
        assert_int_equal(c.reason, REASON_LOWERED);
        f.heap_start = (struct amount)YES(2048 * MI);
        correct(&f, &c);
        assert_int_equal(c.target.value, 2048 * MI);
        assert_int_equal(c.reason, REASON_HEAP_START);
        f.heap_start = (struct amount)YES(8192 * MI);
        correct(&f, &c);
        assert_int_equal(c.target.value, 4096 * MI); /* a heap above the original raises nothing above it */
        f.heap_start = (struct amount)YES(900 * MI);
        correct(&f, &c);
        assert_int_equal(c.target.value, 934 * MI); /* what is used beside the heap is in the model */
        assert_int_equal(c.reason, REASON_LOWERED);
        f.heap_start.set = false;
        f.estimate.model = 1 * MI;
        correct(&f, &c);
        assert_int_equal(c.target.value, 16 * MI);
}

/* --- scale ------------------------------------------------------------------------------------------------------- */

static void test_scale(void **state)
{
        (void)state;
        static const struct {
                int64_t value;
                int thousandths;
                int64_t step, want;
        } row[] = {
                {0, 1100, 1, 0},
                {1, 1100, 1, 2},
                {1, 1, 1, 1},
                {10, 1100, 1, 11}, /* doubles say 12 */
                {100, 1100, 1, 110},
                {412, 1100, 1, 454},
                {412, 1000, 1, 412},
                {412, 999, 1, 412},
                {412, 0, 1, 0},
                {1001, 1000, 1000, 2000},
                {1000, 1000, 1000, 1000},
                {1000, 1001, 1000, 2000},
                {INT64_MAX, 1000, 1, INT64_MAX},
                {INT64_MAX, 1001, 1, INT64_MAX},
                {INT64_MAX, INT32_MAX, 1, INT64_MAX},
                {INT64_MAX - 1, 1000, 1, INT64_MAX - 1},
                {INT64_MAX - 1, 1000, 1000, INT64_MAX},
                {1, 1000, INT64_MAX, INT64_MAX},
                {INT64_MAX, INT32_MAX, INT64_MAX, INT64_MAX},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int64_t got = correct_scale(row[i].value, row[i].thousandths, row[i].step);
                if (got != row[i].want)
                        fail_msg("%lld x %d / 1000 up to %lld is %lld, not %lld", (long long)row[i].value,
                                 row[i].thousandths, (long long)row[i].step, (long long)got, (long long)row[i].want);
        }
}

static void test_scale_is_the_least_multiple(void **state)
{
        (void)state;
        for (int64_t value = 0; value < 3000; value++)
                for (int step = 1; step < 40; step += 13) {
                        int64_t got = correct_scale(value, 1150, step);
                        assert_int_equal(got % step, 0);
                        assert_true(got * 1000 >= value * 1150);
                        assert_true((got - step) * 1000 < value * 1150);
                }
}

/* --- names ------------------------------------------------------------------------------------------------------- */

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),
                cmocka_unit_test(test_what_raises_a_target),
                cmocka_unit_test(test_memory),
                cmocka_unit_test(test_scale),
                cmocka_unit_test(test_scale_is_the_least_multiple),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
