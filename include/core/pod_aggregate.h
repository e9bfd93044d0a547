/*
 * What many pods use together, as of one moment, though each was measured at its own: metrics-server's timestamps
 * differ by node and pod by up to its resolution, and a pod is missing for a cycle when one of its containers begins
 * again or its node's scrape fails.
 *
 * One sum is taken a cycle, of every pod that runs, each with its newest sample:
 *
 * - not older than three intervals (at least 3 min): it counts as it is, so that a pod that is missing for a cycle or
 *   two makes no dip;
 * - older, up to five intervals (at least 5 min; when a container is Stale): what it uses is not known, and no sum is
 *   taken: a gap, not a dip;
 * - older still: nobody measures it any more, and the sum goes on without it.
 *
 * One that has no sample yet is as old as its start: one that has just begun uses nothing that is known so far. A pod
 * that ended is not asked about. A sum of no pods at all is none.
 */
#ifndef HALFLIFE_CORE_POD_AGGREGATE_H
#define HALFLIFE_CORE_POD_AGGREGATE_H

#include "core/usage.h"

/* A pod's newest sample: the sum over its containers, which have one timestamp. */
struct together_sample {
        int64_t at_ms; /* 0: there is none yet */
        bool has[RESOURCES];
        double value[RESOURCES]; /* cores, bytes */
};

struct together {
        struct wall at;
        int64_t fresh_ms, patience_ms;
        double sum[RESOURCES];
        bool lacks[RESOURCES]; /* a pod that counts was told without it */
        int counted, missing;
};

/* at: the moment; the interval is the cycle's. */
void together_begin(struct together *t, struct wall at, int64_t interval_ms);
void together_add(struct together *t, const struct together_sample *s, int64_t started_ms);
/* False: there is none. *ret is without a weight. */
bool together_sum(const struct together *t, struct sample *ret);

#endif
