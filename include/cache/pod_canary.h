/*
 * A pod canary: some of a workload's pods get the newly applied requests first. The other pods, and new pods, keep the
 * requests from before. It ends with the next target_set_applied, or with pod_canary_end.
 */
#ifndef HALFLIFE_CACHE_POD_CANARY_H
#define HALFLIFE_CACHE_POD_CANARY_H

#include "cache/cache.h"

struct pod_canary {
        char *containers;       /* JSON of status.canary.rest: the requests from before */
        struct record_set rest; /* the same, decoded */
};

/* takes over rest, JSON as in status.canary.rest */
void pod_canary_begin(struct cache *w, struct target *t, char *rest);
void pod_canary_end(struct cache *w, struct target *t); /* allowed without a pod canary */
/* The requests of a container in the other pods, while a pod canary is under way; NULL: their originals. */
const struct record_row *pod_canary_baseline(const struct target *t, const char *container);

#endif
