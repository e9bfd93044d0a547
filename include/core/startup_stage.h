/*
 * How far a pod's start is, and with which request the pod runs meanwhile. Programs often need more CPU while they
 * start than ever after. Under the policy Original a pod therefore has its owner's original request until it has
 * started, and the target only then. Times are wall clock in ms since 1970, and durations are in ms.
 */
#ifndef HALFLIFE_CORE_STARTUP_STAGE_H
#define HALFLIFE_CORE_STARTUP_STAGE_H

#include "base/clock.h"
#include "core/amount.h"

struct startup_facts {
        const struct startup_policy *policy;
        struct wall now;
        int64_t began_ms;  /* when the kubelet took the pod, or when its last restarted container began, if later */
        bool ready;        /* whether the pod's condition Ready is true */
        int64_t turned_ms; /* when that condition last changed; 0: not reported */
};

enum startup_stage {
        STARTUP_OFF,     /* the policy gives every pod the target from its birth */
        STARTUP_STARTS,  /* the pod is not Ready yet: it has the original */
        STARTUP_SETTLES, /* the pod is Ready, but not yet for the policy's `after`: it has the original */
        STARTUP_OVER,    /* the pod has started: it has the target */
        STARTUP_LATE,    /* the pod is not Ready although the policy's `most` is over: it keeps its request */
};

/*
 * The stage of a pod. Only the pod's own times decide it, so that the stage is the same after a restart of halflife.
 *
 * The pod is Ready since turned_ms, and at the earliest since began_ms, because a status may still call a restarted
 * container Ready. It settles until min(Ready + after, began + most). From began + most on, a Ready pod has started,
 * and a pod that is not Ready is late. A pod that turns unready before began + most starts again.
 *
 * A began_ms more than `most` after now comes from a wrong clock. The start then counts as over, so that no clock keeps
 * a pod at its original.
 */
enum startup_stage startup_stage_of(const struct startup_facts *f);

static inline bool startup_holds_original(enum startup_stage stage)
{
        return stage == STARTUP_STARTS || stage == STARTUP_SETTLES;
}

/*
 * The request for a container of a pod in that stage, in millicores or bytes: the target, the original, or `has`, the
 * request that the container has now. target and original are >= 0. The result is at most the original. A late pod is
 * not lowered, and gets no more than the target where it has less.
 */
int64_t startup_want(enum startup_stage stage, int64_t has, int64_t target, int64_t original);

#endif
