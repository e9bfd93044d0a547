/*
 * What requests mean for nodes. The entities of a replay become pods, packed each day (UTC) on nodes of one size by
 * their requests at the day's first row. Then their real usage is summed on each node.
 *
 * Packing is first fit decreasing: pods by the larger of their two shares of a node, each on the first node that has
 * room for both resources. A request above the node's size counts as the whole node. A pod counts on a day at whose
 * first row each policy has a request for it, and on no other, so that all are packed with the same pods. Entities that
 * ever use more than a node has are left out.
 *
 * Usage comes in slots of five minutes: the mean of CPU, the highest of memory. If the next slot has no row, the usage
 * counts for it too, but no further. A draw is half of the entities, chosen by the draw's number alone.
 */
#ifndef HALFLIFE_REPLAY_NODE_PACK_H
#define HALFLIFE_REPLAY_NODE_PACK_H

#include "replay/replay.h"

enum { NODE_DRAWS_MAX = 100 };

struct node_size {
        double of[RESOURCES]; /* cores, bytes; above 0 */
};

/* Who decides what a pod asks for. */
enum node_asker {
        NODE_BY_POLICY,   /* a policy of the replay, also peak (the index after the last policy) */
        NODE_BY_OWNER,    /* as the owner said (replay.owners); a resource without a figure asks for 0 */
        NODE_CLAIRVOYANT, /* each pod's highest usage of the day to come */
};

struct node_question {
        struct node_size size;
        enum node_asker asker;
        int policy;          /* of NODE_BY_POLICY */
        enum replay_way way; /* of NODE_BY_POLICY */
        int draw;            /* from 1; 0: all entities */
};

struct node_score {
        int64_t days, nodes; /* days on which pods ran; nodes, summed over the days */
        int64_t slots;       /* slots, summed over the nodes, in which a pod of the node ran */
        int64_t contended;   /* slots in which pods used more CPU than the node has */
        int64_t exhaustions; /* times at which the memory in use went above what the node has */
};
double node_score_nodes(const struct node_score *s);       /* nodes a day; 0: nothing was packed */
double node_score_contended(const struct node_score *s);   /* share of the nodes' time */
double node_score_exhaustions(const struct node_score *s); /* a node-week */

/* Number of entities that fit a node, and of those that do not and are left out. */
struct node_pods {
        size_t fit, large;
};
struct node_pods node_pack_pods(const struct replay *r, const struct node_size *size);
/* Whether the owner said what each entity that fits asks for. */
bool node_pack_has_owners(const struct replay *r, const struct node_size *size);
/* Pack and score. The replay must have been set to keep loads. */
void node_pack(const struct replay *r, const struct node_question *q, struct node_score *ret);

#endif
