/*
 * The one deploy answer: what requests a pod template deploys with, and why. The same function for the rollout's patch,
 * and later for REST, render, admission and the command line, so that they cannot disagree.
 */
#ifndef HALFLIFE_CORE_ADVISE_H
#define HALFLIFE_CORE_ADVISE_H

#include "core/correct.h"

/* One container of the template, with what was learned of it. */
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
        bool hpa_holds[RESOURCES];
        struct amount range_min[RESOURCES], range_ratio[RESOURCES];
};

struct advice {
        struct correction of[RESOURCES];
        struct gate_verdict gate[RESOURCES];
        enum reason reason[RESOURCES]; /* what the status shows: the first hold, else the rule's */
};

/* Judge n containers; ret has n elements. Returns whether anything is to be written now (any gate open with a changed
 * value). */
bool advise(const struct advise_facts *f, const struct advise_container *c, size_t n, struct advice *ret);

/* The pod's QoS class by its effective originals: Guaranteed where every container that runs has request = limit for
 * both resources. */
bool advise_guaranteed(const struct advise_container *c, size_t n);

#endif
