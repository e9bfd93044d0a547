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
        [GATE_HPA] = {"HPA", REASON_HPA_HOLD, true},
        [GATE_GUARD] = {"Guard", REASON_GUARD, true},
        [GATE_CONTEST] = {"Contest", REASON_CONTESTED, true},
        [GATE_MANAGER] = {"Manager", REASON_MANAGED, false},
        [GATE_KIND] = {"Kind", REASON_IMMUTABLE, false},
        [GATE_ORPHAN] = {"Orphan", REASON_ORPHANED, true},
        [GATE_MIN_CHANGE] = {"MinChange", REASON_BELOW_MIN_CHANGE, true},
        [GATE_COOLDOWN] = {"Cooldown", REASON_COOLDOWN, false},
        [GATE_WINDOW] = {"Window", REASON_OUTSIDE_WINDOW, false},
        [GATE_BUDGET] = {"Budget", REASON_BUDGET, false},
        [GATE_ROLLOUT] = {"Rollout", REASON_ROLLOUT_BLOCKED, false},
};

const char *gate_name(enum gate g)
{
        assert(g < GATES);
        return gates[g].name;
}

bool gate_counts_at_deploy(enum gate g)
{
        assert(g < GATES);
        return gates[g].at_deploy;
}

const char *explain_kind_name(enum explain_kind k)
{
        static const char *const names[EXPLAIN_KINDS] = {
                [EXPLAIN_SAMPLES] = "samples",
                [EXPLAIN_PERCENTILE] = "percentile",
                [EXPLAIN_KILL] = "kill",
                [EXPLAIN_MODEL] = "model",
                [EXPLAIN_MULTIPLIER] = "multiplier",
                [EXPLAIN_ROUNDING] = "rounding",
                [EXPLAIN_RULE] = "rule",
                [EXPLAIN_GATE] = "gate",
                [EXPLAIN_DEPLOY] = "deployGate",
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

static double weight_at(const struct histogram *h, int bucket)
{
        bool held = bucket >= h->first && bucket < h->first + h->count;
        return held ? h->w[bucket - h->first] : 0;
}

/* The bucket whose upper edge is the answer. */
static int bucket_of_edge(enum resource r, double edge)
{
        int bucket = 0;
        while (bucket < HISTOGRAM_BUCKETS - 1 && histogram_edge(r, bucket) < edge)
                bucket++;
        return bucket;
}

/* The open peak's weight, as of the histogram's reference time. */
static double peak_weight(const struct usage *u)
{
        const struct histogram *h = &u->of[MEMORY];
        double half_lives = (double)(u->peak_at_ms - h->ref_ms) / (double)h->half_life_ms;
        return exp2(fmax(fmin(half_lives, 1000), -1000));
}

static void find_percentile(const struct usage *u, enum resource r, int p, struct explain_percentile *ret)
{
        *ret = (struct explain_percentile){0};
        if (usage_percentile(u, r, p, &ret->value) < 0)
                return;
        const struct histogram *h = &u->of[r];
        bool open = r == MEMORY && u->peak > 0;
        int peak = open ? histogram_bucket(r, u->peak) : -1;
        ret->known = true;
        ret->bucket = bucket_of_edge(r, ret->value);
        ret->from = histogram_start(r, ret->bucket);
        ret->to = ret->value;
        for (int n = 0; n < HISTOGRAM_BUCKETS; n++) {
                double w = weight_at(h, n) + (n == peak ? peak_weight(u) : 0);
                ret->total += w;
                if (n < ret->bucket)
                        ret->below += w;
                if (n == ret->bucket)
                        ret->here = w;
        }
}

static struct usage_kill find_kill(const struct explain_facts *f)
{
        struct usage_kill held = {0};
        if (!f->usage || f->correct.resource != MEMORY)
                return held;
        double bytes = usage_kill_hold(f->usage, f->correct.policy, f->now);
        for (int i = 0; i < USAGE_KILLS && bytes > 0; i++)
                if (f->usage->kill[i].bytes >= bytes && f->usage->kill[i].bytes <= bytes)
                        held = f->usage->kill[i];
        return held;
}

static int64_t units_up(enum resource r, double value)
{
        return (int64_t)ceil(r == CPU ? value * 1000 : value);
}

/* As recommend() makes it. */
static struct estimate estimate_of(const struct explain *e, enum resource r)
{
        static const double mebi = 0x1p20;
        if (!e->percentile.known)
                return (struct estimate){0};
        bool by_kill = e->kill.bytes > e->percentile.value;
        double value = by_kill ? e->kill.bytes : e->percentile.value;
        int64_t model = r == CPU ? units_up(r, value) : (int64_t)ceil(value / mebi) * (int64_t)mebi;
        return (struct estimate){.known = true, .by_kill = by_kill, .model = model};
}

/* --- the steps --- */

static struct explain_step *add(struct explain *e, enum explain_kind kind, bool spoke, struct amount value)
{
        assert(e->steps < EXPLAIN_STEPS);
        struct explain_step *s = &e->step[e->steps++];
        *s = (struct explain_step){.kind = kind, .spoke = spoke, .reached = true, .value = value};
        return s;
}

static struct amount known(bool is, int64_t value)
{
        return is ? (struct amount){true, value} : (struct amount){0};
}

static void add_learned(const struct explain_facts *f, struct explain *e)
{
        enum resource r = f->correct.resource;
        const struct explain_percentile *p = &e->percentile;
        add(e, EXPLAIN_SAMPLES, f->usage && f->usage->samples > 0, (struct amount){0});
        add(e, EXPLAIN_PERCENTILE, p->known, known(p->known, p->known ? units_up(r, p->value) : 0));
        if (r == MEMORY)
                add(e, EXPLAIN_KILL, e->estimate.by_kill, known(e->kill.bytes > 0, units_up(r, e->kill.bytes)));
        add(e, EXPLAIN_MODEL, e->estimate.known, known(e->estimate.known, e->estimate.model));
}

static void add_margin(const struct explain_facts *f, struct explain *e)
{
        const struct resource_policy *p = f->correct.policy;
        const struct estimate *m = &e->estimate;
        int64_t scaled = m->known ? correct_scale(m->model, p->multiplier, 1) : 0;
        int64_t rounded = m->known ? correct_scale(m->model, p->multiplier, p->round_to) : 0;
        add(e, EXPLAIN_MULTIPLIER, m->known && scaled != m->model, known(m->known, scaled));
        add(e, EXPLAIN_ROUNDING, rounded != scaled, known(m->known, rounded));
}

static bool same(const struct correction *a, const struct correction *b)
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
                facts.estimate.model = e->estimate.model;
        }
        correct_steps(&facts, after);
        for (int i = 0; i < RULES; i++) {
                struct explain_step *s = add(e, EXPLAIN_RULE, !same(&after[i], &before), after[i].target);
                s->rule = (enum rule)i;
                s->reason = after[i].reason != before.reason ? after[i].reason : REASON_NONE;
                before = after[i];
        }
        e->result = before;
}

/* held: the first that holds; the ones behind it were not asked. */
static void add_gate(struct explain *e, enum explain_kind kind, enum gate g, enum gate held, enum reason shown)
{
        struct explain_step *s = add(e, kind, g == held, (struct amount){0});
        s->gate = g;
        s->reached = g <= held;
        s->reason = s->spoke ? shown : REASON_NONE;
}

static void add_gates(const struct explain_facts *f, struct explain *e)
{
        enum gate held = gate_of_reason(f->shown, e->result.reason, f->stands);
        for (enum gate g = 0; g < GATES; g++)
                add_gate(e, EXPLAIN_GATE, g, held, f->shown);
        held = gate_of_deploy(f->deploy, e->result.reason);
        for (enum gate g = 0; g < GATES; g++)
                if (gates[g].at_deploy)
                        add_gate(e, EXPLAIN_DEPLOY, g, held, f->deploy);
}

static void explain_number(const struct explain_facts *f, struct explain *ret)
{
        memset(ret, 0, sizeof *ret);
        ret->estimate = f->correct.estimate;
        if (f->usage) {
                find_percentile(f->usage, f->correct.resource, f->correct.policy->percentile, &ret->percentile);
                ret->kill = find_kill(f);
                ret->estimate = estimate_of(ret, f->correct.resource);
        }
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
static void adopt(const struct usage *from, enum resource r, int64_t half_life_ms, double *room, struct usage *ret)
{
        struct resource_policy policy[RESOURCES] = {0};
        *ret = *from;
        for (int i = 0; i < RESOURCES; i++) {
                histogram_lend(&ret->of[i], room + (size_t)i * HISTOGRAM_BUCKETS, HISTOGRAM_BUCKETS);
                policy[i].half_life_ms = from->of[i].half_life_ms;
        }
        policy[r].half_life_ms = half_life_ms;
        policy[MEMORY].window_ms = from->window_ms;
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
                adopt(f->usage, f->correct.resource, change->half_life_ms, room, &aged);
                other.usage = &aged;
        }
        other.correct.policy = &policy;
        explain_number(&other, ret);
}
