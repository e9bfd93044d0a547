#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "usage_fixture.h"

/* --- the watermark
 * -------------------------------------------------------------------------------------------------------
 */

static void test_verdicts(void **state)
{
        (void)state;
        static const int64_t last = 1000000000, now = last + 60000;
        static const struct {
                const char *name;
                int64_t at_ms, latest_ms;
                bool cpu, memory;
                double cores, bytes;
                enum sample_verdict want;
                int cpu_folded, memory_folded;
        } row[] = {
                {"accepted", now, now, true, true, 0.5, MB, SAMPLE_ACCEPTED, 1, 1},
                {"CPU only", now, now, true, false, 0.5, -1, SAMPLE_ACCEPTED, 1, 0},
                {"memory only", now, now, false, true, (double)NAN, MB, SAMPLE_ACCEPTED, 0, 1},
                {"idle", now, now, true, true, 0, MB, SAMPLE_ACCEPTED, 1, 1},
                {"nothing", now, now, false, false, 0.5, MB, SAMPLE_INVALID, 0, 0},
                {"duplicate", last, now, true, true, 0.5, MB, SAMPLE_DUPLICATE, 0, 0},
                {"duplicate while our clock is late", last, 0, true, true, 0.5, MB, SAMPLE_DUPLICATE, 0, 0},
                {"newer by the least", last + 1, now, true, true, 0.5, MB, SAMPLE_ACCEPTED, 1, 1},
                {"reordered", last - 1, now, true, true, 0.5, MB, SAMPLE_REORDERED, 0, 0},
                {"at the epoch", 0, now, true, true, 0.5, MB, SAMPLE_REORDERED, 0, 0},
                {"before 1970", -1, now, true, true, 0.5, MB, SAMPLE_INVALID, 0, 0},
                {"five minutes ahead", now, now - 300000, true, true, 0.5, MB, SAMPLE_ACCEPTED, 1, 1},
                {"more than that", now, now - 300001, true, true, 0.5, MB, SAMPLE_FUTURE, 0, 0},
                {"CPU NaN", now, now, true, true, (double)NAN, MB, SAMPLE_INVALID, 0, 0},
                {"CPU infinite", now, now, true, true, (double)INFINITY, MB, SAMPLE_INVALID, 0, 0},
                {"CPU negative", now, now, true, true, -1e-9, MB, SAMPLE_INVALID, 0, 0},
                {"memory NaN", now, now, true, true, 0.5, (double)NAN, SAMPLE_INVALID, 0, 0},
                {"memory negative", now, now, true, true, 0.5, -1, SAMPLE_INVALID, 0, 0},
                {"most cores", now, now, true, true, 1e5, MB, SAMPLE_ACCEPTED, 1, 1},
                {"absurd cores", now, now, true, true, 100001, MB, SAMPLE_ABSURD, 0, 0},
                {"most bytes", now, now, true, true, 0.5, 1e15, SAMPLE_ACCEPTED, 1, 1},
                {"absurd bytes", now, now, true, true, 0.5, 1.0001e15, SAMPLE_ABSURD, 0, 0},
                {"memory of zero", now, now, true, true, 0.5, 0, SAMPLE_NO_MEMORY, 1, 0},
                {"memory of zero alone", now, now, false, true, 0.5, 0, SAMPLE_NO_MEMORY, 0, 0},
                {"memory of zero, absurd CPU", now, now, true, true, 1e6, 0, SAMPLE_ABSURD, 0, 0},
        };
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r, was;
                roomy_init(&r, 0);
                struct sample_watermark watermark = {last};
                struct sample s = {.at = {row[i].at_ms},
                                   .has = {row[i].cpu, row[i].memory},
                                   .value = {row[i].cores, row[i].bytes},
                                   .cpu_weight = 1};
                enum sample_verdict got = SAMPLE_VERDICTS;
                struct usage_room room;
                memset(r.w, 0, sizeof(r.w));
                roomy_copy(&was, &r);
                int rc = usage_add(&r.u, &watermark, &s, (struct wall){row[i].latest_ms}, &got, &room);
                bool folded = row[i].cpu_folded || row[i].memory_folded;
                if (rc != 0 || got != row[i].want || r.u.of[CPU].count != row[i].cpu_folded ||
                    r.u.of[MEMORY].count != row[i].memory_folded || r.u.samples != folded ||
                    watermark.last_ms != (folded ? row[i].at_ms : last))
                        fail_msg("%s: %s", row[i].name, sample_verdict_name(got));
                if (!folded) {
                        was.u.of[CPU].w = r.u.of[CPU].w;
                        was.u.of[MEMORY].w = r.u.of[MEMORY].w;
                        assert_memory_equal(&r.u, &was.u, sizeof(r.u));
                        assert_memory_equal(r.w, was.w, sizeof(r.w));
                }
        }
}

/* What is absurd of a container is not of a sum. */
static void test_what_is_absurd_of_a_sum(void **state)
{
        static const struct {
                double cores, bytes;
                enum sample_verdict want;
        } row[] = {
                {5000, 4e12, SAMPLE_ACCEPTED}, {5.7e6, 5.7e15, SAMPLE_ACCEPTED}, {5.71e6, 1e9, SAMPLE_ABSURD},
                {1, 5.71e15, SAMPLE_ABSURD},   {1e5 + 1, 1e9, SAMPLE_ACCEPTED},  {1, 1.1e15, SAMPLE_ACCEPTED},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                double w[RESOURCES][HISTOGRAM_SUM_BUCKETS], got;
                struct roomy r;
                struct sample_watermark watermark = {0};
                struct sample s = {
                        .at = {DAY}, .has = {true, true}, .value = {row[i].cores, row[i].bytes}, .cpu_weight = 1};
                enum sample_verdict verdict;
                struct usage_room room;
                roomy_init(&r, 0);
                usage_make_sum(&r.u);
                for (enum resource k = CPU; k < RESOURCES; k++)
                        histogram_lend(&r.u.of[k], w[k], HISTOGRAM_SUM_BUCKETS);
                assert_int_equal(usage_add(&r.u, &watermark, &s, s.at, &verdict, &room), 0);
                if (verdict != row[i].want)
                        fail_msg("row %zu: %s", i, sample_verdict_name(verdict));
                if (verdict != SAMPLE_ACCEPTED)
                        continue;
                for (enum resource k = CPU; k < RESOURCES; k++) {
                        assert_int_equal(usage_percentile(&r.u, k, 950, &got), 0);
                        assert_true(got >= s.value[k] * 0.95 && got <= s.value[k] * 1.06);
                }
                assert_true(r.u.day_mi[0] == (uint32_t)fmin(ceil(row[i].bytes / 1048576), UINT32_MAX));
        }
}

static void test_verdict_names(void **state)
{
        (void)state;
        static const char *const want[SAMPLE_VERDICTS] = {"accepted", "duplicate", "reordered", "future",
                                                          "invalid",  "absurd",    "no_memory"};
        for (int v = 0; v < SAMPLE_VERDICTS; v++)
                assert_string_equal(sample_verdict_name((enum sample_verdict)v), want[v]);
}

static void test_counters(void **state)
{
        (void)state;
        struct roomy r;
        struct sample_watermark a = {0}, b = {0};
        roomy_init(&r, 0);
        assert_int_equal(add_both(&r, &a, 0, 1, MB), SAMPLE_ACCEPTED); /* traces begin at 0 */
        assert_int_equal(r.u.spacing_ms, 0);
        assert_int_equal(add_both(&r, &a, 10 * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.spacing_ms, 0);
        assert_int_equal(add_both(&r, &b, 9 * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.spacing_ms, 0);
        assert_int_equal(add_both(&r, &a, 12 * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.spacing_ms, 2 * MIN);
        assert_int_equal(add_both(&r, &b, 9 * MIN + 15000, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.spacing_ms, 15000);
        assert_int_equal(r.u.first_ms, 0);
        assert_int_equal(r.u.newest_ms, 12 * MIN);
        assert_int_equal(r.u.samples, 5);
        roomy_init(&r, 0);
        assert_int_equal(add_both(&r, &a, 20 * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(add_both(&r, &b, 19 * MIN, 1, MB), SAMPLE_ACCEPTED); /* another pod's, older */
        assert_int_equal(r.u.first_ms, 19 * MIN);
        assert_int_equal(r.u.newest_ms, 20 * MIN);
}

/* Minutes are counted once, whichever pod comes first, as long as none is over an hour late. */
static void test_minutes(void **state)
{
        (void)state;
        static const struct {
                int64_t minute, want;
        } row[] = {{1000, 1},  {1000, 1},  {1001, 2},  {999, 3},   {999, 3},   {1003, 4},  {1002, 5},
                   {1002, 5},  {1000, 5},  {940, 6},   {939, 6},   {1066, 7},  {1003, 7},  {1002, 7},
                   {1004, 8},  {1130, 9},  {1067, 10}, {1066, 10}, {1068, 11}, {1193, 12}, {1130, 12},
                   {1258, 13}, {1195, 14}, {1194, 14}, {1258, 14}};
        struct roomy r;
        roomy_init(&r, 0);
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                usage_running(&r.u, (struct wall){row[i].minute * MIN + (int64_t)i});
                if (r.u.running.count != row[i].want)
                        fail_msg("row %zu, minute %lld: %lld", i, (long long)row[i].minute,
                                 (long long)r.u.running.count);
        }
}

static void test_coverage(void **state)
{
        (void)state;
        struct roomy r;
        struct sample_watermark watermark = {0};
        roomy_init(&r, 0);
        for (int64_t m = 100; m < 110; m++)
                usage_running(&r.u, (struct wall){m * MIN + 59999});
        assert_int_equal(add_both(&r, &watermark, 100 * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(add_both(&r, &watermark, 100 * MIN + 30000, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(add_both(&r, &watermark, 105 * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.sampled.count, 2);
        assert_int_equal(r.u.running.count, 10);
        /* a sample is a running pod, even where its minute is too far back to be told */
        assert_int_equal(add_both(&r, &watermark, 111 * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.running.count, 11);
        usage_running(&r.u, (struct wall){1000 * MIN});
        for (int64_t m = 200; m < 220; m++)
                assert_int_equal(add_both(&r, &watermark, m * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.sampled.count, 23);
        assert_int_equal(r.u.running.count, 23);
}

static void test_fixed_weights(void **state)
{
        (void)state;
        static const struct {
                double request, step_s, cpu, memory;
        } row[] = {{1, 0, 1, 1},           {0.1, 0, 0.1, 1},
                   {0.05, 0, 0.1, 1},      {0, 0, 0.1, 1},
                   {-5, 0, 0.1, 1},        {(double)NAN, 0, 0.1, 1},
                   {64, 0, 64, 1},         {(double)INFINITY, 0, 1e5, 1},
                   {2, 15, 0.5, 0.25},     {2, 60, 2, 1},
                   {3, 1, 0.05, 1.0 / 60}, {0, 300, 0.5, 5},
                   {0.1, 86400, 144, 1440}};
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r;
                struct sample_watermark watermark = {0};
                roomy_init(&r, 0);
                struct sample s = {.at = {5 * DAY},
                                   .has = {true, true},
                                   .value = {1, MB},
                                   .cpu_weight = row[i].request,
                                   .step_s = row[i].step_s};
                assert_int_equal(add(&r, &watermark, s), SAMPLE_ACCEPTED);
                if (fabs(weight(&r, CPU, 1) / 32 / row[i].cpu - 1) > 1e-12 ||
                    fabs(weight(&r, MEMORY, MB) / 32 / row[i].memory - 1) > 1e-12)
                        fail_msg("row %zu: %g, %g", i, weight(&r, CPU, 1) / 32, weight(&r, MEMORY, MB) / 32);
        }
}

/* CPU and memory age each by its own half-life, at one ref and at two. */
static void test_two_half_lives(void **state)
{
        (void)state;
        for (int64_t day = 10; day <= 100; day += 90) {
                struct roomy r;
                struct sample_watermark watermark = {0};
                roomy_init(&r, 0);
                r.policy[MEMORY].half_life_ms = 2 * DAY;
                usage_init(&r.u, r.policy);
                for (int i = 0; i < RESOURCES; i++)
                        histogram_lend(&r.u.of[i], r.w[i], HISTOGRAM_BUCKETS);
                add_both(&r, &watermark, day * DAY, 1, MB);
                assert_true(fabs(weight(&r, CPU, 1) - 0.1 * (day == 10 ? 1024 : 1)) < 1e-9);
                assert_true(fabs(weight(&r, MEMORY, MB) - (day == 10 ? 32 : 0x1p50)) < 1e-9);
        }
}

/* Each has its ref: what only memory knows so far moves CPU's, and memory's stays. */
static void test_two_refs(void **state)
{
        (void)state;
        struct roomy r;
        struct sample_watermark watermark = {0};
        roomy_init(&r, 0);
        add_memory(&r, 100 * DAY, MB);
        add_both(&r, &watermark, 101 * DAY, 1, MB);
        assert_int_equal(r.u.of[CPU].ref_ms, 101 * DAY);
        assert_int_equal(r.u.of[MEMORY].ref_ms, 100 * DAY);
        assert_true(weight(&r, MEMORY, MB) == 3);
}

/* Nothing is folded until both histograms have room, a closing window's peak included. */
static void test_no_room_changes_nothing(void **state)
{
        (void)state;
        for (int64_t window = 0; window <= HOUR; window += HOUR) {
                struct roomy r;
                struct sample_watermark watermark = {0};
                double slab[RESOURCES][HISTOGRAM_BUCKETS];
                memset(&r, 0, sizeof(r));
                roomy_init(&r, window);
                for (int i = 0; i < RESOURCES; i++)
                        histogram_lend(&r.u.of[i], slab[i], 0);
                int refused = 0;
                for (int i = 0; i < 200; i++) {
                        struct sample s = {.at = {1000 + i * 20 * MIN},
                                           .has = {true, draw(3) > 0},
                                           .value = {(double)draw(1000) / 100, 1e6 * (double)(1 + draw(1000))}};
                        enum sample_verdict verdict = SAMPLE_VERDICTS;
                        struct usage_room room = {.resource = CPU, .cap = -1};
                        struct usage before = r.u;
                        struct sample_watermark before_door = watermark;
                        double before_w[RESOURCES][HISTOGRAM_BUCKETS];
                        memcpy(before_w, slab, sizeof(slab));
                        int tries = 0;
                        while (usage_add(&r.u, &watermark, &s, s.at, &verdict, &room) == ERR_NOSPACE) {
                                assert_true(tries++ < 2);
                                assert_memory_equal(&r.u, &before, sizeof(before));
                                assert_memory_equal(&watermark, &before_door, sizeof(watermark));
                                assert_memory_equal(slab, before_w, sizeof(slab));
                                assert_int_equal(verdict, SAMPLE_VERDICTS);
                                assert_true(room.cap > r.u.of[room.resource].cap && room.cap <= HISTOGRAM_BUCKETS);
                                r.u.of[room.resource].cap = (uint8_t)room.cap;
                                before = r.u;
                                refused++;
                        }
                        assert_int_equal(verdict, SAMPLE_ACCEPTED);
                        for (int k = 0; k < RESOURCES; k++)
                                assert_true(r.u.of[k].count <= r.u.of[k].cap);
                }
                assert_true(refused > 3);
                assert_true(r.u.of[CPU].count == r.u.of[CPU].cap && r.u.of[MEMORY].count == r.u.of[MEMORY].cap);
        }
}

/* --- memory windows -------------------------------------------------------------------------------------------------
 */

static void test_window_takes_the_peak(void **state)
{
        (void)state;
        struct roomy r;
        double got;
        roomy_init(&r, HOUR);
        int64_t at = 24 * HOUR;
        assert_int_equal(add_memory(&r, at, 50 * MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.of[MEMORY].count, 0);
        assert_int_equal(usage_percentile(&r.u, MEMORY, 990, &got), 0);
        assert_true(got == histogram_edge(MEMORY, histogram_bucket(MEMORY, 50 * MB)));
        add_memory(&r, at + 10 * MIN, 90 * MB);
        add_memory(&r, at + 20 * MIN, 70 * MB);
        add_memory(&r, at + 60 * MIN - 1, 90 * MB); /* as high, later */
        assert_int_equal(r.u.of[MEMORY].count, 0);
        assert_true(r.u.peak == 90 * MB);
        assert_int_equal(r.u.peak_at_ms, at + 60 * MIN - 1);
        assert_int_equal(usage_percentile(&r.u, MEMORY, 500, &got), 0);
        assert_true(got == histogram_edge(MEMORY, histogram_bucket(MEMORY, 90 * MB)));
        /* the next window's first sample closes it; a peak weighs as at its own time */
        add_memory(&r, at + 60 * MIN, 20 * MB);
        assert_int_equal(r.u.of[MEMORY].count, 1);
        assert_true(fabs(weight(&r, MEMORY, 90 * MB) - exp2((double)(at + HOUR - 1) / (double)DAY)) < 1e-12);
        assert_true(r.u.peak == 20 * MB);
        assert_int_equal(r.u.peak_at_ms, at + HOUR);
        assert_int_equal(usage_percentile(&r.u, MEMORY, 1000, &got), 0);
        assert_true(got == histogram_edge(MEMORY, histogram_bucket(MEMORY, 90 * MB)));
        /* CPU has no windows */
        struct sample_watermark watermark = {0};
        add_both(&r, &watermark, at + HOUR, 1, 10 * MB);
        assert_int_equal(r.u.of[CPU].count, 1);
        assert_int_equal(usage_percentile(&r.u, CPU, 500, &got), 0);
        assert_true(got == histogram_edge(CPU, histogram_bucket(CPU, 1)));
}

/* A slower pod's sample for a window that is closed: no peak lost, none twice. */
static void test_window_late_sample(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, HOUR);
        add_memory(&r, HOUR + 1000, 40 * MB);
        add_memory(&r, HOUR - 1000, 30 * MB); /* lower: nothing */
        assert_true(r.u.peak == 40 * MB);
        assert_int_equal(r.u.peak_at_ms, HOUR + 1000);
        add_memory(&r, HOUR - 500, 80 * MB);
        assert_true(r.u.peak == 80 * MB);
        assert_int_equal(r.u.peak_at_ms, HOUR);
        assert_int_equal(r.u.of[MEMORY].count, 0);
        add_memory(&r, HOUR - 400, 80 * MB);
        assert_int_equal(r.u.peak_at_ms, HOUR);
        add_memory(&r, HOUR + 2000, 20 * MB); /* the window is still open */
        assert_int_equal(r.u.of[MEMORY].count, 0);
        add_memory(&r, 2 * HOUR, 20 * MB);
        assert_int_equal(r.u.of[MEMORY].count, 1);
        assert_true(weight(&r, MEMORY, 80 * MB) > 0);
}

/* One byte is a peak, one millisecond a window, and the first millisecond of 1970 a time. */
static void test_smallest(void **state)
{
        (void)state;
        struct roomy r;
        struct sample_watermark watermark = {1};
        double got;
        roomy_init(&r, HOUR);
        add_memory(&r, HOUR + 1000, 1);
        assert_int_equal(usage_percentile(&r.u, MEMORY, 500, &got), 0);
        add_memory(&r, HOUR - 500, 2);
        assert_int_equal(r.u.peak_at_ms, HOUR);
        r.u.peak = 1;
        add_memory(&r, 2 * HOUR, 50 * MB);
        assert_int_equal(r.u.of[MEMORY].count, 1);
        roomy_init(&r, 1);
        add_memory(&r, 10 * DAY, 50 * MB);
        assert_true(r.u.peak == 50 * MB);
        /* an open peak weighs one: of two, the lower has a half */
        add_memory(&r, 10 * DAY + 1, 90 * MB);
        assert_int_equal(usage_percentile(&r.u, MEMORY, 499, &got), 0);
        assert_true(got == histogram_edge(MEMORY, histogram_bucket(MEMORY, 50 * MB)));
        assert_int_equal(usage_percentile(&r.u, MEMORY, 501, &got), 0);
        assert_true(got == histogram_edge(MEMORY, histogram_bucket(MEMORY, 90 * MB)));
        roomy_init(&r, 0);
        assert_int_equal(add_both(&r, &watermark, 1, 1, MB), SAMPLE_DUPLICATE);
        assert_int_equal(add_both(&r, &watermark, 2, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.spacing_ms, 1);
}

/* In a window the order of two pods' samples changes nothing. */
static void test_window_any_order(void **state)
{
        (void)state;
        for (int round = 0; round < 200; round++) {
                struct roomy a, b;
                int64_t at[6];
                double bytes[6];
                roomy_init(&a, HOUR);
                roomy_init(&b, HOUR);
                for (int i = 0; i < 6; i++) {
                        at[i] = 5 * HOUR + (int64_t)draw((uint64_t)HOUR);
                        bytes[i] = (double)(1 + draw(4)) * MB;
                        add_memory(&a, at[i], bytes[i]);
                }
                for (int i = 6; i-- > 0;)
                        add_memory(&b, at[i], bytes[i]);
                assert_true(a.u.peak == b.u.peak);
                assert_int_equal(a.u.peak_at_ms, b.u.peak_at_ms);
        }
}

static void test_adopt(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, HOUR);
        struct sample_watermark watermark = {0};
        add_both(&r, &watermark, 10 * DAY, 1, 50 * MB);
        add_both(&r, &watermark, 11 * DAY, 1, 60 * MB);
        /* the same again changes nothing */
        struct usage before = r.u;
        usage_adopt(&r.u, r.policy);
        assert_memory_equal(&before, &r.u, sizeof(before));
        /* windows off: the open peak counts all the while, and enters with the next sample */
        r.policy[MEMORY].window_ms = 0;
        r.policy[CPU].half_life_ms = 2 * DAY;
        usage_adopt(&r.u, r.policy);
        assert_int_equal(r.u.of[CPU].half_life_ms, 2 * DAY);
        assert_int_equal(r.u.of[CPU].ref_ms, 10 * DAY);
        assert_int_equal(r.u.of[MEMORY].half_life_ms, DAY);
        assert_true(fabs(histogram_total(&r.u.of[CPU]) / (0.1 * M_SQRT2 * 1.5) - 1) < 1e-12);
        assert_true(r.u.peak == 60 * MB);
        add_memory(&r, 11 * DAY + 1, 90 * MB);
        assert_true(r.u.peak == 0 && r.u.peak_at_ms == 0);
        assert_true(weight(&r, MEMORY, 50 * MB) == 1024 && weight(&r, MEMORY, 60 * MB) == 2048);
        assert_true(weight(&r, MEMORY, 90 * MB) > 2048);
        /* and on again */
        r.policy[MEMORY].window_ms = HOUR;
        usage_adopt(&r.u, r.policy);
        add_memory(&r, 12 * DAY, 70 * MB);
        assert_true(r.u.peak == 70 * MB);
}

/* --- against a plain model -------------------------------------------------------------------------------------------
 */

enum { MODEL_PODS = 4, MODEL_SAMPLES = 60 };

/* Every window's peak in one list, the open one's last: what was said of windows, without a histogram. */
struct peaks {
        struct {
                int64_t window, at_ms;
                double bytes;
        } all[MODEL_PODS * MODEL_SAMPLES];
        int n;
};

static void peaks_note(struct peaks *p, int64_t window_ms, int64_t at_ms, double bytes)
{
        int64_t window = at_ms / window_ms;
        if (p->n == 0 || window > p->all[p->n - 1].window) {
                p->all[p->n].window = window;
                p->all[p->n].at_ms = at_ms;
                p->all[p->n++].bytes = bytes;
                return;
        }
        /* too late for its own window: it counts in the open one, from its first instant */
        if (window < p->all[p->n - 1].window)
                at_ms = p->all[p->n - 1].window * window_ms;
        if (bytes < p->all[p->n - 1].bytes || (bytes <= p->all[p->n - 1].bytes && at_ms <= p->all[p->n - 1].at_ms))
                return;
        p->all[p->n - 1].bytes = bytes;
        p->all[p->n - 1].at_ms = at_ms;
}

/* The histogram that the peaks alone give, the open one as if it had entered. */
static void assert_peaks_are(const struct roomy *r, const struct peaks *p)
{
        struct roomy plain;
        int unused;
        roomy_init(&plain, 0);
        for (int i = 0; i < p->n; i++)
                assert_int_equal(
                        histogram_add(&plain.u.of[MEMORY], p->all[i].bytes, 1, (struct wall){p->all[i].at_ms}, &unused),
                        0);
        for (int share = 0; share <= 1000; share += 50) {
                double want, got;
                assert_int_equal(histogram_percentile(&plain.u.of[MEMORY], share, NULL, &want), 0);
                assert_int_equal(usage_percentile(&r->u, MEMORY, share, &got), 0);
                assert_true(got == want);
        }
        assert_true(r->u.peak == p->all[p->n - 1].bytes);
        assert_int_equal(r->u.peak_at_ms, p->all[p->n - 1].at_ms);
}

/* Samples of several pods, each in its own order, in any order among them and with one pod far behind. */
static void test_windows_against_a_list(void **state)
{
        (void)state;
        for (int round = 0; round < 200; round++) {
                struct roomy r;
                struct peaks model = {.n = 0};
                struct sample_watermark watermark[MODEL_PODS] = {{0}};
                int64_t at[MODEL_PODS], window_ms = (1 + (int64_t)draw(200)) * MIN;
                double most = 0, got;
                roomy_init(&r, window_ms);
                for (int i = 0; i < MODEL_PODS; i++)
                        at[i] = 1000 * DAY - (i == 0 ? (int64_t)draw((uint64_t)DAY) : 0);
                for (int i = 0; i < MODEL_PODS * MODEL_SAMPLES; i++) {
                        int pod = (int)draw(MODEL_PODS);
                        double bytes = (double)(1 + draw(30)) * 10 * MB;
                        at[pod] += 1 + (int64_t)draw(30 * MINUTE_MS);
                        struct sample s = {.at = {at[pod]}, .has = {false, true}, .value = {0, bytes}};
                        assert_int_equal(add(&r, &watermark[pod], s), SAMPLE_ACCEPTED);
                        peaks_note(&model, window_ms, at[pod], bytes);
                        assert_peaks_are(&r, &model);
                        most = fmax(most, bytes);
                }
                /* whatever the order, the highest of all is seen */
                assert_int_equal(usage_percentile(&r.u, MEMORY, 1000, &got), 0);
                assert_true(got == histogram_edge(MEMORY, histogram_bucket(MEMORY, most)));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_verdicts),
                cmocka_unit_test(test_what_is_absurd_of_a_sum),
                cmocka_unit_test(test_verdict_names),
                cmocka_unit_test(test_counters),
                cmocka_unit_test(test_minutes),
                cmocka_unit_test(test_coverage),
                cmocka_unit_test(test_fixed_weights),
                cmocka_unit_test(test_two_half_lives),
                cmocka_unit_test(test_two_refs),
                cmocka_unit_test(test_no_room_changes_nothing),
                cmocka_unit_test(test_window_takes_the_peak),
                cmocka_unit_test(test_window_late_sample),
                cmocka_unit_test(test_smallest),
                cmocka_unit_test(test_window_any_order),
                cmocka_unit_test(test_adopt),
                cmocka_unit_test(test_windows_against_a_list),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
