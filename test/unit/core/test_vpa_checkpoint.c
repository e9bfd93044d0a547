/*
 * A VPA's checkpoint as a history: its percentiles fall in the buckets in which VPA's own do, computed here as VPA does
 * it; and what is no such checkpoint.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/vpa_checkpoint.h"
#include "usage_fixture.h"

#define AT ((int64_t)20778 * DAY) /* 2026-11-21 */

static const int64_t half_lives[RESOURCES] = {DAY, DAY};
static const int asked[] = {500, 900, 950, 990, 1000};

/* VPA's histogram.Percentile on what LoadFromCheckpoint makes: the bucket. */
static int vpa_bucket(const struct vpa_histogram *v, double p)
{
        double weight[HISTOGRAM_BUCKETS], sum = 0, partial = 0;
        int low = HISTOGRAM_BUCKETS - 1, high = 0, n;
        for (n = 0; n < HISTOGRAM_BUCKETS; n++)
                sum += v->weight[n];
        for (n = 0; n < HISTOGRAM_BUCKETS; n++) {
                weight[n] = v->weight[n] * (v->total / sum);
                if (weight[n] >= 0.0001 && n < low)
                        low = n;
                if (weight[n] >= 0.0001)
                        high = n;
        }
        for (n = low; n < high; n++) {
                partial += weight[n];
                if (partial >= p * v->total)
                        break;
        }
        return n;
}

static struct vpa_checkpoint draw_checkpoint(void)
{
        struct vpa_checkpoint v = {
                .first = {AT - (int64_t)draw(8 * DAY_MS)}, .last = {AT}, .samples = 1 + (int64_t)draw(50000)};
        for (int r = 0; r < RESOURCES; r++) {
                int from = (int)draw(150), many = 1 + (int)draw(25);
                v.of[r].reference.ms = AT - (int64_t)draw(100) * DAY;
                v.of[r].total = exp2((double)draw(90)) * (1 + (double)draw(1000));
                for (int n = from; n < from + many; n++)
                        v.of[r].weight[n] = (uint16_t)draw(10001);
                v.of[r].weight[from + (int)draw((uint64_t)many)] = VPA_WEIGHT_MOST;
        }
        return v;
}

static void expect_same_buckets(const struct vpa_checkpoint *v, int64_t window_ms)
{
        struct usage u;
        double room[2 * HISTOGRAM_BUCKETS];
        const char *why;
        assert_int_equal(vpa_usage(v, half_lives, 0.5, &u, room, &why), 0);
        usage_rewindow(&u, window_ms);
        for (int r = 0; r < RESOURCES; r++)
                for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
                        struct histogram_place place;
                        assert_int_equal(usage_place(&u, (enum resource)r, asked[i], &place), 0);
                        int want = vpa_bucket(&v->of[r], asked[i] / 1000.0);
                        if (place.bucket != want)
                                fail_msg("%s P%d: bucket %d, VPA has %d", resource_name((enum resource)r),
                                         asked[i] / 10, place.bucket, want);
                }
}

static void test_same_buckets(void **state)
{
        static const int64_t window[] = {0, DAY, HOUR};
        (void)state;
        for (int round = 0; round < 3000; round++) {
                struct vpa_checkpoint v = draw_checkpoint();
                expect_same_buckets(&v, window[round % 3]);
        }
}

/* One sample in 101 at 0.25 core, the others at 0.09; two days' memory peaks. */
static void test_exact(void **state)
{
        struct vpa_checkpoint v = {.first = {AT - 2 * DAY}, .last = {AT - MIN}, .samples = 2880};
        struct usage u;
        double room[2 * HISTOGRAM_BUCKETS], value;
        const char *why;
        (void)state;
        v.of[CPU] = (struct vpa_histogram){.reference = {AT - 3 * DAY}, .total = 5050};
        v.of[CPU].weight[histogram_bucket(CPU, 0.25)] = 100;
        v.of[CPU].weight[histogram_bucket(CPU, 0.09)] = 10000;
        v.of[MEMORY] = (struct vpa_histogram){.reference = {AT - 3 * DAY}, .total = 6};
        v.of[MEMORY].weight[histogram_bucket(MEMORY, 300 * MB)] = 10000; /* yesterday's: weighs 4 */
        v.of[MEMORY].weight[histogram_bucket(MEMORY, 200 * MB)] = 5000;
        assert_int_equal(vpa_usage(&v, half_lives, 0.5, &u, room, &why), 0);
        assert_int_equal(u.first_ms, AT - 2 * DAY);
        assert_int_equal(u.newest_ms, AT - MIN);
        assert_int_equal(u.samples, 2880);
        assert_int_equal(u.sampled.count, 2880);
        assert_int_equal(u.running.count, 2880);
        assert_int_equal(u.window_ms, DAY);
        /* evenly spread they weigh 2 to 8 of half a core, whatever VPA's own version lets them weigh */
        double total = histogram_total(&u.of[CPU]) * exp2((double)(u.of[CPU].ref_ms - AT + 3 * DAY) / DAY);
        assert_true(fabs(total - 2880 * 0.5 * 6 / (2 * log(2))) < 3);
        assert_int_equal(usage_percentile(&u, CPU, 990, &value), 0);
        assert_true(value == histogram_edge(CPU, histogram_bucket(CPU, 0.09)));
        assert_int_equal(usage_percentile(&u, CPU, 995, &value), 0);
        assert_true(value == histogram_edge(CPU, histogram_bucket(CPU, 0.25)));
        double peaks = histogram_total(&u.of[MEMORY]);
        usage_rewindow(&u, 0); /* a peak stands for 24h / 60 s samples */
        assert_true(fabs(histogram_total(&u.of[MEMORY]) - 1440 * peaks) < 1e-9 * peaks);
        assert_int_equal(u.window_ms, 0);
        usage_rewindow(&u, 12 * HOUR);
        assert_true(fabs(histogram_total(&u.of[MEMORY]) - 2 * peaks) < 1e-9 * peaks);
}

static void test_few_minutes(void **state)
{
        struct vpa_checkpoint v = {.first = {AT}, .last = {AT + 9 * MIN}, .samples = 500}; /* of fifty pods */
        struct usage u;
        double room[2 * HISTOGRAM_BUCKETS];
        const char *why;
        (void)state;
        assert_int_equal(vpa_usage(&v, half_lives, 0.5, &u, room, &why), 0);
        assert_int_equal(u.sampled.count, 10);
        assert_int_equal(u.sampled.last, AT / MIN + 9);
        assert_int_equal(u.sampled.recent, 1); /* of the minutes before the last it is not known which */
        v.last = v.first;                      /* of one moment */
        v.of[CPU] = (struct vpa_histogram){.reference = {AT}, .total = 50, .weight = {[9] = 10000}};
        assert_int_equal(vpa_usage(&v, half_lives, 1000000, &u, room, &why), 0);
        assert_true(fabs(histogram_total(&u.of[CPU]) - 500 * 1e5) < 1e-6);
        v.samples = 1;
        assert_int_equal(vpa_usage(&v, half_lives, 0.5, &u, room, &why), 0);
        assert_int_equal(u.samples, 1);
        v.samples = 0;
        assert_int_equal(vpa_usage(&v, half_lives, 0.5, &u, room, &why), 0);
        assert_int_equal(u.first_ms, 0);
        v = (struct vpa_checkpoint){.samples = 0};
        assert_int_equal(vpa_usage(&v, half_lives, 0.5, &u, room, &why), 0);
        assert_int_equal(u.samples + u.first_ms + u.of[CPU].count, 0);
}

/* Over half a half-life they weigh from 1 to the root of 2. */
static void test_half_a_life(void **state)
{
        struct vpa_checkpoint v = {.first = {AT}, .last = {AT + DAY / 2}, .samples = 720};
        struct usage u;
        double room[2 * HISTOGRAM_BUCKETS];
        const char *why;
        (void)state;
        v.of[CPU] = (struct vpa_histogram){.reference = {AT}, .total = 50, .weight = {[9] = VPA_WEIGHT_MOST}};
        assert_int_equal(vpa_usage(&v, half_lives, 1, &u, room, &why), 0);
        double total = histogram_total(&u.of[CPU]) * exp2((double)(u.of[CPU].ref_ms - AT) / DAY);
        assert_true(fabs(total - 720 * (sqrt(2) - 1) / (log(2) / 2)) < 1e-6);
}

/* All of it weighs nothing: nothing was learned. */
static void test_no_weight(void **state)
{
        struct vpa_checkpoint v = {.first = {AT}, .last = {AT + HOUR}, .samples = 60};
        struct usage u;
        double room[2 * HISTOGRAM_BUCKETS];
        const char *why;
        (void)state;
        for (int r = 0; r < RESOURCES; r++)
                v.of[r] = (struct vpa_histogram){.reference = {AT}, .weight = {[9] = VPA_WEIGHT_MOST}};
        assert_int_equal(vpa_usage(&v, half_lives, 0.5, &u, room, &why), 0);
        assert_int_equal(u.of[CPU].count + u.of[MEMORY].count, 0);
}

static void test_bounds(void **state)
{
        static const int64_t most = (int64_t)1 << 60;
        static const struct {
                struct vpa_checkpoint v;
                int want;
        } row[] = {
                {{.samples = most, .first = {1}, .last = {1}}, 0},
                {{.samples = most + 1, .first = {1}, .last = {1}}, ERR_INVALID},
                {{.last = {most}}, 0},
                {{.last = {most + 1}}, ERR_INVALID},
                {{.of[CPU] = {.total = 1, .weight = {1}, .reference = {DAY + 1}}, .last = {1}}, 0},
                {{.of[CPU] = {.total = 1, .weight = {1}, .reference = {DAY + 2}}, .last = {1}}, ERR_INVALID},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct usage u;
                double room[2 * HISTOGRAM_BUCKETS];
                const char *why = "";
                int rc = vpa_usage(&row[i].v, half_lives, 1, &u, room, &why);
                if (rc != row[i].want)
                        fail_msg("row %zu: %d '%s'", i, rc, why);
        }
}

static void test_refused(void **state)
{
        static const struct {
                struct vpa_checkpoint v;
                const char *why;
        } row[] = {
                {{.samples = -1}, "totalSamplesCount"},
                {{.first = {2}, .last = {1}}, "lastSampleStart"},
                {{.first = {-2}, .last = {1}}, "lastSampleStart"},
                {{.of[CPU].total = -1}, "totalWeight"},
                {{.of[MEMORY].total = (double)NAN}, "totalWeight"},
                {{.of[CPU].total = (double)INFINITY}, "totalWeight"},
                {{.of[MEMORY] = {.total = 1e305, .weight = {1}, .reference = {1}}}, "beyond"},
                {{.samples = 5, .first = {1}, .last = {AT}, .of[CPU] = {.total = 1, .weight = {1}, .reference = {1}}},
                 "beyond"},
                {{.samples = 5, .last = {AT}, .of[CPU] = {.total = 1, .weight = {1}, .reference = {AT}}},
                 "firstSampleStart is missing"},
                {{.samples = 1, .last = {AT}}, "firstSampleStart is missing"},
                {{.samples = 5, .first = {AT}, .last = {AT}, .of[MEMORY] = {.total = 1, .weight = {1}}},
                 "referenceTimestamp is missing"},
                {{.of[MEMORY] = {.total = 1, .weight = {1}, .reference = {-1}}}, "referenceTimestamp"},
                {{.of[CPU] = {.total = 1, .weight = {1}, .reference = {DAY + 2}}, .last = {1}}, "referenceTimestamp"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct usage u = {.samples = 77};
                double room[2 * HISTOGRAM_BUCKETS];
                const char *why = "";
                int rc = vpa_usage(&row[i].v, half_lives, 1, &u, room, &why);
                if (rc != ERR_INVALID || !strstr(why, row[i].why) || u.samples != 77)
                        fail_msg("row %zu: %d '%s', not '%s'", i, rc, why, row[i].why);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_same_buckets), cmocka_unit_test(test_exact),
                cmocka_unit_test(test_few_minutes),  cmocka_unit_test(test_half_a_life),
                cmocka_unit_test(test_no_weight),    cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
