/*
 * Whether a rollout has come to its end, from what a workload tells of itself.
 */
#ifndef HALFLIFE_CORE_ROLLOUT_H
#define HALFLIFE_CORE_ROLLOUT_H

#include <stdbool.h>
#include <stdint.h>

struct rollout {
        int64_t generation, observed; /* of the object, and the one its controller has seen */
        int64_t wanted, pods, updated, available;
        bool told;            /* a kind that must tell these; one of somebody's own may say nothing of rollouts */
        bool phased, healthy; /* its phase alone tells (KIND_PHASED), and says that it is */
};
/* All pods are of the newest template and available, and there are as many as are wanted. */
bool rollout_is_done(const struct rollout *r);

#endif
