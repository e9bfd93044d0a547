#include <assert.h>
#include <stddef.h>

#include "core/gates.h"

enum { INCREASE_WAIT_MS = HOUR_MS, MEBIBYTE = 1 << 20 };

/* The change that the gates judge: from the request in force to the request wanted. */
struct move {
        int64_t from, to;
        bool put_back; /* `to` is the original: an HPA or a reader holds the request, or a guard takes a change back */
        bool guarded;  /* a guard takes a change back */
        bool stays; /* an autoscaler's utilization target cannot be put back now, so the original does not come back */
        bool at_once; /* the change waits for neither minChange nor cooldown */
};

static bool is_decrease(const struct move *m)
{
        return m->to < m->from;
}

/* Whether a container that reads this request would get another value than the owner's. */
static bool reads_other(const struct gate_facts *f, int64_t request)
{
        return f->read_least.set && request < f->read_least.value;
}

static struct move move_of(const struct gate_facts *f)
{
        struct move m = {.from = f->current.set ? f->current.value : f->original.value, .to = f->target.value};
        bool lowered = f->original.set && m.from < f->original.value;
        m.guarded = f->guarded && lowered;
        bool held = f->hpa_holds || reads_other(f, m.from);
        m.put_back = m.guarded || (held && !f->hpa_stands && lowered);
        m.stays = f->hpa_stands && lowered && !m.put_back;
        if (m.put_back)
                m.to = f->original.value;
        m.at_once = m.put_back || (f->after_kill && m.to > m.from);
        return m;
}

/* --- the rules: whether a gate holds the move --- */

typedef bool gate_rule(const struct gate_facts *f, const struct move *m);

/* The correction rules ask for no change: there is nothing to lower, nothing was learned, the target acts at deploys
 * only, the template's container is not halflife's to set, or the target is in force already. */
static bool by_rule(const struct gate_facts *f, const struct move *m)
{
        bool asks = m->put_back || (f->target.set && f->rule != REASON_NO_ORIGINAL && f->rule != REASON_LEARNING &&
                                    f->rule != REASON_STALE && !reason_acts_at_deploys(f->rule));
        bool stands = m->from == m->to && !m->stays;
        return !asks || f->rule == REASON_INIT || f->rule == REASON_NOT_IN_TEMPLATE || stands;
}

static bool by_state(const struct gate_facts *f, const struct move *m)
{
        bool young = f->state == STATE_NO_DATA || f->state == STATE_LEARNING;
        return !m->guarded && (young || f->state == STATE_STALE || f->source_away);
}

static bool by_mode(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->apply->mode == APPLY_RECOMMEND && !f->orphaned;
}

static bool by_pause(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->paused || f->held;
}

static bool by_opt_out(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->apply_never;
}

/* This gate holds the return to the original as well, because the other autoscaler decides the requests now. */
static bool by_autoscaler(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->other_autoscaler;
}

static bool by_hpa(const struct gate_facts *f, const struct move *m)
{
        return f->hpa_stands || (f->hpa_holds && !m->put_back);
}

static bool by_hpa_shared(const struct gate_facts *f, const struct move *m)
{
        return f->hpa_shared && by_hpa(f, m);
}

static bool by_reader(const struct gate_facts *f, const struct move *m)
{
        return !m->put_back && reads_other(f, m->to);
}

static bool by_guard(const struct gate_facts *f, const struct move *m)
{
        return f->state == STATE_HELD && !m->guarded && !f->contested && !f->orphaned;
}

static bool by_profile_fuse(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->profile_fused;
}

static bool by_fuse(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->fuse_blown;
}

static bool by_contest(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->contested;
}

static bool by_manager(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->managed;
}

static bool by_kind(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->immutable || f->in_place_only || f->pod_asks;
}

static bool by_orphan(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->orphaned;
}

static bool by_min_change(const struct gate_facts *f, const struct move *m)
{
        return !m->at_once && !gate_changed_enough(m->from, m->to, f->apply->min_change_percent);
}

/* The rest of the cooldown in ms; 0: the cooldown is over. A last change more than a whole cooldown in the future comes
 * from a wrong clock, and holds nothing. */
static int64_t cooldown_left_ms(const struct gate_facts *f, const struct move *m)
{
        int64_t wait = is_decrease(m) ? f->apply->cooldown_ms : INCREASE_WAIT_MS;
        int64_t passed = f->now.ms - f->changed_ms;
        return m->at_once || f->changed_ms == 0 || passed >= wait || passed < -wait ? 0 : wait - passed;
}

static bool by_cooldown(const struct gate_facts *f, const struct move *m)
{
        return cooldown_left_ms(f, m) > 0;
}

static bool by_canary(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->canary_waits;
}

static bool by_window(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return !f->window_open;
}

static bool by_rollout(const struct gate_facts *f, const struct move *m)
{
        return f->rollout_blocked && !m->guarded;
}

/* --- the rules of a deploy --- */

/* Unlike by_kind, an immutable kind holds no deploy, because the owner deploys a new object. */
static bool by_strategy(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        return f->in_place_only || f->pod_asks;
}

/* Under InPlace no canary holds a deploy, because new pods get the requests that running pods have. */
static bool by_canary_at_deploy(const struct gate_facts *f, const struct move *m)
{
        return f->apply->mode != APPLY_IN_PLACE && by_canary(f, m);
}

/* Keep the previous deploy's value where the target differs too little, unless the owner asks for less now, or a rule
 * other than AtOriginal wants the original. */
static bool by_min_change_at_deploy(const struct gate_facts *f, const struct move *m)
{
        (void)m;
        bool by_usage = f->target.value < f->original.value || f->rule == REASON_AT_ORIGINAL;
        return f->apply->mode != APPLY_IN_PLACE && by_usage && f->current.set &&
               f->current.value <= f->original.value && f->current.value != f->target.value &&
               !gate_changed_enough(f->current.value, f->target.value, f->apply->min_change_percent);
}

/* --- the tables --- */

enum { BOTH = false, DECREASES = true };
enum { ORIGINAL = false, PREVIOUS = true };
#define OF_PLAN NULL

static const struct {
        const char *name;
        gate_rule *rule;
        enum reason reason;
        bool decreases_only;
} gates[GATES] = {
        [GATE_NONE] = {.name = ""},
#define GATE(id, name, rule, reason, direction, open, holds) [GATE_##id] = {name, rule, REASON_##reason, direction},
#include "core/gates.def"
#undef GATE
};

static const struct {
        enum gate gate;
        gate_rule *rule;
        bool keeps_previous;
} deploy_gates[] = {
#define DEPLOY_GATE(id, rule, stands) {GATE_##id, rule, stands},
#include "core/gates.def"
#undef DEPLOY_GATE
};
enum { DEPLOY_GATES = sizeof deploy_gates / sizeof deploy_gates[0] };

const char *gate_name(enum gate g)
{
        assert(g < GATES);
        return gates[g].name;
}

enum reason gate_reason(enum gate g)
{
        assert(g < GATES);
        return gates[g].reason;
}

bool gate_decreases_only(enum gate g)
{
        assert(g < GATES);
        return gates[g].decreases_only;
}

enum gate gate_at_deploy(int n)
{
        assert(n >= 0);
        return n < DEPLOY_GATES ? deploy_gates[n].gate : GATE_NONE;
}

static bool passes_unasked(enum gate g, const struct move *m)
{
        return gates[g].decreases_only && !is_decrease(m);
}

/* The reason that the status shows while g holds. */
static enum reason reason_of_hold(const struct gate_facts *f, enum gate g)
{
        if (g == GATE_RULE)
                return f->rule ? f->rule : REASON_BELOW_MIN_CHANGE;
        if (g == GATE_STATE && f->rule == REASON_EARLY) /* the reason Learning would call the target a learned one */
                return REASON_EARLY;
        if (g == GATE_STATE)
                return f->state == STATE_NO_DATA || f->state == STATE_LEARNING ? REASON_LEARNING : REASON_STALE;
        return gates[g].reason;
}

bool gate_changed_enough(int64_t current, int64_t target, int percent)
{
        if (current == 0)
                return target > 0;
        __int128 change = (__int128)target - current;
        if (change < 0)
                change = -change;
        return change * 100 >= (__int128)current * percent;
}

/* The lowest value that one step may reach: at least one unit down, so that small requests reach their target too.
 * Memory is rounded up to whole Mi where that is still a step down, because people read the amount in their
 * manifests. */
static int64_t step_floor(const struct gate_facts *f, int64_t from)
{
        int64_t most = (int64_t)((__int128)from * f->apply->max_decrease_percent / 100);
        int64_t least = from - (most > 0 ? most : 1);
        int64_t rounded = (int64_t)(((__int128)least + MEBIBYTE - 1) / MEBIBYTE * MEBIBYTE);
        return f->resource == MEMORY && rounded < from ? rounded : least;
}

/* --- asking --- */

static enum gate first_that_holds(const struct gate_facts *f, const struct move *m)
{
        for (enum gate g = GATE_NONE + 1; g < GATES; g++)
                if (gates[g].rule && !passes_unasked(g, m) && gates[g].rule(f, m))
                        return g;
        return GATE_NONE;
}

void gates_ask(const struct gate_facts *f, struct gate_verdict *ret)
{
        struct move m = move_of(f);
        assert(!f->original.set || !f->target.set || m.to <= f->original.value);
        enum gate held = first_that_holds(f, &m);
        *ret = (struct gate_verdict){
                .gate = held            ? held
                        : m.guarded     ? GATE_GUARD
                        : !m.put_back   ? GATE_NONE
                        : !f->hpa_holds ? GATE_READER
                        : f->hpa_shared ? GATE_HPA_SHARED
                                        : GATE_HPA,
                .hold = reason_of_hold(f, held),
                .value = m.to,
                .again_ms = held == GATE_COOLDOWN ? cooldown_left_ms(f, &m) : 0,
        };
        if (is_decrease(&m) && m.to < step_floor(f, m.from)) {
                ret->value = step_floor(f, m.from);
                ret->step_limited = true;
        }
}

bool gates_rule_asks_nothing(const struct gate_facts *f)
{
        struct move m = move_of(f);
        return by_rule(f, &m);
}

/* The previous deploy's value where it is below the original, else the original. */
static struct amount as_before(const struct gate_facts *f)
{
        return f->current.set && f->current.value < f->original.value ? f->current : f->original;
}

/* The value that a deploy gets where no gate holds. Under InPlace a new pod gets what running pods have, except for a
 * target that acts at deploys only: a new pod counts as a deploy. */
static struct amount as_advised(const struct gate_facts *f)
{
        return f->apply->mode == APPLY_IN_PLACE && !reason_acts_at_deploys(f->rule) ? as_before(f) : f->target;
}

void gates_ask_deploy(const struct gate_facts *f, struct deploy_verdict *ret)
{
        *ret = (struct deploy_verdict){.value = f->original};
        if (!f->original.set || !f->target.set)
                return;
        struct move m = {.from = as_before(f).value, .to = f->target.value};
        int i = 0;
        while (i < DEPLOY_GATES && (passes_unasked(deploy_gates[i].gate, &m) || !deploy_gates[i].rule(f, &m)))
                i++;
        if (i == DEPLOY_GATES) {
                ret->value = as_advised(f);
                return;
        }
        ret->gate = deploy_gates[i].gate;
        ret->hold = gates[ret->gate].reason;
        ret->value = deploy_gates[i].keeps_previous ? as_before(f) : f->original;
}
