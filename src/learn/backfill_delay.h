/*
 * How long a back-fill puts a namespace off that Prometheus does not answer as a whole.
 */
#ifndef HALFLIFE_LEARN_BACKFILL_DELAY_H
#define HALFLIFE_LEARN_BACKFILL_DELAY_H

#include "prometheus/prometheus.h"

struct backfill_delay {
        int64_t least_ms, most_ms; /* at first; it doubles each time in a row, up to most_ms */
        const char *log;           /* what the log says */
};

/* The delay after a failed answer. It is long after a refusal, which only a change of settings ends, and short after a
 * partial answer, which may pass by itself. */
const struct backfill_delay *backfill_delay_by(const struct prometheus_answer *a);
/* times: how often in a row the namespace was put off before. */
int64_t backfill_delay_ms(const struct backfill_delay *d, int times);

#endif
