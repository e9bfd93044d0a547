/*
 * Kubernetes' effective request of a pod, as the scheduler counts it. Init containers run one after the other, each
 * beside the sidecars that started before it. Main containers run together, beside all sidecars. The pod needs the
 * larger of both sums. Sums saturate at INT64_MAX.
 */
#ifndef HALFLIFE_CORE_POD_REQUEST_SUM_H
#define HALFLIFE_CORE_POD_REQUEST_SUM_H

#include "core/rules.h"

/* A pod's requests for one resource, summed up. Begin with {0}. Add the containers in the order of the template, init
 * containers first. */
struct pod_sum {
        int64_t together, sidecars, most_init; /* main containers and sidecars; sidecars alone; the largest init need */
        bool any;                              /* a container has a request */
};
/* Add a container's request; a unset: the container has none. A ROLE_WHOLE adds nothing, because it stands for all the
 * other containers together. */
void pod_sum_add(struct pod_sum *s, enum container_role role, struct amount a);
struct amount pod_sum_total(const struct pod_sum *s); /* the pod's request; unset: no container has one */

#endif
