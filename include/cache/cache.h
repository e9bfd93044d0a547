/*
 * What the controller knows of the cluster, cut down to what it uses. One loop thread owns it. Watches write it (by the
 * *_upsert, *_remove, *_swept functions); everything else reads it. It is level-triggered: links between its parts
 * (owner chains, profiles, targets) are made afresh by cache_relink once a cycle from what is there, so that no order
 * of events can leave them wrong.
 */
#ifndef HALFLIFE_CACHE_CACHE_H
#define HALFLIFE_CACHE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "cache/annotation_command.h"
#include "cache/autoscaler.h"
#include "cache/imported.h"
#include "cache/json_values.h"
#include "cache/keys.h"
#include "cache/labels.h"
#include "cache/namespace.h"
#include "cache/node.h"
#include "cache/pod.h"
#include "cache/profile.h"
#include "cache/recommendation.h"
#include "cache/record_set.h"
#include "cache/target.h"
#include "cache/workload.h"
#include "objects/profile_read.h"

struct cache {
        struct intern *names;
        struct arena scratch; /* for one object being decoded */
        const char *field_manager;
        const char *own_ns;    /* halflife's own namespace: reached only by name */
        bool pod_labels;       /* somebody selects pods by their labels: they are kept; set before the first watch */
        struct map namespaces; /* name -> struct ns */
        struct map pods;       /* "ns/name" -> struct pod */
        struct pod **order;    /* pods by (ns, name), for walking beside the sorted metrics */
        size_t ordered, order_cap;
        struct pod **fresh; /* pods not yet in order */
        size_t freshes, fresh_cap;
        struct pod **dropped; /* pods gone, freed at the next settle */
        size_t droppeds, dropped_cap;
        struct watched_kind *kinds;
        struct map workloads;         /* key -> struct workload */
        struct map uids;              /* uid bytes -> struct workload */
        struct workload *gone;        /* workloads that vanished but are still pointed to */
        struct map autoscalers;       /* key -> struct autoscaler */
        struct map nodes;             /* name -> struct node */
        struct map node_oom_events;   /* node -> struct node_oom_event */
        struct map other_autoscalers; /* "ns/name" -> struct other_autoscaler */
        struct map profiles;          /* key -> struct profile */
        struct map published;         /* "ns/name" -> struct published */
        struct map targets;           /* key -> struct target */
        struct pod *killed;     /* the pod taken in last, where it tells of a kill that is not counted; else NULL */
        bool kills;             /* some pod may tell of one that is not counted */
        struct mono zones_read; /* when the profiles' time zones were read last */
        bool ns_gone;           /* something that held a namespace went: look for those to forget */
        bool changed;           /* links may be other than at the last settle */
        bool turned;            /* a pod began or ended to run where targets follow */
        enum resize_support { RESIZE_UNASKED, RESIZE_ABSENT, RESIZE_SERVED } resize; /* the server's pods/resize */

        /* of dimensions beside Workload (pod_namespace_targets.h) */
        size_t others;                            /* so many targets are */
        const char *whole;                        /* CONTAINER_WHOLE, interned */
        struct watched_kind likeness[DIMENSIONS]; /* their kinds; nobody watches them as workloads */
};

void cache_init(struct cache *w, const char *field_manager, const char *own_ns);
void cache_release(struct cache *w);
/* Make every link afresh: owners, profiles' choices, targets, pods of targets, kills. */
void cache_relink(struct cache *w, struct now now);

#endif
