/*
 * Who put our value back: told from a deploy by the template's digest, and answered by leaving the workload alone for a
 * while.
 */
#include <string.h>

#include "cache/apply_state.h"
#include "plan/autoscaler_plan.h"
#include "safety_private.h"

enum { CONTEST_SOON_MS = 15 * MINUTE_MS };

static void conflict_begin(struct safety *safety, struct target *t, char *what)
{
        const struct apply_state *d = &t->apply_state;
        apply_state_contest(t, loop_now(safety->loop).wall, what);
        safety->count.conflicts++;
        log_warn("left alone: its requests are contested", KV("namespace", t->ns), KV("kind", t->kind),
                 KV("name", t->name), KV("why", what), KV_INT("hours", d->contest_step_ms / HOUR_MS));
        checkpointer_apply_state(safety->checkpointer, t);
}

static bool any_reset(const struct plan *p)
{
        for (int i = 0; i < p->containers; i++)
                for (int r = 0; r < RESOURCES; r++)
                        if (p->container[i].reset[r])
                                return true;
        return false;
}

/* Only who writes by himself can be in a fight: where owners deploy, or nothing is to be changed, it is theirs. */
static bool may_fight(const struct target *t)
{
        return t->profile && t->profile->spec->apply.mode == APPLY_ROLLOUT;
}

static bool carries_held(const struct plan *p)
{
        for (int i = 0; i < p->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct advise_container *f = &p->container[i].facts;
                        if (p->hpa_holds[r] && f->original[r].set && f->current[r].set &&
                            f->current[r].value < f->original[r].value)
                                return true;
                }
        return false;
}

/* Under a target that somebody put back, the original comes back first. */
static void conflict_targets(struct safety *safety, struct target *t, const struct plan *p)
{
        for (int i = 0; i < p->autoscalers; i++)
                if (p->autoscaler[i].hold == AUTOSCALER_RESET && !p->contested && !carries_held(p)) {
                        const struct autoscaler *s = p->autoscaler[i].of;
                        conflict_begin(
                                safety, t,
                                mem_printf("%s '%.80s': its target of utilization was put back after our change, by "
                                           "%.60s",
                                           s->kind->word, s->name, s->writer ? s->writer : "somebody"));
                        return;
                }
}

/*
 * Once per change of ours: a request is back at the original with nothing else changed, soon after our write, or a
 * second time within cooldown. A reset that came with other changes is a deploy, and one of a change that stood longer
 * is no fight either: both begin the count afresh.
 */
void conflict_watch(struct safety *safety, struct target *t, const struct plan *p)
{
        const struct apply_state *d = &t->apply_state;
        conflict_targets(safety, t, p);
        if (!d->changed_ms || d->reset_seen_ms >= d->changed_ms || !any_reset(p))
                return;
        int64_t passed = p->now.ms - d->changed_ms;
        bool fight = may_fight(t) && t->workload->digest == d->digest;
        bool soon = fight && passed <= CONTEST_SOON_MS;
        bool within = fight && passed <= t->profile->spec->apply.cooldown_ms;
        apply_state_reset(t, p->now, soon || within);
        if (soon) {
                conflict_begin(safety, t,
                               mem_string("the requests went back to the original within 15 min of our change"));
                return;
        }
        if (within && d->resets >= 2) {
                conflict_begin(safety, t, mem_string("the requests went back to the original twice in a row"));
                return;
        }
        checkpointer_apply_state(safety->checkpointer, t);
}

void conflict_changed(struct safety *safety, struct target *t, const char *what)
{
        conflict_begin(safety, t, mem_string(what));
}
