/*
 * The tables of watches: a row for each watch, with the functions that take its objects into the cache.
 */
#include "informers_private.h"

/* --- into the cache --- */

#define OF_CACHE(name)                                                                                                 \
        static int name##_in(struct watch *w, struct text object, uint32_t epoch, struct err *err)                     \
        {                                                                                                              \
                return name##_upsert(&w->all->parts->cache, object, epoch, err);                                       \
        }                                                                                                              \
        OUT_OF_CACHE(name)
#define OUT_OF_CACHE(name)                                                                                             \
        static void name##_out(struct watch *w, struct text object)                                                    \
        {                                                                                                              \
                name##_remove(&w->all->parts->cache, object);                                                          \
        }                                                                                                              \
        static void name##_whole(struct watch *w, uint32_t epoch)                                                      \
        {                                                                                                              \
                name##_swept(&w->all->parts->cache, epoch);                                                            \
        }
OF_CACHE(ns)
OF_CACHE(range)
OF_CACHE(quota)
OF_CACHE(hpa)
OF_CACHE(scaled_object)
OF_CACHE(published)
OF_CACHE(other_autoscaler)
OF_CACHE(node)
OF_CACHE(pod)
OF_CACHE(evicted)
OUT_OF_CACHE(node_oom_event)

static int node_oom_event_in(struct watch *w, struct text object, uint32_t epoch, struct err *err)
{
        struct parts *parts = w->all->parts;
        return node_oom_event_upsert(&parts->cache, clock_skew_latest(parts->skew), object, epoch, err);
}

static bool watch_is_of_cluster(const struct watch *w)
{
        return !known_resources[w->row->of].namespaced;
}

static int profile_in(struct watch *w, struct text object, uint32_t epoch, struct err *err)
{
        return profile_upsert(&w->all->parts->cache, watch_is_of_cluster(w), object, epoch, err);
}

static void profile_out(struct watch *w, struct text object)
{
        profile_remove(&w->all->parts->cache, watch_is_of_cluster(w), object);
}

static void profile_whole(struct watch *w, uint32_t epoch)
{
        profile_swept(&w->all->parts->cache, watch_is_of_cluster(w), epoch);
}

static int workload_in(struct watch *w, struct text object, uint32_t epoch, struct err *err)
{
        return workload_upsert(&w->all->parts->cache, w->kind, object, epoch, err);
}

/* Drop a removed workload from the cache, and start a pass at once: it decides anew about workloads and pods that the
 * removed one owned. */
static void workload_out(struct watch *w, struct text object)
{
        workload_remove(&w->all->parts->cache, w->kind, object);
        schedule_pass(w->all->parts->leadership);
}

static void workload_whole(struct watch *w, uint32_t epoch)
{
        workload_swept(&w->all->parts->cache, w->kind, epoch);
}

/* --- the tables --- */

#define INTO(name) name##_in, name##_out, name##_whole, NULL, NULL
#define PART(name) name##_in, name##_out, name##_whole

const struct watch_row watch_rows[] = {
        {KNOWN_NAMESPACES, WATCH_NEEDED | WATCH_BY_REPLICA, INTO(ns)},
        {KNOWN_LIMITRANGES, WATCH_NEEDED | WATCH_BY_REPLICA, INTO(range)},
        {KNOWN_HPAS, WATCH_NEEDED | WATCH_BY_REPLICA | WATCH_DECIDES, INTO(hpa)},
        {KNOWN_CLUSTERPROFILES, WATCH_BY_REPLICA | WATCH_DECIDES, INTO(profile)},
        {KNOWN_PROFILES, WATCH_BY_REPLICA | WATCH_DECIDES, INTO(profile)},
        {KNOWN_RECOMMENDATIONS, WATCH_BY_REPLICA, INTO(published)},
        {KNOWN_RESOURCEQUOTAS, WATCH_NEEDED, INTO(quota)},
        {KNOWN_PODS, WATCH_KILLS, INTO(pod)},
        {KNOWN_NODES, WATCH_HINT, INTO(node)},
        {KNOWN_EVENTS, WATCH_HINT, PART(node_oom_event), "events of nodes",
         "fieldSelector=involvedObject.kind%3DNode%2Creason%3DSystemOOM"},
        {KNOWN_EVENTS, WATCH_HINT | WATCH_KILLS, PART(evicted), "events of pods (Evicted)",
         "fieldSelector=involvedObject.kind%3DPod%2Creason%3DEvicted"},
};
const size_t watch_rows_count = sizeof watch_rows / sizeof watch_rows[0];

const struct watch_row watch_rows_foreign[FOREIGN_KINDS] = {
        {KNOWN_VPAS, WATCH_NEEDED | WATCH_DECIDES, INTO(other_autoscaler)},
        {KNOWN_SCALEDOBJECTS, WATCH_NEEDED | WATCH_DECIDES, INTO(scaled_object)},
};

const struct watch_row watch_row_workloads = {KNOWN_RESOURCES, 0, INTO(workload)};

/* --- taking in --- */

/* Clear cache.changed, so that the upsert of this object sets it only if the object's change matters, as a change of
 * an HPA's or a profile's status does not. Returns the former value of cache.changed. */
static bool watch_take_begin(struct watch *w)
{
        return cache_take_changed(&w->all->parts->cache);
}

static void watch_take_end(struct watch *w, bool before)
{
        struct parts *parts = w->all->parts;
        if (w->row->flags & WATCH_KILLS)
                oom_seen_now(parts->learner);
        bool decides = w->row->flags & WATCH_DECIDES || parts->options.replica;
        bool turned = cache_take_turned(&parts->cache);
        if ((decides && parts->cache.changed) || turned)
                schedule_pass(parts->leadership);
        if (before)
                cache_set_changed(&parts->cache);
}

static int watch_upsert(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watch *w = arg;
        bool before = watch_take_begin(w);
        int rc = w->row->upsert(w, object, epoch, err);
        watch_take_end(w, before);
        return rc;
}

static void watch_remove(void *arg, struct text object)
{
        struct watch *w = arg;
        bool before = watch_take_begin(w);
        w->row->remove(w, object);
        watch_take_end(w, before);
}

void watch_sweep(struct watch *w, uint32_t epoch)
{
        w->row->swept(w, epoch);
        schedule_pass(w->all->parts->leadership);
}

static void watch_swept(void *arg, uint32_t epoch)
{
        watch_sweep(arg, epoch);
}

struct informer_owner watch_owner(struct watch *w)
{
        return (struct informer_owner){.upsert = watch_upsert, .remove = watch_remove, .swept = watch_swept, .arg = w};
}
