#include <assert.h>
#include <stddef.h>

#include "core/rules.h"

enum { INCREASE_WAIT_MS = HOUR_MS, MEBIBYTE = 1 << 20 };

/* The change in question: from what stands to what is wanted. */
struct move {
        int64_t from, to;
        bool put_back; /* the original, because an HPA holds the resource, or a change is taken back */
        bool guarded;  /* the latter */
        bool at_once;  /* waits for neither minChange nor time */
};

typedef enum reason gate_rule(const struct gate_facts *f, const struct move *m, struct gate_verdict *v);

static bool is_decrease(const struct move *m)
{
        return m->to < m->from;
}

static struct move move_of(const struct gate_facts *f)
{
        struct move m = {.from = f->current.set ? f->current.value : f->original.value, .to = f->target.value};
        bool lowered = f->original.set && m.from < f->original.value;
        m.guarded = f->guarded && lowered;
        m.put_back = m.guarded || (f->hpa_holds && !f->hpa_stands && lowered);
        if (m.put_back)
                m.to = f->original.value;
        m.at_once = m.put_back || (f->after_kill && m.to > m.from);
        return m;
}

/* Where the rules have no change to ask for: nothing to lower, nothing learned, nothing of ours, or it stands already.
 */
static enum reason by_rule(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)v;
        bool asks = m->put_back || (f->target.set && f->rule != REASON_NO_ORIGINAL && f->rule != REASON_LEARNING &&
                                    f->rule != REASON_STALE && f->rule != REASON_STATIC);
        if (asks && f->rule != REASON_INIT && f->rule != REASON_NOT_IN_TEMPLATE && m->from != m->to)
                return REASON_NONE;
        return f->rule ? f->rule : REASON_BELOW_MIN_CHANGE;
}

static enum reason by_state(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)v;
        if (m->guarded)
                return REASON_NONE;
        if (f->state == STATE_NO_DATA || f->state == STATE_LEARNING)
                return REASON_LEARNING;
        return f->state == STATE_STALE || f->source_away ? REASON_STALE : REASON_NONE;
}

static enum reason by_mode(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)m, (void)v;
        return f->apply->mode == APPLY_RECOMMEND && !f->orphaned ? REASON_RECOMMEND_ONLY : REASON_NONE;
}

static enum reason by_pause(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)m, (void)v;
        return f->paused || f->held ? REASON_PAUSED : REASON_NONE;
}

static enum reason by_opt_out(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)m, (void)v;
        return f->apply_never ? REASON_OPTED_OUT : REASON_NONE;
}

/* Nothing is put back either: whoever sets the requests now decides. */
static enum reason by_autoscaler(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)m, (void)v;
        return f->other_autoscaler ? REASON_OTHER_AUTOSCALER : REASON_NONE;
}

static enum reason by_hpa(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)v;
        return f->hpa_stands || (f->hpa_holds && !m->put_back) ? REASON_HPA_HOLD : REASON_NONE;
}

static enum reason by_guard(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)v;
        return f->state == STATE_HELD && !m->guarded && !f->contested && !f->orphaned ? REASON_GUARD : REASON_NONE;
}

static enum reason by_fuse(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)v;
        return is_decrease(m) && f->fuse_blown ? REASON_FUSE : REASON_NONE;
}

static enum reason by_contest(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)m, (void)v;
        return f->contested ? REASON_CONTESTED : REASON_NONE;
}

static enum reason by_manager(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)m, (void)v;
        return f->managed ? REASON_MANAGED : REASON_NONE;
}

static enum reason by_kind(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)m, (void)v;
        return f->immutable || f->in_place_only || f->pod_asks ? REASON_IMMUTABLE : REASON_NONE;
}

static enum reason by_orphan(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)m, (void)v;
        return f->orphaned ? REASON_ORPHANED : REASON_NONE;
}

static enum reason by_min_change(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)v;
        bool enough = m->at_once || gate_changed_enough(m->from, m->to, f->apply->min_change_percent);
        return enough ? REASON_NONE : REASON_BELOW_MIN_CHANGE;
}

/* A last change further ahead than a whole wait was written by a wrong clock: it holds nothing. */
static enum reason by_cooldown(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        int64_t wait = is_decrease(m) ? f->apply->cooldown_ms : INCREASE_WAIT_MS;
        int64_t passed = f->now.ms - f->changed_ms;
        if (m->at_once || f->changed_ms == 0 || passed >= wait || passed < -wait)
                return REASON_NONE;
        v->again_ms = wait - passed;
        return REASON_COOLDOWN;
}

static enum reason by_canary(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)v;
        return is_decrease(m) && f->canary_waits ? REASON_CANARY : REASON_NONE;
}

static enum reason by_window(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)v;
        return is_decrease(m) && !f->window_open ? REASON_OUTSIDE_WINDOW : REASON_NONE;
}

static enum reason by_rollout(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)v;
        return f->rollout_blocked && !m->guarded ? REASON_ROLLOUT_BLOCKED : REASON_NONE;
}

static gate_rule *const gates[] = {
        by_rule,    by_state,   by_mode, by_pause,  by_opt_out,    by_autoscaler, by_hpa,    by_guard,  by_fuse,
        by_contest, by_manager, by_kind, by_orphan, by_min_change, by_cooldown,   by_canary, by_window, by_rollout,
};

bool gate_changed_enough(int64_t current, int64_t target, int percent)
{
        if (current == 0)
                return target > 0;
        __int128 change = (__int128)target - current;
        if (change < 0)
                change = -change;
        return change * 100 >= (__int128)current * percent;
}

/* The lowest value one step may reach: at least one unit down, so that a small request gets there too; memory in whole
 * Mi where that still is a step, because people read it in their manifests. */
static int64_t step_floor(const struct gate_facts *f, int64_t from)
{
        int64_t most = (int64_t)((__int128)from * f->apply->max_decrease_percent / 100);
        int64_t least = from - (most > 0 ? most : 1);
        int64_t rounded = (int64_t)(((__int128)least + MEBIBYTE - 1) / MEBIBYTE * MEBIBYTE);
        return f->resource == MEMORY && rounded < from ? rounded : least;
}

void gate(const struct gate_facts *f, struct gate_verdict *ret)
{
        struct move m = move_of(f);
        assert(!f->original.set || !f->target.set || m.to <= f->original.value);
        *ret = (struct gate_verdict){.value = m.to};
        for (size_t i = 0; i < sizeof gates / sizeof gates[0] && !ret->hold; i++)
                ret->hold = gates[i](f, &m, ret);
        if (is_decrease(&m) && m.to < step_floor(f, m.from)) {
                ret->value = step_floor(f, m.from);
                ret->step_limited = true;
        }
}

/* --- at a deploy --- */

/* Of a kind that cannot be patched another one is deployed. */
static enum reason by_strategy(const struct gate_facts *f, const struct move *m, struct gate_verdict *v)
{
        (void)m, (void)v;
        return f->in_place_only || f->pod_asks ? REASON_IMMUTABLE : REASON_NONE;
}

static gate_rule *const deploy_gates[] = {by_mode,  by_pause,   by_opt_out,  by_autoscaler, by_hpa,
                                          by_guard, by_contest, by_strategy, by_orphan};

/* Still worth keeping: what a deploy before wrote, unless the owner asks for less by now, or a rule for the original.
 */
static bool gate_is_kept(const struct gate_facts *f)
{
        bool by_usage = f->target.value < f->original.value || f->rule == REASON_AT_ORIGINAL;
        return by_usage && f->current.set && f->current.value <= f->original.value &&
               f->current.value != f->target.value &&
               !gate_changed_enough(f->current.value, f->target.value, f->apply->min_change_percent);
}

/* What stands where nothing new is tried. */
static struct amount as_before(const struct gate_facts *f)
{
        return f->current.set && f->current.value < f->original.value ? f->current : f->original;
}

/* New pods come as those that run are set. A static factor acts at a deploy only, which a new pod is. */
static struct amount as_set(const struct gate_facts *f)
{
        if (f->rule == REASON_STATIC)
                return f->target;
        return as_before(f);
}

void gate_deploy(const struct gate_facts *f, struct deploy_verdict *ret)
{
        struct move m = {.from = f->original.value, .to = f->target.value};
        struct gate_verdict unused;
        *ret = (struct deploy_verdict){.value = f->original};
        if (!f->original.set || !f->target.set)
                return;
        for (size_t i = 0; i < sizeof deploy_gates / sizeof deploy_gates[0] && !ret->hold; i++)
                ret->hold = deploy_gates[i](f, &m, &unused);
        if (ret->hold)
                return;
        bool lowers = f->target.value < as_before(f).value;
        if (lowers && f->fuse_blown) {
                *ret = (struct deploy_verdict){.hold = REASON_FUSE, .value = as_before(f)};
                return;
        }
        if (f->apply->mode == APPLY_IN_PLACE) {
                ret->value = as_set(f);
                return;
        }
        if (lowers && f->canary_waits) {
                *ret = (struct deploy_verdict){.hold = REASON_CANARY, .value = as_before(f)};
                return;
        }
        ret->below_min_change = gate_is_kept(f);
        ret->value = ret->below_min_change ? f->current : f->target;
}
