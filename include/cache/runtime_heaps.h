/*
 * The heaps that the templates of few workloads bound (core/runtime_heap.h).
 */
#ifndef HALFLIFE_CACHE_RUNTIME_HEAPS_H
#define HALFLIFE_CACHE_RUNTIME_HEAPS_H

#include "core/runtime_heap.h"
#include "objects/decode.h"

struct cache;

struct runtime_heaps {
        struct runtime_heap_row {
                const char *container; /* interned */
                struct runtime_heap heap;
        } * row;
        int rows;
};

struct runtime_heaps runtime_heaps_read(struct cache *w, const struct container_view *c, int count);
void runtime_heaps_release(struct cache *w, struct runtime_heaps *h);
/* A heap of {0} where the template says nothing. container is interned. */
struct runtime_heap runtime_heaps_find(const struct runtime_heaps *h, const char *container);

#endif
