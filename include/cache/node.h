/* Nodes as watched, with the facts that matter to their pods, and the Events about nodes that were short of memory. */
#ifndef HALFLIFE_CACHE_NODE_H
#define HALFLIFE_CACHE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/map.h"
#include "base/text.h"
#include "core/amount.h"
#include "core/node_ring.h"

struct cache;
struct node_view;
struct node_target;
struct pod;
struct pod_container;

/* The facts of a node itself, apart from its pods. */
struct node_facts {
        int64_t capacity[RESOURCES];     /* millicores, bytes; 0: not known */
        int64_t hot_since_ms[RESOURCES]; /* since when the node is hot (node_facts_judge), wall ms; 0: it is not hot */
        bool ready, unschedulable;
        bool labels_cut;      /* the node has more labels than are kept: no selector selects it */
        uint16_t labels_size; /* bytes of the labels in `texts` */
        const char *pool;     /* the node's value of the label nodes.pool_label, in `texts`; NULL: none */
        char *texts; /* labels, "key\0value\0" for each; behind them the taints, "key=value:Effect,…" and NUL */
        struct node_target *whole; /* node_target.h; NULL: no profile selects the node */
        struct node_ring ring;
};
/* NODES_MOST: the most nodes with facts; of any further node only the pods are known. NODE_LABELS_MOST and
 * NODE_TAINTS_MOST: the most bytes of one node's labels and taints. */
enum { NODES_MOST = 10000, NODE_LABELS_MOST = 8 << 10, NODE_TAINTS_MOST = 1 << 10 };

struct node {
        const char *name; /* interned */
        uint32_t epoch;
        bool known;                           /* the watch has the node; else only pods on it were seen */
        uint32_t sum_place;                   /* place of the node's sum of usage, while learn/node_sums.c sums */
        bool away;                            /* NotReady or unreachable; or deleted while pods are still on it */
        LIST_HEAD(, pod) pods;                /* the pods on the node */
        int64_t turned_ms;                    /* when `away` last changed, wall ms; 0: not known */
        struct amount allocatable[RESOURCES]; /* millicores, bytes for pods; unset: not known */
        struct node_facts *facts; /* NULL: only pods on it were seen, or there are more than NODES_MOST nodes */
};

/* The name of a node's pool; "": the node has none, or `n` is NULL. */
static inline const char *node_pool(const struct node *n)
{
        return n && n->facts && n->facts->pool ? n->facts->pool : "";
}

struct nodes {
        struct map by_name;     /* name -> struct node */
        const char *pool_label; /* label whose value names the pool of a node; NULL: none */
        size_t with_facts;      /* how many nodes have facts */
        bool targets;           /* some profile may select nodes, so a node that comes, goes or changes may change
                                   targets */
};

/* Take an Event about a node that was short of memory. `latest`: a later time comes from a wrong clock. */
int node_oom_event_upsert(struct cache *w, struct wall latest, struct text json, uint32_t epoch, struct err *err);
/* Does nothing: a node was short of memory even when the Event that reported it is gone. */
void node_oom_event_remove(struct cache *w, struct text json);
void node_oom_event_swept(struct cache *w, uint32_t epoch);
void node_oom_events_release(struct cache *w);
/* Did an Event report that the pod's node was short of memory within five minutes of `at`? */
bool node_oom_event_of(const struct cache *w, const struct pod *p, struct wall at);
struct node *node_get(struct cache *w, struct text name); /* an unknown node is made, with neither pods nor facts */
int node_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void node_remove(struct cache *w, struct text json);
void node_swept(struct cache *w, uint32_t epoch);
void node_take(struct cache *w, struct pod *p, struct text name); /* put a pod on its node; an unknown node is made */
void node_give(struct cache *w, struct pod *p);                   /* take a pod off its node, if it has one */
void nodes_release(struct cache *w);                              /* frees all nodes; call it after pods_release */
/* The memory, in bytes, that all containers on a node but the container `but` used together at the time `at`, by their
 * last samples before `at`, at most fresh_ms older. A container too young for a sample counts with its request. -1:
 * some container's use is not known. */
int64_t node_others_used(const struct node *n, const struct pod_container *but, struct wall at, int64_t fresh_ms);

/* --- the facts of a node (node_facts.c) --- */

/* The node's facts. A node without facts gets empty ones; NULL: NODES_MOST other nodes have facts. */
struct node_facts *node_facts_get(struct cache *w, struct node *n);
/* Take the node's facts from its object. A changed capacity means another machine, so the old samples are dropped. */
void node_facts_read(struct cache *w, struct node *n, const struct node_view *v);
void node_facts_free(struct cache *w, struct node *n);
/* Judge after a poll whether the node is hot in a resource: many samples above that percentage of its capacity. Returns
 * whether the node has become hot. */
bool node_facts_judge(struct node_facts *f, enum resource r, int percent, struct wall now);
const char *node_facts_taints(const struct node_facts *f); /* the node's taints as text; "": none */

/* --- the samples of nodes (node_samples.c) --- */

/* The rings of all nodes as text for the database, and back. node_samples_print adds as many nodes as `out` has room
 * for. node_samples_parse is for the start, before nodes are listed; nodes that the list then lacks are forgotten
 * (node_swept). `latest`: the later of both clocks. ERR_INVALID: the text is damaged; the nodes read from it stay. */
void node_samples_print(const struct cache *w, struct wall now, struct buf *out);
int node_samples_parse(struct cache *w, struct text text, struct wall latest, struct err *err);

#endif
