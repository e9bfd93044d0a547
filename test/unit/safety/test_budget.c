#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/rig.h"

/* One target with one container of 1000m, for which a gate is open to so many millicores. */
struct fixture {
        struct rig c;
        struct watched_kind kind;
        struct workload workload;
        struct profile_spec spec;
        struct profile profile;
        struct plan_container container;
        struct plan plan;
        struct target target; /* last: its names follow it */
};

static int set_up(void **state)
{
        struct fixture *f = MEM_NEW(struct fixture);
        rig_begin(&f->c);
        f->workload = (struct workload){.kind = &f->kind, .replicas = 2};
        f->profile.key = mem_string("/shared");
        f->profile.spec = &f->spec;
        f->target = (struct target){.ns = "shop", .workload = &f->workload, .profile = &f->profile};
        f->container.facts.current[CPU] = (struct amount){true, 1000};
        f->container.advice.gate[CPU] = (struct gate_verdict){.value = 600};
        f->container.advice.gate[MEMORY].hold = REASON_MEMORY_OFF;
        f->plan = (struct plan){
                .target = &f->target, .container = &f->container, .containers = 1, .now = loop_now(f->c.loop).wall};
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *f = *state;
        mem_free(f->profile.key);
        rig_end(&f->c);
        mem_free(f);
        return 0;
}

static void test_a_refused_change_costs_nothing(void **state)
{
        struct fixture *f = *state;
        f->c.live.budget_cores_per_hour = 1000;
        for (int n = 0; n < 100; n++) {
                assert_true(budget_allows(f->c.safety, &f->plan));
                int64_t cost = budget_spend(f->c.safety, &f->plan);
                assert_int_equal(cost, 800);
                assert_false(budget_allows(f->c.safety, &f->plan));
                budget_refund(f->c.safety, &f->target, "/shared", cost);
                budget_settle(f->c.safety);
        }
        assert_int_equal(f->c.safety->spent_millicores, 0);
        assert_false(f->target.rolling);
}

static void test_the_ledger_stays_short(void **state)
{
        struct fixture *f = *state;
        f->plan.now.ms -= f->plan.now.ms % MINUTE_MS; /* all in one minute */
        for (int n = 0; n < 1000; n++, f->plan.now.ms += 10)
                budget_spend(f->c.safety, &f->plan);
        assert_int_equal(f->c.safety->spendings, 1);
        assert_int_equal(f->c.safety->spent[0].millicores, 800 * 1000);
        f->plan.now.ms += MINUTE_MS;
        budget_spend(f->c.safety, &f->plan);
        assert_int_equal(f->c.safety->spendings, 2);
}

static void test_sums_end(void **state)
{
        struct fixture *f = *state;
        f->container.facts.current[CPU].value = INT64_MAX;
        for (int n = 0; n < 3; n++)
                assert_int_equal(budget_spend(f->c.safety, &f->plan), INT64_MAX);
        assert_int_equal(f->c.safety->spent_millicores, INT64_MAX);
        f->c.live.budget_cores_per_hour = 1000;
        assert_false(budget_allows(f->c.safety, &f->plan));
}

static void test_a_cron_job_rolls_nothing(void **state)
{
        struct fixture *f = *state;
        f->workload.generation = 3;
        f->kind = (struct watched_kind){.group = "batch", .kind = "CronJob", .flags = KIND_BY_RUNS};
        assert_true(rollout_done(&f->workload));
        f->kind = (struct watched_kind){.group = "apps", .kind = "Deployment"};
        assert_false(rollout_done(&f->workload));
}

/* The workload looks done for as long as the patch has no answer. */
static void test_a_patch_under_way_counts(void **state)
{
        struct fixture *f = *state;
        f->spec.budget_workloads = 1;
        f->kind.flags = KIND_BY_RUNS; /* looks done */
        map_put(&f->c.cache.targets, TEXT("t"), &f->target);
        map_put(&f->c.cache.profiles, TEXT("p"), &f->profile);
        f->target.busy = true;
        budget_spend(f->c.safety, &f->plan);
        budget_settle(f->c.safety);
        assert_true(f->target.rolling);
        assert_int_equal(f->c.safety->rolling, 1);
        assert_false(budget_allows(f->c.safety, &f->plan));
        f->target.busy = false;
        budget_settle(f->c.safety);
        assert_false(f->target.rolling);
        assert_int_equal(f->c.safety->rolling, 0);
        assert_true(budget_allows(f->c.safety, &f->plan));
        map_drop(&f->c.cache.targets, TEXT("t"));
        map_drop(&f->c.cache.profiles, TEXT("p"));
}

/* A clock that was ahead wrote it down: it is held for an hour from now, not for the year, and not for nothing. */
static void test_spent_in_the_future(void **state)
{
        struct fixture *f = *state;
        f->c.live.budget_cores_per_hour = 1000;
        f->plan.now.ms += 365 * (int64_t)DAY_MS;
        (void)budget_spend(f->c.safety, &f->plan);
        budget_settle(f->c.safety);
        assert_false(budget_allows(f->c.safety, &f->plan));
        assert_int_equal(f->c.safety->spendings, 1);
        assert_true(f->c.safety->spent[0].at_ms <= loop_now(f->c.loop).wall.ms);
}

/* What falls is held; what rises is not, and goes on by itself. */
static void test_it_holds_decreases(void **state)
{
        struct fixture *f = *state;
        static const struct {
                const char *what;
                int64_t spent; /* before */
                enum reason memory;
                enum reason want[RESOURCES];
                bool applies;
        } row[] = {
                {"there is enough", 0, REASON_MEMORY_OFF, {REASON_NONE, REASON_MEMORY_OFF}, true},
                {"it is used up", 1000, REASON_MEMORY_OFF, {REASON_BUDGET, REASON_MEMORY_OFF}, false},
                {"memory rises beside", 1000, REASON_NONE, {REASON_BUDGET, REASON_NONE}, true},
                {"memory is held by another gate", 1000, REASON_COOLDOWN, {REASON_BUDGET, REASON_COOLDOWN}, false},
        };
        f->kind = (struct watched_kind){.group = "apps", .kind = "Deployment"};
        f->c.live.budget_cores_per_hour = 1000;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct plan_container *c = &f->container;
                f->c.safety->spent_millicores = row[i].spent;
                f->plan.apply = true;
                c->advice.gate[CPU] = (struct gate_verdict){.value = 600};
                c->facts.current[MEMORY] = (struct amount){true, 100};
                c->advice.gate[MEMORY] = (struct gate_verdict){.hold = row[i].memory, .value = 200};
                budget_gate(f->c.safety, &f->plan);
                if (c->advice.gate[CPU].hold != row[i].want[CPU] ||
                    c->advice.gate[MEMORY].hold != row[i].want[MEMORY] || f->plan.apply != row[i].applies)
                        fail_msg("%s: '%s', '%s'", row[i].what, reason_name(c->advice.gate[CPU].hold),
                                 reason_name(c->advice.gate[MEMORY].hold));
        }
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                TEST(test_a_refused_change_costs_nothing),
                TEST(test_the_ledger_stays_short),
                TEST(test_sums_end),
                TEST(test_a_cron_job_rolls_nothing),
                TEST(test_spent_in_the_future),
                TEST(test_a_patch_under_way_counts),
                TEST(test_it_holds_decreases),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
