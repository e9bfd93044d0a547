/*
 * The score of a policy over a usage trace (halflife replay): requests compared with usage.
 */
#ifndef HALFLIFE_CORE_REPLAY_SCORE_H
#define HALFLIFE_CORE_REPLAY_SCORE_H

#include <stdint.h>

/* Totals for one resource under one policy. {0} is empty. */
struct score {
        double requested_hours, used_hours; /* core-hours or byte-hours, over the time that is scored */
        int64_t rows, over;                 /* scored rows; scored rows with usage above the request */
        int64_t changes;                    /* changes of requests, which the caller counts */
        double entity_weeks;                /* weeks scored, summed over all containers of the trace */
};

/* Score a row of the trace: the usage `used` lasted for span_ms (0 .. 600 s) under the request `requested`, both in
 * cores or bytes. */
void score_row(struct score *s, double used, double requested, int64_t span_ms);
double score_slack(const struct score *s);   /* the unused share of requests; 0 where nothing was requested */
double score_overrun(const struct score *s); /* the share of rows with usage above the request; 0: no rows */
double score_changes_per_week(const struct score *s);

#endif
