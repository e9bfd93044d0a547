/*
 * Collects from the snapshot the facts of a target that the rules (core/rules.h) need, for explanations and what-ifs.
 */
#ifndef HALFLIFE_SRC_REST_CORRECT_SUBJECT_H
#define HALFLIFE_SRC_REST_CORRECT_SUBJECT_H

#include "core/rules.h"
#include "snapshot/snapshot.h"

struct correct_subject {
        const struct snapshot_target *target;
        const struct snapshot_ns *ns; /* the target's namespace; NULL: its LimitRanges are not known */
        const struct apply_policy *apply;
        const struct resource_policy *defaults; /* [RESOURCES]: the policy without a profile */
};
/* The facts of one container and resource, with the estimate that the Recommendation has. Facts about the whole pod
 * (pod_refused, guaranteed) are left out. */
struct correct_facts correct_facts_of(const struct correct_subject *s, int container, enum resource r);

#endif
