/*
 * What pods request, and what their owners requested for them: as the template of their workload has it, if a profile
 * selects that, else by the pod's annotation in which halflife recorded it. One walk over many pods reads each
 * annotation once: the pods of a workload share its text.
 */
#ifndef HALFLIFE_CACHE_POD_ORIGINALS_H
#define HALFLIFE_CACHE_POD_ORIGINALS_H

#include "base/map.h"
#include "base/mem.h"
#include "cache/pod.h"

/* {0} to begin with. Valid while no pod changes. */
struct pod_originals {
        struct arena scratch;
        struct map read;                 /* text -> struct pod_original, in scratch */
        const struct pod_original *last; /* the pods of a workload come one after the other in cache.order */
};

struct pod_asks {
        int64_t original[RESOURCES], requested[RESOURCES]; /* millicores, bytes; 0: nothing */
};

/* What the pod takes of its node (pod_takes). Where the annotation cannot be read, the requests count as they are. */
void pod_originals_ask(struct pod_originals *all, const struct pod *p, struct pod_asks *ret);
void pod_originals_release(struct pod_originals *all);

#endif
