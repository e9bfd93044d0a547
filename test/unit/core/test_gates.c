#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/gates.h"

#define MI     INT64_C(1048576)
#define YES(v) ((struct amount){true, (v)})

static const struct wall noon = {INT64_C(1800000000000)};

static struct apply_policy rollout(void)
{
        struct apply_policy p;
        apply_policy_defaults(APPLY_ROLLOUT, &p);
        return p;
}

/* A decrease from 1000 to 600 that nothing holds. */
static struct gate_facts open_facts(const struct apply_policy *p)
{
        return (struct gate_facts){.now = noon,
                                   .apply = p,
                                   .state = STATE_READY,
                                   .window_open = true,
                                   .resource = CPU,
                                   .current = YES(1000),
                                   .original = YES(1000),
                                   .target = YES(600),
                                   .rule = REASON_LOWERED};
}

static void expect(const char *name, const struct gate_facts *f, enum reason hold, int64_t value)
{
        struct gate_verdict v;
        gates_ask(f, &v);
        if (v.hold != hold || v.value != value)
                fail_msg("%s: hold '%s', value %lld", name, reason_name(v.hold), (long long)v.value);
        assert_true(hold == REASON_COOLDOWN ? v.again_ms > 0 : v.again_ms == 0);
}

/* --- the order: each gate closes one more door, last to first; the newest one must show -------------------------- */

static void close_rollout(struct gate_facts *f)
{
        f->rollout_blocked = true;
}
static void close_window(struct gate_facts *f)
{
        f->window_open = false;
}
static void close_cooldown(struct gate_facts *f)
{
        f->changed_ms = noon.ms - 1;
}
static void close_min_change(struct gate_facts *f)
{
        f->target = YES(999);
}
static void close_orphaned(struct gate_facts *f)
{
        f->orphaned = true;
}
static void close_in_place_only(struct gate_facts *f)
{
        f->in_place_only = true;
}
static void close_immutable(struct gate_facts *f)
{
        f->immutable = true;
}
static void close_pod_request(struct gate_facts *f)
{
        f->pod_asks = true;
}
static void close_managed(struct gate_facts *f)
{
        f->managed = true;
}
static void close_contested(struct gate_facts *f)
{
        f->contested = true;
}
static void close_fuse(struct gate_facts *f)
{
        f->fuse_blown = true;
}
static void close_profile_fuse(struct gate_facts *f)
{
        f->profile_fused = true;
}
static void close_canary(struct gate_facts *f)
{
        f->canary_waits = true;
}
static void close_hpa(struct gate_facts *f)
{
        f->hpa_holds = true;
}
static void close_hpa_shared(struct gate_facts *f)
{
        f->hpa_holds = f->hpa_shared = true;
}
static void close_reader(struct gate_facts *f)
{
        f->read_least = YES(1000);
}
static void close_autoscaler(struct gate_facts *f)
{
        f->other_autoscaler = true;
}
static void close_never(struct gate_facts *f)
{
        f->apply_never = true;
}
static void close_paused(struct gate_facts *f)
{
        f->paused = true;
}
static void close_stale(struct gate_facts *f)
{
        f->state = STATE_STALE;
}
static void close_guard(struct gate_facts *f)
{
        f->state = STATE_HELD;
}
static void close_mode(struct gate_facts *f)
{
        static struct apply_policy recommend_only;
        apply_policy_defaults(APPLY_RECOMMEND, &recommend_only);
        f->apply = &recommend_only;
}
static void close_rule(struct gate_facts *f)
{
        f->rule = REASON_NO_ORIGINAL;
}

/* Every gate that judges facts, from the last to the first, with what closes it. */
static const struct door {
        enum gate gate;
        enum reason reason;
        void (*close)(struct gate_facts *f);
        bool alone; /* where later gates hold as well, one of those is told */
} doors[] = {
        {GATE_ROLLOUT, REASON_ROLLOUT_BLOCKED, close_rollout, false},
        {GATE_WINDOW, REASON_OUTSIDE_WINDOW, close_window, false},
        {GATE_CANARY, REASON_CANARY, close_canary, false},
        {GATE_COOLDOWN, REASON_COOLDOWN, close_cooldown, false},
        {GATE_MIN_CHANGE, REASON_BELOW_MIN_CHANGE, close_min_change, false},
        {GATE_ORPHAN, REASON_ORPHANED, close_orphaned, false},
        {GATE_KIND, REASON_IMMUTABLE, close_in_place_only, false},
        {GATE_KIND, REASON_IMMUTABLE, close_pod_request, false},
        {GATE_KIND, REASON_IMMUTABLE, close_immutable, false},
        {GATE_MANAGER, REASON_MANAGED, close_managed, false},
        {GATE_CONTEST, REASON_CONTESTED, close_contested, false},
        {GATE_FUSE, REASON_FUSE, close_fuse, false},
        {GATE_PROFILE_FUSE, REASON_PROFILE_FUSE, close_profile_fuse, false},
        {GATE_GUARD, REASON_GUARD, close_guard, true},
        {GATE_READER, REASON_READ_BY_CONTAINER, close_reader, false},
        {GATE_HPA, REASON_HPA_HOLD, close_hpa, false},
        {GATE_HPA_SHARED, REASON_HPA_SHARED, close_hpa_shared, false},
        {GATE_AUTOSCALER, REASON_OTHER_AUTOSCALER, close_autoscaler, false},
        {GATE_OPT_OUT, REASON_OPTED_OUT, close_never, false},
        {GATE_PAUSE, REASON_PAUSED, close_paused, false},
        {GATE_MODE, REASON_RECOMMEND_ONLY, close_mode, true},
        {GATE_STATE, REASON_STALE, close_stale, false},
        {GATE_RULE, REASON_NO_ORIGINAL, close_rule, false},
};

/* The first row of a gate. */
static const struct door *door_of(enum gate g)
{
        for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++)
                if (doors[i].gate == g)
                        return &doors[i];
        fail_msg("gate '%s' has no row in the table doors of test/unit/core/test_gates.c", gate_name(g));
        return NULL;
}

static void test_every_gate_has_a_door(void **state)
{
        (void)state;
        static const char *const rule[GATES] = {
#define GATE(id, name, rule, reason, direction, open, holds) [GATE_##id] = #rule,
#include "core/gates.def"
#undef GATE
        };
        for (enum gate g = GATE_NONE + 1; g < GATES; g++)
                if (strcmp(rule[g], "OF_PLAN") != 0)
                        assert_non_null(door_of(g));
}

static void expect_door(const char *when, const struct gate_facts *f, const struct door *d)
{
        struct gate_verdict v;
        expect(when, f, d->reason, f->target.value);
        gates_ask(f, &v);
        if (v.gate != d->gate)
                fail_msg("%s: '%s' is told, not '%s'", when, gate_name(v.gate), gate_name(d->gate));
        assert_true(d->gate == GATE_RULE || d->gate == GATE_STATE || gate_reason(d->gate) == d->reason);
}

static void test_order(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        struct gate_facts all = open_facts(&p);
        expect("open", &all, REASON_NONE, 600);
        for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++) {
                struct gate_facts alone = open_facts(&p);
                doors[i].close(&alone);
                expect_door("alone", &alone, &doors[i]);
                if (doors[i].alone)
                        continue;
                doors[i].close(&all);
                expect_door("over all before", &all, &doors[i]);
        }
}

static void test_mode_comes_after_state_before_pause(void **state)
{
        (void)state;
        struct apply_policy p;
        apply_policy_defaults(APPLY_RECOMMEND, &p);
        struct gate_facts f = open_facts(&p);
        f.paused = true;
        expect("recommend", &f, REASON_RECOMMEND_ONLY, 600);
        f.state = STATE_LEARNING;
        expect("recommend, learning", &f, REASON_LEARNING, 600);
        f.rule = REASON_EARLY;
        expect("recommend, learning, with an early target", &f, REASON_EARLY, 600);
        f = open_facts(&p);
        f.orphaned = true;
        expect("orphaned by its mode", &f, REASON_ORPHANED, 600);
}

static void test_states(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                enum state state;
                bool away, contested, orphaned, held;
                enum reason want;
        } row[] = {
                {"no data", STATE_NO_DATA, 0, 0, 0, 0, REASON_LEARNING},
                {"learning", STATE_LEARNING, 0, 0, 0, 0, REASON_LEARNING},
                {"ready", STATE_READY, 0, 0, 0, 0, REASON_NONE},
                {"stale", STATE_STALE, 0, 0, 0, 0, REASON_STALE},
                {"the source is away", STATE_READY, 1, 0, 0, 0, REASON_STALE},
                {"held by the guard", STATE_HELD, 0, 0, 0, 0, REASON_GUARD},
                {"held by a contest", STATE_HELD, 0, 1, 0, 0, REASON_CONTESTED},
                {"held as an orphan", STATE_HELD, 0, 0, 1, 0, REASON_ORPHANED},
                {"held by a person", STATE_HELD, 0, 0, 0, 1, REASON_PAUSED},
        };
        struct apply_policy p = rollout();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct gate_facts f = open_facts(&p);
                f.state = row[i].state;
                f.source_away = row[i].away;
                f.contested = row[i].contested;
                f.orphaned = row[i].orphaned;
                f.held = row[i].held;
                expect(row[i].name, &f, row[i].want, 600);
        }
}

/* A harmful change is taken back at once, whatever holds other changes, except a person's hold or another
 * autoscaler. */
static void test_guarded(void **state)
{
        (void)state;
        enum { NOW_600 = 600, ORIGINAL = 1000 };
        static const struct {
                const char *name;
                struct gate_facts more; /* flags only */
                enum reason want;
        } row[] = {
                {"nothing else", {.guarded = true}, REASON_NONE},
                {"usage is away", {.source_away = true}, REASON_NONE},
                {"the rollout is blocked", {.rollout_blocked = true}, REASON_NONE},
                {"an autoscaler goes by it", {.hpa_holds = true}, REASON_NONE},
                {"an autoscaler's target cannot be moved", {.hpa_stands = true}, REASON_HPA_HOLD},
                {"paused", {.paused = true}, REASON_PAUSED},
                {"held by a person", {.held = true}, REASON_PAUSED},
                {"opted out", {.apply_never = true}, REASON_OPTED_OUT},
                {"a VPA sets it", {.other_autoscaler = true}, REASON_OTHER_AUTOSCALER},
                {"somebody put it back", {.contested = true}, REASON_CONTESTED},
                {"an operator writes it", {.managed = true}, REASON_MANAGED},
                {"an orphan", {.orphaned = true}, REASON_ORPHANED},
        };
        struct apply_policy p = rollout();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct gate_facts f = row[i].more;
                struct gate_verdict got;
                const struct gate_facts open = open_facts(&p);
                f.now = open.now;
                f.apply = &p;
                f.resource = CPU;
                f.rule = REASON_LOWERED;
                f.state = STATE_HELD;
                f.guarded = true;
                f.changed_ms = open.now.ms - 1; /* neither window nor cooldown */
                f.current = (struct amount){true, NOW_600};
                f.target = (struct amount){true, 500};
                f.original = (struct amount){true, ORIGINAL};
                gates_ask(&f, &got);
                if (got.hold != row[i].want || got.value != ORIGINAL)
                        fail_msg("%s: '%s', %lld", row[i].name, reason_name(got.hold), (long long)got.value);
                f.current.value = ORIGINAL;
                gates_ask(&f, &got);
                if (got.hold == REASON_NONE)
                        fail_msg("%s: lowered again", row[i].name);
        }
}

/* --- nothing to do ----------------------------------------------------------------------------------------------- */

static void test_rules_without_a_change(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        static const enum reason silent[] = {REASON_NO_ORIGINAL, REASON_LEARNING, REASON_STALE, REASON_INIT,
                                             REASON_NOT_IN_TEMPLATE};
        for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++) {
                struct gate_facts f = open_facts(&p);
                f.rule = silent[i];
                expect("silent rule", &f, silent[i], 600);
        }
        struct gate_facts f = open_facts(&p);
        f.target = YES(1000);
        f.rule = REASON_AT_ORIGINAL;
        f.paused = f.contested = true;
        expect("what stands is not held", &f, REASON_AT_ORIGINAL, 1000);
        f.rule = REASON_NONE;
        expect("and has some reason always", &f, REASON_BELOW_MIN_CHANGE, 1000);
        f = open_facts(&p);
        f.target.set = false;
        f.rule = REASON_CPU_OFF;
        expect("no target", &f, REASON_CPU_OFF, 600);
}

static void test_turned_off_goes_back(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        struct gate_facts f = open_facts(&p);
        f.current = YES(400);
        f.target = YES(1000);
        f.rule = REASON_MEMORY_OFF;
        expect("off", &f, REASON_NONE, 1000);
}

static void test_current_absent_is_the_original(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        struct gate_facts f = open_facts(&p);
        f.current.set = false;
        f.target = YES(801);
        expect("no current", &f, REASON_BELOW_MIN_CHANGE, 801);
        f.target = YES(800);
        expect("no current", &f, REASON_NONE, 800);
}

/* --- time -------------------------------------------------------------------------------------------------------- */

static void test_cooldown(void **state)
{
        (void)state;
        static const struct {
                int64_t current, target, ago;
                bool kill;
                enum reason want;
                int64_t again;
        } row[] = {
                {1000, 600, 0, false, REASON_COOLDOWN, 7 * INT64_C(86400000)},
                {1000, 600, 7 * INT64_C(86400000) - 1, false, REASON_COOLDOWN, 1},
                {1000, 600, 7 * INT64_C(86400000), false, REASON_NONE, 0},
                {1000, 600, 60000, true, REASON_COOLDOWN, 7 * INT64_C(86400000) - 60000},
                {1000, 600, -60000, false, REASON_COOLDOWN, 7 * INT64_C(86400000) + 60000},
                {1000, 600, -7 * INT64_C(86400000), false, REASON_COOLDOWN, 14 * INT64_C(86400000)},
                {1000, 600, -7 * INT64_C(86400000) - 1, false, REASON_NONE, 0},
                {500, 600, 60000, false, REASON_COOLDOWN, 3540000},
                {500, 600, 3599999, false, REASON_COOLDOWN, 1},
                {500, 600, 3600000, false, REASON_NONE, 0},
                {500, 600, 60000, true, REASON_NONE, 0},
                {599, 600, 60000, true, REASON_NONE, 0},
                {599, 600, 60000, false, REASON_BELOW_MIN_CHANGE, 0},
        };
        struct apply_policy p = rollout();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct gate_facts f = open_facts(&p);
                struct gate_verdict v;
                f.current = YES(row[i].current);
                f.target = YES(row[i].target);
                f.changed_ms = noon.ms - row[i].ago;
                f.after_kill = row[i].kill;
                gates_ask(&f, &v);
                if (v.hold != row[i].want || v.again_ms != row[i].again)
                        fail_msg("row %zu: '%s' again in %lld", i, reason_name(v.hold), (long long)v.again_ms);
        }
}

/* 0 is never; the first millisecond of 1970 is not. */
static void test_never_changed(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        struct gate_facts f = open_facts(&p);
        f.now.ms = 1000;
        expect("never", &f, REASON_NONE, 600);
        f.changed_ms = 1;
        expect("just now", &f, REASON_COOLDOWN, 600);
}

static void test_increases_pass_the_window(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        struct gate_facts f = open_facts(&p);
        f.current = YES(100);
        f.window_open = false;
        f.canary_waits = f.profile_fused = f.fuse_blown = true;
        expect("increase", &f, REASON_NONE, 600);
        f.rollout_blocked = true;
        f.after_kill = true;
        expect("a blocked rollout holds even that", &f, REASON_ROLLOUT_BLOCKED, 600);
}

/* --- HPA --------------------------------------------------------------------------------------------------------- */

/* --- while canaries are tried: what a deploy gets --- */

static void test_deploys_wait_for_canaries(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                struct amount current, target;
                enum reason rule, hold;
                int64_t value;
        } row[] = {
                {"nothing was applied", {false, 0}, {true, 600}, REASON_LOWERED, REASON_CANARY, 1000},
                {"what was applied last", {true, 700}, {true, 400}, REASON_LOWERED, REASON_CANARY, 700},
                {"however near", {true, 700}, {true, 699}, REASON_LOWERED, REASON_CANARY, 700},
                {"the same", {true, 700}, {true, 700}, REASON_LOWERED, REASON_NONE, 700},
                {"upward", {true, 500}, {true, 800}, REASON_LOWERED, REASON_NONE, 800},
                {"to the original", {true, 500}, {true, 1000}, REASON_AT_ORIGINAL, REASON_NONE, 1000},
                {"applied when more was asked for", {true, 1200}, {true, 600}, REASON_LOWERED, REASON_CANARY, 1000},
                {"a static share is new as well", {false, 0}, {true, 500}, REASON_STATIC, REASON_CANARY, 1000},
        };
        struct apply_policy p;
        apply_policy_defaults(APPLY_ON_DEPLOY, &p);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct gate_facts f = open_facts(&p);
                struct deploy_verdict v;
                f.current = row[i].current;
                f.target = row[i].target;
                f.rule = row[i].rule;
                f.canary_waits = true;
                gates_ask_deploy(&f, &v);
                if (v.hold != row[i].hold || v.value.value != row[i].value)
                        fail_msg("%s: hold '%s', value %lld", row[i].name, reason_name(v.hold),
                                 (long long)v.value.value);
                f.fuse_blown = true;
                gates_ask_deploy(&f, &v);
                assert_int_equal(v.hold, row[i].hold ? REASON_FUSE : REASON_NONE); /* holds the same, and first */
                assert_int_equal(v.value.value, row[i].value);
                f.profile_fused = true;
                gates_ask_deploy(&f, &v);
                assert_int_equal(v.hold, row[i].hold ? REASON_PROFILE_FUSE : REASON_NONE);
                assert_int_equal(v.value.value, row[i].value);
                f.state = STATE_HELD;
                gates_ask_deploy(&f, &v);
                assert_int_equal(v.hold, REASON_GUARD); /* the gates before them come first */
        }
}

static void test_hpa_puts_the_original_back(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        struct gate_facts f = open_facts(&p);
        f.hpa_holds = true;
        f.current = YES(600);
        f.changed_ms = noon.ms - 1;
        f.window_open = false;
        expect("where the target stands already", &f, REASON_NONE, 1000);
        f.current = YES(999);
        expect("however little is missing", &f, REASON_NONE, 1000);
        f.rule = REASON_LEARNING;
        expect("whatever was learned of it", &f, REASON_NONE, 1000);
        f.original.set = false;
        expect("without an original there is nothing to put back", &f, REASON_LEARNING, 600);
        f.original.set = true;
        f.rule = REASON_INIT;
        expect("but an init container", &f, REASON_INIT, 1000);
        f.rule = REASON_LOWERED;
        f.contested = true;
        expect("not against another manager", &f, REASON_CONTESTED, 1000);
        f.contested = false;
        f.state = STATE_STALE;
        expect("not while stale", &f, REASON_STALE, 1000);
        f.state = STATE_LEARNING;
        expect("nor while learning", &f, REASON_LEARNING, 1000);
        f.rule = REASON_EARLY;
        expect("nor with an early target", &f, REASON_EARLY, 1000);
        f = open_facts(&p);
        f.hpa_holds = true;
        expect("at the original it holds", &f, REASON_HPA_HOLD, 600);
        f.target = YES(1000);
        f.rule = REASON_AT_ORIGINAL;
        expect("at the original, nothing to lower", &f, REASON_AT_ORIGINAL, 1000);
        f.current = YES(1200);
        expect("above the original it holds", &f, REASON_HPA_HOLD, 1000);
}

/* Whoever reads a request keeps the value of the owner's request; requests that read alike pass. */
static void test_reader_puts_the_original_back(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        struct gate_facts f = open_facts(&p);
        f.read_least = YES(601);
        expect("at the original it holds", &f, REASON_READ_BY_CONTAINER, 600);
        f.read_least = YES(600);
        expect("the target reads as the original does", &f, REASON_NONE, 600);
        f.current = YES(599);
        f.changed_ms = noon.ms - 1;
        f.window_open = false;
        expect("what reads otherwise goes back, at once", &f, REASON_NONE, 1000);
        f.contested = true;
        expect("not against another manager", &f, REASON_CONTESTED, 1000);
        f.contested = false;
        f.hpa_stands = true;
        expect("not under an autoscaler that stands", &f, REASON_HPA_HOLD, 600);
        f = open_facts(&p);
        f.read_least = YES(1000);
        f.target = YES(1000);
        f.rule = REASON_AT_ORIGINAL;
        expect("nothing to lower", &f, REASON_AT_ORIGINAL, 1000);
}

/* Under a target that cannot be moved a request stays where it is. */
static void test_hpa_stands(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        struct gate_facts f = open_facts(&p);
        f.hpa_stands = true;
        expect("nothing falls", &f, REASON_HPA_HOLD, 600);
        f.current = YES(600);
        f.target = YES(900);
        f.after_kill = true;
        expect("nothing rises, not even after a kill", &f, REASON_HPA_HOLD, 900);
        f.hpa_holds = true;
        expect("nothing is put back, though another holds", &f, REASON_HPA_HOLD, 900);
        f.hpa_holds = false;
        f.target = YES(600);
        expect("what is in force does not go back", &f, REASON_HPA_HOLD, 600);
        f.current = YES(1000);
        f.target = YES(1000);
        f.rule = REASON_AT_ORIGINAL;
        expect("at the original there is nothing to hold", &f, REASON_AT_ORIGINAL, 1000);
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

static void test_steps(void **state)
{
        (void)state;
        static const struct {
                enum resource r;
                int percent;
                int64_t current, target, want;
                bool limited;
        } row[] = {
                {CPU, 50, 1000, 500, 500, false},
                {CPU, 50, 1000, 499, 500, true},
                {CPU, 50, 1001, 10, 501, true},
                {CPU, 10, 3, 1, 2, true}, /* one unit at least */
                {CPU, 100, 1000, 1, 1, false},
                {CPU, 50, 10, 600, 600, false}, /* an increase has no step */
                {MEMORY, 50, 4096 * MI, 100 * MI, 2048 * MI, true},
                {MEMORY, 33, 1000 * MI, 100 * MI, 670 * MI, true},
                {MEMORY, 30, 1001 * MI, 100 * MI, 701 * MI, true}, /* 700.7 */
                {MEMORY, 10, 3 * MI / 2, 1000, 3 * MI / 2 - 3 * MI / 20, true},
                {MEMORY, 50, 2000 * MI + 2, 100 * MI, 1001 * MI, true},
                {MEMORY, 10, 2 * MI, 1000, 2 * MI - 2 * MI / 10, true}, /* a whole Mi would be no step */
                {MEMORY, 50, INT64_MAX, 1000, (INT64_MAX / 2 + 1 + MI - 1) / MI * MI, true},
        };
        struct apply_policy p = rollout();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct gate_facts f = open_facts(&p);
                struct gate_verdict v;
                p.max_decrease_percent = row[i].percent;
                p.min_change_percent = 0;
                f.resource = row[i].r;
                f.current = YES(row[i].current);
                f.original = YES(INT64_MAX);
                f.target = YES(row[i].target);
                gates_ask(&f, &v);
                if (v.hold || v.value != row[i].want || v.step_limited != row[i].limited)
                        fail_msg("row %zu: '%s' %lld limited %d", i, reason_name(v.hold), (long long)v.value,
                                 v.step_limited);
        }
}

static void test_steps_arrive(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        p.min_change_percent = 0;
        for (int percent = 1; percent <= 100; percent++) {
                struct gate_facts f = open_facts(&p);
                struct gate_verdict v = {.value = 1000};
                p.max_decrease_percent = percent;
                f.target = YES(7);
                for (int n = 0; n < 700 && v.value != 7; n++) {
                        f.current = YES(v.value);
                        gates_ask(&f, &v);
                        assert_int_equal(v.hold, REASON_NONE);
                        assert_true(v.value < f.current.value && v.value >= 7);
                }
                assert_int_equal(v.value, 7);
        }
}

static void test_changed_enough(void **state)
{
        (void)state;
        static const struct {
                int64_t current, target;
                int percent;
                bool want;
        } row[] = {
                {1000, 800, 20, true},
                {1000, 801, 20, false},
                {1000, 1200, 20, true},
                {1000, 1199, 20, false},
                {0, 1, 20, true},
                {0, 0, 20, false},
                {1000, 1000, 0, true},
                {1000, 1000, 1, false},
                {3, 2, 33, true},
                {3, 2, 34, false},
                {INT64_MAX, 0, 100, true},
                {INT64_MAX, INT64_MAX, 1, false},
                {1, INT64_MAX, 100, true},
                {INT64_MAX, INT64_MAX / 2, 50, true},
                {INT64_MAX, INT64_MAX / 2 + 2, 50, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (gate_changed_enough(row[i].current, row[i].target, row[i].percent) != row[i].want)
                        fail_msg("row %zu", i);
}

/* --- new pods under InPlace --- */

static void test_new_pods_come_as_set(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                struct amount current, target;
                enum reason rule;
                enum state state;
                enum reason hold;
                int64_t value;
        } row[] = {
                {"what is set", {true, 700}, {true, 600}, REASON_LOWERED, STATE_READY, REASON_NONE, 700},
                {"however far the target is", {true, 900}, {true, 100}, REASON_LOWERED, STATE_READY, REASON_NONE, 900},
                {"nothing is set", {false, 0}, {true, 600}, REASON_LOWERED, STATE_READY, REASON_NONE, 1000},
                {"set above the original by now",
                 {true, 1200},
                 {true, 600},
                 REASON_LOWERED,
                 STATE_READY,
                 REASON_NONE,
                 1000},
                {"static, nothing learned", {false, 0}, {true, 500}, REASON_STATIC, STATE_NO_DATA, REASON_NONE, 500},
                {"what is set stands without fresh usage",
                 {true, 700},
                 {true, 600},
                 REASON_STALE,
                 STATE_STALE,
                 REASON_NONE,
                 700},
                {"held", {true, 700}, {true, 600}, REASON_LOWERED, STATE_HELD, REASON_GUARD, 1000},
        };
        struct apply_policy p;
        apply_policy_defaults(APPLY_IN_PLACE, &p);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct gate_facts f = open_facts(&p);
                struct deploy_verdict v;
                f.current = row[i].current;
                f.target = row[i].target;
                f.rule = row[i].rule;
                f.state = row[i].state;
                gates_ask_deploy(&f, &v);
                if (v.hold != row[i].hold || !v.value.set || v.value.value != row[i].value)
                        fail_msg("%s: hold '%s', value %lld", row[i].name, reason_name(v.hold),
                                 (long long)v.value.value);
        }
}

/* --- the gate is told ----------------------------------------------------------------------------------------------
 */

/* A value that comes back is written, and the gate that brings it back is told. */
static void test_the_gate_that_puts_back_is_told(void **state)
{
        (void)state;
        struct apply_policy p = rollout();
        struct gate_facts f = open_facts(&p);
        struct gate_verdict v;
        f.current = YES(700);
        f.hpa_holds = true;
        gates_ask(&f, &v);
        assert_int_equal(v.hold, REASON_NONE);
        assert_int_equal(v.gate, GATE_HPA);
        f.hpa_shared = true;
        gates_ask(&f, &v);
        assert_int_equal(v.hold, REASON_NONE);
        assert_int_equal(v.gate, GATE_HPA_SHARED);
        f.hpa_holds = f.hpa_shared = false;
        f.read_least = YES(701);
        gates_ask(&f, &v);
        assert_int_equal(v.hold, REASON_NONE);
        assert_int_equal(v.gate, GATE_READER);
        f.guarded = true;
        gates_ask(&f, &v);
        assert_int_equal(v.hold, REASON_NONE);
        assert_int_equal(v.gate, GATE_GUARD);
}

/* Rules that ask for no change hold though the target is not what stands. */
static void test_rules_that_ask_nothing(void **state)
{
        (void)state;
        static const enum reason rule[] = {REASON_NO_ORIGINAL, REASON_LEARNING, REASON_STALE,
                                           REASON_STATIC,      REASON_INIT,     REASON_NOT_IN_TEMPLATE};
        struct apply_policy p = rollout();
        for (size_t i = 0; i < sizeof rule / sizeof rule[0]; i++) {
                struct gate_facts f = open_facts(&p);
                struct gate_verdict v;
                f.rule = rule[i];
                gates_ask(&f, &v);
                assert_int_equal(v.gate, GATE_RULE);
                assert_int_equal(v.hold, rule[i]);
                assert_true(gates_rule_asks_nothing(&f));
        }
        struct gate_facts asks = open_facts(&p);
        assert_false(gates_rule_asks_nothing(&asks));
}

static void test_the_gate_at_a_deploy_is_told(void **state)
{
        (void)state;
        struct apply_policy p;
        struct deploy_verdict v;
        apply_policy_defaults(APPLY_ON_DEPLOY, &p);
        struct gate_facts f = open_facts(&p);
        gates_ask_deploy(&f, &v);
        assert_int_equal(v.gate, GATE_NONE);
        assert_int_not_equal(gate_at_deploy(0), GATE_NONE);
        for (int n = 0; gate_at_deploy(n); n++) {
                f = open_facts(&p);
                door_of(gate_at_deploy(n))->close(&f);
                gates_ask_deploy(&f, &v);
                if (v.gate != gate_at_deploy(n) || v.hold != gate_reason(v.gate))
                        fail_msg("'%s' is told, not '%s'", gate_name(v.gate), gate_name(gate_at_deploy(n)));
        }
}

/* A gate that leaves what the previous deploy got hides none that gives the original back. */
static void test_the_original_comes_first_at_a_deploy(void **state)
{
        (void)state;
        static const char *const stands[] = {
#define DEPLOY_GATE(id, rule, stands) #stands,
#include "core/gates.def"
#undef DEPLOY_GATE
        };
        bool previous = false;
        for (int n = 0; gate_at_deploy(n); n++) {
                if (previous && strcmp(stands[n], "ORIGINAL") == 0)
                        fail_msg("gate '%s' gives the original back, and stands after one that does not",
                                 gate_name(gate_at_deploy(n)));
                previous |= strcmp(stands[n], "PREVIOUS") == 0;
        }
        assert_true(previous);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_gate_has_a_door),
                cmocka_unit_test(test_order),
                cmocka_unit_test(test_mode_comes_after_state_before_pause),
                cmocka_unit_test(test_states),
                cmocka_unit_test(test_guarded),
                cmocka_unit_test(test_rules_without_a_change),
                cmocka_unit_test(test_turned_off_goes_back),
                cmocka_unit_test(test_current_absent_is_the_original),
                cmocka_unit_test(test_cooldown),
                cmocka_unit_test(test_never_changed),
                cmocka_unit_test(test_increases_pass_the_window),
                cmocka_unit_test(test_deploys_wait_for_canaries),
                cmocka_unit_test(test_hpa_puts_the_original_back),
                cmocka_unit_test(test_reader_puts_the_original_back),
                cmocka_unit_test(test_hpa_stands),
                cmocka_unit_test(test_steps),
                cmocka_unit_test(test_steps_arrive),
                cmocka_unit_test(test_new_pods_come_as_set),
                cmocka_unit_test(test_changed_enough),
                cmocka_unit_test(test_the_gate_that_puts_back_is_told),
                cmocka_unit_test(test_rules_that_ask_nothing),
                cmocka_unit_test(test_the_gate_at_a_deploy_is_told),
                cmocka_unit_test(test_the_original_comes_first_at_a_deploy),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
