/*
 * Conflicts: somebody puts a request back after halflife changed it. It is no conflict if the template's fingerprint
 * shows that the owner changed more: that is a deploy. Another webhook that alters halflife's writes is a conflict as
 * well. halflife leaves a contested workload alone for a while, longer each time.
 */
#include <string.h>

#include "cache/apply_state.h"
#include "cache/change_log.h"
#include "kube/patch.h"
#include "plan/autoscaler_plan.h"
#include "safety_private.h"

enum { CONTEST_SOON_MS = 15 * MINUTE_MS };

/* by: who put back or altered halflife's change; "": not known. Takes over `what`. */
static void conflict_begin(struct safety *safety, struct target *t, const char *by, char *what)
{
        const struct apply_state *d = &t->apply_state;
        apply_state_contest(t, loop_now(safety->loop).wall, what);
        safety->count.conflicts++;
        change_log_add(safety->cache, t, loop_now(safety->loop).wall,
                       &(struct change){.kind = CHANGE_CONTESTED, .by = by, .reason = "Contested", .words = what});
        log_warn("somebody changes what halflife writes to a workload: it is left alone for a while",
                 KV("namespace", t->ns), KV("kind", t->kind), KV("name", t->name), KV("why", what),
                 KV_INT("hours", d->contest_step_ms / HOUR_MS));
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

/* Whether a request that came back can be a conflict. Only in mode Rollout does halflife write templates on its own: in
 * the other modes, the owner's value in the template is right. */
static bool may_fight(const struct target *t)
{
        return t->profile && t->profile->spec->apply.mode == APPLY_ROLLOUT;
}

static bool carries_held(const struct plan *p)
{
        for (int i = 0; i < p->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct decide_container *f = &p->container[i].facts;
                        if (p->hpa_holds[r] && f->original[r].set && f->current[r].set &&
                            f->current[r].value < f->original[r].value)
                                return true;
                }
        return false;
}

/* Begin a conflict if somebody put an autoscaler's utilization target back, but only once the original requests are
 * back. */
static void conflict_targets(struct safety *safety, struct target *t, const struct plan *p)
{
        for (int i = 0; i < p->autoscalers; i++)
                if (p->autoscaler[i].hold == AUTOSCALER_RESET && !p->contested && !carries_held(p)) {
                        const struct autoscaler *s = p->autoscaler[i].of;
                        conflict_begin(
                                safety, t, s->writer ? s->writer : "",
                                mem_printf(
                                        "%s '%.80s': its target utilization was put back after halflife's change, by "
                                        "%.60s",
                                        s->kind->word, s->name, s->writer ? s->writer : "somebody"));
                        return;
                }
}

/*
 * A reset is a request that is back at the original after halflife's change; each change has at most one. A reset
 * begins a conflict if nothing else in the template changed, and if it comes soon: within CONTEST_SOON_MS, or as the
 * second in a row within the cooldown. A reset together with other changes is a deploy, and a later reset is no
 * conflict: both restart the count.
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
                conflict_begin(
                        safety, t, "",
                        mem_string(
                                "somebody put the requests back to the original within 15 min of halflife's change"));
                return;
        }
        if (within && d->resets >= 2) {
                conflict_begin(safety, t, "",
                               mem_string("somebody put the requests back to the original twice in a row"));
                return;
        }
        checkpointer_apply_state(safety->checkpointer, t);
}

bool conflict_refused(struct safety *safety, struct target *t, const struct err *err)
{
        const char *reason = patch_refused_by_policy(err);
        if (!reason)
                return false;
        conflict_begin(safety, t, "admission",
                       mem_printf("the policy refused the write as other admission left it: %.120s", reason));
        return true;
}

void conflict_changed(struct safety *safety, struct target *t, const char *what)
{
        conflict_begin(safety, t, "admission", mem_string(what));
}
