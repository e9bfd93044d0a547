#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "histogram_fixture.h"

/* --- weights --------------------------------------------------------------------------------------------------------
 */

static void test_weights_by_age(void **state)
{
        (void)state;
        static const struct {
                int64_t at_ms; /* from ref, half-life a day */
                double want;
        } row[] = {{0, 1},
                   {-DAY, 0.5},
                   {-2 * DAY, 0.25},
                   {2 * DAY, 4},
                   {DAY, 2},
                   {DAY / 2, M_SQRT2},
                   {-DAY / 2, M_SQRT1_2},
                   {64 * DAY, 0x1p64},
                   {-64 * DAY, 0x1p-64}};
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r;
                roomy_init(&r, CPU, DAY);
                histogram_move(&r.h, 100 * DAY);
                assert_int_equal(add(&r, 0.5, 3, 100 * DAY + row[i].at_ms), 0);
                if (!(fabs(histogram_total(&r.h) / (3 * row[i].want) - 1) < 1e-15))
                        fail_msg("%lld ms: %.17g", (long long)row[i].at_ms, histogram_total(&r.h));
        }
}

/* A millisecond is as good as a day where the half-life is four. */
static void test_weights_by_the_millisecond(void **state)
{
        (void)state;
        for (int64_t at = -20; at < 20; at++) {
                struct roomy r;
                roomy_init(&r, CPU, 4);
                histogram_move(&r.h, 100);
                assert_int_equal(add(&r, 0.5, 1, 100 + at), 0);
                assert_true(fabs(histogram_total(&r.h) / exp2((double)at / 4) - 1) < 1e-15);
        }
}

static void test_ref_moves_past_64(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, CPU, DAY);
        assert_int_equal(r.h.ref_ms, 0);
        assert_int_equal(add(&r, 0.5, 1, 64 * DAY), 0);
        assert_int_equal(r.h.ref_ms, 0);
        assert_true(histogram_total(&r.h) == 0x1p64);
        assert_int_equal(add(&r, 0.7, 1, 64 * DAY + 1), 0);
        assert_int_equal(r.h.ref_ms, 64 * DAY);
        assert_true(weight(&r.h, histogram_bucket(CPU, 0.5)) == 1);
        assert_int_equal(add(&r, 0.5, 1, 129 * DAY + DAY / 2), 0);
        assert_int_equal(r.h.ref_ms, 129 * DAY);
        assert_true(fabs(weight(&r.h, histogram_bucket(CPU, 0.5)) - 0x1p-65 - M_SQRT2) < 1e-15);
        /* an older sample is no reason to move back */
        assert_int_equal(add(&r, 0.5, 1, 3 * DAY), 0);
        assert_int_equal(r.h.ref_ms, 129 * DAY);
}

static void test_four_equal_buckets(void **state)
{
        (void)state;
        static const struct {
                int p, bucket;
        } row[] = {{0, 0}, {1, 0}, {250, 0}, {251, 1}, {500, 1}, {501, 2}, {750, 2}, {751, 3}, {950, 3}, {1000, 3}};
        struct roomy r;
        roomy_init(&r, CPU, DAY);
        for (int n = 0; n < 4; n++)
                assert_int_equal(add(&r, inside(CPU, n), 1, DAY), 0);
        assert_true(percentile(&r.h, 950) == 0.04310125);
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
                if (percentile(&r.h, row[i].p) != histogram_edge(CPU, row[i].bucket))
                        fail_msg("P%d: %.17g", row[i].p, percentile(&r.h, row[i].p));
}

static void test_last_bucket_answers_its_start(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, MEMORY, DAY);
        assert_int_equal(add(&r, 1e14, 1, 0), 0);
        assert_true(percentile(&r.h, 500) == histogram_start(MEMORY, LAST));
        assert_true(percentile(&r.h, 1000) == histogram_start(MEMORY, LAST));
}

/* A container's histogram with the buckets of a sum: what it holds stays, what comes is told apart, and it joins sums
 * alone. */
static void test_a_sum(void **state)
{
        (void)state;
        struct histogram sum, other;
        double w[HISTOGRAM_SUM_BUCKETS], x[HISTOGRAM_SUM_BUCKETS], before, after;
        struct histogram_place place;
        struct histogram_extra extra = {.value = 4e9, .weight = 100, .at = {0}};
        int cap = 0;
        histogram_init(&sum, CPU, DAY);
        histogram_init(&other, CPU, DAY);
        histogram_lend(&sum, w, HISTOGRAM_SUM_BUCKETS);
        assert_int_equal(sum.cap, HISTOGRAM_BUCKETS);
        assert_int_equal(histogram_add(&sum, 7, 1, (struct wall){0}, &cap), 0);
        assert_int_equal(histogram_add(&sum, 5000, 1, (struct wall){0}, &cap), 0);
        assert_int_equal(sum.first + sum.count, HISTOGRAM_BUCKETS);
        assert_int_equal(histogram_place(&sum, 1000, NULL, &place), 0);
        assert_true(place.last && place.value == histogram_start(CPU, LAST));
        before = percentile(&sum, 500);
        histogram_make_sum(&sum);
        histogram_lend(&sum, x, HISTOGRAM_SUM_BUCKETS);
        assert_int_equal(sum.cap, HISTOGRAM_SUM_BUCKETS);
        assert_true(percentile(&sum, 500) == before && histogram_total(&sum) == 1); /* 5000 might have been more */
        histogram_make_sum(&sum);
        assert_int_equal(histogram_add(&sum, 5000, 9, (struct wall){0}, &cap), 0);
        assert_int_equal(histogram_place(&sum, 950, NULL, &place), 0);
        assert_false(place.last);
        assert_true(place.value > 5000 && place.value <= 5000 * 1.06);
        assert_int_equal(histogram_place(&sum, 950, &extra, &place), 0);
        assert_true(place.last && place.bucket == SUM_LAST && place.value == histogram_start(CPU, SUM_LAST));
        histogram_lend(&other, w, HISTOGRAM_BUCKETS);
        assert_int_equal(histogram_add(&other, 900, 1, (struct wall){0}, &cap), 0);
        assert_int_equal(histogram_merge(&sum, &other, &cap), ERR_INVALID);
        assert_int_equal(histogram_merge(&other, &sum, &cap), ERR_INVALID);
        histogram_make_sum(&other);
        assert_int_equal(histogram_merge(&sum, &other, &cap), 0);
        assert_true(histogram_total(&sum) == 11);
        assert_int_equal(histogram_percentile(&sum, 950, NULL, &after), 0);
        assert_true(after > 5000);
        other.count = 0;
        sum.w[sum.count - 1] = HISTOGRAM_HEAVIEST;
        assert_int_equal(histogram_merge(&other, &sum, &cap), 0);
        /* its highest bucket would weigh too much */
        assert_int_equal(histogram_merge(&other, &sum, &cap), ERR_INVALID);
}

/* The last bucket that holds anything, though it is too light to be seen in the sums. */
static void test_hundred_per_cent(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, CPU, DAY);
        assert_int_equal(add(&r, 0.5, 1, 100 * DAY), 0);
        assert_int_equal(add(&r, 0.9, 1, DAY), 0);
        assert_true(percentile(&r.h, 1000) == histogram_edge(CPU, histogram_bucket(CPU, 0.9)));
        assert_true(percentile(&r.h, 999) == histogram_edge(CPU, histogram_bucket(CPU, 0.5)));
}

/* Sums round: a share that is met exactly counts as met, one that is missed by 2^-30 does not. */
static void test_slack(void **state)
{
        (void)state;
        static const struct {
                double low, high;
                int bucket;
        } row[] = {{950, 50, 0},
                   {950 * (1 - 0x1p-42), 50, 0},
                   {950 * (1 - 0x1p-30), 50, 1},
                   {950 * (1 - 0x1p-36), 50, 0},
                   {950 * (1 - 0x1p-35), 50, 1}};
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r;
                roomy_init(&r, CPU, DAY);
                assert_int_equal(add(&r, inside(CPU, 0), row[i].low, 0), 0);
                assert_int_equal(add(&r, inside(CPU, 1), row[i].high, 0), 0);
                if (percentile(&r.h, 950) != histogram_edge(CPU, row[i].bucket))
                        fail_msg("row %zu: %g", i, percentile(&r.h, 950));
        }
}

/* 2^39 - 1/2 of 2^40 is half of it but for just the slack. */
static void test_slack_to_the_bit(void **state)
{
        (void)state;
        for (int less = 0; less < 2; less++) {
                struct roomy r;
                double low = less ? nextafter(0x1p39 - 0.5, 0) : 0x1p39 - 0.5;
                roomy_init(&r, CPU, DAY);
                assert_int_equal(add(&r, inside(CPU, 0), low, 0), 0);
                assert_int_equal(add(&r, inside(CPU, 1), 0x1p39 + 0.5, 0), 0);
                assert_true(percentile(&r.h, 500) == histogram_edge(CPU, less));
        }
}

static void test_refused(void **state)
{
        (void)state;
        static const struct {
                double value, weight;
        } row[] = {{(double)NAN, 1}, {(double)INFINITY, 1}, {-(double)INFINITY, 1},
                   {-1e-9, 1},       {1, (double)NAN},      {1, 0},
                   {1, -1},          {1, (double)INFINITY}, {1, DBL_MAX},
                   {1, 0x1.1p1000}};
        struct roomy r;
        roomy_init(&r, CPU, DAY);
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
                if (add(&r, row[i].value, row[i].weight, DAY / 2) != ERR_INVALID || r.h.count != 0)
                        fail_msg("%g weighing %g", row[i].value, row[i].weight);
        double got = 7;
        assert_int_equal(histogram_percentile(&r.h, 950, NULL, &got), ERR_INVALID);
        assert_true(got == 7);
        assert_true(histogram_total(&r.h) == 0);
}

/* A bucket takes weight up to 2^1000 and then refuses, until time has made it lighter. */
static void test_heaviest(void **state)
{
        (void)state;
        struct roomy r, other;
        roomy_init(&r, CPU, DAY);
        assert_int_equal(add(&r, 1, 0x1p999, 0), 0);
        assert_int_equal(add(&r, 1, 0x1p999, 0), 0);
        assert_int_equal(add(&r, 1, 0x1p999, 0), ERR_INVALID);
        assert_true(histogram_total(&r.h) == 0x1p1000);
        assert_int_equal(add(&r, 1, 1, 64 * DAY), 0);
        roomy_init(&other, CPU, DAY);
        assert_int_equal(add(&other, 1, 0x1p990, 0), 0);
        int cap;
        assert_int_equal(histogram_merge(&other.h, &r.h, &cap), ERR_INVALID);
        assert_true(histogram_total(&other.h) == 0x1p990);
        assert_true(percentile(&r.h, 500) == histogram_edge(CPU, histogram_bucket(CPU, 1)));
        assert_int_equal(add(&r, 1, 0x1p999, 65 * DAY), 0);
        assert_int_equal(r.h.ref_ms, 65 * DAY);
        assert_sound(&r.h);
        /* in the first bucket as well, and as much as that by merging */
        roomy_init(&r, CPU, DAY);
        roomy_init(&other, CPU, DAY);
        assert_int_equal(add(&r, 0, 0x1p999, 0), 0);
        assert_int_equal(add(&other, 0, 0x1p999, 0), 0);
        assert_int_equal(histogram_merge(&r.h, &other.h, &cap), 0);
        assert_int_equal(histogram_merge(&r.h, &other.h, &cap), ERR_INVALID);
        assert_true(histogram_total(&r.h) == 0x1p1000);
}

static void test_underflow(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, CPU, DAY);
        histogram_move(&r.h, 2000 * DAY);
        assert_int_equal(add(&r, 1, 1, 2000 * DAY - 1023 * DAY), 0); /* subnormal: nothing */
        assert_int_equal(r.h.count, 0);
        assert_int_equal(add(&r, 1, 1, -1), 0);
        assert_int_equal(add(&r, 1, 1, INT64_MIN), 0);
        assert_int_equal(r.h.count, 0);
        assert_int_equal(add(&r, 1, 1, 2000 * DAY - 1022 * DAY), 0); /* the smallest that counts */
        assert_int_equal(r.h.count, 1);
        assert_true(r.h.w[0] == DBL_MIN);
        assert_int_equal(add(&r, 2, 3, 2000 * DAY - 1022 * DAY), 0);
        assert_int_equal(add(&r, 3, 1, 2000 * DAY - 1022 * DAY), 0);
        /* both ends go, the middle stays exact */
        histogram_move(&r.h, 2001 * DAY);
        assert_int_equal(r.h.count, 1);
        assert_int_equal(r.h.first, histogram_bucket(CPU, 2));
        assert_true(r.h.w[0] == DBL_MIN * 1.5);
        assert_sound(&r.h);
        histogram_move(&r.h, 2002 * DAY);
        assert_int_equal(r.h.count, 0);
        assert_int_equal(r.h.first, 0);
        /* the ends of time */
        assert_int_equal(add(&r, 1, 1, INT64_MAX), 0);
        assert_int_equal(r.h.ref_ms, INT64_MAX / DAY * DAY);
        assert_sound(&r.h);
        assert_int_equal(add(&r, 1, 1, INT64_MIN), 0);
        roomy_init(&r, CPU, 1);
        assert_int_equal(add(&r, 1, 1, INT64_MAX), 0);
        assert_int_equal(r.h.ref_ms, INT64_MAX);
        assert_true(histogram_total(&r.h) == 1);
        roomy_init(&r, CPU, INT64_MAX);
        assert_int_equal(add(&r, 1, 1, INT64_MAX), 0);
        assert_true(histogram_total(&r.h) == 2);
}

/* All buckets are held in room for just them: what lies behind is another's. */
static void test_scale(void **state)
{
        (void)state;
        struct roomy r;
        double room[HISTOGRAM_BUCKETS + 1];
        roomy_init(&r, MEMORY, DAY);
        for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
                assert_int_equal(add(&r, histogram_start(MEMORY, i), 8, 0), 0);
        assert_int_equal(r.h.count, HISTOGRAM_BUCKETS);
        memcpy(room, r.h.w, HISTOGRAM_BUCKETS * sizeof(double));
        room[HISTOGRAM_BUCKETS] = 7;
        r.h.w = room;
        histogram_scale(&r.h, 0.25);
        for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
                assert_true(room[i] == 2);
        assert_true(room[HISTOGRAM_BUCKETS] == 7);
        /* no bucket weighs more than it may, and one that weighs nothing is not held */
        room[0] = 0x1p999;
        room[HISTOGRAM_BUCKETS - 1] = DBL_MIN;
        histogram_scale(&r.h, 4);
        assert_true(room[0] == 0x1p1000);
        histogram_scale(&r.h, 0.125);
        assert_int_equal(r.h.count, HISTOGRAM_BUCKETS - 1);
        assert_sound(&r.h);
}

/* --- room -----------------------------------------------------------------------------------------------------------
 */

static void test_room(void **state)
{
        (void)state;
        static const struct {
                int bucket, want; /* 0: there is room */
        } row[] = {{20, 1}, {20, 0}, {22, 3}, {21, 2},    {21, 0}, {20, 0},
                   {22, 3}, {19, 3}, {19, 0}, {175, 157}, {0, 176}};
        struct histogram h;
        double old[HISTOGRAM_BUCKETS], fresh[HISTOGRAM_BUCKETS];
        histogram_init(&h, MEMORY, DAY);
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                int cap = 0, count = h.count;
                int64_t at_ms = DAY * (int64_t)(i + 1) * 70; /* so that a move would be due */
                int rc = histogram_add(&h, inside(MEMORY, row[i].bucket), 1, (struct wall){at_ms}, &cap);
                if (rc != (row[i].want ? ERR_NOSPACE : 0) || cap != row[i].want)
                        fail_msg("row %zu: rc %d, wants %d", i, rc, cap);
                if (rc == 0) {
                        assert_int_equal(h.ref_ms, at_ms);
                        continue;
                }
                assert_int_equal(h.count, count);
                assert_true(i == 0 || h.ref_ms < at_ms);
                if (row[i].bucket == 22)
                        continue; /* is asked twice and never gets it */
                memcpy(old, h.w ? h.w : old, h.count * sizeof(double));
                double *was = h.w, *next = h.w == fresh ? old : fresh;
                if (next == old)
                        memcpy(old, fresh, sizeof(old));
                assert_ptr_equal(histogram_lend(&h, next, cap), was);
                assert_int_equal(h.cap, cap);
                assert_int_equal(histogram_add(&h, inside(MEMORY, row[i].bucket), 1, (struct wall){at_ms}, &cap), 0);
                assert_sound(&h);
                assert_true(weight(&h, row[i].bucket) >= 1);
        }
        double much[300];
        histogram_lend(&h, much, 300);
        assert_int_equal(h.cap, HISTOGRAM_BUCKETS);
}

/* Buckets between two that are held count as well, and hold nothing at first. */
static void test_range_grows_both_ways(void **state)
{
        (void)state;
        struct roomy r;
        double want[HISTOGRAM_BUCKETS] = {0};
        roomy_init(&r, CPU, DAY);
        static const int bucket[] = {90, 95, 80, 85, 90, 0, 175, 95, 3};
        for (size_t i = 0; i < sizeof(bucket) / sizeof(bucket[0]); i++) {
                assert_int_equal(add(&r, inside(CPU, bucket[i]), (double)i + 1, 0), 0);
                want[bucket[i]] += (double)i + 1;
                for (int n = 0; n < HISTOGRAM_BUCKETS; n++)
                        if (weight(&r.h, n) != want[n])
                                fail_msg("after %zu, bucket %d: %g", i, n, weight(&r.h, n));
                assert_sound(&r.h);
        }
        assert_int_equal(r.h.count, HISTOGRAM_BUCKETS);
}

/* --- against an exact model -----------------------------------------------------------------------------------------
 */

/* On whole half-lives with whole weights every sum is an integer that a double holds, and so is the model's. */
static void test_exact_model(void **state)
{
        (void)state;
        for (int round = 0; round < 300; round++) {
                struct roomy r;
                unsigned __int128 model[HISTOGRAM_BUCKETS] = {0}, total = 0;
                enum resource of = draw(2) ? CPU : MEMORY;
                int samples = 1 + (int)draw(60), spread = 1 + (int)draw(HISTOGRAM_BUCKETS);
                int64_t half_life = 60000 + (int64_t)draw(100000000), base = (int64_t)draw(50) * half_life;
                roomy_init(&r, of, half_life);
                histogram_move(&r.h, base);
                for (int i = 0; i < samples; i++) {
                        int n = (int)draw((uint64_t)spread), age = (int)draw(40), w = 1 + (int)draw(100);
                        assert_int_equal(add(&r, inside(of, n), w, base + age * half_life), 0);
                        model[n] += (unsigned __int128)w << age;
                        total += (unsigned __int128)w << age;
                }
                assert_true(histogram_total(&r.h) == (double)(uint64_t)total);
                for (int n = 0; n < HISTOGRAM_BUCKETS; n++)
                        assert_true(weight(&r.h, n) == (double)(uint64_t)model[n]);
                double before = 0;
                for (int p = 1; p <= 1000; p++) {
                        unsigned __int128 running = 0;
                        int answer = 0, last = 0;
                        for (int n = 0; n < HISTOGRAM_BUCKETS; n++)
                                last = model[n] ? n : last;
                        while ((running += model[answer]) * 1000 < (unsigned)p * total)
                                answer++;
                        answer = p == 1000 ? last : answer;
                        double got = percentile(&r.h, p);
                        if (got != histogram_edge(of, answer) || got < before)
                                fail_msg("round %d, P%d: %.17g, bucket %d", round, p, got, answer);
                        before = got;
                }
        }
}

static void fill(struct roomy *r, int samples, int64_t from_ms, int64_t span_ms)
{
        enum resource of = (enum resource)r->h.resource;
        for (int i = 0; i < samples; i++)
                assert_int_equal(add(r, inside(of, (int)draw(HISTOGRAM_BUCKETS)), 0.1 + (double)draw(1000) / 64,
                                     from_ms + (int64_t)draw((uint64_t)span_ms)),
                                 0);
}

static void test_move_changes_no_percentile(void **state)
{
        (void)state;
        for (int round = 0; round < 100; round++) {
                struct roomy r, late;
                roomy_init(&r, CPU, DAY);
                roomy_init(&late, CPU, DAY);
                uint64_t seed = random_state;
                int64_t ref = (int64_t)draw(800) * DAY;
                fill(&r, 50, 0, 60 * DAY);
                double before[1001];
                for (int p = 0; p <= 1000; p++)
                        before[p] = percentile(&r.h, p);
                histogram_move(&r.h, ref);
                for (int p = 0; p <= 1000; p++)
                        assert_true(percentile(&r.h, p) == before[p]);
                /* and what is added at another ref is the same to the bit */
                random_state = seed;
                histogram_move(&late.h, (int64_t)draw(800) * DAY);
                fill(&late, 50, 0, 60 * DAY);
                assert_bit_equal(&r.h, &late.h);
        }
}

static void test_sample_pulls_its_way(void **state)
{
        (void)state;
        for (int round = 0; round < 3000; round++) {
                struct roomy r;
                roomy_init(&r, MEMORY, DAY);
                fill(&r, 1 + (int)draw(30), 0, 20 * DAY);
                int p = 500 + (int)draw(501), n = (int)draw(HISTOGRAM_BUCKETS);
                double before = percentile(&r.h, p);
                int answer = 0;
                while (histogram_edge(MEMORY, answer) < before)
                        answer++;
                assert_int_equal(add(&r, inside(MEMORY, n), 0.01 + (double)draw(100), (int64_t)draw(200) * DAY / 2), 0);
                double after = percentile(&r.h, p);
                if ((n >= answer && after < before) || (n <= answer && after > before))
                        fail_msg("P%d: %.17g, then a sample in bucket %d: %.17g", p, before, n, after);
        }
}

/* --- merging --------------------------------------------------------------------------------------------------------
 */

static void test_merge_both_ways(void **state)
{
        (void)state;
        int cap;
        for (int round = 0; round < 200; round++) {
                struct roomy a, b, ab, ba;
                roomy_init(&a, CPU, DAY);
                roomy_init(&b, CPU, DAY);
                fill(&a, (int)draw(20), (int64_t)draw(2000) * DAY, 30 * DAY);
                fill(&b, (int)draw(20), (int64_t)draw(2000) * DAY, 30 * DAY);
                roomy_copy(&ab, &a);
                roomy_copy(&ba, &b);
                assert_int_equal(histogram_merge(&ab.h, &b.h, &cap), 0);
                assert_int_equal(histogram_merge(&ba.h, &a.h, &cap), 0);
                assert_bit_equal(&ab.h, &ba.h);
                assert_int_equal(ab.h.ref_ms, a.h.ref_ms > b.h.ref_ms ? a.h.ref_ms : b.h.ref_ms);
                assert_sound(&ab.h);
        }
}

static void test_merge_adds(void **state)
{
        (void)state;
        int cap;
        struct roomy a, b;
        roomy_init(&a, CPU, DAY);
        roomy_init(&b, CPU, DAY);
        assert_int_equal(add(&a, inside(CPU, 10), 8, 0), 0);
        assert_int_equal(add(&a, inside(CPU, 12), 8, 0), 0);
        assert_int_equal(add(&b, inside(CPU, 12), 1, 70 * DAY), 0);
        assert_int_equal(add(&b, inside(CPU, 14), 1, 70 * DAY), 0);
        histogram_move(&a.h, 68 * DAY);
        assert_int_equal(histogram_merge(&a.h, &b.h, &cap), 0);
        assert_int_equal(a.h.first, 10);
        assert_int_equal(a.h.count, 5);
        assert_true(weight(&a.h, 10) == 0x1p-67 && weight(&a.h, 12) == 1 + 0x1p-67 && weight(&a.h, 14) == 1);
        assert_true(weight(&a.h, 11) == 0 && weight(&a.h, 13) == 0);
}

static void test_merge_refused(void **state)
{
        (void)state;
        int cap = 0;
        struct roomy a, b;
        roomy_init(&a, CPU, DAY);
        roomy_init(&b, CPU, DAY - 1);
        assert_int_equal(histogram_merge(&a.h, &b.h, &cap), ERR_INVALID);
        roomy_init(&b, MEMORY, DAY);
        assert_int_equal(histogram_merge(&a.h, &b.h, &cap), ERR_INVALID);
        roomy_init(&b, CPU, DAY);
        assert_int_equal(add(&a, inside(CPU, 10), 8, 0), 0);
        assert_int_equal(add(&b, inside(CPU, 12), 1, 70 * DAY), 0);
        double two[2];
        histogram_lend(&a.h, two, 2);
        assert_int_equal(histogram_merge(&a.h, &b.h, &cap), ERR_NOSPACE);
        assert_int_equal(cap, 3);
        assert_int_equal(a.h.ref_ms, 0);
        assert_true(histogram_total(&a.h) == 8);
        double three[3];
        histogram_lend(&a.h, three, 3);
        assert_int_equal(histogram_merge(&a.h, &b.h, &cap), 0);
        assert_sound(&a.h);
}

/* The share of the total that lies in the buckets up to one. */
static double share_up_to(const struct histogram *h, int n)
{
        double running = 0;
        for (int i = 0; i <= n; i++)
                running += weight(h, i);
        return running / histogram_total(h);
}

/* The same percentiles, but where the running weight is as near to the share as the weights are to each other. */
static void assert_same_percentiles(const struct histogram *a, const struct histogram *b)
{
        for (int p = 1; p <= 1000; p++) {
                double low = fmin(percentile(a, p), percentile(b, p)), high = fmax(percentile(a, p), percentile(b, p));
                int n = 0;
                while (histogram_edge(CPU, n) < low)
                        n++;
                if (low < high && fabs(share_up_to(a, n) - p / 1000.0) > 1e-9)
                        fail_msg("P%d: %.17g and %.17g", p, low, high);
        }
}

/* Samples of two containers in any order: every bucket within 1e-9, and so the percentiles. */
static void test_interleaving(void **state)
{
        (void)state;
        enum { SAMPLES = 400 };
        static const int64_t half_lives[] = {60000, 3600000, DAY_MS, 30 * DAY};
        for (int round = 0; round < 40; round++) {
                int64_t at[2][SAMPLES];
                double value[2][SAMPLES];
                struct roomy in_order, mixed;
                int64_t half_life = half_lives[draw(4)];
                roomy_init(&in_order, CPU, half_life);
                roomy_init(&mixed, CPU, half_life);
                for (int c = 0; c < 2; c++) {
                        for (int i = 0; i < SAMPLES; i++) {
                                at[c][i] = (i ? at[c][i - 1] : 0) + 1000 + (int64_t)draw(120000);
                                value[c][i] = inside(CPU, 20 + (int)draw(30));
                        }
                        for (int i = 0; i < SAMPLES; i++)
                                assert_int_equal(add(&in_order, value[c][i], 0.5 + c, at[c][i]), 0);
                }
                for (int next[2] = {0, 0}; next[0] + next[1] < 2 * SAMPLES;) {
                        int c = next[0] == SAMPLES ? 1 : next[1] == SAMPLES ? 0 : (int)draw(2);
                        assert_int_equal(add(&mixed, value[c][next[c]], 0.5 + c, at[c][next[c]]), 0);
                        next[c]++;
                }
                int64_t ref = in_order.h.ref_ms > mixed.h.ref_ms ? in_order.h.ref_ms : mixed.h.ref_ms;
                histogram_move(&in_order.h, ref);
                histogram_move(&mixed.h, ref);
                for (int n = 0; n < HISTOGRAM_BUCKETS; n++) {
                        double a = weight(&in_order.h, n), b = weight(&mixed.h, n);
                        if (fabs(a - b) > 1e-9 * fmax(a, b))
                                fail_msg("bucket %d: %.17g and %.17g", n, a, b);
                }
                assert_same_percentiles(&in_order.h, &mixed.h);
        }
}

/* --- a peak that has not entered, another half-life, and long lives -------------------------------------------------
 */

static void test_extra_counts_as_if_added(void **state)
{
        (void)state;
        for (int round = 0; round < 300; round++) {
                struct roomy r, with;
                roomy_init(&r, MEMORY, DAY);
                fill(&r, (int)draw(10), 0, 60 * DAY);
                roomy_copy(&with, &r);
                struct histogram_extra extra = {.value = inside(MEMORY, (int)draw(HISTOGRAM_BUCKETS)),
                                                .weight = 1 + (double)draw(5),
                                                .at = {(int64_t)draw(300) * DAY / 2}};
                if (draw(4) == 0)
                        extra.at.ms *= 16; /* most often so late that nothing else is left */
                assert_int_equal(add(&with, extra.value, extra.weight, extra.at.ms), 0);
                for (int p = 0; p <= 1000; p += 25) {
                        double got;
                        assert_int_equal(histogram_percentile(&r.h, p, &extra, &got), 0);
                        if (got != percentile(&with.h, p))
                                fail_msg("round %d, P%d: %.17g, %.17g", round, p, got, percentile(&with.h, p));
                }
        }
}

static void test_rescale(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, CPU, DAY);
        assert_int_equal(add(&r, inside(CPU, 5), 1, 10 * DAY), 0);
        assert_int_equal(add(&r, inside(CPU, 7), 1, 12 * DAY + DAY / 2), 0);
        histogram_rescale(&r.h, 2 * DAY, (struct wall){12 * DAY + DAY / 2});
        assert_int_equal(r.h.half_life_ms, 2 * DAY);
        assert_int_equal(r.h.ref_ms, 12 * DAY);
        /* the newest weighs what a sample now would, the other still 2.5 old half-lives less */
        double now = pow(2, 0.25);
        assert_true(fabs(weight(&r.h, 7) / now - 1) < 1e-14);
        assert_true(fabs(weight(&r.h, 5) / (now * pow(2, -2.5)) - 1) < 1e-14);
        histogram_rescale(&r.h, DAY, (struct wall){0}); /* not before ref */
        assert_int_equal(r.h.ref_ms, 12 * DAY);
        assert_true(fabs(weight(&r.h, 7) / now - 1) < 1e-14);
        /* what is too light goes */
        histogram_rescale(&r.h, DAY / 2, (struct wall){1035 * DAY});
        assert_int_equal(r.h.count, 0);
        assert_int_equal(r.h.ref_ms, 1035 * DAY);
        histogram_rescale(&r.h, 7 * DAY, (struct wall){1036 * DAY});
        assert_int_equal(r.h.ref_ms, 1036 * DAY);
        /* no room is touched but what is held */
        double one[1];
        histogram_init(&r.h, CPU, DAY);
        histogram_lend(&r.h, one, 1);
        assert_int_equal(add(&r, 1, 1, 0), 0);
        histogram_rescale(&r.h, 2 * DAY, (struct wall){DAY});
        assert_true(one[0] == M_SQRT1_2);
        /* and none becomes too heavy */
        roomy_init(&r, CPU, DAY);
        assert_int_equal(add(&r, 1, 0x1p1000, 0), 0);
        histogram_rescale(&r.h, 4 * DAY, (struct wall){0});
        assert_true(histogram_total(&r.h) == 0x1p1000);
        r.h.w[0] = 0x1p1000;
        r.h.ref_ms = 12 * DAY;
        r.h.half_life_ms = DAY;
        histogram_rescale(&r.h, 7 * DAY, (struct wall){12 * DAY});
        assert_true(histogram_total(&r.h) == 0x1p1000);
        assert_int_equal(r.h.ref_ms, 7 * DAY);
}

/* Ten years at one a minute, with clocks that jump a year either way. */
static void test_ten_years(void **state)
{
        (void)state;
        static const int64_t half_lives[] = {60000, DAY_MS, 30 * DAY};
        for (size_t i = 0; i < sizeof(half_lives) / sizeof(half_lives[0]); i++) {
                struct roomy r;
                int64_t at = 1700000000000;
                roomy_init(&r, MEMORY, half_lives[i]);
                for (int minute = 0; minute < 10 * 365 * 1440; minute++, at += 60000) {
                        if (draw(100000) == 0)
                                at += (draw(2) ? 365 : -365) * DAY;
                        double value = ldexp((double)draw(1u << 20), (int)draw(30));
                        if (add(&r, value, draw(1000) ? 1 : 1e5, at) != 0)
                                fail_msg("minute %d", minute);
                        if (minute % 10007 == 0)
                                assert_sound(&r.h);
                }
                assert_sound(&r.h);
                assert_true(percentile(&r.h, 1000) >= percentile(&r.h, 500));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_weights_by_age),
                cmocka_unit_test(test_weights_by_the_millisecond),
                cmocka_unit_test(test_ref_moves_past_64),
                cmocka_unit_test(test_four_equal_buckets),
                cmocka_unit_test(test_last_bucket_answers_its_start),
                cmocka_unit_test(test_a_sum),
                cmocka_unit_test(test_hundred_per_cent),
                cmocka_unit_test(test_slack),
                cmocka_unit_test(test_slack_to_the_bit),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_heaviest),
                cmocka_unit_test(test_underflow),
                cmocka_unit_test(test_scale),
                cmocka_unit_test(test_room),
                cmocka_unit_test(test_range_grows_both_ways),
                cmocka_unit_test(test_exact_model),
                cmocka_unit_test(test_move_changes_no_percentile),
                cmocka_unit_test(test_sample_pulls_its_way),
                cmocka_unit_test(test_merge_both_ways),
                cmocka_unit_test(test_merge_adds),
                cmocka_unit_test(test_merge_refused),
                cmocka_unit_test(test_interleaving),
                cmocka_unit_test(test_extra_counts_as_if_added),
                cmocka_unit_test(test_rescale),
                cmocka_unit_test(test_ten_years),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
