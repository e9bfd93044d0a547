#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/decide_requests.h"

#define MI     INT64_C(1048576)
#define YES(v) ((struct amount){true, (v)})

struct scene {
        struct resource_policy policy[RESOURCES];
        struct apply_policy apply;
        struct decide_facts facts;
        struct decide_container c[2];
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
        s->facts.workload = (struct gate_facts){
                .now = {INT64_C(1800000000000)},
                .apply = &s->apply,
                .state = STATE_READY,
                .window_open = true,
        };
        for (int i = 0; i < 2; i++)
                s->c[i] = (struct decide_container){
                        .policy = s->policy,
                        .learned = {.state = STATE_READY,
                                    .of = {[CPU] = {.known = true, .model = 1200},
                                           [MEMORY] = {.known = true, .model = 2048 * MI}}},
                        .original = {YES(2000), YES(4096 * MI)},
                        .current = {YES(2000), YES(4096 * MI)},
                };
}

/* The same at a deploy, the first that halflife sees. */
static void scene_init_deploy(struct scene *s)
{
        scene_init(s);
        apply_policy_defaults(APPLY_ON_DEPLOY, &s->apply);
        for (int i = 0; i < 2; i++)
                s->c[i].current[CPU] = s->c[i].current[MEMORY] = (struct amount){0};
}

static bool judge(struct scene *s)
{
        return decide_rollout(&s->facts, s->c, 2, s->advice);
}

static void expect(const struct scene *s, int i, enum resource r, int64_t target, int64_t value, enum reason shown)
{
        const struct advice *a = &s->advice[i];
        if (a->of[r].target.value != target || a->gate[r].value != value || a->reason[r] != shown)
                fail_msg("container %d %s: target %lld, value %lld, reason '%s'", i, resource_name(r),
                         (long long)a->of[r].target.value, (long long)a->gate[r].value, reason_name(a->reason[r]));
}

static void expect_deploy(const char *row, const struct deploy_advice *d, enum resource r, int64_t want,
                          enum reason reason)
{
        if (d->request[r].value != want || d->reason[r] != reason)
                fail_msg("%s, %s: %lld, '%s'", row, resource_name(r), (long long)d->request[r].value,
                         reason_name(d->reason[r]));
}

/* A VPA that sets one request of one container holds that alone, now and at a deploy. */
static void test_a_part_is_left_to_a_vpa(void **state)
{
        (void)state;
        for (int i = 0; i < 2; i++)
                for (enum resource of = CPU; of < RESOURCES; of++) {
                        struct scene s;
                        struct deploy_advice deploy[2];
                        scene_init(&s);
                        s.c[i].other_autoscaler[of] = true;
                        assert_true(judge(&s));
                        for (int k = 0; k < 2; k++)
                                for (enum resource r = CPU; r < RESOURCES; r++) {
                                        bool left = k == i && r == of;
                                        if ((s.advice[k].reason[r] == REASON_OTHER_AUTOSCALER) != left ||
                                            (s.advice[k].gate[r].hold != REASON_NONE) != left)
                                                fail_msg("container %d %s: '%s'", k, resource_name(r),
                                                         reason_name(s.advice[k].reason[r]));
                                }
                        scene_init_deploy(&s);
                        s.c[i].other_autoscaler[of] = true;
                        assert_true(decide_deploy(&s.facts, s.c, 2, deploy));
                        for (int k = 0; k < 2; k++)
                                for (enum resource r = CPU; r < RESOURCES; r++)
                                        assert_int_equal(deploy[k].ours[r], k != i || r != of);
                }
}

/* An early request is for deploys, and halflife starts no change for it. */
static void test_early_is_for_deploys(void **state)
{
        static const struct {
                const char *name;
                enum apply_mode mode;
                int64_t previous, want; /* previous 0: the first deploy */
                enum reason reason;
        } row[] = {
                {"recommend", APPLY_RECOMMEND, 0, 2000, REASON_RECOMMEND_ONLY},
                {"deploy", APPLY_ON_DEPLOY, 0, 1500, REASON_EARLY},
                {"rollout", APPLY_ROLLOUT, 0, 1500, REASON_EARLY},
                {"in place", APPLY_IN_PLACE, 0, 1500, REASON_EARLY},
                {"hardly another", APPLY_ON_DEPLOY, 1600, 1600, REASON_BELOW_MIN_CHANGE},
                {"fallen", APPLY_ON_DEPLOY, 1900, 1500, REASON_EARLY},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                struct deploy_advice d[2];
                scene_init_deploy(&s);
                apply_policy_defaults(row[i].mode, &s.apply);
                s.facts.workload.state = STATE_LEARNING;
                for (int k = 0; k < 2; k++) {
                        s.c[k].learned.state = STATE_LEARNING;
                        s.c[k].learned.of[CPU].early = 1500;
                        s.c[k].current[CPU] = (struct amount){row[i].previous > 0, row[i].previous};
                }
                decide_deploy(&s.facts, s.c, 2, d);
                expect_deploy(row[i].name, &d[1], CPU, row[i].want, row[i].reason);
                expect_deploy(row[i].name, &d[1], MEMORY, 4096 * MI, row[i].mode ? REASON_LEARNING : row[i].reason);
                s.c[0].current[CPU] = s.c[1].current[CPU] = YES(2000);
                assert_false(judge(&s));
                assert_int_equal(s.advice[0].of[CPU].target.value, 1500);
                assert_int_equal(s.advice[0].of[CPU].reason, REASON_EARLY);
                s.facts.workload.state = STATE_HELD;
                assert_false(judge(&s));
                assert_int_equal(s.advice[0].of[CPU].reason, REASON_LEARNING);
        }
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
        s.facts.hpa_shared[MEMORY] = true;
        assert_false(judge(&s));
        expect(&s, 1, MEMORY, 2356 * MI, 2356 * MI, REASON_HPA_SHARED);
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
        s.facts.hpa_shared[MEMORY] = true;
        assert_true(judge(&s));
        expect(&s, 0, MEMORY, 2356 * MI, 4096 * MI, REASON_HPA_SHARED);
        s.facts.hpa_holds[MEMORY] = s.facts.hpa_shared[MEMORY] = false;
        s.c[0].read_least[MEMORY] = YES(3000 * MI + 1);
        assert_true(judge(&s));
        expect(&s, 0, MEMORY, 2356 * MI, 4096 * MI, REASON_READ_BY_CONTAINER);
        s.c[0].read_least[MEMORY].set = false;
        s.facts.hpa_holds[MEMORY] = true;
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

/* Whose pods ask for something as a whole is of the class that this makes it, whatever its containers say. */
static void test_guaranteed_by_containers(void **state)
{
        (void)state;
        for (int asks = 0; asks < 4; asks++)
                for (int limited = 0; limited < 2; limited++) {
                        struct scene s;
                        struct deploy_advice d[2];
                        bool want = limited && asks == 0;
                        scene_init(&s);
                        for (int i = 0; i < 2 && limited; i++)
                                memcpy(s.c[i].limit, s.c[i].original, sizeof s.c[i].limit);
                        s.facts.pod_asks[CPU] = asks & 1;
                        s.facts.pod_asks[MEMORY] = asks & 2;
                        (void)judge(&s);
                        (void)decide_deploy(&s.facts, s.c, 2, d);
                        if (s.advice[0].of[CPU].qos_changes != want || d[0].guaranteed != want)
                                fail_msg("asks %d, limited %d: %d %d", asks, limited, s.advice[0].of[CPU].qos_changes,
                                         d[0].guaranteed);
                }
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
                        struct decide_container c[2] = {0};
                        for (int k = 0; k < 2; k++)
                                for (enum resource q = CPU; q < RESOURCES; q++)
                                        c[k].original[q] = c[k].limit[q] = YES(5);
                        c[1].role = ROLE_INIT; /* counts as the others do */
                        c[1].original[r] = row[i].request;
                        c[1].limit[r] = row[i].limit;
                        if (decide_guaranteed(c, 2) != row[i].want)
                                fail_msg("row %zu, %s", i, resource_name(r));
                }
        struct decide_container least = {.original = {YES(1), YES(1)}, .limit = {YES(1), YES(1)}};
        assert_true(decide_guaranteed(&least, 1));
        assert_false(decide_guaranteed(NULL, 0));
}

static void learn(struct decide_container *c, enum state state, int64_t model)
{
        c->learned.state = state;
        for (enum resource r = CPU; r < RESOURCES; r++)
                c->learned.of[r] = (struct estimate){.known = model > 0, .model = r == CPU ? model : model * MI};
}

/* What is known so far is told only while a container learns, and decides nothing. */
static void test_so_far(void **state)
{
        (void)state;
        static const struct {
                enum state state;
                int64_t model, want; /* want 0: nothing is told */
        } row[] = {
                {STATE_NO_DATA, 0, 0}, {STATE_NO_DATA, 400, 440}, {STATE_LEARNING, 0, 0}, {STATE_LEARNING, 400, 440},
                {STATE_READY, 400, 0}, {STATE_READY, 0, 0},       {STATE_STALE, 400, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                scene_init(&s);
                learn(&s.c[0], row[i].state, row[i].model);
                (void)judge(&s);
                struct amount so_far = s.advice[0].so_far[CPU];
                if (so_far.set != (row[i].want > 0) || so_far.value != row[i].want)
                        fail_msg("row %zu: %d %lld", i, so_far.set, (long long)so_far.value);
                if (row[i].state == STATE_LEARNING)
                        expect(&s, 0, CPU, 2000, 2000, REASON_LEARNING);
        }
}

/* --- at a deploy --- */

/* Under OnDeploy the status names the gate that holds the next deploy, also where nothing would change. */
static void test_gate_shown_under_on_deploy(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s);
        apply_policy_defaults(APPLY_ON_DEPLOY, &s.apply);
        s.facts.workload.paused = true;
        s.c[1].learned.of[CPU].model = 1900;
        (void)judge(&s);
        for (int i = 0; i < 2; i++) {
                assert_int_equal(s.advice[i].gate[CPU].hold, REASON_PAUSED);
                assert_int_equal(s.advice[i].gate[CPU].gate, GATE_PAUSE);
        }
        s.facts.workload.paused = false;
        (void)judge(&s);
        assert_int_equal(s.advice[0].gate[CPU].hold, REASON_NONE);
        assert_int_equal(s.advice[1].gate[CPU].gate, GATE_RULE);
}

/* The table of states: original 2000, static factor 0.5, model 400 x 1.1, published last 600. */
static void test_deploy_states(void **state)
{
        (void)state;
        static const struct {
                enum overcommit overcommit;
                enum state state;
                bool published;
                int64_t want;
                enum reason reason;
        } row[] = {
                {OVERCOMMIT_DYNAMIC, STATE_NO_DATA, false, 2000, REASON_LEARNING},
                {OVERCOMMIT_DYNAMIC, STATE_LEARNING, false, 2000, REASON_LEARNING},
                {OVERCOMMIT_DYNAMIC, STATE_LEARNING, true, 600, REASON_LEARNING},
                {OVERCOMMIT_DYNAMIC, STATE_READY, true, 440, REASON_LOWERED},
                {OVERCOMMIT_DYNAMIC, STATE_STALE, true, 600, REASON_STALE},
                {OVERCOMMIT_DYNAMIC, STATE_STALE, false, 2000, REASON_STALE},
                {OVERCOMMIT_STATIC, STATE_NO_DATA, false, 1000, REASON_STATIC},
                {OVERCOMMIT_STATIC, STATE_READY, true, 1000, REASON_STATIC},
                {OVERCOMMIT_STATIC, STATE_STALE, true, 1000, REASON_STATIC},
                {OVERCOMMIT_STATIC_THEN_DYNAMIC, STATE_NO_DATA, false, 1000, REASON_STATIC},
                {OVERCOMMIT_STATIC_THEN_DYNAMIC, STATE_LEARNING, false, 1000, REASON_STATIC},
                {OVERCOMMIT_STATIC_THEN_DYNAMIC, STATE_LEARNING, true, 600, REASON_LEARNING},
                {OVERCOMMIT_STATIC_THEN_DYNAMIC, STATE_READY, true, 440, REASON_LOWERED},
                {OVERCOMMIT_STATIC_THEN_DYNAMIC, STATE_STALE, true, 600, REASON_STALE},
                {OVERCOMMIT_STATIC_THEN_DYNAMIC, STATE_STALE, false, 1000, REASON_STATIC},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                struct deploy_advice d;
                scene_init(&s);
                apply_policy_defaults(APPLY_ON_DEPLOY, &s.apply);
                s.apply.overcommit = row[i].overcommit;
                s.policy[CPU].static_factor = 500;
                s.c[0].current[CPU].set = false;
                s.facts.workload.state = row[i].state;
                learn(&s.c[0], row[i].state, row[i].state == STATE_NO_DATA ? 0 : 400);
                s.c[0].last_good[CPU] = (struct amount){row[i].published, 600};
                s.policy[MEMORY].enabled = false;
                assert_int_equal(decide_deploy(&s.facts, s.c, 1, &d), row[i].want < 2000);
                if (d.request[CPU].value != row[i].want || d.reason[CPU] != row[i].reason ||
                    d.ours[CPU] != (row[i].want < 2000))
                        fail_msg("row %zu: %lld, '%s'", i, (long long)d.request[CPU].value, reason_name(d.reason[CPU]));
        }
}

/* Each hold gives the owner's values, whatever is known. */
static void test_deploy_holds(void **state)
{
        (void)state;
        for (int i = 0; i < 8; i++) {
                struct scene s;
                struct deploy_advice d;
                scene_init(&s);
                apply_policy_defaults(APPLY_ON_DEPLOY, &s.apply);
                struct gate_facts *w = &s.facts.workload;
                enum reason want = REASON_LOWERED;
                switch (i) {
                case 0:
                        break;
                case 1:
                        s.apply.mode = APPLY_RECOMMEND, want = REASON_RECOMMEND_ONLY;
                        break;
                case 2:
                        w->paused = true, want = REASON_PAUSED;
                        break;
                case 3:
                        w->apply_never = true, want = REASON_OPTED_OUT;
                        break;
                case 4:
                        s.facts.hpa_holds[CPU] = true, want = REASON_HPA_HOLD;
                        break;
                case 5:
                        w->state = STATE_HELD, want = REASON_GUARD;
                        break;
                case 6:
                        w->state = STATE_HELD, w->contested = true, want = REASON_CONTESTED;
                        break;
                default:
                        w->state = STATE_HELD, w->orphaned = true, want = REASON_ORPHANED;
                }
                s.c[0].current[CPU] = YES(1500);
                assert_true(decide_deploy(&s.facts, s.c, 1, &d) == (i == 0 || i == 4));
                if (d.reason[CPU] != want || d.request[CPU].value != (i == 0 ? 1320 : 2000) || d.ours[CPU] != (i == 0))
                        fail_msg("row %d: %lld, '%s'", i, (long long)d.request[CPU].value, reason_name(d.reason[CPU]));
        }
}

/* What does not count at a deploy: cooldown, window, rollout, managed, immutable, maxDecreasePercent. */
static void test_deploy_ignores_rollout_gates(void **state)
{
        (void)state;
        struct scene s;
        struct deploy_advice d;
        scene_init(&s);
        learn(&s.c[0], STATE_READY, 100);
        struct gate_facts *w = &s.facts.workload;
        w->window_open = false;
        w->rollout_blocked = w->managed = w->immutable = w->source_away = true;
        w->changed_ms = w->now.ms - 1;
        assert_true(decide_deploy(&s.facts, s.c, 1, &d));
        assert_int_equal(d.request[CPU].value, 110);
        w->in_place_only = true; /* the owner's next deploy would stick on it */
        assert_false(decide_deploy(&s.facts, s.c, 1, &d));
        assert_int_equal(d.reason[CPU], REASON_IMMUTABLE);
}

/* minChange (10 per cent) keeps what the deploy before wrote; but nothing that a rule or admission forbids by now. */
static void test_deploy_keeps(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                int64_t before, model, original, range_min, want;
                enum reason reason;
        } row[] = {
                {"first deploy", 0, 1000, 2000, 0, 1100, REASON_LOWERED},
                {"one unit short of enough", 1000, 999, 2000, 0, 1000, REASON_BELOW_MIN_CHANGE},
                {"just enough", 1000, 1000, 2000, 0, 1100, REASON_LOWERED},
                {"down, short", 1000, 820, 2000, 0, 1000, REASON_BELOW_MIN_CHANGE},
                {"down, enough", 1000, 818, 2000, 0, 900, REASON_LOWERED},
                {"equal", 1100, 1000, 2000, 0, 1100, REASON_LOWERED},
                {"near the original", 1900, 1900, 2000, 0, 1900, REASON_BELOW_MIN_CHANGE},
                {"at the original", 2000, 1900, 2000, 0, 2000, REASON_AT_ORIGINAL},
                {"the owner asks for less by now", 1000, 930, 950, 0, 950, REASON_AT_ORIGINAL},
                {"admission would refuse it", 1020, 1000, 2000, 1050, 1100, REASON_LOWERED},
                {"the floor itself", 1050, 1000, 2000, 1050, 1050, REASON_BELOW_MIN_CHANGE},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                struct deploy_advice d;
                scene_init(&s);
                apply_policy_defaults(APPLY_ON_DEPLOY, &s.apply);
                learn(&s.c[0], STATE_READY, row[i].model);
                s.c[0].original[CPU].value = row[i].original;
                s.c[0].current[CPU] = (struct amount){row[i].before > 0, row[i].before};
                s.facts.range_min[CPU] = (struct amount){row[i].range_min > 0, row[i].range_min};
                (void)decide_deploy(&s.facts, s.c, 1, &d);
                expect_deploy(row[i].name, &d, CPU, row[i].want, row[i].reason);
                assert_false(decide_rollout(&s.facts, s.c, 1, s.advice)); /* the status tells the same */
                expect(&s, 0, CPU, d.of[CPU].target.value, row[i].want, row[i].reason);
        }
        struct scene s;
        struct deploy_advice d;
        scene_init(&s);
        apply_policy_defaults(APPLY_ON_DEPLOY, &s.apply);
        learn(&s.c[0], STATE_READY, 1728); /* what runs is the owner's: minChange keeps nothing of it */
        assert_false(decide_rollout(&s.facts, s.c, 1, s.advice));
        expect(&s, 0, CPU, 1901, 1901, REASON_LOWERED);
        scene_init(&s);
        learn(&s.c[0], STATE_READY, 1700); /* the owner took over what was applied */
        s.c[0].original[CPU] = s.c[0].current[CPU] = YES(1900);
        (void)decide_deploy(&s.facts, s.c, 1, &d);
        assert_int_equal(d.request[CPU].value, 1900);
        assert_int_equal(d.reason[CPU], REASON_BELOW_MIN_CHANGE);
        assert_false(d.ours[CPU]);
        scene_init(&s);
        s.policy[MEMORY].enabled = false; /* switched off since: the original comes back however near it is */
        s.c[0].current[MEMORY] = YES(4000 * MI);
        (void)decide_deploy(&s.facts, s.c, 1, &d);
        assert_int_equal(d.request[MEMORY].value, 4096 * MI);
        assert_int_equal(d.reason[MEMORY], REASON_MEMORY_OFF);
        assert_false(d.ours[MEMORY]);
}

/* A request that a container reads: the one, not its neighbour's, and not where the profile ignores it. */
static void test_read_at_a_deploy(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                int64_t least, before;
                enum runtime_mode runtime;
                enum overcommit overcommit;
                int64_t want;
                enum reason reason;
        } row[] = {
                {"read as it is", 2000, 0, RUNTIME_RESPECT, OVERCOMMIT_DYNAMIC, 2000, REASON_READ_BY_CONTAINER},
                {"in whole cores", 1001, 0, RUNTIME_RESPECT, OVERCOMMIT_DYNAMIC, 1320, REASON_LOWERED},
                {"ignored", 2000, 0, RUNTIME_IGNORE, OVERCOMMIT_DYNAMIC, 1320, REASON_LOWERED},
                {"also a share of it", 2000, 0, RUNTIME_RESPECT, OVERCOMMIT_STATIC, 2000, REASON_READ_BY_CONTAINER},
                {"no deploy before counts", 1301, 1300, RUNTIME_RESPECT, OVERCOMMIT_DYNAMIC, 1320, REASON_LOWERED},
                {"one that reads alike does", 1001, 1300, RUNTIME_RESPECT, OVERCOMMIT_DYNAMIC, 1300,
                 REASON_BELOW_MIN_CHANGE},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                struct deploy_advice d[2];
                scene_init_deploy(&s);
                s.apply.runtime = row[i].runtime;
                s.apply.overcommit = row[i].overcommit;
                s.policy[CPU].static_factor = 500;
                s.c[0].current[CPU] = (struct amount){row[i].before > 0, row[i].before};
                s.c[0].read_least[CPU] = YES(row[i].least);
                assert_true(decide_deploy(&s.facts, s.c, 2, d));
                expect_deploy(row[i].name, &d[0], CPU, row[i].want, row[i].reason);
                assert_int_not_equal(d[1].reason[CPU], REASON_READ_BY_CONTAINER);
                assert_int_not_equal(d[0].reason[MEMORY], REASON_READ_BY_CONTAINER);
        }
}

/* Memory stays above the heap of the container that begins with it, and not where the profile ignores it. */
static void test_heap_at_a_deploy(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                int64_t heap_mi, before_mi;
                enum runtime_mode runtime;
                int64_t want_mi;
                enum reason reason;
        } row[] = {
                {"smaller", 2000, 0, RUNTIME_RESPECT, 2356, REASON_LOWERED},
                {"larger", 3000, 0, RUNTIME_RESPECT, 3000, REASON_HEAP_START},
                {"ignored", 3000, 0, RUNTIME_IGNORE, 2356, REASON_LOWERED},
                {"no deploy before counts", 3000, 2900, RUNTIME_RESPECT, 3000, REASON_HEAP_START},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                struct deploy_advice d[2];
                scene_init_deploy(&s);
                s.apply.runtime = row[i].runtime;
                s.c[0].current[MEMORY] = (struct amount){row[i].before_mi > 0, row[i].before_mi * MI};
                s.c[0].heap_start = YES(row[i].heap_mi * MI);
                assert_true(decide_deploy(&s.facts, s.c, 2, d));
                expect_deploy(row[i].name, &d[0], MEMORY, row[i].want_mi * MI, row[i].reason);
                assert_int_equal(d[1].request[MEMORY].value, 2356 * MI);
                assert_int_equal(d[0].request[CPU].value, 1320);
        }
}

/* A LimitRange of type Pod looks at all containers together: where it would refuse what we ask for, the originals
 * stand. */
static void test_whole_pod(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                int64_t pod_min, pod_ratio, limit; /* limit: of each container */
                enum container_role other;
                bool hpa;
                int64_t want;
                enum reason reason;
        } row[] = {
                {"no word of it", 0, 0, 4000, ROLE_MAIN, false, 1320, REASON_LOWERED},
                {"enough together", 2640, 0, 4000, ROLE_MAIN, false, 1320, REASON_LOWERED},
                {"a unit short", 2641, 0, 4000, ROLE_MAIN, false, 2000, REASON_LIMIT_RANGE},
                {"the originals are short too", 9000, 0, 4000, ROLE_MAIN, false, 2000, REASON_LIMIT_RANGE},
                {"an init container is not beside them", 1321, 0, 4000, ROLE_INIT, false, 2000, REASON_LIMIT_RANGE},
                {"a sidecar is", 2640, 0, 4000, ROLE_SIDECAR, false, 1320, REASON_LOWERED},
                {"the ratio just holds", 0, 3031, 4000, ROLE_MAIN, false, 1320, REASON_LOWERED},
                {"the ratio does not", 0, 3030, 4000, ROLE_MAIN, false, 2000, REASON_LIMIT_RANGE},
                {"a limit of an init container counts", 0, 2000, 2640, ROLE_INIT, false, 1320, REASON_LOWERED},
                {"and is too much", 0, 1999, 2640, ROLE_INIT, false, 2000, REASON_LIMIT_RANGE},
                {"held is held", 2641, 0, 4000, ROLE_MAIN, true, 2000, REASON_HPA_HOLD},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                struct deploy_advice d[2];
                scene_init_deploy(&s);
                s.facts.pod_min[CPU] = (struct amount){row[i].pod_min > 0, row[i].pod_min};
                s.facts.pod_ratio[CPU] = (struct amount){row[i].pod_ratio > 0, row[i].pod_ratio};
                s.facts.hpa_holds[CPU] = row[i].hpa;
                s.c[1].role = row[i].other;
                s.c[0].limit[CPU] = s.c[1].limit[CPU] = YES(row[i].limit);
                assert_true(decide_deploy(&s.facts, s.c, 2, d));
                (void)judge(&s);
                if (d[0].request[CPU].value != row[i].want || d[0].reason[CPU] != row[i].reason ||
                    d[0].pod_refused[CPU] != (row[i].want == 2000) || s.advice[0].reason[CPU] != row[i].reason)
                        fail_msg("%s: %lld, '%s', status '%s'", row[i].name, (long long)d[0].request[CPU].value,
                                 reason_name(d[0].reason[CPU]), reason_name(s.advice[0].reason[CPU]));
                assert_int_equal(d[0].request[MEMORY].value, 2356 * MI);
        }
}

#define MOST YES(INT64_MAX)

/* What of three containers counts: limits of those that run are added up, of init containers the largest counts. */
static void test_whole_pod_sums(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                int64_t pod_min, pod_ratio;
                struct amount original[3], limit[3];
                enum container_role role[3];
                bool refused;
        } row[] = {
                {"two init containers",
                 0,
                 2000,
                 {YES(2000)},
                 {{0}, YES(2640), YES(90)},
                 {0, ROLE_INIT, ROLE_INIT},
                 false},
                {"the first is the larger",
                 0,
                 2000,
                 {YES(2000)},
                 {{0}, YES(2641), YES(90)},
                 {0, ROLE_INIT, ROLE_INIT},
                 true},
                {"the second is", 0, 2000, {YES(2000)}, {{0}, YES(90), YES(2641)}, {0, ROLE_INIT, ROLE_INIT}, true},
                {"beside a sidecar",
                 0,
                 2000,
                 {YES(2000), YES(2000)},
                 {YES(2000), YES(2000), YES(3280)},
                 {0, ROLE_SIDECAR, ROLE_INIT},
                 false},
                {"a unit more",
                 0,
                 2000,
                 {YES(2000), YES(2000)},
                 {YES(2000), YES(2001), YES(3280)},
                 {0, ROLE_SIDECAR, ROLE_INIT},
                 true},
                {"one without a limit", 0, 2000, {YES(2000), YES(2000)}, {YES(5280)}, {0}, false},
                {"one without a request", 1321, 0, {YES(2000)}, {{0}}, {0}, true},
                {"the other is enough", 1320, 0, {YES(2000)}, {{0}}, {0}, false},
                {"the most of everything", 0, INT64_MAX, {MOST, MOST, MOST}, {MOST, MOST, MOST}, {0}, false},
                {"whose limits are as much", 0, 1000, {MOST, MOST, MOST}, {MOST, MOST, MOST}, {0}, false},
                {"and more than the ratio", 0, 999, {MOST, MOST, MOST}, {MOST, MOST, MOST}, {0}, true},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                struct deploy_advice d[3];
                scene_init(&s);
                apply_policy_defaults(APPLY_ON_DEPLOY, &s.apply);
                s.facts.pod_min[CPU] = (struct amount){row[i].pod_min > 0, row[i].pod_min};
                s.facts.pod_ratio[CPU] = (struct amount){row[i].pod_ratio > 0, row[i].pod_ratio};
                struct decide_container c[3] = {s.c[0], s.c[0], s.c[0]};
                for (int k = 0; k < 3; k++) {
                        c[k].role = row[i].role[k];
                        c[k].original[CPU] = row[i].original[k];
                        c[k].limit[CPU] = row[i].limit[k];
                        c[k].ignored = row[i].original[k].value == INT64_MAX; /* its request stays so large */
                        c[k].current[CPU].set = false;
                }
                (void)decide_deploy(&s.facts, c, 3, d);
                if (d[0].pod_refused[CPU] != row[i].refused)
                        fail_msg("%s: refused %d", row[i].name, d[0].pod_refused[CPU]);
        }
}

/* What a deploy before wrote is not kept where the pod as a whole would be refused with it. */
static void test_whole_pod_keeps_nothing(void **state)
{
        (void)state;
        struct scene s;
        struct deploy_advice d[2];
        scene_init(&s);
        apply_policy_defaults(APPLY_ON_DEPLOY, &s.apply);
        s.facts.pod_min[CPU] = YES(2501);
        s.c[0].current[CPU] = s.c[1].current[CPU] = YES(1250); /* the targets are 1320 each */
        (void)decide_deploy(&s.facts, s.c, 2, d);
        assert_int_equal(d[0].request[CPU].value, 2000);
        assert_int_equal(d[0].reason[CPU], REASON_LIMIT_RANGE);
        (void)judge(&s); /* the status says the same */
        expect(&s, 0, CPU, 2000, 2000, REASON_LIMIT_RANGE);
}

/* Held or not, the target in a deploy's answer equals the status's. */
static void test_whole_pod_is_told_alike(void **state)
{
        (void)state;
        struct scene s;
        struct deploy_advice d[2];
        scene_init(&s);
        apply_policy_defaults(APPLY_RECOMMEND, &s.apply);
        s.facts.pod_min[CPU] = YES(2641);
        (void)decide_deploy(&s.facts, s.c, 2, d);
        (void)judge(&s);
        expect(&s, 0, CPU, 2000, 2000, REASON_LIMIT_RANGE);
        assert_true(d[0].pod_refused[CPU]);
        assert_int_equal(d[0].of[CPU].target.value, 2000);
        assert_int_equal(d[0].reason[CPU], REASON_RECOMMEND_ONLY);
}

/* Every combination of what decides at a deploy, and what the table of states and the gates say of it. */
enum hold { HOLD_NONE, HOLD_PAUSED, HOLD_PERSON, HOLD_NEVER, HOLD_HPA, HOLD_CONTESTED, HOLD_ORPHANED, HOLDS };
struct deploy_case {
        enum state state;
        enum overcommit overcommit;
        enum apply_mode mode;
        enum hold hold;
        bool published, factor, enabled;
};

static int64_t owed(const struct deploy_case *k)
{
        const int64_t original = 2000, fixed = k->factor ? 1000 : original, learned = 440, last = 600;
        if (k->mode == APPLY_RECOMMEND || k->hold != HOLD_NONE || k->state == STATE_HELD || !k->enabled)
                return original;
        if (k->overcommit == OVERCOMMIT_STATIC)
                return fixed;
        if (k->mode == APPLY_IN_PLACE) /* what was learned is set first, and nothing is */
                return k->overcommit == OVERCOMMIT_DYNAMIC || k->state == STATE_READY || k->published ? original
                                                                                                      : fixed;
        if (k->state == STATE_READY)
                return learned;
        return k->published ? last : k->overcommit == OVERCOMMIT_DYNAMIC ? original : fixed;
}

static void check_deploy(const struct deploy_case *k)
{
        struct scene s;
        struct deploy_advice d;
        scene_init(&s);
        apply_policy_defaults(k->mode, &s.apply);
        s.apply.overcommit = k->overcommit;
        s.policy[CPU].enabled = k->enabled;
        s.policy[CPU].static_factor = k->factor ? 500 : 1000;
        s.c[0].current[CPU].set = false;
        s.c[0].last_good[CPU] = (struct amount){k->published, 600};
        learn(&s.c[0], k->state, k->state == STATE_NO_DATA ? 0 : 400);
        struct gate_facts *w = &s.facts.workload;
        w->state = k->state;
        w->paused = k->hold == HOLD_PAUSED;
        w->held = k->hold == HOLD_PERSON;
        w->apply_never = k->hold == HOLD_NEVER;
        w->contested = k->hold == HOLD_CONTESTED;
        w->orphaned = k->hold == HOLD_ORPHANED;
        s.facts.hpa_holds[CPU] = k->hold == HOLD_HPA;
        s.policy[MEMORY].enabled = false;
        bool any = decide_deploy(&s.facts, s.c, 1, &d);
        if (!d.request[CPU].set || d.request[CPU].value != owed(k) || d.ours[CPU] != (owed(k) < 2000) ||
            any != d.ours[CPU])
                fail_msg("%s, overcommit %d, mode %d, hold %d, published %d, factor %d, enabled %d: %lld, not %lld",
                         state_name(k->state), k->overcommit, k->mode, k->hold, k->published, k->factor, k->enabled,
                         (long long)d.request[CPU].value, (long long)owed(k));
}

static void test_deploy_all(void **state)
{
        (void)state;
        enum {
                OVERCOMMITS = OVERCOMMIT_STATIC_THEN_DYNAMIC + 1,
                CASES = STATES * OVERCOMMITS * APPLY_MODES * HOLDS * 8
        };
        for (unsigned i = 0; i < CASES; i++) {
                unsigned left = i / 8;
                struct deploy_case k = {.published = i & 1, .factor = i & 2, .enabled = i & 4};
                k.state = left % STATES, left /= STATES;
                k.overcommit = left % OVERCOMMITS, left /= OVERCOMMITS;
                k.mode = left % APPLY_MODES, left /= APPLY_MODES;
                k.hold = left;
                check_deploy(&k);
        }
}

/* Nothing is invented where the owner asks for nothing. */
static void test_deploy_without_original(void **state)
{
        (void)state;
        struct scene s;
        struct deploy_advice d;
        scene_init(&s);
        s.apply.overcommit = OVERCOMMIT_STATIC;
        s.c[0].original[CPU].set = s.c[0].current[CPU].set = false;
        (void)decide_deploy(&s.facts, s.c, 1, &d);
        assert_false(d.request[CPU].set);
        assert_false(d.ours[CPU]);
        assert_int_equal(d.reason[CPU], REASON_NO_ORIGINAL);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_part_is_left_to_a_vpa),
                cmocka_unit_test(test_early_is_for_deploys),
                cmocka_unit_test(test_all_is_lowered),
                cmocka_unit_test(test_each_judged_by_its_own_facts),
                cmocka_unit_test(test_reasons_shown),
                cmocka_unit_test(test_namespace_range),
                cmocka_unit_test(test_read_at_a_deploy),
                cmocka_unit_test(test_heap_at_a_deploy),
                cmocka_unit_test(test_whole_pod),
                cmocka_unit_test(test_whole_pod_keeps_nothing),
                cmocka_unit_test(test_whole_pod_is_told_alike),
                cmocka_unit_test(test_whole_pod_sums),
                cmocka_unit_test(test_last_good),
                cmocka_unit_test(test_guaranteed_pod),
                cmocka_unit_test(test_guaranteed_by_containers),
                cmocka_unit_test(test_guaranteed),
                cmocka_unit_test(test_so_far),
                cmocka_unit_test(test_gate_shown_under_on_deploy),
                cmocka_unit_test(test_deploy_states),
                cmocka_unit_test(test_deploy_holds),
                cmocka_unit_test(test_deploy_ignores_rollout_gates),
                cmocka_unit_test(test_deploy_keeps),
                cmocka_unit_test(test_deploy_without_original),
                cmocka_unit_test(test_deploy_all),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
