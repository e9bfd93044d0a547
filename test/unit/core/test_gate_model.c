#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/gates.h"

/*
 * The gates once more, as the header tells them: all at once, and the first that holds counts. With at most two flags
 * set, over all changes both ways and times around the cooldown's end; with more flags, over every 101st of those.
 */

enum { CURRENT = 1000, ORIGINAL = 2000, PERCENT = 20, FLAGS = 17 };
static const struct wall now = {INT64_C(1800000000000)};
static const struct apply_policy policy[2] = {
        {.mode = APPLY_RECOMMEND, .min_change_percent = PERCENT, .max_decrease_percent = 50, .cooldown_ms = DAY_MS},
        {.mode = APPLY_ROLLOUT, .min_change_percent = PERCENT, .max_decrease_percent = 50, .cooldown_ms = DAY_MS},
};

/* Since the last change; 0: never. The clock may have been ahead then. */
static const int64_t ages_ms[] = {0, HOUR_MS - 1, HOUR_MS, DAY_MS - 1, DAY_MS, -HOUR_MS - 1};
static const int64_t targets[] = {400, 800, 801, 1000, 1199, 1200};
static const enum reason rules[] = {REASON_LOWERED, REASON_LEARNING, REASON_INIT};
/* Nothing reads the request, or the lowest request that reads as the original does. */
static const int64_t readers[] = {0, 801, 1001};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool waits(const struct gate_facts *f, bool down)
{
        int64_t age = now.ms - f->changed_ms, wait = down ? DAY_MS : HOUR_MS;
        return f->changed_ms != 0 && age < wait && age >= -wait;
}

static enum reason first_hold(const struct gate_facts *f, int64_t to, bool put_back)
{
        bool down = to < CURRENT, at_once = put_back || (f->after_kill && to > CURRENT);
        int64_t apart = down ? CURRENT - to : to - CURRENT;
        bool back = f->guarded && f->original.value > CURRENT;
        bool lowers = f->rule == REASON_LOWERED || (put_back && f->rule != REASON_INIT);
        const struct {
                bool holds;
                enum reason why;
        } list[] = {
                {!lowers || apart == 0, f->rule},
                {!back && (f->state == STATE_NO_DATA || f->state == STATE_LEARNING), REASON_LEARNING},
                {!back && (f->state == STATE_STALE || f->source_away), REASON_STALE},
                {f->apply->mode == APPLY_RECOMMEND && !f->orphaned, REASON_RECOMMEND_ONLY},
                {f->paused || f->held, REASON_PAUSED},
                {f->apply_never, REASON_OPTED_OUT},
                {f->other_autoscaler, REASON_OTHER_AUTOSCALER},
                {f->hpa_holds && !put_back, f->hpa_shared ? REASON_HPA_SHARED : REASON_HPA_HOLD},
                {!put_back && to < f->read_least.value, REASON_READ_BY_CONTAINER},
                {!back && f->state == STATE_HELD && !f->contested && !f->orphaned, REASON_GUARD},
                {down && f->profile_fused, REASON_PROFILE_FUSE},
                {down && f->fuse_blown, REASON_FUSE},
                {f->contested, REASON_CONTESTED},
                {f->managed, REASON_MANAGED},
                {f->immutable || f->in_place_only, REASON_IMMUTABLE},
                {f->orphaned, REASON_ORPHANED},
                {!at_once && apart * 100 < CURRENT * PERCENT, REASON_BELOW_MIN_CHANGE},
                {!at_once && waits(f, down), REASON_COOLDOWN},
                {down && f->canary_waits, REASON_CANARY},
                {down && !f->window_open, REASON_OUTSIDE_WINDOW},
                {!back && f->rollout_blocked, REASON_ROLLOUT_BLOCKED},
        };
        for (size_t i = 0; i < COUNT(list); i++)
                if (list[i].holds)
                        return list[i].why;
        return REASON_NONE;
}

/* Returns what holds. */
static enum reason check(const struct gate_facts *f)
{
        struct gate_verdict got;
        bool held = f->hpa_holds || CURRENT < f->read_least.value;
        bool put_back = (f->guarded || (held && !f->hpa_stands)) && f->original.value > CURRENT;
        int64_t to = put_back ? f->original.value : f->target.value;
        enum reason want = first_hold(f, to, put_back);
        int64_t value = to < CURRENT / 2 ? CURRENT / 2 : to;
        gates_ask(f, &got);
        if (got.hold != want || got.value != value || got.step_limited != (value != to))
                fail_msg("to %lld, rule %s, %s, changed %lld ms ago: hold '%s', not '%s', value %lld", (long long)to,
                         reason_name(f->rule), state_name(f->state), (long long)(now.ms - f->changed_ms),
                         reason_name(got.hold), reason_name(want), (long long)got.value);
        int64_t left = to < CURRENT ? DAY_MS : HOUR_MS;
        assert_true(got.again_ms == (want == REASON_COOLDOWN ? left - (now.ms - f->changed_ms) : 0));
        return want;
}

static unsigned one_of(size_t n, unsigned *left)
{
        unsigned i = *left % (unsigned)n;
        *left /= (unsigned)n;
        return i;
}

/* Combination n of all but the flags, with these flags; false: there are fewer. */
static bool facts_of(unsigned set, unsigned n, struct gate_facts *f)
{
        bool *const flags[FLAGS] = {&f->apply_never,     &f->source_away, &f->paused,           &f->immutable,
                                    &f->contested,       &f->managed,     &f->orphaned,         &f->held,
                                    &f->rollout_blocked, &f->window_open, &f->canary_waits,     &f->fuse_blown,
                                    &f->after_kill,      &f->hpa_holds,   &f->other_autoscaler, &f->profile_fused,
                                    &f->hpa_shared};
        *f = (struct gate_facts){.now = now, .resource = CPU, .current = {true, CURRENT}};
        for (size_t i = 0; i < FLAGS; i++)
                *flags[i] = one_of(2, &set);
        int64_t age = ages_ms[one_of(COUNT(ages_ms), &n)];
        f->changed_ms = age ? now.ms - age : 0;
        f->target = (struct amount){true, targets[one_of(COUNT(targets), &n)]};
        bool lowered = one_of(2, &n) || f->target.value > CURRENT;
        f->original = (struct amount){true, lowered ? ORIGINAL : CURRENT};
        unsigned state = one_of(STATES + 1, &n);
        f->guarded = state == STATES; /* which is Held, too */
        f->state = f->guarded ? STATE_HELD : (enum state)state;
        f->rule = rules[one_of(COUNT(rules), &n)];
        int64_t least = readers[one_of(COUNT(readers), &n)];
        f->read_least = (struct amount){least > 0, least};
        f->apply = &policy[one_of(2, &n)];
        return n == 0;
}

/* At most two flags are set. */
static bool are_few(unsigned set)
{
        unsigned rest = set & (set - 1); /* without the lowest */
        return (rest & (rest - 1)) == 0;
}

static void test_combinations(void **state)
{
        (void)state;
        enum { STRIDE = 101 };
        bool held[REASONS] = {false};
        struct gate_facts f;
        assert_true((STATES + 1) % STRIDE && COUNT(ages_ms) % STRIDE && COUNT(targets) % STRIDE);
        for (unsigned set = 0; set < 1u << FLAGS; set++)
                for (unsigned n = are_few(set) ? 0 : set % STRIDE; facts_of(set, n, &f); n += are_few(set) ? 1 : STRIDE)
                        held[check(&f)] = true;
        for (enum gate g = GATE_NONE + 1; g < GATES; g++)
                if (!held[gate_reason(g)] && g != GATE_QUOTA && g != GATE_BUDGET) /* those judge a plan */
                        fail_msg("gate '%s' never held: its fact is missing in flags, or its row in first_hold",
                                 gate_name(g));
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_combinations)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
