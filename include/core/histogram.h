/*
 * An exponential histogram whose weights halve every half-life (Autopilot's moving window; VPA's decaying histogram).
 *
 * Buckets: start(0) = 0, start(n) = first * (r^n - 1) / (r - 1), r = 21/20, 176 buckets for both shapes: CPU from 0.01
 * core (to 1000 cores), memory from 1e7 bytes (to 1e12). Bucket n holds [start(n), start(n+1)); the last one everything
 * above. start(n) is the double nearest to the exact rational: a constant table, proved by a test in exact integers.
 *
 * A sample weighs its fixed weight * 2^((t - ref) / halfLife). ref is a multiple of the half-life since 1970, so the
 * refs of one half-life differ by whole half-lives and moving one is exact (ldexp). It moves when (t - ref) / halfLife
 * > 64, before the add.
 *
 * Only the occupied range of buckets is held, in doubles that the caller lends (w, cap).
 */
#ifndef HALFLIFE_CORE_HISTOGRAM_H
#define HALFLIFE_CORE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/policy.h"

enum { HISTOGRAM_BUCKETS = 176, HISTOGRAM_PERCENTILE_MAX = 1000 };

struct histogram {
        double *w;            /* weights of buckets first .. first+count-1; room for cap; the caller's memory */
        int64_t ref_ms;       /* reference time, a multiple of half_life_ms */
        int64_t half_life_ms; /* > 0 */
        uint8_t resource;     /* enum resource: which shape */
        uint8_t first, count, cap;
};

/* An empty histogram without memory. */
void histogram_init(struct histogram *h, enum resource r, int64_t half_life_ms);

/* Lower edge of bucket n, 0 <= n < HISTOGRAM_BUCKETS, in cores or bytes. */
double histogram_start(enum resource r, int n);
/* The bucket a value falls in; value is finite and >= 0 (asserted). */
int histogram_bucket(enum resource r, double value);
/* What a percentile in bucket n answers: its upper edge start(n+1); for the last bucket its start. */
double histogram_edge(enum resource r, int n);

/*
 * Add a sample. value in cores or bytes, weight > 0, both finite. Returns 0; ERR_INVALID for what is not (nothing
 * changes); ERR_NOSPACE with *ret_cap the room wanted (w untouched): the caller lends more by histogram_lend and adds
 * again. No sequence of calls yields inf, NaN or a negative weight.
 */
int histogram_add(struct histogram *h, double value, double weight, struct wall at, int *ret_cap);
/* Give h other memory of cap doubles (>= count): copies what is held. The old memory is the caller's again: returned.
 */
double *histogram_lend(struct histogram *h, double *w, int cap);

/*
 * The percentile in tenths of a per cent (0..1000): upper edge of the first bucket with running*1000 >= p*total*(1 -
 * 2^-40); p = 1000: of the last non-empty bucket. extra (may be NULL) counts as if it were in the histogram (a window's
 * open peak). Returns 0, or ERR_INVALID where the total is empty.
 */
struct histogram_extra {
        double value, weight;
        struct wall at;
};
int histogram_percentile(const struct histogram *h, int p, const struct histogram_extra *extra, double *ret);
/* The same as the bucket it falls in, with the weight of those before it, its own, and of all, extra counted. */
struct histogram_place {
        int bucket;
        double below, here, total;
};
int histogram_place(const struct histogram *h, int p, const struct histogram_extra *extra, struct histogram_place *ret);
double histogram_total(const struct histogram *h); /* the ascending sum */

/* Move the reference time to ref (a multiple of the half-life): changes no percentile but for what underflows to 0. */
void histogram_move(struct histogram *h, int64_t ref_ms);
/* Add b into a; takes the later ref; bit-equal both ways round. ERR_INVALID: different half-lives or shapes;
 * ERR_NOSPACE as in add. */
int histogram_merge(struct histogram *a, const struct histogram *b, int *ret_cap);
/* Another half-life: weights are scaled to the newest sample's time and go on with the new one. */
void histogram_rescale(struct histogram *h, int64_t half_life_ms, struct wall newest);

#endif
