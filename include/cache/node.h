/*
 * Nodes, reduced to what matters to their pods, and the Events about nodes that were short of memory.
 */
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
        int64_t hot_since_ms[RESOURCES]; /* since when it is hot (node_facts_judge), wall ms; 0: it is not */
        bool ready, unschedulable;
        bool labels_cut; /* it has more labels than are kept: no selector selects it */
        uint16_t labels_size;
        const char *pool; /* value of nodes.pool_label, in texts; NULL: it has none */
        char *texts;      /* labels, "key\0value\0" for each; behind them its taints, "key=value:Effect,…" and NUL */
        struct node_target *whole; /* node_target.h; NULL: no profile selects the node */
        struct node_ring ring;
};
/* NODES_MOST: nodes with facts; for any further node only its pods are known. The others bound the bytes of a node's
 * labels and taints. */
enum { NODES_MOST = 10000, NODE_LABELS_MOST = 8 << 10, NODE_TAINTS_MOST = 1 << 10 };

struct node {
        const char *name; /* interned */
        uint32_t epoch;
        bool known;                           /* the watch has the node; else only pods on it were seen */
        uint32_t sum_place;                   /* place of its sum, while learn/node_sums.c sums */
        bool away;                            /* NotReady or unreachable; or deleted while pods are still on it */
        LIST_HEAD(, pod) pods;                /* the pods on the node */
        int64_t turned_ms;                    /* when `away` last changed, wall ms; 0: not known */
        struct amount allocatable[RESOURCES]; /* unset: not known */
        struct node_facts *facts; /* NULL: only pods on it were seen, or there are more than NODES_MOST nodes */
};

/* The pool of a node, "" where it has none; n may be NULL. */
static inline const char *node_pool(const struct node *n)
{
        return n && n->facts && n->facts->pool ? n->facts->pool : "";
}

struct nodes {
        struct map by_name;     /* name -> struct node */
        const char *pool_label; /* label whose value names the pool of a node; NULL: none */
        size_t with_facts;      /* how many of them have facts */
        bool targets;           /* profiles select nodes, so one that comes, goes or changes may change targets */
};

/* latest: a later time comes from a wrong clock */
int node_oom_event_upsert(struct cache *w, struct wall latest, struct text json, uint32_t epoch, struct err *err);
/* does nothing: the node was short of memory, even when the Event is gone */
void node_oom_event_remove(struct cache *w, struct text json);
void node_oom_event_swept(struct cache *w, uint32_t epoch);
void node_oom_events_release(struct cache *w);
/* Was the pod's node short of memory at about that time? */
bool node_oom_event_of(const struct cache *w, const struct pod *p, struct wall at);
struct node *node_get(struct cache *w,
                      struct text name); /* made when there is none; then it has neither pods nor facts */
int node_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void node_remove(struct cache *w, struct text json);
void node_swept(struct cache *w, uint32_t epoch);
void node_take(struct cache *w, struct pod *p, struct text name); /* put a pod on its node; an unknown node is made */
void node_give(struct cache *w, struct pod *p);                   /* take a pod off its node, if it has one */
void nodes_release(struct cache *w);                              /* after the pods */
/*
 * The memory, in bytes, that all containers on a node used together, without one of them. Counts the last samples
 * before `at`, at most fresh_ms older. -1: some container has no such sample.
 */
int64_t node_others_used(const struct node *n, const struct pod_container *but, struct wall at, int64_t fresh_ms);

/* --- the facts of a node (node_facts.c) --- */

/* The node's facts, made where it has none; NULL: NODES_MOST nodes have theirs. */
struct node_facts *node_facts_get(struct cache *w, struct node *n);
/* Take the node's facts from its object. A changed capacity means another machine, so its samples are dropped. */
void node_facts_read(struct cache *w, struct node *n, const struct node_view *v);
void node_facts_free(struct cache *w, struct node *n);
/* Judge after a poll whether the node is hot in a resource. Returns whether it has become so. */
bool node_facts_judge(struct node_facts *f, enum resource r, int percent, struct wall now);
const char *node_facts_taints(const struct node_facts *f); /* "": none */

/* --- the samples of nodes (node_samples.c) --- */

/* The rings of all nodes as text for the database, and back. print adds as many nodes as out has room for. parse is for
 * the start, before nodes are listed; those that are not listed then are forgotten (node_swept). latest: the later of
 * both clocks. ERR_INVALID: the text is damaged; what was read of it stays. */
void node_samples_print(const struct cache *w, struct wall now, struct buf *out);
int node_samples_parse(struct cache *w, struct text text, struct wall latest, struct err *err);

#endif
