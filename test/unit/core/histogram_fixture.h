/* A histogram with all the room there is, and what the tests of core/histogram ask of one. */
#ifndef HALFLIFE_TEST_HISTOGRAM_FIXTURE_H
#define HALFLIFE_TEST_HISTOGRAM_FIXTURE_H

#include <math.h>

#include "core/histogram_inner.h"

#define DAY      ((int64_t)DAY_MS)
#define LAST     (HISTOGRAM_BUCKETS - 1)
#define SUM_LAST (HISTOGRAM_SUM_BUCKETS - 1)

/* A histogram with all the room there is. */
struct roomy {
        struct histogram h;
        double w[HISTOGRAM_BUCKETS];
};

static inline void roomy_init(struct roomy *r, enum resource of, int64_t half_life_ms)
{
        histogram_init(&r->h, of, half_life_ms);
        for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
                r->w[i] = -1; /* what is lent holds anything */
        histogram_lend(&r->h, r->w, HISTOGRAM_BUCKETS);
}

static inline void roomy_copy(struct roomy *to, const struct roomy *from)
{
        *to = *from;
        to->h.w = to->w;
}

static inline int add(struct roomy *r, double value, double weight, int64_t at_ms)
{
        int unused;
        return histogram_add(&r->h, value, weight, (struct wall){at_ms}, &unused);
}

static inline double weight(const struct histogram *h, int n)
{
        return n >= h->first && n < h->first + h->count ? h->w[n - h->first] : 0;
}

static inline double percentile(const struct histogram *h, int p)
{
        double got = -1;
        assert_int_equal(histogram_percentile(h, p, NULL, &got), 0);
        return got;
}

/* The middle of a bucket. */
static inline double inside(enum resource r, int n)
{
        return n == LAST ? histogram_start(r, n) * 1.01 : (histogram_start(r, n) + histogram_start(r, n + 1)) / 2;
}

static uint64_t random_state = 88172645463325252u;
static inline uint64_t draw(uint64_t below)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state % below;
}

static inline void assert_sound(const struct histogram *h)
{
        assert_true(isfinite(histogram_total(h)));
        assert_true(h->count <= h->cap && h->first + h->count <= HISTOGRAM_BUCKETS);
        for (int i = 0; i < h->count; i++)
                if (!isfinite(h->w[i]) || h->w[i] < 0 || signbit(h->w[i]))
                        fail_msg("bucket %d weighs %g", h->first + i, h->w[i]);
        if (h->count > 0)
                assert_true(h->w[0] > 0 && h->w[h->count - 1] > 0);
}

static inline void assert_bit_equal(const struct histogram *a, const struct histogram *b)
{
        assert_int_equal(a->ref_ms, b->ref_ms);
        assert_int_equal(a->half_life_ms, b->half_life_ms);
        assert_int_equal(a->count, b->count);
        assert_int_equal(a->first, b->first);
        if (a->count > 0)
                assert_memory_equal(a->w, b->w, a->count * sizeof(double));
}

#endif
