/*
 * Kubernetes' effective request of a pod, as the scheduler counts: init containers run one after the other beside the
 * sidecars started before them, the main containers together beside all sidecars, and the pod needs the larger.
 */
#ifndef HALFLIFE_CORE_POD_H
#define HALFLIFE_CORE_POD_H

#include "core/rules.h"

/* {0} to begin with; then each container in the order of the template, init containers first. */
struct pod_sum {
        int64_t together, sidecars, most_init;
        bool any;
};
/* a not set: it asks for nothing. One of ROLE_WHOLE is passed by: it is not beside them, it is them. */
void pod_sum_add(struct pod_sum *s, enum container_role role, struct amount a);
struct amount pod_sum_total(const struct pod_sum *s); /* not set: no container asks */

#endif
