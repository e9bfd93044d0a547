/*
 * Totals of a plan over a pod's containers and the workload's replicas; and holding back the plan as a whole.
 */
#include "plan/plan.h"

#include "core/pod_request_sum.h"

struct amount plan_amount_of(const struct plan_container *c, enum resource r, enum plan_amount which)
{
        const struct estimate *e = &c->facts.learned.of[r];
        switch (which) {
        case PLAN_ORIGINAL:
                return c->facts.original[r];
        case PLAN_CURRENT:
                return c->running[r];
        case PLAN_TARGET:
                return c->advice.of[r].target;
        case PLAN_MODEL:
                return (struct amount){e->known, e->model};
        case PLAN_LOWER:
                return (struct amount){e->known, e->lower};
        case PLAN_UPPER:
                return (struct amount){e->known, e->upper};
        }
        return (struct amount){0};
}

struct amount plan_pod_amount(const struct plan *p, enum resource r, enum plan_amount which)
{
        const struct workload *wl = p->target->workload;
        bool told = which == PLAN_ORIGINAL || which == PLAN_CURRENT || which == PLAN_TARGET;
        struct pod_sum sum = {0};
        if (told && wl && workload_more(wl)->pod_asks[r].set)
                return workload_more(wl)->pod_asks[r];
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                struct amount a = plan_amount_of(c, r, which);
                if (!a.set && c->role == ROLE_INIT)
                        a = c->facts.original[r]; /* init containers have no history: they keep their request */
                pod_sum_add(&sum, c->role, a);
        }
        return pod_sum_total(&sum);
}

int64_t plan_saving(const struct plan *p, enum resource r)
{
        struct amount original = plan_pod_amount(p, r, PLAN_ORIGINAL), target = plan_pod_amount(p, r, PLAN_TARGET);
        __int128 replicas = workload_replicas(p->target->workload);
        if (!original.set || !target.set || target.value >= original.value)
                return 0;
        __int128 saving = (original.value - target.value) * replicas;
        return saving > INT64_MAX ? INT64_MAX : (int64_t)saving;
}

bool plan_counts(const struct plan_container *c)
{
        return (c->role == ROLE_MAIN || c->role == ROLE_SIDECAR) && !c->facts.ignored;
}

bool plan_wants_change(const struct plan_container *c, enum resource r)
{
        const struct amount target = c->advice.of[r].target, current = c->facts.current[r];
        return plan_counts(c) && target.set && current.set && target.value != current.value;
}

bool plan_puts_back(const struct plan_container *c, enum resource r)
{
        const struct amount current = c->facts.current[r], original = c->facts.original[r];
        const struct gate_verdict *g = &c->advice.gate[r];
        bool in_force = plan_counts(c) && current.set && original.set && current.value < original.value &&
                        !plan_wants_change(c, r);
        return in_force && c->advice.of[r].target.set && (g->value != current.value || g->gate == GATE_HPA);
}

/* Whether the gate holds this change back. A gate for decreases holds only decreases. Any other gate holds all but the
 * return to the original after harm. */
static bool plan_is_held_by(const struct plan *p, const struct plan_container *c, enum resource r, enum gate gate)
{
        struct amount original = c->facts.original[r];
        int64_t from = c->facts.current[r].set ? c->facts.current[r].value : original.value;
        bool guarded = p->guarded && original.set && from < original.value;
        return gate_decreases_only(gate) ? c->advice.gate[r].value < from : !guarded;
}

void plan_hold(struct plan *p, enum gate gate)
{
        p->apply = false;
        for (int i = 0; i < p->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        struct plan_container *c = &p->container[i];
                        if (!c->advice.gate[r].hold && plan_is_held_by(p, c, r, gate)) {
                                c->advice.gate[r].gate = gate;
                                c->advice.gate[r].hold = c->advice.reason[r] = gate_reason(gate);
                        }
                        p->apply |= !c->advice.gate[r].hold && c->role != ROLE_WHOLE;
                }
}
