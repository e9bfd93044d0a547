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

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_held)};
        return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
