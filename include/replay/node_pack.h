/*
 * Judges requests by the nodes that they take. The entities of a replay become pods, packed each day (UTC) on nodes of
 * one size by their requests at the day's first row. Then their real usage is summed on each node.
 *
 * Packing is first fit decreasing: pods by the larger of their two shares of a node, each on the first node that has
 * room for both resources. A request above the node's size counts as the whole node. A pod counts only on the days at
 * whose first row each policy has a request for it, so that every policy packs the same pods. Entities that ever use
 * more than a node has are left out.
 *
 * Usage comes in slots of five minutes: the mean of CPU, the highest of memory. If the next slot has no row, a slot's
 * usage counts in that next slot too, but no further. A draw is half of the entities, chosen by the draw's number
 * alone.
 */
#ifndef HALFLIFE_REPLAY_NODE_PACK_H
#define HALFLIFE_REPLAY_NODE_PACK_H

#include "replay/replay.h"

enum { NODE_DRAWS_MAX = 100 };

struct node_size {
        double of[RESOURCES]; /* what a node has: cores, bytes; above 0 */
};

/* Where a pod's CPU and memory requests come from. */
enum node_asker {
        NODE_BY_POLICY,   /* requests of a policy of the replay, or of peak (the index after the last policy) */
        NODE_BY_OWNER,    /* requests of the owner (replay.owners); a resource without a figure requests 0 */
        NODE_CLAIRVOYANT, /* requests equal to each pod's highest usage of the day to come */
};

struct node_question {
        struct node_size size;
        enum node_asker asker;
        int policy;          /* index of the policy, for NODE_BY_POLICY */
        enum replay_way way; /* with or without raises, for NODE_BY_POLICY */
        int draw;            /* number of the draw, from 1; 0: all entities are packed */
};

struct node_score {
        int64_t days, nodes; /* days: those on which pods ran; nodes: used on a day, summed over the days */
        int64_t slots;       /* slots, summed over the nodes, in which a pod of the node ran */
        int64_t contended;   /* slots in which pods used more CPU than the node has */
        int64_t exhaustions; /* times at which the memory in use went above what the node has */
};
double node_score_nodes(const struct node_score *s); /* mean number of nodes on a day; 0: nothing was packed */
double node_score_contended(
        const struct node_score *s); /* share of the nodes' time, 0 to 1, in which pods use more CPU than there is */
double node_score_exhaustions(const struct node_score *s); /* memory exhaustions for each node and week */

/* Number of entities that fit a node, and of those that do not and are left out. */
struct node_pods {
        size_t fit, large;
};
struct node_pods node_pack_pods(const struct replay *r, const struct node_size *size);
/* Whether r->owners has the requests of each entity that fits a node. False where no entity fits. */
bool node_pack_has_owners(const struct replay *r, const struct node_size *size);
/* Pack the pods of each day on nodes, and score the nodes. r->keeps_loads must have been true from the first row on. */
void node_pack(const struct replay *r, const struct node_question *q, struct node_score *ret);

#endif
