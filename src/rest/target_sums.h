/*
 * Sums over workloads: how many workloads are in which state, what they request, and what they would request by their
 * targets.
 */
#ifndef HALFLIFE_SRC_REST_TARGET_SUMS_H
#define HALFLIFE_SRC_REST_TARGET_SUMS_H

#include "handlers.h"

struct target_sums {
        int64_t workloads, state[STATES];
        int64_t pods, replicas_unknown; /* workloads whose number of pods is not known: each counts as one pod */
        int64_t original[RESOURCES], current[RESOURCES], target[RESOURCES]; /* over all pods; millicores, bytes */
        int64_t contested, guarded, canary, under_provisioned, held;        /* workloads with that condition */
};

/* Whether sums count the target. Targets for a namespace or a node are not counted, because they are sums of workloads
 * already. */
bool target_sums_takes(const struct snapshot_target *t);
void target_sums_add(struct target_sums *to, const struct snapshot_target *t);
void target_sums_merge(struct target_sums *to, const struct target_sums *from);
/* Write the sums as members of the JSON object that is open in w. */
void target_sums_write(struct writer *w, const struct target_sums *s);

#endif
