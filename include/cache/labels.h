/*
 * The labels of objects. Equal sets of labels are kept once: those of a workload's pods are equal, and a Recommendation
 * has those of its workload.
 */
#ifndef HALFLIFE_CACHE_LABELS_H
#define HALFLIFE_CACHE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "core/label_selector.h"
#include "objects/decode.h"

/* The pairs may be shared with other objects, so nobody changes them. */
struct labels {
        const struct label_pair *pair;
        size_t count;
};

/* sets: all sets of labels that are kept (cache.label_sets), from the texts of a set to the set. */
void labels_set(struct map *sets, struct labels *l, const struct label_pair *pair, size_t count);
/* The same only where they differ; returns whether they do. */
bool labels_keep(struct map *sets, struct labels *l, const struct label_pair *pair, size_t count);
void labels_release(struct map *sets, struct labels *l);

#endif
