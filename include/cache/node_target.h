/*
 * Targets of dimension Node: ClusterProfiles select nodes by their labels. Such a target is in halflife's own
 * namespace, because a node is in none. All pods that run on the node count, whatever created them, and whichever
 * profile selects their workloads.
 *
 * Usage is summed once a cycle (core/pod_aggregate.h), at the cycle's time, and skipped in a cycle whose usage could
 * only be read in part. A sum above the node's capacity counts as the capacity. The only container is CONTAINER_WHOLE.
 */
#ifndef HALFLIFE_CACHE_NODE_TARGET_H
#define HALFLIFE_CACHE_NODE_TARGET_H

#include "cache/cache.h"

/* The target of a node that has facts and that some profile selects. */
struct node_target {
        struct target *target;
        /* The capacity of the machine that the history is about. The node may come back as another machine. */
        int64_t size[RESOURCES];
        int64_t original[RESOURCES], requested[RESOURCES]; /* sums over the node's pods, as of the last cycle */
        int64_t runs_since_ms; /* when the earliest of the node's running pods started, wall ms, as of the last cycle;
                                  0: no pod runs */
};

/* Parts of cache_relink: node_targets_settle finds the targets and their profiles; node_targets_link runs once the
 * targets have their Recommendations. */
void node_targets_settle(struct cache *w);
void node_targets_link(struct cache *w);
/* The node of a target of dimension Node; NULL: the node is gone, or no profile selects it. */
const struct node *node_of_target(const struct cache *w, const struct target *t);
/* Whether the capacities `a` and `b` are those of different machines: some known one is more than a twentieth apart. A
 * new kernel alone changes a node's memory by less. */
bool node_size_differs(const int64_t a[static RESOURCES], const int64_t b[static RESOURCES]);

#endif
