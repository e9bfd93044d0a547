/*
 * Readers: variables and files by which a workload's containers get their own requests from Kubernetes
 * (core/request_reading.h). Few workloads have such a reader.
 */
#ifndef HALFLIFE_CACHE_REQUEST_READERS_H
#define HALFLIFE_CACHE_REQUEST_READERS_H

#include "core/amount.h"
#include "objects/decode.h"

struct cache;

struct request_reader {
        const char *container; /* interned: the container whose request is read */
        enum resource resource;
        int64_t divisor;  /* millicores or bytes: the reader gets the request divided by this, rounded up */
        const char *text; /* interned: the reader, in words */
};

struct request_readers {
        struct request_reader *row;
        int rows;
};

struct request_readers request_readers_read(struct cache *w, const struct container_view *c, int count);
void request_readers_release(struct cache *w, struct request_readers *r);
/* The reader of a container's request; NULL: nothing reads the request. `container` is interned. */
const struct request_reader *request_readers_find(const struct request_readers *r, const char *container,
                                                  enum resource resource);

#endif
