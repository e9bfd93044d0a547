#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/advise.h"

#define MI     INT64_C(1048576)
#define YES(v) ((struct amount){true, (v)})

struct scene {
        struct resource_policy policy[RESOURCES];
        struct apply_policy apply;
        struct advise_facts facts;
        struct advise_container c[2];
        struct advice advice[2];
};

/* Two containers of 2 cores and 4 Gi, Burstable, that use little; memory is on. */
static void scene_init(struct scene *s)
{
        memset(s, 0, sizeof *s);
        resource_policy_defaults(CPU, &s->policy[CPU]);
        resource_policy_defaults(MEMORY, &s->policy[MEMORY]);
        s->policy[MEMORY].enabled = true;
        apply_policy_defaults(APPLY_ROLLOUT, &s->apply);
        s->facts.workload = (struct gate_facts){.now = {INT64_C(1800000000000)},
                                                .apply = &s->apply,
                                                .state = STATE_READY,
                                                .window_open = true,
                                                .budget_left = true};
        for (int i = 0; i < 2; i++)
                s->c[i] = (struct advise_container){
                        .policy = s->policy,
                        .learned = {.state = STATE_READY,
                                    .of = {[CPU] = {.known = true, .model = 1200},
                                           [MEMORY] = {.known = true, .model = 2048 * MI}}},
                        .original = {YES(2000), YES(4096 * MI)},
                        .current = {YES(2000), YES(4096 * MI)},
                };
}

static bool judge(struct scene *s)
{
        return advise(&s->facts, s->c, 2, s->advice);
}

static void expect(const struct scene *s, int i, enum resource r, int64_t target, int64_t value, enum reason shown)
{
        const struct advice *a = &s->advice[i];
        if (a->of[r].target.value != target || a->gate[r].value != value || a->reason[r] != shown)
                fail_msg("container %d %s: target %lld, value %lld, reason '%s'", i, resource_name(r),
                         (long long)a->of[r].target.value, (long long)a->gate[r].value, reason_name(a->reason[r]));
}

static void test_all_is_lowered(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s);
        assert_true(judge(&s));
        for (int i = 0; i < 2; i++) {
                expect(&s, i, CPU, 1320, 1320, REASON_LOWERED);
                expect(&s, i, MEMORY, 2356 * MI, 2356 * MI, REASON_LOWERED);
        }
}

static void test_each_judged_by_its_own_facts(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s);
        s.c[0].ignored = true;
        s.c[1].learned.of[CPU].model = 1900;
        s.facts.hpa_holds[MEMORY] = true;
        assert_false(judge(&s));
        expect(&s, 0, CPU, 2000, 2000, REASON_CONTAINER_IGNORED);
        expect(&s, 0, MEMORY, 4096 * MI, 4096 * MI, REASON_CONTAINER_IGNORED);
        expect(&s, 1, CPU, 2000, 2000, REASON_AT_ORIGINAL);
        assert_true(s.advice[1].of[CPU].under_provisioned);
        expect(&s, 1, MEMORY, 2356 * MI, 2356 * MI, REASON_HPA_HOLD);
}

static void test_reasons_shown(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s);
        s.c[0].learned.of[CPU].model = 100;
        s.c[1].role = ROLE_INJECTED;
        s.facts.hpa_holds[MEMORY] = true;
        s.c[0].current[MEMORY] = YES(3000 * MI);
        assert_true(judge(&s));
        expect(&s, 0, CPU, 110, 1000, REASON_STEP_LIMITED);
        expect(&s, 0, MEMORY, 2356 * MI, 4096 * MI, REASON_HPA_HOLD);
        expect(&s, 1, CPU, 1320, 1320, REASON_NOT_IN_TEMPLATE);
        s.facts.workload.paused = true;
        assert_false(judge(&s));
        expect(&s, 0, CPU, 110, 1000, REASON_PAUSED);
}

static void test_namespace_range(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s);
        s.c[0].limit[CPU] = YES(2000);
        s.facts.range_ratio[CPU] = YES(1250);
        s.facts.range_min[MEMORY] = YES(3000 * MI);
        assert_true(judge(&s));
        expect(&s, 0, CPU, 1600, 1600, REASON_LIMIT_RANGE);
        expect(&s, 1, CPU, 1320, 1320, REASON_LOWERED);
        expect(&s, 1, MEMORY, 3000 * MI, 3000 * MI, REASON_LIMIT_RANGE);
}

static void test_last_good(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s);
        s.facts.workload.state = s.c[0].learned.state = STATE_STALE;
        s.c[0].last_good[CPU] = YES(700);
        assert_false(judge(&s));
        expect(&s, 0, CPU, 700, 1000, REASON_STALE);
        expect(&s, 1, CPU, 1320, 1320, REASON_STALE);
}

static void test_guaranteed_pod(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s);
        for (int i = 0; i < 2; i++)
                memcpy(s.c[i].limit, s.c[i].original, sizeof s.c[i].limit);
        assert_true(judge(&s));
        assert_true(s.advice[0].of[CPU].qos_changes);
        s.apply.keep_guaranteed = true;
        assert_false(judge(&s));
        expect(&s, 1, CPU, 2000, 2000, REASON_QOS);
        s.c[0].limit[CPU] = YES(3000); /* one container that is not: the pod is not */
        assert_true(judge(&s));
        expect(&s, 1, CPU, 1320, 1320, REASON_LOWERED);
}

static void test_guaranteed(void **state)
{
        (void)state;
        static const struct {
                struct amount request, limit;
                bool want;
        } row[] = {
                {{true, 5}, {true, 5}, true},   {{true, 5}, {true, 6}, false}, {{true, 5}, {false, 0}, false},
                {{false, 0}, {true, 5}, false}, {{true, 0}, {true, 0}, false}, {{false, 0}, {false, 0}, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        struct advise_container c[2] = {0};
                        for (int k = 0; k < 2; k++)
                                for (enum resource q = CPU; q < RESOURCES; q++)
                                        c[k].original[q] = c[k].limit[q] = YES(5);
                        c[1].role = ROLE_INIT; /* counts as the others do */
                        c[1].original[r] = row[i].request;
                        c[1].limit[r] = row[i].limit;
                        if (advise_guaranteed(c, 2) != row[i].want)
                                fail_msg("row %zu, %s", i, resource_name(r));
                }
        struct advise_container least = {.original = {YES(1), YES(1)}, .limit = {YES(1), YES(1)}};
        assert_true(advise_guaranteed(&least, 1));
        assert_false(advise_guaranteed(NULL, 0));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_is_lowered), cmocka_unit_test(test_each_judged_by_its_own_facts),
                cmocka_unit_test(test_reasons_shown),  cmocka_unit_test(test_namespace_range),
                cmocka_unit_test(test_last_good),      cmocka_unit_test(test_guaranteed_pod),
                cmocka_unit_test(test_guaranteed),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
