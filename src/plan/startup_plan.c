/*
 * Pods that start under apply.startup Original: which of a target's pods have their originals for the start, and why
 * new pods do not get them. No I/O.
 */
#include "cache/pod_namespace_targets.h"
#include "plan/plan.h"

/* Does the profile ask that pods start with their originals? Under OnDeploy at Workload they cannot, because the
 * template has the lower requests. */
static bool startup_is_asked(const struct target *t)
{
        const struct apply_policy *apply = t->profile && dimension_writes(t) ? &t->profile->spec->apply : NULL;
        return apply && apply->startup.request == STARTUP_ORIGINAL &&
               (apply->mode == APPLY_IN_PLACE || (apply->mode == APPLY_ON_DEPLOY && apply->at == AT_POD));
}

void startup_begin(const struct cache *w, struct plan *p)
{
        const struct target *t = p->target;
        if (!startup_is_asked(t))
                return;
        if (t->workload->kind->flags & KIND_TO_COMPLETION)
                p->startup_bar = "RunsToCompletion";
        else if (w->resize == RESIZE_ABSENT)
                p->startup_bar = "ResizeUnsupported";
        p->starts = !p->startup_bar;
}

static bool startup_changes_class(const struct plan *p)
{
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].advice.of[CPU].qos_changes || p->container[i].advice.of[MEMORY].qos_changes)
                        return true;
        return false;
}

/* Would a resize restart a container of the pod, for a resource that the profile manages? */
static bool startup_restarts(const struct plan *p, const struct pod *pod)
{
        for (int i = 0; i < pod->containers; i++)
                for (int k = 0; k < p->containers; k++)
                        for (enum resource r = CPU; r < RESOURCES; r++)
                                if (p->container[k].name == pod->container[i].name && plan_counts(&p->container[k]) &&
                                    p->container[k].facts.policy[r].enabled &&
                                    pod_container_restarts(&pod->container[i], r))
                                        return true;
        return false;
}

void startup_judge(struct plan *p, const struct pod *newest)
{
        if (!p->starts)
                return;
        if (startup_changes_class(p))
                p->startup_bar = "QoS";
        else if (newest && startup_restarts(p, newest))
                p->startup_bar = "RestartRequired";
        p->starts = !p->startup_bar;
        if (p->target->denied)
                p->startup_bar = "Forbidden"; /* pods at their originals are still lowered, once halflife may resize */
}

enum startup_stage startup_stage_in(const struct plan *p, const struct pod *pod)
{
        if (!p->starts)
                return STARTUP_OFF;
        return startup_stage_of(&(struct startup_facts){.policy = &p->target->profile->spec->apply.startup,
                                                        .now = p->now,
                                                        .began_ms = pod_began_ms(pod),
                                                        .ready = pod->ready,
                                                        .turned_ms = (int64_t)pod->ready_turned_s * SECOND_MS});
}
