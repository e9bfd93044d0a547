/*
 * The memory heaps of language runtimes that workloads' templates bound, as by options of a JVM (core/runtime_heap.h).
 * Few workloads have any.
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
/* The heap that the template bounds for a container, whose name is interned; {0}: the template bounds none. */
struct runtime_heap runtime_heaps_find(const struct runtime_heaps *h, const char *container);

#endif
