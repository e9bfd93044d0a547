/*
 * A pod canary: some of a workload's pods get the newly applied requests first. The other pods, and new pods, keep the
 * requests from before. The pod canary ends with the next target_set_applied, or with pod_canary_end.
 */
#ifndef HALFLIFE_CACHE_POD_CANARY_H
#define HALFLIFE_CACHE_POD_CANARY_H

#include "cache/cache.h"

struct pod_canary {
        char *containers;       /* JSON of status.canary.rest: the requests from before, which the other pods keep */
        struct record_set rest; /* these requests, decoded */
};

/* Begin a pod canary. Takes over `rest`: the requests that the other pods keep, as JSON of status.canary.rest. */
void pod_canary_begin(struct cache *w, struct target *t, char *rest);
void pod_canary_end(struct cache *w, struct target *t); /* does nothing if no pod canary is under way */
/* The requests that a container keeps in the pods outside the pod canary; NULL: no pod canary is under way, or these
 * pods keep the container's originals. */
const struct record_row *pod_canary_baseline(const struct target *t, const char *container);

#endif
