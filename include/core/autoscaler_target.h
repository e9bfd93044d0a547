/*
 * The utilization target of a HorizontalPodAutoscaler, retuned when halflife changes requests. The autoscaler compares
 * usage / request with its target. Where requests fall by some factor, the target has to rise by the same factor, so
 * that the same usage still makes the same number of pods.
 */
#ifndef HALFLIFE_CORE_AUTOSCALER_TARGET_H
#define HALFLIFE_CORE_AUTOSCALER_TARGET_H

#include "core/amount.h"

/* The bounds of a retuned averageUtilization, in per cent. */
enum { RETUNE_LEAST = 1, RETUNE_MOST = INT32_MAX };

/* Sums of originals and requests over all containers that the autoscaler's metric counts, in all running pods;
 * millicores or bytes. Begin with {0}. */
struct retune_sum {
        __int128 original, request;
        bool unknown; /* a container has no request, so no autoscaler can compute the utilization */
};
/* Add one container's original and request. An unset original counts as equal to the request. */
void retune_add(struct retune_sum *s, struct amount original, struct amount request);

/*
 * The retuned utilization target in per cent: round(old * sum of originals / sum of requests), clamped to RETUNE_LEAST
 * .. RETUNE_MOST. Half a per cent rounds up; all arithmetic is in exact integers. Returns old (at least 1) if no
 * container was added, or if a container has no request.
 */
int64_t retune_target(int64_t old, const struct retune_sum *s);

/* The utilization target in an autoscaler, and what halflife's annotations there record about that target; in per
 * cent. */
struct retune_facts {
        int64_t live;           /* the autoscaler's utilization target now */
        struct amount recorded; /* the target before halflife changed it; unset: halflife changed nothing */
        struct amount applied;  /* the target that halflife wrote; unset: not recorded */
};
struct retune_origin {
        int64_t original; /* the target that the owner wants for the requests that the owner wants */
        bool ours;        /* the target now is the one that halflife wrote */
        bool reset;       /* halflife changed the target, and somebody put the earlier target back */
};
struct retune_origin retune_origin(const struct retune_facts *f);

#endif
