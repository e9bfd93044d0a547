/*
 * A copy of what halflife has learned about one container. Only the event loop of the halflife that learns holds the
 * original, so a server thread gets such a copy for each answer.
 */
#ifndef HALFLIFE_SNAPSHOT_LEARNED_COPY_H
#define HALFLIFE_SNAPSHOT_LEARNED_COPY_H

#include "core/usage.h"

enum { LEARNED_SOURCES = 32 };
struct learned_copy {
        const char *container;
        uint64_t source[LEARNED_SOURCES]; /* ids of the histories merged into usage (store/transfer.h), this halflife's
                                             own first */
        int sources;
        struct usage usage; /* its buckets point into room, so the struct must not be moved */
        double room[RESOURCES * HISTOGRAM_SUM_BUCKETS];
        struct usage_starts starts; /* usage.starts points here, or is NULL */
};

#endif
