/*
 * Which requests a workload should have, and why. decide_rollout says what a change that halflife starts would write
 * now; decide_deploy says what requests a pod template or a pod deploys with. REST, render, admission and the command
 * line all call these two functions, so their answers cannot differ.
 */
#ifndef HALFLIFE_CORE_DECIDE_REQUESTS_H
#define HALFLIFE_CORE_DECIDE_REQUESTS_H

#include "core/gates.h"
#include "core/rules.h"

/* One container of the template, with what was learned about it. At a deploy the template holds the owner's values, so
 * current is what the previous deploy wrote (the applied-resources annotation); unset: no deploy wrote anything. */
struct decide_container {
        enum container_role role;
        bool ignored; /* the profile's containers[].mode is Ignore */
        bool unasked; /* no profile selects the workload any more: the target published last stands */
        const struct resource_policy *policy; /* the profile's policies [RESOURCES] with the container's overrides */
        struct recommendation learned;
        struct amount original[RESOURCES]; /* the effective original: request, else limit, else LimitRange default */
        struct amount current[RESOURCES];  /* the effective request in the template now */
        struct amount limit[RESOURCES];
        struct amount last_good[RESOURCES]; /* the target published last (struct correct_facts) */
        struct amount heap_start; /* the heap that the runtime begins with (struct correct_facts); ignored where the
                                     profile ignores runtimes */
        struct amount read_least[RESOURCES]; /* the least request that reads as the original (struct gate_facts);
                                                ignored where the profile ignores runtimes */
        bool other_autoscaler[RESOURCES];    /* a VerticalPodAutoscaler sets this request */
};

struct decide_facts {
        struct gate_facts workload; /* facts of the workload; the decision fills in the facts of each resource */
        bool hpa_holds[RESOURCES], hpa_shared[RESOURCES], hpa_stands[RESOURCES]; /* as in struct gate_facts */
        bool pod_asks[RESOURCES]; /* the pod's own spec.resources has this request; spec.resources then decides QoS
                                     class and LimitRanges, not the containers */
        struct amount range_min[RESOURCES],
                range_ratio[RESOURCES]; /* the bounds of a LimitRange of type Container; see struct correct_facts */
        struct amount pod_min[RESOURCES], pod_ratio[RESOURCES]; /* the bounds of a LimitRange of type Pod */
};

struct advice {
        struct correction of[RESOURCES];
        struct amount so_far[RESOURCES]; /* the target if learning ended now; unset: not learning, or no data */
        struct gate_verdict gate[RESOURCES];
        enum reason reason[RESOURCES]; /* what the status shows: the reason of the first gate that holds, else that of
                                          the rule */
};

/* Decide for each of n containers what a change that halflife starts would write; ret has n elements. Returns whether
 * halflife should write anything now: some request has to change, and no gate holds it. Always false under OnDeploy:
 * there ret tells, by the gates of a deploy, what the next deploy would get. */
bool decide_rollout(const struct decide_facts *f, const struct decide_container *c, size_t n, struct advice *ret);

/*
 * The requests that a container deploys with. The original stands where the workload's state is Held, or the workload
 * is paused, opted out, recommend-only, contested or orphaned, or an HPA or a reader holds the resource; the reason is
 * that of the gate that holds. Otherwise the container's state decides:
 *
 * - Ready: the target;
 * - Stale, Learning, NoData: the target published last (last_good, unset where the history is merely too young);
 *   else the static factor, where the profile overcommits by it; else the original.
 *
 * Under overcommit Static, the static factor decides in every state.
 */
struct deploy_advice {
        struct correction of[RESOURCES];
        struct amount request[RESOURCES]; /* the request to write; unset: no request is known, so leave it absent */
        enum reason reason[RESOURCES];    /* the reason of the gate that holds, else of the rules */
        enum gate gate[RESOURCES];        /* the gate that holds; GATE_NONE: no gate holds */
        bool ours[RESOURCES];             /* the request is below the original, so it is recorded as halflife's */
        /* Facts of the whole pod, so equal in all n elements: by its originals the pod is of QoS class Guaranteed; a
         * LimitRange of type Pod would refuse the pod if it asked for less than its originals. */
        bool guaranteed, pod_refused[RESOURCES];
};
/* Decide for each of n containers which requests it deploys with; ret has n elements. Returns whether any request in
 * ret is ours, that is below its original. */
bool decide_deploy(const struct decide_facts *f, const struct decide_container *c, size_t n, struct deploy_advice *ret);

/* Whether a pod of these n containers is of QoS class Guaranteed by its effective originals: every container has
 * original = limit > 0 for both resources. */
bool decide_guaranteed(const struct decide_container *c, size_t n);

#endif
