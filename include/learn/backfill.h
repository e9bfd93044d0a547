/*
 * Histories from before: what a Prometheus knows of workloads from the time before they were watched, a namespace after
 * the other, a slice of time after the other. Pods that are gone are known by how their controllers name them.
 *
 * What comes is learned aside, in the order of time, and joined with what is learned live when the last slice is there,
 * in one transaction with the mark that says so: whenever the process ends in between, the namespace begins anew, and
 * nothing counts twice. A slice that fails is asked for again after a back-off; one that is too large is cut in two.
 * A namespace whose question Prometheus refuses for good (one step of it is too large, or not understood) lets the
 * others go first, and begins anew after a back-off of its own.
 */
#ifndef HALFLIFE_LEARN_BACKFILL_H
#define HALFLIFE_LEARN_BACKFILL_H

#include "prometheus/prometheus.h"

struct learner;

/* What telemetry tells. */
struct backfill_counters {
        uint64_t slices, failures, points; /* answered, failed, points taken */
        uint64_t strangers;                /* series whose pod nobody here owns */
        uint64_t targets;                  /* joined */
};

struct backfill;
/* history_ms: so far back; step_ms: between points. The Prometheus stays the caller's. */
struct backfill *backfill_new(struct learner *learner, struct prometheus *p, int64_t history_ms, int64_t step_ms);
void backfill_free(struct backfill *b); /* NULL is fine */
/* Once a cycle, after everything was settled: begins with what is due. */
void backfill_tick(struct backfill *b);
const struct backfill_counters *backfill_counted(const struct backfill *b);
bool backfill_busy(const struct backfill *b);

#endif
