/*
 * Explanations agree with what they explain: the same model as recommend, the same target as correct, the same gate as
 * gate and gate_deploy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/explain_steps.h"
#include "core/recommend.h"

#define MI INT64_C(1048576)
#define YES(v)                                                                                                         \
        ((struct amount){                                                                                              \
                true,                                                                                                  \
                (v),                                                                                                   \
        })

static const struct wall noon = {1700000000000};

struct scene {
        struct resource_policy policy[RESOURCES];
        struct usage usage;
        double room[RESOURCES * HISTOGRAM_SUM_BUCKETS];
        struct explain_facts facts;
        struct explain got;
};

static void scene_init(struct scene *s, enum resource r)
{
        memset(s, 0, sizeof *s);
        for (enum resource i = CPU; i < RESOURCES; i++)
                resource_policy_defaults(i, &s->policy[i]);
        s->policy[MEMORY].enabled = true;
        usage_init(&s->usage, s->policy);
        for (int i = 0; i < RESOURCES; i++)
                histogram_lend(&s->usage.of[i], s->room + i * HISTOGRAM_BUCKETS, HISTOGRAM_BUCKETS);
        s->facts = (struct explain_facts){
                .usage = &s->usage,
                .now = noon,
                .correct = {.resource = r,
                            .policy = &s->policy[r],
                            .state = STATE_READY,
                            .original = YES(r == CPU ? 2000 : 4096 * MI)},
                .shown = REASON_LOWERED,
                .deploy = REASON_LOWERED,
        };
}

static void feed(struct scene *s, double cores, double bytes, int64_t at_ms)
{
        struct sample_watermark watermark = {0};
        struct sample sample = {.at = {at_ms}, .has = {true, true}, .value = {cores, bytes}, .cpu_weight = 1};
        enum sample_verdict verdict;
        struct usage_room room;
        assert_int_equal(usage_add(&s->usage, &watermark, &sample, noon, &verdict, &room), 0);
        assert_int_equal(verdict, SAMPLE_ACCEPTED);
}

static const struct explain_step *step_of(const struct explain *e, enum explain_kind kind)
{
        for (int i = 0; i < e->steps; i++)
                if (e->step[i].kind == kind)
                        return &e->step[i];
        return NULL;
}

/* The vector of the histogram's own test: four equal buckets, P95 is start(4). */
static void test_four_equal_buckets(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s, CPU);
        for (int n = 0; n < 4; n++)
                feed(&s, histogram_start(CPU, n), 1e9, noon.ms);
        explain(&s.facts, &s.got);
        const struct histogram_place *p = &s.got.place;
        assert_true(s.got.learned);
        assert_int_equal(p->bucket, 3);
        assert_true(s.got.percentile == 0.04310125);
        assert_true(p->total == 4 * p->here && p->below == 3 * p->here && p->here > 0);
        static const struct {
                enum explain_kind kind;
                bool spoke;
                int64_t value;
        } row[] = {
                {EXPLAIN_PERCENTILE, true, 44},
                {EXPLAIN_MODEL, true, 44},
                {EXPLAIN_MULTIPLIER, true, 49},
                {EXPLAIN_ROUNDING, false, 49},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct explain_step *got = step_of(&s.got, row[i].kind);
                if (!got || got->spoke != row[i].spoke || got->value.value != row[i].value || !got->reached)
                        fail_msg("%s: %lld", explain_kind_name(row[i].kind), got ? (long long)got->value.value : -1);
        }
        assert_null(step_of(&s.got, EXPLAIN_KILL));
        assert_int_equal(s.got.result.reason, REASON_LOWERED);
        assert_int_equal(s.got.result.target.value, 49);
}

static void expect_as_recommended(struct scene *s, const char *what)
{
        struct recommendation r;
        struct recommend_facts f = {.now = noon, .interval_ms = MINUTE_MS};
        recommend(&s->usage, s->policy, &f, &r);
        for (enum resource i = CPU; i < RESOURCES; i++) {
                s->facts.correct.resource = i;
                s->facts.correct.policy = &s->policy[i];
                s->facts.correct.estimate = (struct estimate){.known = true, .model = 1};
                s->facts.correct.original = YES(i == CPU ? 2000 : 4096 * MI);
                explain(&s->facts, &s->got);
                if (s->got.estimate.known != r.of[i].known || s->got.estimate.model != r.of[i].model ||
                    s->got.estimate.by_kill != r.of[i].by_kill || s->got.estimate.by_week != r.of[i].by_week)
                        fail_msg("%s %s: model %lld, recommended %lld", what, resource_name(i),
                                 (long long)s->got.estimate.model, (long long)r.of[i].model);
                if (i == CPU) /* in whole millicores both, and nothing else makes the model of CPU */
                        assert_int_equal(step_of(&s->got, EXPLAIN_PERCENTILE)->value.value, r.of[i].model);
                struct correct_facts facts = s->facts.correct;
                struct correction want;
                facts.estimate = r.of[i];
                correct(&facts, &want);
                assert_int_equal(s->got.result.target.value, want.target.value);
                assert_int_equal(s->got.result.reason, want.reason);
        }
}

static void test_agrees_with_recommend_and_correct(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s, CPU);
        expect_as_recommended(&s, "nothing learned");
        uint64_t seed = 7;
        for (int i = 0; i < 400; i++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                double x = (double)(seed >> 40) / (double)(1 << 24);
                feed(&s, 3 * x * x, 1e8 + 3e9 * x, noon.ms - (400 - i) * HOUR_MS / 2);
                if (i % 40 == 0)
                        expect_as_recommended(&s, "some");
        }
        s.policy[MEMORY].weekly_peak = true;
        expect_as_recommended(&s, "a week");
        usage_oom(&s.usage, &s.policy[MEMORY], (struct wall){noon.ms - HOUR_MS}, 9e9, 0);
        expect_as_recommended(&s, "a kill");
        s.facts.correct.resource = MEMORY;
        explain(&s.facts, &s.got);
        assert_true(step_of(&s.got, EXPLAIN_KILL)->spoke);
        assert_int_equal(s.got.kill.at_ms, noon.ms - HOUR_MS);
        s.policy[MEMORY].oom_hold_ms = 1;
        expect_as_recommended(&s, "a kill, forgotten");
        assert_false(step_of(&s.got, EXPLAIN_KILL)->value.set);
}

static void test_open_peak_counts(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s, MEMORY);
        s.policy[MEMORY].window_ms = HOUR_MS;
        usage_adopt(&s.usage, s.policy);
        feed(&s, 0.1, 1e9, noon.ms);
        expect_as_recommended(&s, "an open peak alone");
        assert_true(s.got.place.here > 0 && s.got.place.here == s.got.place.total);
        feed(&s, 0.1, 5e9, noon.ms + HOUR_MS / 60);
        expect_as_recommended(&s, "a higher one");
}

/* The last two buckets have the same edge; the step says which bucket it is. */
static void test_last_buckets(void **state)
{
        (void)state;
        for (int n = HISTOGRAM_BUCKETS - 2; n < HISTOGRAM_BUCKETS; n++) {
                struct scene s;
                scene_init(&s, CPU);
                feed(&s, histogram_start(CPU, n), 1e9, noon.ms);
                feed(&s, 0, 1e9, noon.ms + 1);
                explain(&s.facts, &s.got);
                assert_int_equal(s.got.place.bucket, n);
                assert_true(s.got.place.last == (n == HISTOGRAM_BUCKETS - 1));
                assert_true(s.got.estimate.more == s.got.place.last);
                assert_true(s.got.percentile == histogram_start(CPU, HISTOGRAM_BUCKETS - 1));
                assert_true(s.got.place.below > 0 && s.got.place.below + s.got.place.here == s.got.place.total);
        }
}

/* Steps that have nothing to say say so. */
static void test_nothing_learned(void **state)
{
        (void)state;
        for (int learned = 0; learned < 3; learned++) {
                struct scene s;
                scene_init(&s, MEMORY);
                s.facts.correct.estimate.model = -1;
                s.policy[MEMORY].weekly_peak = true;
                if (learned == 0)
                        s.facts.usage = NULL;
                if (learned == 2)
                        feed(&s, 1, 1e9, noon.ms);
                explain(&s.facts, &s.got);
                assert_int_equal(step_of(&s.got, EXPLAIN_SAMPLES)->spoke, learned == 2);
                assert_false(step_of(&s.got, EXPLAIN_SAMPLES)->value.set);
                assert_int_equal(s.got.percentile > 0, learned == 2);
                for (enum explain_kind k = EXPLAIN_PERCENTILE; k < EXPLAIN_RULE; k++) {
                        const struct explain_step *step = step_of(&s.got, k);
                        bool valued = learned == 2 && k != EXPLAIN_KILL, speaks = valued && k != EXPLAIN_WEEK;
                        if (step->value.set != valued || step->spoke != speaks || (!valued && step->value.value != 0))
                                fail_msg("%s, learned %d", explain_kind_name(k), learned);
                }
                assert_true(s.got.learned == (learned == 2) && s.got.kill.at_ms == 0);
        }
}

/* Of several kills the largest that is still held makes the model, if it is above the percentile. */
static void test_kills(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s, MEMORY);
        feed(&s, 1, 1e9, noon.ms);
        double edge = histogram_edge(MEMORY, histogram_bucket(MEMORY, 1e9));
        int64_t hold = s.policy[MEMORY].oom_hold_ms;
        const struct {
                double first, second, third;
                bool spoke;
                int64_t at_ms;
        } row[] = {
                {edge, 0, 0, false, noon.ms - 1},
                {1, 0, 0, false, noon.ms - 1},
                {edge + 1, 0, 0, true, noon.ms - 1},
                {1, edge + 1, 0, true, noon.ms - hold},
                {1, 2, edge + 1, false, noon.ms - hold},
                {1, 1.5, edge + 1, false, noon.ms - hold},
                {0, 0, edge + 1, false, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                s.usage.kill[0] = (struct usage_kill){noon.ms - 1, row[i].first};
                s.usage.kill[1] = (struct usage_kill){noon.ms - hold, row[i].second};
                s.usage.kill[2] = (struct usage_kill){noon.ms - hold - 1, row[i].third};
                for (int k = 0; k < 3; k++)
                        if (s.usage.kill[k].bytes <= 0)
                                s.usage.kill[k].at_ms = 0;
                explain(&s.facts, &s.got);
                const struct explain_step *step = step_of(&s.got, EXPLAIN_KILL);
                if (step->spoke != row[i].spoke || s.got.estimate.by_kill != row[i].spoke ||
                    s.got.kill.at_ms != row[i].at_ms)
                        fail_msg("row %zu: %d at %lld", i, step->spoke, (long long)(noon.ms - s.got.kill.at_ms));
                assert_int_equal(step->value.set, row[i].at_ms > 0);
        }
        s.facts.correct.resource = CPU; /* kills are memory's */
        s.facts.correct.policy = &s.policy[CPU];
        s.usage.kill[0] = (struct usage_kill){noon.ms, 9e9};
        explain(&s.facts, &s.got);
        assert_true(s.got.kill.bytes == 0 && !s.got.estimate.by_kill);
}

/* The step is there where the policy asks for it, and speaks where the week makes the model. */
static void test_weekly_peak(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s, MEMORY);
        feed(&s, 1, 3e9, noon.ms - 3 * DAY_MS);
        for (int i = 0; i < 2000; i++)
                feed(&s, 1, 1e9, noon.ms - DAY_MS + i);
        const struct {
                bool on;
                double kill;
                bool by_week, by_kill;
        } row[] = {
                {false, 0, false, false},
                {true, 0, true, false},
                {true, 2e9, true, false},
                {true, 4e9, false, true},
                {true, (double)(2862 * MI), false, true}, /* of two equal ones the kill */
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                s.policy[MEMORY].weekly_peak = row[i].on;
                s.usage.kill[0] = (struct usage_kill){row[i].kill > 0 ? noon.ms - 1 : 0, row[i].kill};
                explain(&s.facts, &s.got);
                const struct explain_step *step = step_of(&s.got, EXPLAIN_WEEK);
                if ((step != NULL) != row[i].on || (step && step->spoke != row[i].by_week) ||
                    step_of(&s.got, EXPLAIN_KILL)->spoke != row[i].by_kill)
                        fail_msg("row %zu", i);
                if (step)
                        assert_int_equal(step->value.value, 2862 * MI); /* 3e9 bytes, rounded up */
                assert_int_equal(s.got.week_day, step ? noon.ms / DAY_MS - 3 : 0);
                if (row[i].by_week)
                        assert_int_equal(s.got.estimate.model, 2862 * MI);
                expect_as_recommended(&s, "a week");
                s.facts.correct.resource = MEMORY;
                s.facts.correct.policy = &s.policy[MEMORY];
        }
        s.policy[CPU].weekly_peak = true; /* it is memory's */
        s.facts.correct.resource = CPU;
        s.facts.correct.policy = &s.policy[CPU];
        explain(&s.facts, &s.got);
        assert_null(step_of(&s.got, EXPLAIN_WEEK));
        assert_false(s.got.estimate.by_week);
}

/* A multiplier of one and a model that is round already change nothing. */
static void test_margins(void **state)
{
        (void)state;
        static const struct {
                int multiplier;
                int64_t round_to;
                bool scales, rounds;
                int64_t want;
        } row[] = {{1000, 1, false, false, 44},
                   {1000, 10, false, true, 50},
                   {1500, 11, true, false, 66},
                   {1100, 5, true, true, 50}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                scene_init(&s, CPU);
                feed(&s, 0.042, 1e9, noon.ms);
                s.policy[CPU].multiplier = row[i].multiplier;
                s.policy[CPU].round_to = row[i].round_to;
                explain(&s.facts, &s.got);
                assert_int_equal(step_of(&s.got, EXPLAIN_MULTIPLIER)->spoke, row[i].scales);
                assert_int_equal(step_of(&s.got, EXPLAIN_ROUNDING)->spoke, row[i].rounds);
                assert_int_equal(step_of(&s.got, EXPLAIN_ROUNDING)->value.value, row[i].want);
        }
}

/* Only the rule that gave a reason has it. */
static void test_rules_name_their_reason(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s, CPU);
        feed(&s, 0.041, 1e9, noon.ms);
        s.facts.correct.range_min = YES(300);
        explain(&s.facts, &s.got);
        for (int i = 0; i < s.got.steps; i++) {
                const struct explain_step *step = &s.got.step[i];
                if (step->kind == EXPLAIN_RULE)
                        assert_int_equal(step->reason, step->rule == RULE_MODEL   ? REASON_LOWERED
                                                       : step->rule == RULE_RANGE ? REASON_LIMIT_RANGE
                                                                                  : REASON_NONE);
                else if (step->kind > EXPLAIN_RULE)
                        assert_true(!step->value.set && step->value.value == 0);
        }
        assert_int_equal(step_of(&s.got, EXPLAIN_RULE)->rule, RULE_STATIC);
        assert_string_equal(rule_name(RULE_RANGE), "LimitRange");
}

/* Only rules that changed something have spoke set. */
static void test_rules_speak(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                struct amount original, limit, range_min;
                enum state state;
                bool off;
                unsigned want; /* bits of enum rule */
                enum reason reason;
        } row[] = {
                {"lowered", {true, 2000}, {0}, {0}, STATE_READY, false, 1u << RULE_MODEL, REASON_LOWERED},
                {"at the original",
                 {true, 20},
                 {0},
                 {0},
                 STATE_READY,
                 false,
                 1u << RULE_MODEL | 1u << RULE_ORIGINAL | 1u << RULE_UNDER_PROVISIONED,
                 REASON_AT_ORIGINAL},
                {"raised to the range",
                 {true, 2000},
                 {0},
                 {true, 300},
                 STATE_READY,
                 false,
                 1u << RULE_MODEL | 1u << RULE_RANGE,
                 REASON_LIMIT_RANGE},
                {"learning", {true, 2000}, {0}, {0}, STATE_LEARNING, false, 1u << RULE_LAST_GOOD, REASON_LEARNING},
                {"off",
                 {true, 2000},
                 {0},
                 {0},
                 STATE_READY,
                 true,
                 1u << RULE_MODEL | 1u << RULE_UNMANAGED,
                 REASON_CPU_OFF},
                {"no original",
                 {0},
                 {0},
                 {0},
                 STATE_READY,
                 false,
                 1u << RULE_MODEL | 1u << RULE_NO_ORIGINAL,
                 REASON_NO_ORIGINAL},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct scene s;
                scene_init(&s, CPU);
                feed(&s, 0.041, 1e9, noon.ms);
                s.facts.correct.original = row[i].original;
                s.facts.correct.limit = row[i].limit;
                s.facts.correct.range_min = row[i].range_min;
                s.facts.correct.state = row[i].state;
                s.policy[CPU].enabled = !row[i].off;
                explain(&s.facts, &s.got);
                unsigned spoke = 0;
                for (int k = 0; k < s.got.steps; k++)
                        if (s.got.step[k].kind == EXPLAIN_RULE && s.got.step[k].spoke)
                                spoke |= 1u << s.got.step[k].rule;
                if (spoke != row[i].want || s.got.result.reason != row[i].reason)
                        fail_msg("%s: rules %x, not %x; %s", row[i].name, spoke, row[i].want,
                                 reason_name(s.got.result.reason));
        }
}

/* --- gates --- */

/* What is behind the gate that holds was not asked. */
static void test_gates_behind_are_not_reached(void **state)
{
        (void)state;
        struct scene s;
        scene_init(&s, CPU);
        feed(&s, 0.041, 1e9, noon.ms);
        s.facts.held = GATE_HPA;
        s.facts.shown = REASON_HPA_HOLD;
        s.facts.deploy_held = GATE_PAUSE;
        s.facts.deploy = REASON_PAUSED;
        explain(&s.facts, &s.got);
        int gates = 0, deploys = 0;
        for (int i = 0; i < s.got.steps; i++) {
                const struct explain_step *step = &s.got.step[i];
                bool deploy = step->kind == EXPLAIN_DEPLOY;
                if (step->kind != EXPLAIN_GATE && !deploy)
                        continue;
                enum gate held = deploy ? GATE_PAUSE : GATE_HPA;
                assert_int_equal(step->spoke, step->gate == held);
                assert_int_equal(step->reached, step->gate <= held);
                assert_int_equal(step->reason, step->gate != held ? REASON_NONE
                                               : deploy           ? REASON_PAUSED
                                                                  : REASON_HPA_HOLD);
                gates += !deploy;
                deploys += deploy;
        }
        assert_int_equal(gates, GATES - 1);
        int asked = 0;
        while (gate_at_deploy(asked))
                asked++;
        assert_int_equal(deploys, asked);
        assert_string_equal(gate_name(GATE_HPA), "HPA");
}

/* The heap of a runtime bounds memory alone, so only an explanation of memory has that rule. */
static void test_the_heap_is_a_rule_of_memory(void **state)
{
        (void)state;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct scene s;
                scene_init(&s, r);
                explain(&s.facts, &s.got);
                bool told = false;
                for (int i = 0; i < s.got.steps; i++)
                        told |= s.got.step[i].kind == EXPLAIN_RULE && s.got.step[i].rule == RULE_HEAP;
                assert_int_equal(told, r == MEMORY);
        }
}

/* --- what if --- */

static void test_changed(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                struct explain_change change;
                int64_t model, target;
        } row[] = {
                {"as it is", {0}, 1000, 1100},
                {"percentile", {.percentile = 500}, 500, 550},
                {"multiplier", {.multiplier = 1200}, 1000, 1200},
                {"half-life", {.half_life_ms = 2 * DAY_MS}, 1000, 1100},
                {"all", {500, 2000, HOUR_MS}, 500, 1000},
        };
        struct scene s;
        scene_init(&s, CPU);
        for (int i = 0; i < 100; i++)
                feed(&s, i < 80 ? 0.49 : 0.97, 1e9, noon.ms - (100 - i) * MINUTE_MS);
        struct usage before = s.usage;
        double weights[RESOURCES * HISTOGRAM_BUCKETS], room[RESOURCES * HISTOGRAM_SUM_BUCKETS];
        memcpy(weights, s.room, sizeof weights);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                explain_changed(&s.facts, &row[i].change, room, &s.got);
                int64_t model = s.got.estimate.model, target = s.got.result.target.value;
                /* the bucket's upper edge is up to 5 % above */
                if (model < row[i].model * 98 / 100 || model > row[i].model * 105 / 100 ||
                    target < row[i].target * 98 / 100 || target > row[i].target * 105 / 100)
                        fail_msg("%s: model %lld, target %lld", row[i].name, (long long)model, (long long)target);
                assert_null(step_of(&s.got, EXPLAIN_GATE));
                assert_memory_equal(&before, &s.usage, sizeof before);
                assert_memory_equal(weights, s.room, sizeof weights);
        }
        s.facts.usage = NULL;
        s.facts.correct.estimate = (struct estimate){.known = true, .model = 400};
        explain_changed(&s.facts, &(struct explain_change){.multiplier = 2000, .half_life_ms = HOUR_MS}, room, &s.got);
        assert_int_equal(s.got.result.target.value, 800);
}

/* Another half-life is what adopting it would give: an open peak weighs otherwise beside what is in the buckets. */
static void test_half_life_is_adopted(void **state)
{
        (void)state;
        struct scene s, adopted;
        double weights[RESOURCES * HISTOGRAM_BUCKETS], room[RESOURCES * HISTOGRAM_SUM_BUCKETS];
        for (int hours = 1; hours < 200; hours += 13) {
                scene_init(&s, MEMORY);
                scene_init(&adopted, MEMORY);
                s.policy[MEMORY].percentile = adopted.policy[MEMORY].percentile = 500;
                s.policy[MEMORY].window_ms = adopted.policy[MEMORY].window_ms = HOUR_MS;
                usage_adopt(&s.usage, s.policy);
                usage_adopt(&adopted.usage, adopted.policy);
                for (int i = 0; i < 60; i++) {
                        feed(&s, 0.1, 1e9 + 1e8 * i, noon.ms - (60 - i) * HOUR_MS);
                        feed(&adopted, 0.1, 1e9 + 1e8 * i, noon.ms - (60 - i) * HOUR_MS);
                }
                adopted.policy[MEMORY].half_life_ms = hours * HOUR_MS;
                usage_adopt(&adopted.usage, adopted.policy);
                explain(&adopted.facts, &adopted.got);
                memcpy(weights, s.room, sizeof weights);
                explain_changed(&s.facts, &(struct explain_change){.half_life_ms = hours * HOUR_MS}, room, &s.got);
                assert_memory_equal(weights, s.room, sizeof weights);
                const struct histogram_place *a = &s.got.place, *b = &adopted.got.place;
                assert_true(a->bucket == b->bucket && a->below == b->below && a->here == b->here &&
                            a->total == b->total);
                assert_int_equal(s.got.result.target.value, adopted.got.result.target.value);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_four_equal_buckets),
                cmocka_unit_test(test_agrees_with_recommend_and_correct),
                cmocka_unit_test(test_open_peak_counts),
                cmocka_unit_test(test_last_buckets),
                cmocka_unit_test(test_nothing_learned),
                cmocka_unit_test(test_kills),
                cmocka_unit_test(test_margins),
                cmocka_unit_test(test_weekly_peak),
                cmocka_unit_test(test_rules_name_their_reason),
                cmocka_unit_test(test_rules_speak),
                cmocka_unit_test(test_gates_behind_are_not_reached),
                cmocka_unit_test(test_the_heap_is_a_rule_of_memory),
                cmocka_unit_test(test_changed),
                cmocka_unit_test(test_half_life_is_adopted),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
