/*
 * What is set on a workload's pods is tried on some of them first: those have what was applied last, the others and new
 * ones what stood before. It ends with the next target_set_applied, or pod_canary_end.
 */
#ifndef HALFLIFE_CACHE_POD_CANARY_H
#define HALFLIFE_CACHE_POD_CANARY_H

#include "cache/cache.h"

struct pod_canary {
        char *containers;       /* JSON of status.canary.rest: what stood before */
        struct record_set rest; /* the same, read */
};

void pod_canary_begin(struct cache *w, struct target *t, char *rest); /* JSON as of status.canary.rest, taken over */
void pod_canary_end(struct cache *w, struct target *t);               /* nothing where there is none */
/* What pods of a container have that are not tried on, where there is a trial; NULL: their originals. */
const struct record_row *pod_canary_resting(const struct target *t, const char *container);

#endif
