#include "core/explain_steps.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *explain_kind_name(enum explain_kind k)
{
        static const char *const names[EXPLAIN_KINDS] = {
                [EXPLAIN_SAMPLES] = "samples",   [EXPLAIN_PERCENTILE] = "percentile",
                [EXPLAIN_KILL] = "kill",         [EXPLAIN_WEEK] = "weeklyPeak",
                [EXPLAIN_MODEL] = "model",       [EXPLAIN_MULTIPLIER] = "multiplier",
                [EXPLAIN_ROUNDING] = "rounding", [EXPLAIN_RULE] = "rule",
                [EXPLAIN_GATE] = "gate",         [EXPLAIN_DEPLOY] = "deployGate",
        };
        assert(k < EXPLAIN_KINDS);
        return names[k];
}

/* --- what was learned --- */

/* The largest kill sample within oomHold. Kills are kept smallest first, so the last one that counts is the largest. */
static struct usage_kill find_kill(const struct usage *u, const struct resource_policy *memory, struct wall now)
{
        struct usage_kill held = {.bytes = usage_kill_hold(u, memory, now)};
        for (int i = 0; i < USAGE_KILLS; i++)
                if (now.ms - u->kill[i].at_ms <= memory->oom_hold_ms)
                        held.at_ms = u->kill[i].at_ms;
        return held;
}

static int64_t explain_units_up(enum resource r, double value)
{
        return (int64_t)ceil(r == CPU ? value * 1000 : value);
}

static void find_model(const struct explain_facts *f, struct explain *ret)
{
        enum resource r = f->correct.resource;
        ret->learned = usage_place(f->usage, r, f->correct.policy->percentile, &ret->place) == 0;
        ret->percentile = ret->learned ? ret->place.value : 0;
        if (r == MEMORY)
                ret->kill = find_kill(f->usage, f->correct.policy, f->now);
        if (r == MEMORY && f->correct.policy->weekly_peak)
                ret->week = usage_week_peak(f->usage, f->now, &ret->week_day);
        ret->estimate = (struct estimate){0};
        if (ret->learned)
                recommend_model(r, ret->percentile, ret->kill.bytes, ret->week, &ret->estimate);
        ret->estimate.more = ret->learned && ret->place.last;
}

/* --- the steps --- */

static struct explain_step *explain_add(struct explain *e, enum explain_kind kind, bool spoke, struct amount value)
{
        assert(e->steps < EXPLAIN_STEPS);
        struct explain_step *s = &e->step[e->steps++];
        *s = (struct explain_step){.kind = kind, .spoke = spoke, .reached = true, .value = value};
        return s;
}

static struct amount explain_known(bool is, int64_t value)
{
        return (struct amount){is, is ? value : 0};
}

static void add_learned(const struct explain_facts *f, struct explain *e)
{
        enum resource r = f->correct.resource;
        explain_add(e, EXPLAIN_SAMPLES, f->usage && f->usage->samples > 0, (struct amount){0});
        explain_add(e, EXPLAIN_PERCENTILE, e->learned, explain_known(e->learned, explain_units_up(r, e->percentile)));
        if (r == MEMORY)
                explain_add(e, EXPLAIN_KILL, e->estimate.by_kill,
                            explain_known(e->kill.bytes > 0, explain_units_up(r, e->kill.bytes)));
        if (r == MEMORY && f->correct.policy->weekly_peak)
                explain_add(e, EXPLAIN_WEEK, e->estimate.by_week,
                            explain_known(e->week > 0, explain_units_up(r, e->week)));
        explain_add(e, EXPLAIN_MODEL, e->estimate.known, explain_known(e->estimate.known, e->estimate.model));
}

static void add_margin(const struct explain_facts *f, struct explain *e)
{
        const struct resource_policy *p = f->correct.policy;
        const struct estimate *m = &e->estimate;
        int64_t model = m->known ? m->model : 0;
        int64_t scaled = correct_scale(model, p->multiplier, 1);
        int64_t rounded = correct_scale(model, p->multiplier, p->round_to);
        explain_add(e, EXPLAIN_MULTIPLIER, scaled != model, explain_known(m->known, scaled));
        explain_add(e, EXPLAIN_ROUNDING, rounded != scaled, explain_known(m->known, rounded));
}

static bool explain_same(const struct correction *a, const struct correction *b)
{
        return a->target.set == b->target.set && a->target.value == b->target.value && a->reason == b->reason &&
               a->under_provisioned == b->under_provisioned && a->qos_changes == b->qos_changes;
}

static void add_rules(const struct explain_facts *f, struct explain *e)
{
        struct correct_facts facts = f->correct;
        struct correction after[RULES], before = {0};
        if (f->usage) {
                facts.estimate.known = e->estimate.known;
                facts.estimate.by_kill = e->estimate.by_kill;
                facts.estimate.by_week = e->estimate.by_week;
                facts.estimate.more = e->estimate.more;
                facts.estimate.model = e->estimate.model;
        }
        correct_steps(&facts, after);
        for (int i = 0; i < RULES; i++) {
                if (i == RULE_HEAP && facts.resource != MEMORY)
                        continue; /* the heap rule is for memory alone */
                struct explain_step *s =
                        explain_add(e, EXPLAIN_RULE, !explain_same(&after[i], &before), after[i].target);
                s->rule = (enum rule)i;
                s->reason = after[i].reason != before.reason ? after[i].reason : REASON_NONE;
                before = after[i];
        }
        e->result = before;
}

/* Add the step of gate g. Returns whether g holds: the gates after it were not asked. */
static bool add_gate(struct explain *e, enum explain_kind kind, enum gate g, bool reached, enum gate held,
                     enum reason shown)
{
        struct explain_step *s = explain_add(e, kind, g == held, (struct amount){0});
        s->gate = g;
        s->reached = reached;
        s->reason = s->spoke ? shown : REASON_NONE;
        return s->spoke;
}

static void add_gates(const struct explain_facts *f, struct explain *e)
{
        bool reached = true;
        for (enum gate g = GATE_NONE + 1; g < GATES; g++)
                reached &= !add_gate(e, EXPLAIN_GATE, g, reached, f->held, f->shown);
        reached = true;
        for (int n = 0; gate_at_deploy(n); n++)
                reached &= !add_gate(e, EXPLAIN_DEPLOY, gate_at_deploy(n), reached, f->deploy_held, f->deploy);
}

static void explain_number(const struct explain_facts *f, struct explain *ret)
{
        memset(ret, 0, sizeof *ret);
        ret->estimate = f->correct.estimate;
        if (f->usage)
                find_model(f, ret);
        add_learned(f, ret);
        add_margin(f, ret);
        add_rules(f, ret);
}

void explain(const struct explain_facts *f, struct explain *ret)
{
        explain_number(f, ret);
        add_gates(f, ret);
}

/* Copy a history into *ret, with its weights in room. From the newest sample on, resource r ages with the other
 * half-life. */
static void explain_adopt(const struct usage *from, enum resource r, int64_t half_life_ms, double *room,
                          struct usage *ret)
{
        struct resource_policy policy[RESOURCES] = {
                [CPU] = {.half_life_ms = from->of[CPU].half_life_ms},
                [MEMORY] = {.half_life_ms = from->of[MEMORY].half_life_ms, .window_ms = from->window_ms},
        };
        policy[r].half_life_ms = half_life_ms;
        *ret = *from;
        histogram_lend(&ret->of[CPU], room, HISTOGRAM_SUM_BUCKETS);
        histogram_lend(&ret->of[MEMORY], room + HISTOGRAM_SUM_BUCKETS, HISTOGRAM_SUM_BUCKETS);
        usage_adopt(ret, policy);
}

void explain_changed(const struct explain_facts *f, const struct explain_change *change,
                     double room[static RESOURCES * HISTOGRAM_SUM_BUCKETS], struct explain *ret)
{
        struct explain_facts other = *f;
        struct resource_policy policy = *f->correct.policy;
        struct usage aged;
        if (change->percentile)
                policy.percentile = change->percentile;
        if (change->multiplier)
                policy.multiplier = change->multiplier;
        if (change->half_life_ms && f->usage) {
                policy.half_life_ms = change->half_life_ms;
                explain_adopt(f->usage, f->correct.resource, change->half_life_ms, room, &aged);
                other.usage = &aged;
        }
        other.correct.policy = &policy;
        explain_number(&other, ret);
}
