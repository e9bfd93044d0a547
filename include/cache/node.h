/*
 * Nodes, reduced to what matters to their pods, and the Events about nodes that were short of memory.
 */
#ifndef HALFLIFE_CACHE_NODE_H
#define HALFLIFE_CACHE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"
#include "base/text.h"
#include "core/amount.h"

struct cache;
struct pod;
struct pod_container;

struct node {
        const char *name; /* interned */
        uint32_t epoch;
        bool known;                /* the watch has the node; else only pods on it were seen */
        bool away;                 /* NotReady or unreachable; or deleted while pods are still on it */
        LIST_HEAD(, pod) pods;     /* the pods on the node */
        int64_t turned_ms;         /* when `away` last changed, wall ms; 0: not known */
        struct amount allocatable; /* memory, bytes; unset: not known */
};

/* latest: a later time comes from a wrong clock */
int node_oom_event_upsert(struct cache *w, struct wall latest, struct text json, uint32_t epoch, struct err *err);
/* does nothing: the node was short of memory, even when the Event is gone */
void node_oom_event_remove(struct cache *w, struct text json);
void node_oom_event_swept(struct cache *w, uint32_t epoch);
void node_oom_events_release(struct cache *w);
/* Was the pod's node short of memory at about that time? */
bool node_oom_event_of(const struct cache *w, const struct pod *p, struct wall at);
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

#endif
