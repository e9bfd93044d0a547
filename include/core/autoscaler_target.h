/*
 * The target of a utilization metric, moved as the requests move, so that the same usage still makes as many pods. It
 * is usage divided by request that an autoscaler compares with its target: where requests fall, the target rises by the
 * same factor.
 */
#ifndef HALFLIFE_CORE_AUTOSCALER_TARGET_H
#define HALFLIFE_CORE_AUTOSCALER_TARGET_H

#include "core/amount.h"

/* What an averageUtilization may be, in per cent. */
enum { RETUNE_LEAST = 1, RETUNE_MOST = INT32_MAX };

/* Sums over the containers that a metric counts, in all pods that run: in millicores or bytes. */
struct retune_sum {
        __int128 original, request;
        bool unknown; /* a container asks for nothing: no autoscaler can tell its utilization */
};
void retune_add(struct retune_sum *s, struct amount original, struct amount request);

/*
 * round(old * sum of originals / sum of requests), half a per cent up, within what a target may be; exact integers.
 * old (at least 1) where nothing is known: no container, or one that asks for nothing.
 */
int64_t retune_target(int64_t old, const struct retune_sum *s);

/* Whose a target is: as it stands, and as our annotations beside it record it. */
struct retune_facts {
        int64_t live;
        struct amount recorded; /* what it was before us; unset: we wrote none */
        struct amount applied;  /* what we made of it */
};
struct retune_origin {
        int64_t original; /* what its owner wants it to be, of requests as their owner wants them */
        bool ours;        /* it stands where we put it */
        bool reset;       /* we moved it, and somebody put it back */
};
struct retune_origin retune_origin(const struct retune_facts *f);

#endif
