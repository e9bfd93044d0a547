/*
 * Which guard policy a target has, whether the guard holds the target after a change did harm, and condition Guarded.
 */
#include <stdio.h>

#include "cache/guard_state.h"
#include "cache/pod_namespace_targets.h"
#include "plan/plan.h"

const struct guard_policy *guard_policy_of(const struct target *t)
{
        const struct apply_policy *a = t->profile ? &t->profile->spec->apply : NULL;
        return a && a->guard.enabled && a->mode != APPLY_RECOMMEND && dimension_writes(t) ? &a->guard : NULL;
}

bool guard_holds(const struct target *t, struct wall now)
{
        return t->apply_state.guard && t->apply_state.guard->until_ms > now.ms && guard_policy_of(t);
}

void guard_says(struct plan *p)
{
        const struct guard_state *g = p->target->apply_state.guard;
        char until[WALL_TEXT_MAX], back[144];
        if (!p->guarded)
                return;
        resize_given_back(p, back, sizeof back);
        struct plan_condition *c = plan_say(p, "Guarded", true, guard_cause_name(g->cause));
        snprintf(c->message, sizeof c->message, "%.135s%s; left alone until %s", g->why ? g->why : "it did harm", back,
                 wall_print((struct wall){g->until_ms}, until));
}
