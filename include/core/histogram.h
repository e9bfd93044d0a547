/*
 * An exponential histogram whose weights halve every half-life (Autopilot's moving window; VPA's decaying histogram).
 *
 * Buckets: start(0) = 0, start(n) = first * (r^n - 1) / (r - 1), r = 21/20. A container has 176 buckets: CPU from 0.01
 * core to 1000 cores, memory from 1e7 bytes to 1e12. A sum over containers has the same and 176 more: up to 5.4e6 cores
 * and 5.4e15 bytes. Bucket n holds [start(n), start(n+1)); the last bucket holds everything above its start. start(n)
 * is the double nearest to the exact rational: a constant table, which a test proves in exact integers.
 *
 * A sample at time t weighs its fixed weight * 2^((t - ref) / halfLife). The reference time ref is a multiple of the
 * half-life since 1970. Two refs of one half-life therefore differ by whole half-lives, and moving a ref is exact
 * (ldexp). A sample with (t - ref) / halfLife > 64 moves the ref before it is added.
 *
 * The histogram holds only its occupied range of buckets, in doubles that the caller lends (w, cap).
 */
#ifndef HALFLIFE_CORE_HISTOGRAM_H
#define HALFLIFE_CORE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/policy.h"

/* HISTOGRAM_BUCKETS: a container's histogram. HISTOGRAM_SUM_BUCKETS: the histogram of a sum over pods, the longest of
 * all. */
enum { HISTOGRAM_BUCKETS = 176, HISTOGRAM_SUM_BUCKETS = 352, HISTOGRAM_PERCENTILE_MAX = 1000 };

struct histogram {
        double *w;            /* weights of buckets first .. first+count-1, with room for cap; memory of the caller */
        int64_t ref_ms;       /* reference time, a multiple of half_life_ms */
        int64_t half_life_ms; /* the half-life, > 0 */
        uint8_t resource;     /* enum resource: chooses the table of bucket starts */
        bool sum;             /* of a sum over containers, with HISTOGRAM_SUM_BUCKETS buckets */
        uint16_t first, count, cap;
};

/* Make h an empty histogram of a container. It has no memory for weights until histogram_lend. */
void histogram_init(struct histogram *h, enum resource r, int64_t half_life_ms);
/* Turn h into a histogram of a sum, with more buckets. The weights stay in their buckets, because a sum begins with the
 * buckets of a container. Only the weight in the container's last bucket is dropped: it may stand for any larger
 * value. */
void histogram_make_sum(struct histogram *h);
static inline int histogram_buckets(const struct histogram *h)
{
        return h->sum ? HISTOGRAM_SUM_BUCKETS : HISTOGRAM_BUCKETS;
}

/* Lower edge of bucket n, 0 <= n < HISTOGRAM_SUM_BUCKETS, in cores or bytes. */
double histogram_start(enum resource r, int n);
/* The bucket of a container that holds a value; the value is finite and >= 0 (asserted). */
int histogram_bucket(enum resource r, double value);
/* The bucket of a sum that holds a value; the value is finite and >= 0 (asserted). */
int histogram_sum_bucket(enum resource r, double value);
/* The value that a percentile in bucket n of a container answers: the upper edge start(n+1), or the start of the last
 * bucket. */
double histogram_edge(enum resource r, int n);
/* The value that a percentile in bucket n of h answers, whether h is of a container or of a sum. */
double histogram_edge_of(const struct histogram *h, int n);

/*
 * Add a sample: value in cores or bytes, weight > 0, both finite. Returns 0; ERR_INVALID where value or weight is out
 * of range, or the bucket would exceed what a bucket may weigh; ERR_NOSPACE with *ret_cap the room wanted, in doubles:
 * lend that with histogram_lend and add again. On failure nothing changes. No sequence of calls yields inf, NaN or a
 * negative weight.
 */
int histogram_add(struct histogram *h, double value, double weight, struct wall at, int *ret_cap);
/* Give h other memory of cap doubles (>= count), and copy the weights there. Returns the old memory, which belongs to
 * the caller again. */
double *histogram_lend(struct histogram *h, double *w, int cap);

/*
 * The percentile p in tenths of a per cent (0..1000): the upper edge of the first bucket with
 * running * 1000 >= p * total * (1 - 2^-40); for p = 1000 the upper edge of the last non-empty bucket. extra (may be
 * NULL) is one more sample, counted as if it had been added: the open peak of a memory window. Returns 0, or
 * ERR_INVALID where the histogram is empty.
 */
struct histogram_extra {
        double value, weight;
        struct wall at;
};
int histogram_percentile(const struct histogram *h, int p, const struct histogram_extra *extra, double *ret);
/* The bucket that the percentile falls in, with three weights, extra included: of all buckets below, of the bucket
 * itself, and of all buckets. */
struct histogram_place {
        int bucket;
        bool last; /* it is the histogram's last bucket: the percentile may be above value, by how much is not known */
        double value; /* the percentile's value, in cores or bytes */
        double below, here, total;
};
int histogram_place(const struct histogram *h, int p, const struct histogram_extra *extra, struct histogram_place *ret);
double histogram_total(const struct histogram *h); /* the sum of all weights, added in ascending order of buckets */

/* Move the reference time to a later ref (a multiple of the half-life). No percentile changes, except by weights that
 * underflow to 0. */
void histogram_move(struct histogram *h, int64_t ref_ms);
/* Add the weights of b to a, as of the later reference time of the two; merging a into b gives the same bits.
 * ERR_INVALID: half-lives, resources or buckets differ, or a bucket would weigh too much; ERR_NOSPACE as in
 * histogram_add. a is untouched on failure. */
int histogram_merge(struct histogram *a, const struct histogram *b, int *ret_cap);
/* Change the half-life: weights keep the values that they have at the newest sample's time, and halve by the new
 * half-life from then on. */
void histogram_rescale(struct histogram *h, int64_t half_life_ms, struct wall newest);

#endif
