#include <assert.h>
#include <stddef.h>

#include "core/rules.h"

static int64_t correct_saturate(__int128 v)
{
        return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

int64_t correct_scale(int64_t value, int thousandths, int64_t step)
{
        assert(value >= 0 && thousandths >= 0 && step >= 1);
        __int128 scaled = ((__int128)value * thousandths + 999) / 1000;
        return correct_saturate((scaled + step - 1) / step * step);
}

static int64_t correct_clamp(const struct resource_policy *p, int64_t v)
{
        if (v < p->min)
                v = p->min;
        if (p->max > 0 && v > p->max)
                v = p->max;
        return v;
}

static void correct_set_target(struct correction *c, int64_t value, enum reason why)
{
        c->target = (struct amount){true, value};
        c->reason = why;
}

static void keep_original(const struct correct_facts *f, struct correction *c, enum reason why)
{
        c->target = f->original;
        c->reason = why;
}

/* A rule that only moves the target keeps the reasons Learning, Stale, Static and Early, because the gates depend on
 * them. */
static enum reason unless_unlearned(const struct correction *c, enum reason why)
{
        bool kept = c->reason == REASON_LEARNING || c->reason == REASON_STALE || reason_acts_at_deploys(c->reason);
        return kept ? c->reason : why;
}

typedef void correct_rule(const struct correct_facts *f, struct correction *c);

/* Whether the model decides the target. The model decides in state Held too: a hold concerns the gates and never
 * changes a target. */
static bool model_counts(const struct correct_facts *f)
{
        return f->estimate.known && !f->unasked && (f->state == STATE_READY || f->state == STATE_HELD);
}

/* Whether the early request decides the target: only where no target was published before the young history. */
static bool early_counts(const struct correct_facts *f)
{
        return f->state == STATE_LEARNING && f->estimate.early > 0 && f->original.set && !f->unasked &&
               !f->last_good.set;
}

static bool usage_counts(const struct correct_facts *f)
{
        return model_counts(f) || early_counts(f);
}

static bool is_static(const struct correct_facts *f)
{
        if (!f->original.set || f->overcommit == OVERCOMMIT_DYNAMIC)
                return false;
        return f->overcommit == OVERCOMMIT_STATIC || (!usage_counts(f) && !f->last_good.set);
}

static void scale_original(const struct correct_facts *f, struct correction *c)
{
        if (is_static(f))
                correct_set_target(c, correct_scale(f->original.value, f->policy->static_factor, f->policy->round_to),
                                   REASON_STATIC);
}

/* Where usage may be above the model, the target is not below the original. */
static void scale_model(const struct correct_facts *f, struct correction *c)
{
        if (!usage_counts(f) || is_static(f))
                return;
        if (early_counts(f)) {
                correct_set_target(c, f->estimate.early, REASON_EARLY);
                return;
        }
        int64_t scaled = correct_scale(f->estimate.model, f->policy->multiplier, f->policy->round_to);
        bool too_low = f->estimate.more && f->original.set && f->original.value > scaled;
        correct_set_target(c, too_low ? f->original.value : scaled, REASON_LOWERED);
}

/* After a restart, a lost database or while the usage source is silent, the target published last stands. */
static void stand_on_last_good(const struct correct_facts *f, struct correction *c)
{
        if (usage_counts(f) || is_static(f))
                return;
        c->reason = f->unasked ? REASON_LOWERED : f->state == STATE_STALE ? REASON_STALE : REASON_LEARNING;
        c->target = f->last_good.set ? f->last_good : f->original;
}

/* The policy's bounds do not apply to an original that stands because nothing is known: bounds alone are no reason to
 * change it. */
static void clamp_to_policy(const struct correct_facts *f, struct correction *c)
{
        if (usage_counts(f) || is_static(f) || f->last_good.set)
                c->target.value = correct_clamp(f->policy, c->target.value);
}

static void stop_at_original(const struct correct_facts *f, struct correction *c)
{
        if (!f->original.set || c->target.value < f->original.value)
                return;
        keep_original(f, c, unless_unlearned(c, REASON_AT_ORIGINAL));
}

static void tell_under_provisioned(const struct correct_facts *f, struct correction *c)
{
        c->under_provisioned = model_counts(f) && f->original.set && f->role != ROLE_INIT &&
                               correct_scale(f->estimate.model, f->policy->multiplier, 1) > f->original.value;
}

static enum reason correct_unmanaged(const struct correct_facts *f)
{
        if (f->role == ROLE_INIT)
                return REASON_INIT;
        if (f->ignored)
                return REASON_CONTAINER_IGNORED;
        if (!f->policy->enabled)
                return f->resource == MEMORY ? REASON_MEMORY_OFF : REASON_CPU_OFF;
        return REASON_NONE;
}

static void leave_unmanaged(const struct correct_facts *f, struct correction *c)
{
        enum reason why = correct_unmanaged(f);
        if (why)
                keep_original(f, c, why);
}

int64_t correct_floor(const struct correct_facts *f)
{
        int64_t least = f->range_min.set ? f->range_min.value : 0;
        if (f->range_ratio.set && f->range_ratio.value > 0 && f->limit.set) {
                __int128 ratio = f->range_ratio.value;
                int64_t by_ratio = correct_saturate(((__int128)f->limit.value * 1000 + ratio - 1) / ratio);
                if (by_ratio > least)
                        least = by_ratio;
        }
        return f->pod_refused && f->original.set && f->original.value > least ? f->original.value : least;
}

static void raise_to_range(const struct correct_facts *f, struct correction *c)
{
        int64_t least = correct_floor(f);
        if (f->original.set && f->original.value < least)
                least = f->original.value;
        if (c->target.set && c->target.value < least)
                correct_set_target(c, least, unless_unlearned(c, REASON_LIMIT_RANGE));
}

static void raise_to_heap(const struct correct_facts *f, struct correction *c)
{
        int64_t least = f->heap_start.value;
        if (!f->heap_start.set)
                return;
        if (f->original.set && f->original.value < least)
                least = f->original.value;
        if (c->target.set && c->target.value < least)
                correct_set_target(c, least, unless_unlearned(c, REASON_HEAP_START));
}

static void need_original(const struct correct_facts *f, struct correction *c)
{
        if (!f->original.set && !correct_unmanaged(f))
                c->reason = REASON_NO_ORIGINAL;
}

/* Whether the target is below the original. Call it only after the rules that set a target wherever there is an
 * original. */
static bool correct_is_lowered(const struct correct_facts *f, const struct correction *c)
{
        return f->original.set && c->target.value < f->original.value;
}

static void keep_qos(const struct correct_facts *f, struct correction *c)
{
        if (!f->guaranteed || !correct_is_lowered(f, c))
                return;
        if (f->keep_guaranteed)
                keep_original(f, c, unless_unlearned(c, REASON_QOS));
        else
                c->qos_changes = true;
}

static void stop_at_limit(const struct correct_facts *f, struct correction *c)
{
        if (f->limit.set && c->target.set && c->target.value > f->limit.value)
                correct_set_target(c, f->limit.value, unless_unlearned(c, REASON_LIMIT_BOUND));
}

static void mark_injected(const struct correct_facts *f, struct correction *c)
{
        if (f->role == ROLE_INJECTED && correct_is_lowered(f, c))
                c->reason = REASON_NOT_IN_TEMPLATE;
}

static correct_rule *const rules[RULES] = {
        [RULE_STATIC] = scale_original,
        [RULE_MODEL] = scale_model,
        [RULE_LAST_GOOD] = stand_on_last_good,
        [RULE_CLAMP] = clamp_to_policy,
        [RULE_ORIGINAL] = stop_at_original,
        [RULE_UNDER_PROVISIONED] = tell_under_provisioned,
        [RULE_UNMANAGED] = leave_unmanaged,
        [RULE_RANGE] = raise_to_range,
        [RULE_HEAP] = raise_to_heap,
        [RULE_NO_ORIGINAL] = need_original,
        [RULE_QOS] = keep_qos,
        [RULE_LIMIT] = stop_at_limit,
        [RULE_INJECTED] = mark_injected,
};

const char *rule_name(enum rule r)
{
        static const char *const names[RULES] = {
                [RULE_STATIC] = "Static",
                [RULE_MODEL] = "Model",
                [RULE_LAST_GOOD] = "LastGood",
                [RULE_CLAMP] = "Clamp",
                [RULE_ORIGINAL] = "Original",
                [RULE_UNDER_PROVISIONED] = "UnderProvisioned",
                [RULE_UNMANAGED] = "Unmanaged",
                [RULE_RANGE] = "LimitRange",
                [RULE_HEAP] = "Heap",
                [RULE_NO_ORIGINAL] = "NoOriginal",
                [RULE_QOS] = "QoS",
                [RULE_LIMIT] = "LimitBound",
                [RULE_INJECTED] = "NotInTemplate",
        };
        assert(r < RULES);
        return names[r];
}

/* Run all rules on *c, from {0}. `after` (may be NULL) gets the correction after each of the RULES. */
static void correct_judge(const struct correct_facts *f, struct correction *c, struct correction *after)
{
        assert(f->policy && f->policy->round_to >= 1);
        assert(!f->original.set || f->original.value >= 0);
        *c = (struct correction){0};
        for (enum rule i = 0; i < RULES; i++) {
                struct amount before = c->target;
                rules[i](f, c);
                if (before.set && c->target.value > before.value)
                        c->raised_by = i;
                if (after)
                        after[i] = *c;
        }
        assert(!c->target.set || !f->original.set || c->target.value <= f->original.value);
}

void correct_steps(const struct correct_facts *f, struct correction ret[static RULES])
{
        struct correction last;
        correct_judge(f, &last, ret);
}

void correct(const struct correct_facts *f, struct correction *ret)
{
        correct_judge(f, ret, NULL);
}
