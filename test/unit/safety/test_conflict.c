#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/rig.h"

enum { CHANGED_MS = 1000000000 };

static const struct {
        const char *what;
        enum apply_mode mode; /* APPLY_MODES: no profile selects it any more */
        bool deploy, carries; /* the template changed otherwise; another of our requests still stands */
        int64_t passed_ms;
        int resets; /* before */
        bool contested;
        int resets_after;
} row[] = {
        {"soon", APPLY_ROLLOUT, false, false, 10 * MINUTE_MS, 0, true, 0},
        {"soon, one of two", APPLY_ROLLOUT, false, true, 10 * MINUTE_MS, 0, true, 0},
        {"soon, with a deploy", APPLY_ROLLOUT, true, false, 10 * MINUTE_MS, 1, false, 0},
        {"later, the first", APPLY_ROLLOUT, false, false, HOUR_MS, 0, false, 1},
        {"later, the second in a row", APPLY_ROLLOUT, false, false, HOUR_MS, 1, true, 0},
        {"later, with a deploy", APPLY_ROLLOUT, true, true, HOUR_MS, 1, false, 0},
        {"after cooldown", APPLY_ROLLOUT, false, false, 169 * (int64_t)HOUR_MS, 1, false, 0},
        {"soon, where only owners deploy", APPLY_ON_DEPLOY, false, false, MINUTE_MS, 0, false, 0},
        {"soon, where nothing is changed any more", APPLY_RECOMMEND, false, false, MINUTE_MS, 1, false, 0},
        {"soon, given back", APPLY_MODES, false, false, MINUTE_MS, 1, false, 0},
};

static void test_resets(void **state)
{
        (void)state;
        struct rig c;
        rig_begin(&c);
        struct profile_spec spec = {.apply.cooldown_ms = 168 * (int64_t)HOUR_MS};
        struct profile profile = {.spec = &spec};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                spec.apply.mode = row[i].mode;
                struct workload wl = {.digest = row[i].deploy ? 2 : 1};
                struct plan_container container = {
                        .name = "app", .reset = {true, false}, .ours = {false, row[i].carries}};
                struct target t = {.ns = "web",
                                   .kind = "Deployment",
                                   .name = "shop",
                                   .workload = &wl,
                                   .profile = row[i].mode < APPLY_MODES ? &profile : NULL,
                                   .apply_state = {.changed_ms = CHANGED_MS, .digest = 1, .resets = row[i].resets}};
                struct plan plan = {.target = &t,
                                    .now = {CHANGED_MS + row[i].passed_ms},
                                    .container = &container,
                                    .containers = 1,
                                    .carries = row[i].carries};
                conflict_watch(c.safety, &t, &plan);
                bool contested = t.apply_state.contested_ms > 0;
                conflict_watch(c.safety, &t, &plan); /* seen once */
                if (contested != row[i].contested || t.apply_state.resets != row[i].resets_after)
                        fail_msg("%s: contested %d, resets %d", row[i].what, contested, t.apply_state.resets);
                mem_free(t.apply_state.contest);
        }
        rig_end(&c);
}

/* 24 h, doubling to 168 h, and 24 h again once a change was let stand. */
static void test_steps(void **state)
{
        (void)state;
        static const int hours[] = {24, 48, 96, 168, 168};
        struct rig c;
        rig_begin(&c);
        struct workload wl = {.digest = 1};
        struct plan_container container = {.name = "app", .reset = {true, false}};
        struct target t = {.ns = "web", .kind = "Deployment", .name = "shop", .workload = &wl};
        struct plan plan = {.target = &t, .container = &container, .containers = 1};
        for (int i = 0; i < 5; i++) {
                conflict_changed(c.safety, &t, "changed to 500m by admission");
                assert_int_equal(t.apply_state.contest_step_ms, hours[i] * (int64_t)HOUR_MS);
        }
        t.apply_state.changed_ms = CHANGED_MS;
        plan.now.ms = CHANGED_MS + 30 * (int64_t)DAY_MS;
        conflict_watch(c.safety, &t, &plan);
        assert_int_equal(t.apply_state.contest_step_ms, 0);
        mem_free(t.apply_state.contest);
        rig_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_resets),
                cmocka_unit_test(test_steps),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
