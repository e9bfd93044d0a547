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

/* The labels of one object. The pairs may be shared with other objects, so nobody changes them. */
struct labels {
        const struct label_pair *pair;
        size_t count;
};

/* Set *l to a kept copy of the labels `pair`, which equal sets share. The labels that *l had are released. `sets`: all
 * kept sets of labels (cache.label_sets), by the texts of a set. */
void labels_set(struct map *sets, struct labels *l, const struct label_pair *pair, size_t count);
/* Do labels_set only where `pair` differs from *l. Returns whether it differs. */
bool labels_keep(struct map *sets, struct labels *l, const struct label_pair *pair, size_t count);
void labels_release(struct map *sets, struct labels *l);

#endif
