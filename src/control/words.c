/*
 * What conditions say of those who hold a change: who it is, and the way out.
 */
#include <stdio.h>

#include "plan.h"

void words_of_rival(const struct rival *r, char out[static PLAN_WORDS])
{
        snprintf(out, PLAN_WORDS,
                 "VerticalPodAutoscaler '%.120s'%s%s sets these requests: they are left alone until its updateMode is "
                 "Off, or it is gone",
                 r->name, *r->mode ? ", updateMode " : "", r->mode);
}

const char *pod_asks_word(const struct workload *wl)
{
        if (wl->pod_asks[CPU].set)
                return wl->pod_asks[MEMORY].set ? "CPUAndMemory" : "CPU";
        return wl->pod_asks[MEMORY].set ? "Memory" : NULL;
}

void words_of_pod(const struct workload *wl, char out[static PLAN_WORDS])
{
        snprintf(out, PLAN_WORDS,
                 "the template asks for %s for the pod as a whole (spec.resources): schedulers and quotas count that, "
                 "so "
                 "the containers' requests are left alone; lower it there by hand, status.pod has the model",
                 !wl->pod_asks[MEMORY].set ? "cpu"
                 : wl->pod_asks[CPU].set   ? "cpu and memory"
                                           : "memory");
}
