/*
 * Nodes as far as they matter to their pods, and Events of nodes that were short of memory.
 */
#ifndef HALFLIFE_CACHE_NODE_H
#define HALFLIFE_CACHE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "core/amount.h"

struct cache;
struct pod;
struct pod_container;

/* A node as far as it matters to its pods. */
struct node {
        const char *name; /* interned */
        uint32_t epoch;
        bool known;        /* the watch has it; else only pods on it were seen */
        bool away;         /* NotReady or unreachable; or the watch had it, has it no more, and pods are on it still */
        struct pod *first; /* of the pods on it, by next_on_node; NULL: none */
        int64_t turned_ms; /* since when it is away, or is not; 0: it does not tell */
        struct amount allocatable; /* memory, bytes; unset: not known */
};

/* latest: later times are of a clock that is wrong */
int node_oom_event_upsert(struct cache *w, struct wall latest, struct text json, uint32_t epoch, struct err *err);
void node_oom_event_remove(struct cache *w, struct text json); /* an Event that is over: what it told stands */
void node_oom_event_swept(struct cache *w, uint32_t epoch);
void node_oom_events_release(struct cache *w);
/* Was its node short of memory about then? */
bool node_oom_event_of(const struct cache *w, const struct pod *p, struct wall at);
int node_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void node_remove(struct cache *w, struct text json);
void node_swept(struct cache *w, uint32_t epoch);
void node_take(struct cache *w, struct pod *p, struct text name); /* a pod is on it; made when unknown */
void node_give(struct cache *w, struct pod *p);                   /* a pod goes; one of no node: nothing */
void nodes_release(struct cache *w);                              /* after the pods */
/*
 * Bytes that all containers of a node but one used together, by their last samples before that time and at most
 * fresh_ms older. -1: some of them were not measured.
 */
int64_t node_others_used(const struct node *n, const struct pod_container *but, struct wall at, int64_t fresh_ms);

#endif
