/*
 * What usage.c needs of a histogram beyond its contract: a sample is folded into two of them or into none, so room is
 * asked for first, and the bucket is searched once.
 */
#ifndef HALFLIFE_CORE_HISTOGRAM_INNER_H
#define HALFLIFE_CORE_HISTOGRAM_INNER_H

#include "core/histogram.h"

/* No bucket ever weighs more, so that neither a total nor a thousandfold of it overflows. */
#define HISTOGRAM_HEAVIEST 0x1p1000

/* Buckets to be covered: low > high is none. */
struct histogram_range {
        int low, high;
};

/* The range held and one more bucket. */
struct histogram_range histogram_range_with(struct histogram_range range, int bucket);
struct histogram_range histogram_range_of(const struct histogram *h);
/* The room a range wants. */
int histogram_room(struct histogram_range range);

/* histogram_bucket, sought first in the range held: that is where most samples fall. */
int histogram_bucket_near(const struct histogram *h, double value);

/* at = ref + whole * half-life + rest. The same for all histograms of one ref and half-life. */
struct histogram_phase {
        int whole;       /* within +-4096, which takes any weight to 0 */
        int64_t rest_ms; /* 0 .. half-life - 1 */
        double weight;   /* 2^(rest / half-life) */
};
struct histogram_phase histogram_phase_of(const struct histogram *h, struct wall at);

/* histogram_add, bucket and phase known. */
int histogram_put(struct histogram *h, int bucket, double weight, struct wall at, const struct histogram_phase *p,
                  int *ret_cap);
/* Every weight that many times as heavy; factor > 0. */
void histogram_scale(struct histogram *h, double factor);
/* Of one shape and half-life, and the sums not beyond what a bucket may weigh. */
bool histogram_mergeable(const struct histogram *a, const struct histogram *b);
/* The range of a and b together, both at the later ref. */
struct histogram_range histogram_range_merged(const struct histogram *a, const struct histogram *b);

#endif
