/*
 * The back-fill loads usage from the time before halflife watched a workload, from Prometheus. It goes through the
 * namespaces one after the other, and within a namespace from one slice of time to the next. The owner of a pod that no
 * longer exists is found by the pattern by which controllers name their pods.
 *
 * Back-filled points go into separate histories, in the order of time. After the last slice, the separate histories are
 * joined with the live ones, in one transaction with the mark that the workload is back-filled. If the process ends
 * before that, the namespace starts over, so nothing counts twice.
 *
 * A slice that fails is queried again after a back-off; a slice that is too large is halved. Prometheus may refuse a
 * namespace for good, if one step is still too large or the query is invalid. Then the other namespaces go first, and
 * the refused namespace starts over after a back-off of its own. A namespace for which Prometheus keeps giving partial
 * answers is treated alike. Nothing is learned from a partial answer, because missing usage would count as no usage.
 */
#ifndef HALFLIFE_LEARN_BACKFILL_H
#define HALFLIFE_LEARN_BACKFILL_H

#include "prometheus/prometheus.h"

struct learner;

/* What the back-fill has done since this process started, for metrics. */
struct backfill_counters {
        uint64_t slices, failures, points; /* slices answered, slices failed, points added to histories */
        uint64_t strangers;                /* series ignored, because no workload with a profile owns their pod */
        uint64_t targets;                  /* targets whose back-filled histories were joined with the live ones */
        uint64_t doubtful;                 /* points left out, since they may be of containers of another cluster */
};

struct backfill;
/* history_ms: how far back usage is loaded. step_ms: the time between two points of a series. The caller owns p, and
 * frees it after the back-fill. */
struct backfill *backfill_new(struct learner *learner, struct prometheus *p, int64_t history_ms, int64_t step_ms);
void backfill_free(struct backfill *b); /* backfill_free(NULL) does nothing */
/* Call once a cycle, after the cycle's decisions: starts to back-fill the next namespace that is due, unless one is
 * under way. */
void backfill_tick(struct backfill *b);
const struct backfill_counters *backfill_counted(const struct backfill *b);
bool backfill_busy(const struct backfill *b); /* whether some namespace is being back-filled */

#endif
