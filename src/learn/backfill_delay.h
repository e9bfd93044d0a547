/*
 * How long a back-fill puts off a namespace after Prometheus refused its query, or answered only a part of it.
 */
#ifndef HALFLIFE_LEARN_BACKFILL_DELAY_H
#define HALFLIFE_LEARN_BACKFILL_DELAY_H

#include "prometheus/prometheus.h"

struct backfill_delay {
        int64_t least_ms, most_ms; /* the first delay; each further one in a row is double, up to most_ms */
        const char *log;           /* the warning about the delay for the log */
};

/* The delay after a failed answer. After a refusal the delay is long, because only a change of settings ends a refusal.
 * After a partial answer it is short, because the gap may pass by itself. */
const struct backfill_delay *backfill_delay_by(const struct prometheus_answer *a);
/* The delay in ms. times: how often in a row the namespace was put off before. */
int64_t backfill_delay_ms(const struct backfill_delay *d, int times);

#endif
