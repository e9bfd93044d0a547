#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"

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
        {"in the millisecond of the change", APPLY_ROLLOUT, false, false, 0, 0, true, 0},
        {"within 15 minutes exactly", APPLY_ROLLOUT, false, false, 15 * MINUTE_MS, 0, true, 0},
        {"a millisecond later", APPLY_ROLLOUT, false, false, 15 * MINUTE_MS + 1, 0, false, 1},
        {"within the cooldown exactly, the second", APPLY_ROLLOUT, false, false, 168 * (int64_t)HOUR_MS, 1, true, 0},
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
                bool twice = t.apply_state.contest_step_ms > 24 * (int64_t)HOUR_MS;
                if (contested != row[i].contested || twice || t.apply_state.resets != row[i].resets_after)
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

/* --- targets of autoscalers --- */

static const struct {
        const char *what;
        enum autoscaler_hold hold[2];
        bool already; /* left alone as it is */
        enum resource at;
        bool held; /* an autoscaler holds the resource */
        struct amount original, current;
        const char *want;
} targets[] = {
        {.what = "none was put back"},
        {.what = "held otherwise", .hold = {AUTOSCALER_OWNED, AUTOSCALER_FORBIDDEN}},
        {.what = "the first",
         .hold = {AUTOSCALER_RESET, AUTOSCALER_FREE},
         .want = "HPA 'one': its target utilization was put back after halflife's change, by kubectl-edit"},
        {.what = "the second",
         .hold = {AUTOSCALER_FREE, AUTOSCALER_RESET},
         .want = "HPA 'two': its target utilization was put back after halflife's change, by somebody"},
        {.what = "both: the first is told",
         .hold = {AUTOSCALER_RESET, AUTOSCALER_RESET},
         .want = "HPA 'one': its target utilization was put back after halflife's change, by kubectl-edit"},
        {.what = "left alone already", .hold = {AUTOSCALER_RESET, AUTOSCALER_FREE}, .already = true},
        {.what = "the request is still lower",
         .hold = {AUTOSCALER_RESET, AUTOSCALER_FREE},
         .held = true,
         .original = {true, 1000},
         .current = {true, 999}},
        {.what = "of memory as well",
         .hold = {AUTOSCALER_RESET, AUTOSCALER_FREE},
         .at = MEMORY,
         .held = true,
         .original = {true, 1000},
         .current = {true, 999}},
        {.what = "the request is back",
         .hold = {AUTOSCALER_RESET, AUTOSCALER_FREE},
         .held = true,
         .original = {true, 1000},
         .current = {true, 1000},
         .want = "HPA 'one'"},
        {.what = "the request is higher",
         .hold = {AUTOSCALER_RESET, AUTOSCALER_FREE},
         .held = true,
         .original = {true, 1000},
         .current = {true, 1001},
         .want = "HPA 'one'"},
        {.what = "it is lower, and not held",
         .hold = {AUTOSCALER_RESET, AUTOSCALER_FREE},
         .original = {true, 1000},
         .current = {true, 999},
         .want = "HPA 'one'"},
        {.what = "it had no request",
         .hold = {AUTOSCALER_RESET, AUTOSCALER_FREE},
         .held = true,
         .original = {false, 1000},
         .current = {true, 999},
         .want = "HPA 'one'"},
        {.what = "it has no request",
         .hold = {AUTOSCALER_RESET, AUTOSCALER_FREE},
         .held = true,
         .original = {true, 1000},
         .want = "HPA 'one'"},
};

static void test_targets_put_back(void **state)
{
        (void)state;
        static const struct autoscaler_kind kind = {.word = "HPA"};
        struct rig c;
        rig_begin(&c);
        for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
                for (int place = 0; place < 2; place++) { /* the other container stays as it is */
                        struct autoscaler one = {.kind = &kind, .name = "one", .writer = "kubectl-edit"},
                                          two = {.kind = &kind, .name = "two"};
                        struct plan_autoscaler scaler[] = {{.of = &one, .hold = targets[i].hold[0]},
                                                           {.of = &two, .hold = targets[i].hold[1]}};
                        struct plan_container of[2] = {0};
                        of[place].facts.original[targets[i].at] = targets[i].original;
                        of[place].facts.current[targets[i].at] = targets[i].current;
                        struct workload wl = {0};
                        struct target t = {.ns = "web", .kind = "Deployment", .name = "shop", .workload = &wl};
                        struct plan plan = {.target = &t,
                                            .container = of,
                                            .containers = 2,
                                            .autoscaler = scaler,
                                            .autoscalers = 2,
                                            .contested = targets[i].already};
                        plan.hpa_holds[targets[i].at] = targets[i].held;
                        conflict_watch(c.safety, &t, &plan);
                        const char *got = t.apply_state.contest, *want = targets[i].want;
                        if (!got != !want || (want && strncmp(got, want, strlen(want)) != 0))
                                fail_msg("%s: '%s'", targets[i].what, got ? got : "nobody");
                        assert_int_equal(t.apply_state.contest_step_ms, want ? 24 * (int64_t)HOUR_MS : 0);
                        mem_free(t.apply_state.contest);
                }
        rig_end(&c);
}

/* What is begun and what is counted is stored at once, and a policy's refusal is told in its words. */
static void test_it_is_stored(void **state)
{
        (void)state;
        struct rig c;
        rig_begin(&c);
        AUTO(mem_free) char *path = tmp_path("conflict.db");
        rig_open_database(&c, path);
        struct profile_spec spec = {.apply = {.mode = APPLY_ROLLOUT, .cooldown_ms = DAY_MS}};
        struct profile profile = {.spec = &spec};
        struct workload wl = {.digest = 1};
        struct plan_container container = {.name = "app", .reset = {true, false}};
        struct target t = {.ns = "web",
                           .group = "apps",
                           .version = "v1",
                           .kind = "Deployment",
                           .name = "shop",
                           .workload = &wl,
                           .profile = &profile,
                           .apply_state = {.changed_ms = CHANGED_MS, .digest = 1}};
        struct plan plan = {.target = &t, .now = {CHANGED_MS + HOUR_MS}, .container = &container, .containers = 1};
        container.reset[CPU] = false;
        t.apply_state_dirty = true;
        conflict_watch(c.safety, &t, &plan); /* nothing was put back */
        assert_true(t.apply_state_dirty);
        container.reset[CPU] = true;
        conflict_watch(c.safety, &t, &plan);
        assert_int_equal(t.apply_state.resets, 1);
        assert_false(t.apply_state_dirty);
        t.apply_state_dirty = true;
        conflict_changed(c.safety, &t, "changed to 500m by admission");
        assert_false(t.apply_state_dirty);
        assert_int_equal(c.safety->count.conflicts, 1);
        static const struct err denied = {.code = ERR_DENIED,
                                          .text = "ValidatingAdmissionPolicy 'halflife' denied request: no limit"},
                                other = {.code = ERR_DENIED, .text = "admission webhook denied the request"};
        assert_false(conflict_refused(c.safety, &t, &other));
        assert_int_equal(c.safety->count.conflicts, 1);
        assert_true(conflict_refused(c.safety, &t, &denied));
        assert_int_equal(c.safety->count.conflicts, 2);
        assert_string_equal(t.apply_state.contest, "the policy refused the write as other admission left it: no limit");
        mem_free(t.apply_state.contest);
        rig_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_resets),
                cmocka_unit_test(test_steps),
                cmocka_unit_test(test_targets_put_back),
                cmocka_unit_test(test_it_is_stored),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
