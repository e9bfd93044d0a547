/*
 * The labels of an object.
 */
#ifndef HALFLIFE_CACHE_LABELS_H
#define HALFLIFE_CACHE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/label_selector.h"
#include "objects/decode.h"

/* Keys and values are in the same memory block as the array. */
struct labels {
        struct label_pair *pair;
        size_t count;
};

void labels_set(struct labels *l, const struct label_pair *pair, size_t count);
/* The same only where they differ; returns whether they do. */
bool labels_keep(struct labels *l, const struct label_pair *pair, size_t count);
void labels_release(struct labels *l);

#endif
