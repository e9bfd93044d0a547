/*
 * Targets of dimension Node: ClusterProfiles select nodes by their labels. Such a target is in halflife's own
 * namespace, because a node is in none. All pods that run on the node count, whatever created them, and whichever
 * profile is theirs.
 *
 * Usage is summed once a cycle (core/pod_aggregate.h), at the cycle's time, and skipped in a cycle whose usage could
 * only be read in part. A sum above the node's capacity counts as the capacity. The only container is CONTAINER_WHOLE.
 */
#ifndef HALFLIFE_CACHE_NODE_TARGET_H
#define HALFLIFE_CACHE_NODE_TARGET_H

#include "cache/cache.h"

/* Of a node that some profile selects, and that has facts. */
struct node_target {
        struct target *target;
        /* The capacity of the machine that the history is about. The node may come back as another machine. */
        int64_t size[RESOURCES];
        int64_t original[RESOURCES], requested[RESOURCES]; /* sums over its pods, as of the last cycle */
        int64_t runs_since_ms; /* when the earliest of its running pods started, as of the last cycle; 0: none runs */
};

/* Parts of cache_relink, first to find the targets and their profiles, then once they have their Recommendations. */
void node_targets_settle(struct cache *w);
void node_targets_link(struct cache *w);
/* The node of such a target; NULL: it is gone. */
const struct node *node_of_target(const struct cache *w, const struct target *t);
/* Whether the capacities are those of different machines: they are more than a twentieth apart. A new kernel alone
 * changes a node's memory by less. */
bool node_size_differs(const int64_t a[static RESOURCES], const int64_t b[static RESOURCES]);

#endif
