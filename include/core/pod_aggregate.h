/*
 * What many pods use together at one moment, although each pod was measured at a time of its own. The timestamps of
 * metrics-server differ by node and pod, by up to the time between its scrapes. A pod is also missing for a cycle when
 * one of its containers restarts or the scrape of its node fails.
 *
 * Each cycle takes one sum over all running pods, each with its newest sample. The sample's age decides:
 *
 * - up to three intervals (at least 3 min): the sample counts, so a pod that is missing for a cycle or two makes no
 *   dip;
 * - up to five intervals (at least 5 min; a container is Stale then): the pod's use is unknown, and no sum is taken: a
 *   gap in the samples instead of a dip;
 * - older: nothing measures the pod any more, and the sum goes on without it.
 *
 * The age counts from the pod's start where the pod has no sample since. A pod without any sample that has just started
 * is left out of the sum: nothing is known of its use yet. The caller leaves out pods that ended. Where no pod counts,
 * there is no sum.
 */
#ifndef HALFLIFE_CORE_POD_AGGREGATE_H
#define HALFLIFE_CORE_POD_AGGREGATE_H

#include "core/usage.h"

/* A pod's newest sample: the sum over its containers, which share one timestamp. */
struct pod_aggregate_sample {
        int64_t at_ms; /* time of the sample; 0: the pod has no sample yet */
        bool has[RESOURCES];
        double value[RESOURCES]; /* usage in cores and bytes */
};

struct pod_aggregate {
        struct wall at;
        int64_t fresh_ms, patience_ms; /* the age up to which a sample counts, and up to which a pod's use is unknown */
        double sum[RESOURCES];
        bool lacks[RESOURCES]; /* the sample of a pod that counts lacks the resource, so the sum lacks it too */
        int counted, missing;  /* number of pods whose sample counts, and of pods whose use is unknown */
};

/* Begin a sum over pods. at: the moment that the sum is for; interval_ms: the time from cycle to cycle. */
void pod_aggregate_begin(struct pod_aggregate *t, struct wall at, int64_t interval_ms);
/* Add a running pod that started at started_ms. */
void pod_aggregate_add(struct pod_aggregate *t, const struct pod_aggregate_sample *s, int64_t started_ms);
/* The sum as a sample; the caller sets its weight. Returns false where there is no sum; *ret is untouched then. */
bool pod_aggregate_sum(const struct pod_aggregate *t, struct sample *ret);

#endif
