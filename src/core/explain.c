#include "core/explain.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct {
        const char *name;
        enum reason reason;
        bool at_deploy;
} gates[GATES] = {
        [GATE_RULE] = {"Rule", REASON_NONE, false},
        [GATE_STATE] = {"State", REASON_NONE, false},
        [GATE_MODE] = {"Mode", REASON_RECOMMEND_ONLY, true},
        [GATE_PAUSE] = {"Pause", REASON_PAUSED, true},
        [GATE_OPT_OUT] = {"OptOut", REASON_OPTED_OUT, true},
        [GATE_AUTOSCALER] = {"OtherAutoscaler", REASON_OTHER_AUTOSCALER, true},
        [GATE_HPA] = {"HPA", REASON_HPA_HOLD, true},
        [GATE_GUARD] = {"Guard", REASON_GUARD, true},
        [GATE_FUSE] = {"Fuse", REASON_FUSE, true},
        [GATE_CONTEST] = {"Contest", REASON_CONTESTED, true},
        [GATE_MANAGER] = {"Manager", REASON_MANAGED, false},
        [GATE_KIND] = {"Kind", REASON_IMMUTABLE, true},
        [GATE_ORPHAN] = {"Orphan", REASON_ORPHANED, true},
        [GATE_MIN_CHANGE] = {"MinChange", REASON_BELOW_MIN_CHANGE, true},
        [GATE_COOLDOWN] = {"Cooldown", REASON_COOLDOWN, false},
        [GATE_CANARY] = {"Canary", REASON_CANARY, true},
        [GATE_WINDOW] = {"Window", REASON_OUTSIDE_WINDOW, false},
        [GATE_BUDGET] = {"Budget", REASON_BUDGET, false},
        [GATE_ROLLOUT] = {"Rollout", REASON_ROLLOUT_BLOCKED, false},
        [GATE_QUOTA] = {"Quota", REASON_QUOTA, false},
};

const char *gate_name(enum gate g)
{
        assert(g < GATES);
        return gates[g].name;
}

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

/* --- which gate --- */

static enum gate gate_named(enum reason shown)
{
        enum gate g = GATE_MODE;
        while (g < GATES && gates[g].reason != shown)
                g++;
        return g;
}

/* The rules' own word: a target that is no change to ask for. */
static bool asks_nothing(enum reason rule)
{
        return rule == REASON_NO_ORIGINAL || rule == REASON_LEARNING || rule == REASON_STALE || rule == REASON_STATIC ||
               rule == REASON_INIT || rule == REASON_NOT_IN_TEMPLATE;
}

enum gate gate_of_reason(enum reason shown, enum reason rule, bool stands)
{
        if (shown == rule && (stands || asks_nothing(rule)))
                return GATE_RULE;
        if (shown == REASON_LEARNING || shown == REASON_STALE)
                return GATE_STATE;
        return gate_named(shown);
}

enum gate gate_of_deploy(enum reason shown, enum reason rule)
{
        return shown == rule ? GATES : gate_named(shown);
}

/* --- what was learned --- */

/* They are kept smallest first: the last that is still held is the largest. */
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

/* As recommend() makes it. */
static struct estimate estimate_of(const struct explain *e, enum resource r)
{
        static const double mebi = 0x1p20;
        if (!e->learned)
                return (struct estimate){0};
        double value = fmax(e->percentile, fmax(e->kill.bytes, e->week));
        int64_t model = r == CPU ? explain_units_up(r, value) : (int64_t)ceil(value / mebi) * (int64_t)mebi;
        return (struct estimate){.known = true,
                                 .by_kill = e->kill.bytes > e->percentile && e->kill.bytes >= e->week,
                                 .model = model,
                                 .by_week = e->week > e->percentile && e->week > e->kill.bytes};
}

static void find_model(const struct explain_facts *f, struct explain *ret)
{
        enum resource r = f->correct.resource;
        ret->learned = usage_place(f->usage, r, f->correct.policy->percentile, &ret->place) == 0;
        ret->percentile = ret->learned ? histogram_edge(r, ret->place.bucket) : 0;
        if (r == MEMORY)
                ret->kill = find_kill(f->usage, f->correct.policy, f->now);
        if (r == MEMORY && f->correct.policy->weekly_peak)
                ret->week = usage_week_peak(f->usage, f->now, &ret->week_day);
        ret->estimate = estimate_of(ret, r);
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
                facts.estimate.model = e->estimate.model;
        }
        correct_steps(&facts, after);
        for (int i = 0; i < RULES; i++) {
                struct explain_step *s =
                        explain_add(e, EXPLAIN_RULE, !explain_same(&after[i], &before), after[i].target);
                s->rule = (enum rule)i;
                s->reason = after[i].reason != before.reason ? after[i].reason : REASON_NONE;
                before = after[i];
        }
        e->result = before;
}

/* held: the first that holds; the ones behind it were not asked. */
static void add_gate(struct explain *e, enum explain_kind kind, enum gate g, enum gate held, enum reason shown)
{
        struct explain_step *s = explain_add(e, kind, g == held, (struct amount){0});
        s->gate = g;
        s->reached = g <= held;
        s->reason = s->spoke ? shown : REASON_NONE;
}

static void add_gates(const struct explain_facts *f, struct explain *e)
{
        enum gate held = gate_of_reason(f->shown, e->result.reason, f->stands);
        for (enum gate g = GATE_RULE; g < GATES; g++)
                add_gate(e, EXPLAIN_GATE, g, held, f->shown);
        held = gate_of_deploy(f->deploy, e->result.reason);
        for (enum gate g = GATE_RULE; g < GATES; g++)
                if (gates[g].at_deploy)
                        add_gate(e, EXPLAIN_DEPLOY, g, held, f->deploy);
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

/* Aged with another half-life from the newest sample on. */
static void explain_adopt(const struct usage *from, enum resource r, int64_t half_life_ms, double *room,
                          struct usage *ret)
{
        struct resource_policy policy[RESOURCES] = {
                [CPU] = {.half_life_ms = from->of[CPU].half_life_ms},
                [MEMORY] = {.half_life_ms = from->of[MEMORY].half_life_ms, .window_ms = from->window_ms},
        };
        policy[r].half_life_ms = half_life_ms;
        *ret = *from;
        histogram_lend(&ret->of[CPU], room, HISTOGRAM_BUCKETS);
        histogram_lend(&ret->of[MEMORY], room + HISTOGRAM_BUCKETS, HISTOGRAM_BUCKETS);
        usage_adopt(ret, policy);
}

void explain_changed(const struct explain_facts *f, const struct explain_change *change,
                     double room[static RESOURCES * HISTOGRAM_BUCKETS], struct explain *ret)
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
