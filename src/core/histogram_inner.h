/*
 * The functions of the histogram that only src/core/usage.c and its neighbours need. A sample is added to both
 * histograms of a history or to none, so usage.c checks the room of both first, and searches each bucket only once.
 */
#ifndef HALFLIFE_CORE_HISTOGRAM_INNER_H
#define HALFLIFE_CORE_HISTOGRAM_INNER_H

#include "core/histogram.h"

/* The most that a bucket may weigh, so that neither a total nor a thousand totals overflow. */
#define HISTOGRAM_HEAVIEST 0x1p1000

/* A range of buckets, both ends included; low > high: it is empty. */
struct histogram_range {
        int low, high;
};

/* A range, extended to one more bucket. */
struct histogram_range histogram_range_with(struct histogram_range range, int bucket);
/* The buckets that h holds, from the lowest to the highest. */
struct histogram_range histogram_range_of(const struct histogram *h);
/* The number of buckets in a range: the least capacity (cap) of a histogram that holds it. */
int histogram_room(struct histogram_range range);

/* The bucket of h, a container's or a sum's, that holds a value. It searches the range that h holds first, because most
 * samples fall there. */
int histogram_bucket_near(const struct histogram *h, double value);

/* A time relative to a histogram's ref: ref + whole * half-life + rest. Equal for all histograms with the same ref and
 * half-life. */
struct histogram_phase {
        int whole;       /* number of half-lives, bounded to +-4096: so many halvings take any weight to 0 */
        int64_t rest_ms; /* the rest in ms, 0 .. half-life - 1 */
        double weight;   /* 2^(rest / half-life): the factor by which the rest raises a weight */
};
struct histogram_phase histogram_phase_of(const struct histogram *h, struct wall at);

/* Add a sample as histogram_add does, with the value's bucket and the phase of `at` already known. */
int histogram_put(struct histogram *h, int bucket, double weight, struct wall at, const struct histogram_phase *p,
                  int *ret_cap);
/* Multiply every weight by factor (> 0); a weight above HISTOGRAM_HEAVIEST becomes HISTOGRAM_HEAVIEST. */
void histogram_scale(struct histogram *h, double factor);
/* Whether a and b have the same resource, buckets and half-life, and no bucket of both together exceeds
 * HISTOGRAM_HEAVIEST. */
bool histogram_mergeable(const struct histogram *a, const struct histogram *b);
/* The range that a and b occupy together, both moved to the later ref. */
struct histogram_range histogram_range_merged(const struct histogram *a, const struct histogram *b);

#endif
