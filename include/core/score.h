/*
 * Scores of a policy over a usage trace (halflife replay): what was requested against what was used.
 */
#ifndef HALFLIFE_CORE_SCORE_H
#define HALFLIFE_CORE_SCORE_H

#include <stdint.h>

/* Of one resource under one policy; units: cores or bytes, times hours. {0} is empty. */
struct score {
        double requested_hours, used_hours; /* core-hours or byte-hours over the time a request stood */
        int64_t rows, over;                 /* scored rows; those with usage above the request */
        int64_t changes;
        double entity_weeks; /* time scored */
};

/* A row: usage stood for span_ms (at most 600 s) against the request. */
void score_row(struct score *s, double used, double requested, int64_t span_ms);
double score_slack(const struct score *s);   /* 1 - used/requested; 0 where nothing was requested */
double score_overrun(const struct score *s); /* over / rows */
double score_changes_per_week(const struct score *s);

#endif
