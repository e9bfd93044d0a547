#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/rules.h"

/*
 * The gates once more, as the header tells them: all at once, and the first that holds counts. Over every seventh
 * combination of the flags, of changes both ways and of times around the cooldown's end: 7 divides no number of
 * choices, so that any few of them meet in every way.
 */

enum { CURRENT = 1000, ORIGINAL = 2000, PERCENT = 20 };
static const struct wall now = {INT64_C(1800000000000)};
static const struct apply_policy policy[2] = {
        {.mode = APPLY_RECOMMEND, .min_change_percent = PERCENT, .max_decrease_percent = 50, .cooldown_ms = DAY_MS},
        {.mode = APPLY_ROLLOUT, .min_change_percent = PERCENT, .max_decrease_percent = 50, .cooldown_ms = DAY_MS},
};

/* Since the last change; 0: never. The clock may have been ahead then. */
static const int64_t ages_ms[] = {0, HOUR_MS - 1, HOUR_MS, DAY_MS - 1, DAY_MS, -HOUR_MS - 1};
static const int64_t targets[] = {400, 800, 801, 1000, 1199, 1200};
static const enum reason rules[] = {REASON_LOWERED, REASON_LEARNING, REASON_INIT};
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
                {f->hpa_holds && !put_back, REASON_HPA_HOLD},
                {!back && f->state == STATE_HELD && !f->contested && !f->orphaned, REASON_GUARD},
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

static void check(const struct gate_facts *f)
{
        struct gate_verdict got;
        bool put_back = (f->guarded || (f->hpa_holds && !f->hpa_stands)) && f->original.value > CURRENT;
        int64_t to = put_back ? f->original.value : f->target.value;
        enum reason want = first_hold(f, to, put_back);
        int64_t value = to < CURRENT / 2 ? CURRENT / 2 : to;
        gate(f, &got);
        if (got.hold != want || got.value != value || got.step_limited != (value != to))
                fail_msg("to %lld, rule %s, %s, changed %lld ms ago: hold '%s', not '%s', value %lld", (long long)to,
                         reason_name(f->rule), state_name(f->state), (long long)(now.ms - f->changed_ms),
                         reason_name(got.hold), reason_name(want), (long long)got.value);
        int64_t left = to < CURRENT ? DAY_MS : HOUR_MS;
        assert_true(got.again_ms == (want == REASON_COOLDOWN ? left - (now.ms - f->changed_ms) : 0));
}

static unsigned one_of(size_t n, unsigned *left)
{
        unsigned i = *left % (unsigned)n;
        *left /= (unsigned)n;
        return i;
}

/* Combination n of all; false: there are fewer. */
static bool facts_of(unsigned n, struct gate_facts *f)
{
        bool *const flags[] = {&f->apply_never,     &f->source_away, &f->paused,          &f->immutable,
                               &f->contested,       &f->managed,     &f->orphaned,        &f->held,
                               &f->rollout_blocked, &f->window_open, &f->canary_waits,    &f->fuse_blown,
                               &f->after_kill,      &f->hpa_holds,   &f->other_autoscaler};
        *f = (struct gate_facts){.now = now, .resource = CPU, .current = {true, CURRENT}};
        for (size_t i = 0; i < COUNT(flags); i++)
                *flags[i] = one_of(2, &n);
        int64_t age = ages_ms[one_of(COUNT(ages_ms), &n)];
        f->changed_ms = age ? now.ms - age : 0;
        f->target = (struct amount){true, targets[one_of(COUNT(targets), &n)]};
        bool lowered = one_of(2, &n) || f->target.value > CURRENT;
        f->original = (struct amount){true, lowered ? ORIGINAL : CURRENT};
        unsigned state = one_of(STATES + 1, &n);
        f->guarded = state == STATES; /* which is Held, too */
        f->state = f->guarded ? STATE_HELD : (enum state)state;
        f->rule = rules[one_of(COUNT(rules), &n)];
        f->apply = &policy[one_of(2, &n)];
        return n == 0;
}

static void test_combinations(void **state)
{
        (void)state;
        enum { STRIDE = 7 };
        static const unsigned all = 32768 * COUNT(ages_ms) * COUNT(targets) * 2 * (STATES + 1) * COUNT(rules) * 2;
        struct gate_facts f;
        unsigned n = 0;
        assert_true((STATES + 1) % STRIDE && COUNT(ages_ms) % STRIDE && COUNT(targets) % STRIDE);
        for (; facts_of(n, &f); n += STRIDE)
                check(&f);
        assert_in_range(n, all, all + STRIDE - 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_combinations)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
