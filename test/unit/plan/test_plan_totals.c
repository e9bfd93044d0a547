/* What is asked of a whole plan once its gates let it pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after its needs */
#include <cmocka.h>

#include "plan/plan.h"

#define YES(n) ((struct amount){true, n})

static const struct {
        const char *what;
        enum gate gate;
        bool guarded;
        struct amount original, current;
        int64_t to;
        enum reason want;
} row[] = {
        {"a decrease costs", GATE_BUDGET, false, YES(1000), YES(1000), 600, REASON_BUDGET},
        {"of what only the original tells", GATE_BUDGET, false, YES(1000), {0}, 600, REASON_BUDGET},
        {"an increase does not", GATE_BUDGET, false, YES(1000), YES(600), 800, REASON_NONE},
        {"nor does the way back", GATE_BUDGET, true, YES(1000), YES(600), 1000, REASON_NONE},
        {"a decrease makes pods", GATE_QUOTA, false, YES(1000), YES(1000), 600, REASON_QUOTA},
        {"so does an increase", GATE_QUOTA, false, YES(1000), YES(600), 800, REASON_QUOTA},
        {"the way back waits for no room", GATE_QUOTA, true, YES(1000), YES(600), 1000, REASON_NONE},
        {"what stays costs nothing", GATE_BUDGET, false, YES(1000), YES(600), 600, REASON_NONE},
        {"but for what was not lowered", GATE_QUOTA, true, YES(1000), YES(1000), 600, REASON_QUOTA},
        {"nor for what nobody asked for", GATE_QUOTA, true, {0}, YES(600), 700, REASON_QUOTA},
};

static void test_held(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct plan_container c[2] = {0};
                struct plan p = {.container = c, .containers = 2, .guarded = row[i].guarded, .apply = true};
                c[0].facts.original[CPU] = row[i].original;
                c[0].facts.current[CPU] = row[i].current;
                c[0].advice.gate[CPU].value = row[i].to;
                c[0].advice.reason[CPU] = REASON_LOWERED;
                c[0].advice.gate[MEMORY].hold = c[1].advice.gate[CPU].hold = REASON_PAUSED;
                c[1].role = ROLE_WHOLE; /* it is written by nobody */
                c[1].advice.gate[MEMORY].value = 100;
                plan_hold(&p, row[i].gate);
                enum reason shown = row[i].want ? row[i].want : REASON_LOWERED;
                assert_int_equal(c[0].advice.gate[CPU].gate, row[i].want ? row[i].gate : GATE_NONE);
                if (c[0].advice.gate[CPU].hold != row[i].want || c[0].advice.reason[CPU] != shown)
                        fail_msg("%s: '%s'", row[i].what, reason_name(c[0].advice.gate[CPU].hold));
                assert_int_equal(c[0].advice.gate[MEMORY].hold, REASON_PAUSED);
                assert_int_equal(p.apply, row[i].want == REASON_NONE);
        }
}

/* --- the pod as a whole, and what all pods save --- */

enum { MANY = 3 };

/* An init container of the template, a sidecar and the main container, of which init has no history. */
static void test_totals(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                struct {
                        int64_t original, running, target, model;
                } of[MANY];      /* 0: unset */
                int64_t asks;    /* of the pod as a whole; 0: it does not */
                int64_t want[4]; /* original, running, target, model */
                int64_t replicas, saving;
        } total[] = {
                {"main and sidecar together",
                 {{100, 100, 100, 0}, {50, 40, 30, 20}, {900, 800, 300, 200}},
                 0,
                 {950, 840, 330, 220},
                 3,
                 3 * 620},
                {"the init container is larger",
                 {{2000, 2000, 2000, 0}, {50, 40, 30, 20}, {900, 800, 300, 200}},
                 0,
                 {2000, 2000, 2000, 2000},
                 3,
                 0},
                {"the pod asks for it",
                 {{100, 100, 100, 0}, {50, 40, 30, 20}, {900, 800, 300, 200}},
                 700,
                 {700, 700, 700, 220},
                 3,
                 0},
                {"no request", {{0, 0, 0, 0}, {0, 0, 30, 20}, {0, 0, 300, 200}}, 0, {-1, -1, 330, 220}, 3, 0},
                {"no target", {{0, 0, 0, 0}, {0, 0, 0, 0}, {900, 0, 0, 0}}, 0, {900, -1, -1, -1}, 3, 0},
                {"a target above it", {{0, 0, 0, 0}, {0, 0, 0, 0}, {900, 0, 901, 0}}, 0, {900, -1, 901, -1}, 3, 0},
                {"more than there is",
                 {{0, 0, 0, 0}, {0, 0, 0, 0}, {INT64_MAX, 0, 1, 0}},
                 0,
                 {INT64_MAX, -1, 1, -1},
                 3,
                 INT64_MAX},
        };
        static const enum plan_amount which[] = {PLAN_ORIGINAL, PLAN_CURRENT, PLAN_TARGET, PLAN_MODEL};
        static const enum container_role role[MANY] = {ROLE_INIT, ROLE_SIDECAR, ROLE_MAIN};
        for (size_t i = 0; i < sizeof total / sizeof total[0]; i++) {
                struct plan_container c[MANY] = {0};
                struct workload_more more = {.pod_asks[MEMORY] = {total[i].asks > 0, total[i].asks}};
                struct workload wl = {.more = &more, .replicas = total[i].replicas};
                struct target t = {.workload = &wl};
                struct plan p = {.target = &t, .container = c, .containers = MANY};
                for (int k = 0; k < MANY; k++) {
                        c[k].role = role[k];
                        c[k].facts.original[MEMORY] =
                                (struct amount){total[i].of[k].original > 0, total[i].of[k].original};
                        c[k].running[MEMORY] = (struct amount){total[i].of[k].running > 0, total[i].of[k].running};
                        c[k].advice.of[MEMORY].target =
                                (struct amount){total[i].of[k].target > 0, total[i].of[k].target};
                        c[k].facts.learned.of[MEMORY] =
                                (struct estimate){.known = total[i].of[k].model > 0, .model = total[i].of[k].model};
                }
                for (size_t k = 0; k < sizeof which / sizeof which[0]; k++) {
                        struct amount got = plan_pod_amount(&p, MEMORY, which[k]);
                        if ((got.set ? got.value : -1) != total[i].want[k])
                                fail_msg("%s, %zu: %lld", total[i].what, k, (long long)got.value);
                }
                if (plan_saving(&p, MEMORY) != total[i].saving)
                        fail_msg("%s: saves %lld", total[i].what, (long long)plan_saving(&p, MEMORY));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_held), cmocka_unit_test(test_totals)};
        return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
