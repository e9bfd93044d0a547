/*
 * The progress of a workload's rollout, and what would block the next rollout, judged from the workload's status and
 * spec.
 */
#ifndef HALFLIFE_CORE_ROLLOUT_H
#define HALFLIFE_CORE_ROLLOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum rollout_phase {
        ROLLOUT_PHASE_NONE, /* the kind has no phases (KIND_PHASED), or status.phase is empty */
        ROLLOUT_PHASE_OTHER,
        ROLLOUT_PHASE_HEALTHY,
        ROLLOUT_PHASE_PAUSED,
        ROLLOUT_PHASE_DEGRADED,
};
/* Read status.phase of a kind that has phases. */
enum rollout_phase rollout_phase_read(struct text phase);

struct rollout {
        int64_t generation, observed; /* metadata.generation, and status.observedGeneration */
        int64_t wanted, pods, updated, available;
        bool told; /* the kind always has a rollout status; a custom kind may have none, and then counts as done */
        bool none; /* the kind has no rollouts: only its next run uses a changed template */
        enum rollout_phase phase; /* unless NONE, the phase alone says whether the rollout is done */
        bool paused, on_delete, recreate;
        bool late; /* the rollout has exceeded its deadline */
        int64_t partition;
};

/* Whether all wanted pods exist, have the newest template, and are available. */
bool rollout_is_done(const struct rollout *r);

/* Why a change of the template would not roll out now, or not to all pods one by one. The first reason that applies
 * counts. */
enum rollout_block {
        ROLLOUT_FREE,
        ROLLOUT_PAUSED,
        ROLLOUT_ON_DELETE, /* a pod gets the new template only after somebody deletes it */
        ROLLOUT_RECREATE,  /* all pods are deleted at the same time */
        ROLLOUT_PARTITION, /* some pods keep the old template */
        ROLLOUT_LATE,
        ROLLOUT_DEGRADED, /* the last rollout failed or was aborted */
        ROLLOUT_UNDER_WAY,
        ROLLOUT_BLOCKS
};
enum rollout_block rollout_block(const struct rollout *r);

#endif
