/*
 * What a container needs while it starts, for each resource that the profile keeps out of the target then
 * (resources.*.ignoreFirst). It is a coarse histogram of the samples, and another of the ages at which samples were
 * above the steady target. Weights halve every half-life, as those of the steady histogram do.
 *
 * struct usage only points to this struct, because most containers have no samples of starts.
 */
#ifndef HALFLIFE_CORE_USAGE_STARTS_H
#define HALFLIFE_CORE_USAGE_STARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "core/histogram.h"

enum { START_FINE = 4, START_BUCKETS = HISTOGRAM_BUCKETS / START_FINE, START_AGES = 14 };

struct usage_starts {
        int64_t live_since_ms; /* the caller's, and not packed: time of the earliest live sample; 0: none */
        struct start_samples {
                int64_t at_ms; /* time of the newest sample, as of which the weights are; 0: there is none */
                float weight[START_BUCKETS]; /* bucket n has the values of buckets 4n .. 4n+3 of a histogram */
                float above[START_AGES]; /* weights of the samples above the steady target, by age (start_age_edge) */
        } of[RESOURCES];
};

/* Upper edge of an age bucket in ms: 30 s for the first, 1 h for the last. */
int64_t start_age_edge(int bucket);

/* One sample of a start. value is in cores or bytes, finite, and at least 0. */
struct start_sample {
        struct wall at;
        double value;
        int64_t age_ms; /* since the container's start; an age beyond the last edge falls in the last bucket */
        double steady;  /* the target by the samples that are not of starts, in cores or bytes; 0: not known yet */
        double step_s; /* as of struct sample: 0: a live sample; else the seconds that a back-filled point stands for */
};
void usage_starts_add(struct usage_starts *s, enum resource r, int64_t half_life_ms, const struct start_sample *sample);

/* Add what src has learned of a resource to dst; the weights of both halve every half_life_ms. Merging dst into src
 * gives the same bits. */
void usage_starts_merge(struct usage_starts *dst, const struct usage_starts *src, enum resource r,
                        int64_t half_life_ms);

/* The percentile p (tenths of a per cent) of the samples of starts, as the upper edge of its bucket in cores or bytes.
 * False: there is no sample. */
bool usage_starts_need(const struct usage_starts *s, enum resource r, int p, double *ret);
/* How long starts last: the age, in ms, by which 95 % of the samples above the steady target were taken. 0: no sample
 * was above a known target. */
int64_t usage_starts_last_ms(const struct usage_starts *s, enum resource r);

/* Forget what the starts of a resource needed. */
void usage_starts_forget(struct usage_starts *s, enum resource r);
bool usage_starts_empty(const struct usage_starts *s);

/* Whether the newest sample of CPU or memory is later than `at`. */
bool usage_starts_after(const struct usage_starts *s, struct wall at);
/* Where a resource's newest sample is later than `at`, date it to `at`. The weights stay as they are, but are then as
 * of `at`. */
void usage_starts_pull_back(struct usage_starts *s, struct wall at);

/* Whether a record loaded from storage has only times and weights that the functions here can have made. */
bool usage_starts_hold(const struct usage_starts *s);

#endif
