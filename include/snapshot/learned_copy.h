/*
 * What only the learner's loop knows of one container, copied for one answer.
 */
#ifndef HALFLIFE_SNAPSHOT_LEARNED_COPY_H
#define HALFLIFE_SNAPSHOT_LEARNED_COPY_H

#include "core/usage.h"

enum { LEARNED_SOURCES = 32 };
struct learned_copy {
        const char *container;
        uint64_t source[LEARNED_SOURCES]; /* whose samples it holds (store/transfer.h), itself first */
        int sources;
        struct usage usage; /* its buckets are in room: a copy stays where it was made */
        double room[2 * HISTOGRAM_BUCKETS];
};

#endif
