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
                uint8_t throttled_percent; /* share of throttled CPU periods (limit_throttle_next); not stored */
                float measured_percent;    /* the highest share among the target's pods, while an answer is read */
                int64_t throttled_limit,
                        measured_limit; /* the CPU limit, in millicores, under which each share was measured */
        } row[];
};

/* The row of a container, whose name is interned; NULL: its limits did no harm. */
const struct limit_harm *limit_harms_find(const struct target *t, const char *container);
/* The row with the newest kill by a memory limit; NULL: there was no such kill. */
const struct limit_harm *limit_harms_newest(const struct target *t);

/* Keep a kill by a memory limit, if it is the container's newest. At most VIEW_CONTAINERS containers have rows: the row
 * of the container killed longest ago gives way. */
void limit_harms_kill(struct cache *w, struct target *t, const struct oom_kill *k);
/* Add a measurement: a pod's container is throttled in this percentage of its CPU periods, under a limit in millicores.
 * After the last measurement of an answer by Prometheus, limit_harms_measured judges each container by its highest
 * percentage, and drops rows with neither a kill nor a percentage. A percentage never displaces a kill. */
void limit_harms_measure(struct cache *w, struct target *t, const char *container, double percent, int64_t limit);
void limit_harms_measured(struct cache *w, struct target *t);
/* limit_harms_recall: after a restart, take over the throttled percentages that the target's Recommendation has.
 * limit_harms_unmeasured: forget the percentages, because nothing measures them any more. */
void limit_harms_recall(struct cache *w, struct target *t);
void limit_harms_unmeasured(struct target *t);
/* Take over the kills in the rows of the target `old`, after `t` has taken over the histories of `old`. */
void limit_harms_inherit(struct cache *w, struct target *t, const struct target *old);
void limit_harms_forget(struct cache *w, struct target *t);

/* Write the kills of the rows into the target's record (docs/internals/store-format.md), and read them back. */
void limit_harms_print(const struct target *t, json_t *record);
void limit_harms_read(struct cache *w, struct target *t, const json_t *record);

#endif
