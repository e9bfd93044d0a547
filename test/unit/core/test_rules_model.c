#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/rules.h"

#define NO                                                                                                             \
        {                                                                                                              \
                false, 0                                                                                               \
        }

/* --- every combination ------------------------------------------------------------------------------------------- */

/*
 * The rules once more, as the header tells them and not as an ordered list: every combination of a few values of each
 * fact, those on both sides of each comparison among them.
 */

enum { MULTIPLIER = 1500, LEAST = 20, STEP = 10 };

/* The least multiple of the step that covers model * multiplier, in [min, max]. */
static int64_t wanted(const struct correct_facts *f, int64_t model)
{
        int64_t target = 0;
        while (target * 1000 < model * MULTIPLIER)
                target += STEP;
        target = target < LEAST ? LEAST : target;
        return f->policy->max && target > f->policy->max ? f->policy->max : target;
}

static int64_t clamped(const struct correct_facts *f, int64_t v)
{
        v = v < LEAST ? LEAST : v;
        return f->policy->max && v > f->policy->max ? f->policy->max : v;
}

static bool is_new(const struct correct_facts *f)
{
        return f->estimate.known && !f->unasked && f->state != STATE_NO_DATA && f->state != STATE_LEARNING &&
               f->state != STATE_STALE;
}

static enum reason not_managed(const struct correct_facts *f)
{
        return f->role == ROLE_INIT    ? REASON_INIT
               : f->ignored            ? REASON_CONTAINER_IGNORED
               : f->policy->enabled    ? REASON_NONE
               : f->resource == MEMORY ? REASON_MEMORY_OFF
                                       : REASON_CPU_OFF;
}

/* What admission refuses to go below, of an original that it let through itself. */
static int64_t admitted_from(const struct correct_facts *f)
{
        int64_t least = 0;
        if (f->range_min.set)
                least = f->range_min.value;
        if (f->range_ratio.set && f->limit.set)
                while (least * f->range_ratio.value < f->limit.value * 1000)
                        least++;
        return f->original.set && f->original.value < least ? f->original.value : least;
}

static int64_t heap_from(const struct correct_facts *f)
{
        int64_t heap = f->heap_start.set ? f->heap_start.value : 0;
        return f->original.set && f->original.value < heap ? f->original.value : heap;
}

static void without_original(const struct correct_facts *f, struct correction *c)
{
        c->reason = not_managed(f);
        if (c->reason)
                return;
        c->reason = REASON_NO_ORIGINAL;
        if (is_new(f))
                c->target = (struct amount){true, wanted(f, f->estimate.model)};
        else if (f->last_good.set)
                c->target = (struct amount){true, clamped(f, f->last_good.value)};
        if (c->target.set && c->target.value < admitted_from(f))
                c->target.value = admitted_from(f);
        if (c->target.set && c->target.value < heap_from(f))
                c->target.value = heap_from(f);
        if (c->target.set && f->limit.set && c->target.value > f->limit.value) {
                c->target.value = f->limit.value;
                c->reason = REASON_LIMIT_BOUND;
        }
}

static void with_original(const struct correct_facts *f, struct correction *c)
{
        int64_t original = f->original.value, target = original, least = admitted_from(f);
        enum reason unlearned = is_new(f) || f->unasked   ? REASON_NONE
                                : f->state == STATE_STALE ? REASON_STALE
                                                          : REASON_LEARNING;
        c->reason = unlearned ? unlearned : REASON_AT_ORIGINAL;
        if (is_new(f))
                target = wanted(f, f->estimate.model);
        else if (f->last_good.set)
                target = clamped(f, f->last_good.value);
        if (not_managed(f)) {
                target = original;
                unlearned = REASON_NONE;
                c->reason = not_managed(f);
        } else if (target < original) {
                c->reason = unlearned ? unlearned : target < least ? REASON_LIMIT_RANGE : REASON_LOWERED;
                target = target < least ? least : target;
                if (target < heap_from(f)) {
                        target = heap_from(f);
                        c->reason = unlearned ? unlearned : REASON_HEAP_START;
                }
        } else {
                target = original;
        }
        if (f->guaranteed && target < original) {
                c->qos_changes = !f->keep_guaranteed;
                if (f->keep_guaranteed) {
                        target = original;
                        c->reason = unlearned ? unlearned : REASON_QOS;
                }
        }
        if (f->limit.set && target > f->limit.value) {
                target = f->limit.value;
                c->reason = unlearned ? unlearned : REASON_LIMIT_BOUND;
        }
        if (f->role == ROLE_INJECTED && target < original)
                c->reason = REASON_NOT_IN_TEMPLATE;
        c->target = (struct amount){true, target};
        c->under_provisioned = is_new(f) && f->role != ROLE_INIT && f->estimate.model * MULTIPLIER > original * 1000;
}

static void check(const struct correct_facts *f)
{
        struct correction want = {0}, got;
        if (f->original.set)
                with_original(f, &want);
        else
                without_original(f, &want);
        correct(f, &got);
        if (got.target.set != want.target.set || got.target.value != want.target.value || got.reason != want.reason ||
            got.under_provisioned != want.under_provisioned || got.qos_changes != want.qos_changes)
                fail_msg(
                        "%s, model %lld, original %lld, limit %lld, min %lld, ratio %lld, last %lld, role %d: %lld %s, "
                        "not %lld %s",
                        state_name(f->state), (long long)f->estimate.model, (long long)f->original.value,
                        (long long)f->limit.value, (long long)f->range_min.value, (long long)f->range_ratio.value,
                        (long long)f->last_good.value, f->role, (long long)got.target.value, reason_name(got.reason),
                        (long long)want.target.value, reason_name(want.reason));
}

/* One of a fact's values; a negative one: absent. */
static struct amount amount_of(const int64_t *values, size_t n, unsigned *left)
{
        int64_t v = values[*left % n];
        *left /= (unsigned)n;
        return v < 0 ? (struct amount){0} : (struct amount){true, v};
}
#define AMOUNT(left, ...)                                                                                              \
        amount_of((const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), left)

static unsigned one_of(unsigned n, unsigned *left)
{
        unsigned i = *left % n;
        *left /= n;
        return i;
}

/* Combination n of all; false: there are fewer. */
static bool facts_of(unsigned n, struct correct_facts *f, struct resource_policy *p)
{
        unsigned *left = &n;
        struct amount model = AMOUNT(left, -1, 1, 66, 67);
        *f = (struct correct_facts){.policy = p,
                                    .state = (enum state)one_of(STATES, left),
                                    .estimate = {.known = model.set, .model = model.value},
                                    .original = AMOUNT(left, -1, 0, 100, 101),
                                    .limit = AMOUNT(left, -1, 60, 100),
                                    .range_min = AMOUNT(left, -1, 100, 120),
                                    .range_ratio = AMOUNT(left, -1, 1500),
                                    .last_good = AMOUNT(left, -1, 5, 90, 110),
                                    .heap_start = AMOUNT(left, -1, 98),
                                    .role = (enum container_role)one_of(4, left),
                                    .ignored = one_of(2, left)};
        f->unasked = one_of(2, left);
        f->guaranteed = one_of(2, left);
        f->keep_guaranteed = one_of(2, left);
        f->resource = one_of(2, left) ? MEMORY : CPU;
        *p = (struct resource_policy){.enabled = one_of(2, left), .multiplier = MULTIPLIER, .min = LEAST};
        p->round_to = STEP;
        p->max = one_of(2, left) ? 95 : 0;
        return n == 0;
}

static void test_every_combination(void **state)
{
        (void)state;
        struct correct_facts f;
        struct resource_policy p;
        unsigned n = 0;
        for (; facts_of(n, &f, &p); n++)
                check(&f);
        assert_int_equal(n, 4 * STATES * 4 * 3 * 3 * 2 * 4 * 2 * 4 * 128);
}

/* --- properties -------------------------------------------------------------------------------------------------- */

static uint64_t seed = 0x9e3779b97f4a7c15;

static int64_t pick(int64_t below)
{
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (int64_t)(seed >> 11) % below;
}

static struct amount pick_amount(int64_t below)
{
        struct amount a = {pick(2), pick(below)};
        return a.set ? a : (struct amount)NO;
}

static void pick_facts(struct correct_facts *f, struct resource_policy *p)
{
        *p = (struct resource_policy){.enabled = pick(8) > 0,
                                      .multiplier = 1000 + (int)pick(1000),
                                      .round_to = 1 + pick(50),
                                      .min = pick(300),
                                      .max = pick(2) ? 300 + pick(900) : 0};
        *f = (struct correct_facts){
                .resource = pick(2) ? CPU : MEMORY,
                .policy = p,
                .role = (enum container_role)pick(4),
                .ignored = pick(8) == 0,
                .state = (enum state)pick(STATES),
                .estimate = {.known = pick(4) > 0, .model = 1 + pick(1200)},
                .original = pick_amount(1200),
                .limit = pick_amount(1500),
                .range_min = pick_amount(600),
                .range_ratio = pick_amount(5000),
                .last_good = pick_amount(1200),
                .heap_start = pick_amount(1400),
                .guaranteed = pick(2),
                .keep_guaranteed = pick(2),
        };
}

static void check_bounds(const struct correct_facts *f, const struct correction *c)
{
        assert_true(c->reason > REASON_NONE && c->reason < REASONS);
        assert_true(c->target.set || !f->original.set);
        assert_true(c->target.value >= 0);
        if (c->target.set && f->original.set)
                assert_true(c->target.value <= f->original.value);
        if (c->target.set && f->limit.set)
                assert_true(c->target.value <= f->limit.value);
        if (c->reason == REASON_LOWERED) {
                assert_true(c->target.value >= f->policy->min);
                assert_true(!f->policy->max || c->target.value <= f->policy->max);
                assert_true(!f->range_min.set || c->target.value >= f->range_min.value);
                assert_true(!f->heap_start.set || c->target.value >= f->heap_start.value);
        }
        assert_false(c->qos_changes && f->keep_guaranteed);
}

static void test_bounds_hold_for_all(void **state)
{
        (void)state;
        for (int i = 0; i < 200000; i++) {
                struct resource_policy p;
                struct correct_facts f;
                struct correction c;
                pick_facts(&f, &p);
                correct(&f, &c);
                check_bounds(&f, &c);
        }
}

static void test_monotone_in_the_model(void **state)
{
        (void)state;
        for (int i = 0; i < 100000; i++) {
                struct resource_policy p;
                struct correct_facts f;
                struct correction less, more;
                pick_facts(&f, &p);
                correct(&f, &less);
                f.estimate.model += pick(100);
                correct(&f, &more);
                assert_true(less.target.set == more.target.set);
                assert_true(less.target.value <= more.target.value);
                assert_true(!less.under_provisioned || more.under_provisioned);
        }
}

/* What was learned and published stands: a lowered target taken as last_good gives itself, as long as nothing else
 * changes. */
static void test_last_good_is_stable(void **state)
{
        (void)state;
        for (int i = 0; i < 100000; i++) {
                struct resource_policy p;
                struct correct_facts f;
                struct correction first, second;
                pick_facts(&f, &p);
                f.state = STATE_READY;
                correct(&f, &first);
                f.state = STATE_STALE;
                f.last_good = first.target;
                correct(&f, &second);
                if (f.original.set && f.estimate.known && first.target.value < f.original.value)
                        assert_true(first.target.value == second.target.value);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_combination),
                cmocka_unit_test(test_bounds_hold_for_all),
                cmocka_unit_test(test_monotone_in_the_model),
                cmocka_unit_test(test_last_good_is_stable),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
