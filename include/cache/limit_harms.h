/*
 * The containers of a target that their own limits harm (core/limit_advice.h). Few targets have such a container, so
 * the rows are kept beside the histories, not in them.
 */
#ifndef HALFLIFE_CACHE_LIMIT_HARMS_H
#define HALFLIFE_CACHE_LIMIT_HARMS_H

#include "base/yaml.h"
#include "core/limit_advice.h"

struct cache;
struct oom_kill;
struct target;

struct limit_harms {
        int rows;
        struct limit_harm {
                const char *container; /* interned */
                struct limit_kill kill;
                uint8_t throttled_percent; /* share of periods (limit_throttle_next); not in the record */
                float measured_percent;    /* the highest share among its pods, while an answer is read */
                int64_t throttled_limit,
                        measured_limit; /* the CPU limit, in millicores, under which each share was measured */
        } row[];
};

/* The row of a container, interned; NULL: its limit did no harm. */
const struct limit_harm *limit_harms_find(const struct target *t, const char *container);
/* The row with the newest kill; NULL: no limit killed. */
const struct limit_harm *limit_harms_newest(const struct target *t);

/* Keep a kill by a limit, if it is the container's newest. At most VIEW_CONTAINERS containers are kept: the one killed
 * longest ago gives way. */
void limit_harms_kill(struct cache *w, struct target *t, const struct oom_kill *k);
/* Add a measurement: a pod's container is throttled in this percentage of its periods, under a limit in millicores.
 * After the last measurement of an answer, limit_harms_measured judges each container by the highest, and drops rows
 * with neither a kill nor a share. A share never displaces a kill. */
void limit_harms_measure(struct cache *w, struct target *t, const char *container, double percent, int64_t limit);
void limit_harms_measured(struct cache *w, struct target *t);
/* limit_harms_recall: after a restart, take over the shares that the Recommendation has. limit_harms_unmeasured: forget
 * the shares, because nothing measures them any more. */
void limit_harms_recall(struct cache *w, struct target *t);
void limit_harms_unmeasured(struct target *t);
/* Take over the rows of the target old, as its histories were taken over. */
void limit_harms_inherit(struct cache *w, struct target *t, const struct target *old);
void limit_harms_forget(struct cache *w, struct target *t);

/* The rows in the target's record (docs/internals/store-format.md), and back. */
void limit_harms_print(const struct target *t, json_t *record);
void limit_harms_read(struct cache *w, struct target *t, const json_t *record);

#endif
