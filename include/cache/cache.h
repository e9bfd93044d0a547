/*
 * The cluster as watched, reduced to what halflife uses. The loop thread owns the cache. Watches write it, through the
 * functions *_upsert, *_remove and *_swept. The cache is level-triggered: once a cycle, cache_relink makes the links
 * between its parts (owner chains, profiles, targets) afresh. So no order of events can leave wrong links.
 */
#ifndef HALFLIFE_CACHE_CACHE_H
#define HALFLIFE_CACHE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "cache/annotation_command_read.h"
#include "cache/autoscaler.h"
#include "cache/imported_sources.h"
#include "cache/json_values.h"
#include "cache/labels.h"
#include "cache/namespace.h"
#include "cache/node.h"
#include "cache/object_keys.h"
#include "cache/pod.h"
#include "cache/profile.h"
#include "cache/recommendation.h"
#include "cache/record_set.h"
#include "cache/target.h"
#include "cache/watched_kind.h"
#include "cache/workload.h"
#include "objects/decode_profile.h"

struct bookkeeping;
struct change_log;

/* The bookkeeping of what pods ask for (cache/bookkeeping.h). The cache calls before_change before a pod changes. NULL:
 * nothing is booked. */
struct cache_books {
        struct bookkeeping *of;
        void (*before_change)(struct bookkeeping *of, struct pod *p);
        struct change_log *changes; /* change_log.h; NULL: no change was logged */
};

struct pod_list {
        struct pod **of;
        size_t count, cap;
};

struct cached_zones {
        struct map by_name; /* name -> struct cached_zone */
        struct mono read;   /* when the time zones of all profiles were read last */
};

struct cache {
        struct intern *names;
        struct map label_sets; /* the sets of labels of all objects (cache/labels.h) */
        struct arena scratch;  /* for decoding one object; the function that allocates from it resets it */
        const char *field_manager;
        const char *own_ns; /* halflife's own namespace: cluster profiles select it only by its name; NULL: not known */
        /* Namespaces in which halflife changes nothing, beside its own: names with commas between; NULL: none. */
        const char *exempt_namespaces;
        struct cache_books books;
        bool pod_labels;       /* keep the labels of pods, for label selectors; set before the first watch */
        struct map namespaces; /* name -> struct ns */
        struct map pods;       /* "ns/name" -> struct pod */
        struct pod **order;    /* pods by (ns, name), for walking beside the sorted metrics */
        size_t ordered, order_cap;
        struct pod **fresh; /* pods not yet in order */
        size_t freshes, fresh_cap;
        struct pod_list dropped; /* pods that are gone; freed by pods_free_dropped, once their kills are counted */
        struct watched_kind *kinds;
        struct map kinds_by_key; /* "group/Kind" -> struct watched_kind */
        bool kinds_renamed;      /* the profiles of some kind_share may name other kinds (it is stale) */
        bool kinds_recommended;  /* Recommendations name other kinds than at the last settle */
        struct kind_share named; /* kinds that ClusterProfiles name */
        struct map workloads;    /* key -> struct workload */
        struct map uids;         /* uid bytes -> struct workload */
        struct workload *gone;   /* workloads that vanished but are still pointed to */
        struct map autoscalers;  /* key -> struct autoscaler */
        struct nodes nodes;
        struct map node_oom_events;   /* node -> struct node_oom_event */
        struct map other_autoscalers; /* "ns/name" -> struct other_autoscaler */
        struct map profiles;          /* key -> struct profile */
        struct cached_zones zones;
        struct map specs;               /* digest -> struct shared_profile_spec */
        struct profile_list of_cluster; /* the ClusterProfiles; Profiles are in their struct ns */
        struct map published;           /* "ns/name" -> struct published */
        struct map targets;             /* key -> struct target */
        struct pod *killed;             /* the pod written last, if it has a kill that is not counted yet; else NULL */
        bool kills;                     /* some pod may have a kill that is not counted yet */
        bool ns_gone;                   /* an object was removed from some namespace: namespaces_sweep is due */
        bool changed;                   /* links may differ from those of the last cache_relink */
        bool turned; /* a pod started or stopped in a namespace where autoscaler targets follow requests */
        /* whether the API server serves the subresource pods/resize */
        enum resize_support { RESIZE_UNASKED, RESIZE_ABSENT, RESIZE_SERVED } resize;

        /* dimensions Pod, Namespace (pod_namespace_targets.h) and Node (node_target.h) */
        size_t others[DIMENSIONS];                 /* number of targets in each dimension */
        const char *whole;                         /* CONTAINER_WHOLE, interned */
        struct watched_kind synthetic[DIMENSIONS]; /* kinds of their synthetic workloads; not in `kinds` */
};

void cache_init(struct cache *w, const char *field_manager, const char *own_ns);
void cache_release(struct cache *w);
/* Make every link afresh: owners, chosen profiles, targets, pods of targets, kills. */
void cache_relink(struct cache *w, struct now now);

/* --- written by other modules; functions *_take_* return the field's value and reset the field --- */

void cache_set_pod_labels(struct cache *w, bool kept); /* call it before the first watch */
void cache_set_resize(struct cache *w, enum resize_support resize);
bool cache_take_changed(struct cache *w);
void cache_set_changed(struct cache *w);
bool cache_take_turned(struct cache *w);
bool cache_take_kills(struct cache *w);
void cache_set_kills(struct cache *w);
struct pod *cache_take_killed(struct cache *w); /* NULL: the pod written last has no uncounted kill */

#endif
