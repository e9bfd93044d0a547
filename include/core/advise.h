/*
 * The answers: what a rollout of ours would change now (advise), and what requests a pod template or a pod deploys with
 * (advise_deploy), each with why. REST, render, admission and the command line all ask here, so that they cannot
 * disagree.
 */
#ifndef HALFLIFE_CORE_ADVISE_H
#define HALFLIFE_CORE_ADVISE_H

#include "core/rules.h"

/* One container of the template, with what was learned of it. At a deploy the template is the owner's, so current is
 * what a deploy before wrote (its applied-resources); unset: none did. */
struct advise_container {
        enum container_role role;
        bool ignored;
        bool unasked; /* no profile selects the workload any more: what was published last stands */
        const struct resource_policy *policy; /* [RESOURCES], container overrides applied */
        struct recommendation learned;
        struct amount original[RESOURCES]; /* effective */
        struct amount current[RESOURCES];  /* in the template now, effective */
        struct amount limit[RESOURCES];
        struct amount last_good[RESOURCES];
};

struct advise_facts {
        struct gate_facts workload; /* its workload-wide part; the resource's part is filled in by advise */
        bool hpa_holds[RESOURCES], hpa_stands[RESOURCES];
        bool pod_asks[RESOURCES]; /* the pod as a whole asks for it: it is that which its QoS class and LimitRanges go
                                     by */
        struct amount range_min[RESOURCES], range_ratio[RESOURCES];
        struct amount pod_min[RESOURCES], pod_ratio[RESOURCES]; /* the LimitRange's of type Pod */
};

struct advice {
        struct correction of[RESOURCES];
        struct gate_verdict gate[RESOURCES];
        enum reason reason[RESOURCES]; /* what the status shows: the first hold, else the rule's */
};

/* Judge n containers; ret has n elements. Returns whether anything is to be written now (any gate open with a changed
 * value): never under OnDeploy, where the gates are those of a deploy and tell what one would get. */
bool advise(const struct advise_facts *f, const struct advise_container *c, size_t n, struct advice *ret);

/*
 * What n containers deploy with. The original stands, and the reason says which, where the workload's state is Held, it
 * is paused, opted out or recommend-only, contested or orphaned, or an HPA holds the resource. Else, by the state of
 * the container:
 *
 * - Ready: the target;
 * - Stale, Learning, NoData: what was published last (last_good: not where the history is there and merely too young),
 * else the static factor where the profile overcommits by it, else the original.
 *
 * Under overcommit Static it is the static factor in each of them.
 */
struct deploy_advice {
        struct correction of[RESOURCES];
        struct amount request[RESOURCES]; /* to write; unset: nothing is known to ask for, leave it absent */
        enum reason reason[RESOURCES];
        bool ours[RESOURCES]; /* the request is below the original, so it is to be recorded as ours */
        /* The same for all: its QoS class by the originals; a LimitRange of type Pod would refuse less than those. */
        bool guaranteed, pod_refused[RESOURCES];
};
/* Returns whether any is ours. */
bool advise_deploy(const struct advise_facts *f, const struct advise_container *c, size_t n, struct deploy_advice *ret);

/* The pod's QoS class by its effective originals: Guaranteed where every container that runs has request = limit for
 * both resources. */
bool advise_guaranteed(const struct advise_container *c, size_t n);

#endif
