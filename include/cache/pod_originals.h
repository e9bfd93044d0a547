/*
 * What pods request now, and their originals, which the owner requested for them. If a profile selects the pod's
 * workload, its template tells the originals; else the pod's annotation in which halflife recorded them does. One walk
 * over many pods reads each annotation text once, because the pods of a workload have the same text.
 */
#ifndef HALFLIFE_CACHE_POD_ORIGINALS_H
#define HALFLIFE_CACHE_POD_ORIGINALS_H

#include "base/map.h"
#include "base/mem.h"
#include "cache/pod.h"

/* The annotations read in one walk. Starts as {0}; valid while no pod changes; pod_originals_release ends it. */
struct pod_originals {
        struct arena scratch;
        struct map read;                 /* text -> struct pod_original, in scratch */
        const struct pod_original *last; /* found last: the pods of a workload are neighbours in cache.order */
};

struct pod_asks {
        int64_t original[RESOURCES], requested[RESOURCES]; /* millicores, bytes; 0: nothing */
};

/* What the pod takes of its node (pod_takes), by its originals and by its requests now. Where the annotation cannot be
 * read, the requests of now count as originals. */
void pod_originals_ask(struct pod_originals *all, const struct pod *p, struct pod_asks *ret);
void pod_originals_release(struct pod_originals *all);

#endif
