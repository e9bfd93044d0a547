#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/usage.h"

#define MIN  ((int64_t)MINUTE_MS)
#define HOUR ((int64_t)HOUR_MS)
#define DAY  ((int64_t)DAY_MS)
#define MI   1048576.0
#define MB   1e6

static const struct resource_policy policy[RESOURCES] = {
        [CPU] = {.enabled = true, .percentile = 950, .multiplier = 1100, .half_life_ms = DAY, .round_to = 1},
        [MEMORY] = {.enabled = true,
                    .percentile = 990,
                    .multiplier = 1150,
                    .half_life_ms = DAY,
                    .round_to = 1 << 20,
                    .oom_hold_ms = 168 * HOUR,
                    .oom_bump = 1200},
};

/* A history with all the room there is. */
struct roomy {
        struct usage u;
        double w[RESOURCES][HISTOGRAM_BUCKETS];
        struct resource_policy policy[RESOURCES];
};

static void roomy_init(struct roomy *r, int64_t window_ms)
{
        memcpy(r->policy, policy, sizeof(policy));
        r->policy[MEMORY].window_ms = window_ms;
        usage_init(&r->u, r->policy);
        for (int i = 0; i < RESOURCES; i++)
                histogram_lend(&r->u.of[i], r->w[i], HISTOGRAM_BUCKETS);
}

static void roomy_copy(struct roomy *to, const struct roomy *from)
{
        *to = *from;
        for (int i = 0; i < RESOURCES; i++)
                to->u.of[i].w = to->w[i];
}

static enum sample_verdict add(struct roomy *r, struct sample_door *door, struct sample s)
{
        enum sample_verdict verdict = SAMPLE_VERDICTS;
        struct usage_room room;
        assert_int_equal(usage_add(&r->u, door, &s, s.at, &verdict, &room), 0);
        return verdict;
}

static enum sample_verdict add_both(struct roomy *r, struct sample_door *door, int64_t at_ms, double cpu, double memory)
{
        return add(r, door, (struct sample){.at = {at_ms}, .has = {true, true}, .value = {cpu, memory}});
}

static enum sample_verdict add_memory(struct roomy *r, int64_t at_ms, double memory)
{
        struct sample_door door = {0};
        return add(r, &door, (struct sample){.at = {at_ms}, .has = {false, true}, .value = {0, memory}});
}

static double weight(const struct roomy *r, enum resource of, double value)
{
        const struct histogram *h = &r->u.of[of];
        int n = histogram_bucket(of, value);
        return n >= h->first && n < h->first + h->count ? h->w[n - h->first] : 0;
}

static uint64_t random_state = 88172645463325252u;
static uint64_t draw(uint64_t below)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state % below;
}

/* --- the door -------------------------------------------------------------------------------------------------------
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
                {"memory only", now, now, false, true, NAN, MB, SAMPLE_ACCEPTED, 0, 1},
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
                {"CPU NaN", now, now, true, true, NAN, MB, SAMPLE_INVALID, 0, 0},
                {"CPU infinite", now, now, true, true, INFINITY, MB, SAMPLE_INVALID, 0, 0},
                {"CPU negative", now, now, true, true, -1e-9, MB, SAMPLE_INVALID, 0, 0},
                {"memory NaN", now, now, true, true, 0.5, NAN, SAMPLE_INVALID, 0, 0},
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
                struct sample_door door = {last};
                struct sample s = {.at = {row[i].at_ms},
                                   .has = {row[i].cpu, row[i].memory},
                                   .value = {row[i].cores, row[i].bytes},
                                   .cpu_weight = 1};
                enum sample_verdict got = SAMPLE_VERDICTS;
                struct usage_room room;
                memset(r.w, 0, sizeof(r.w));
                roomy_copy(&was, &r);
                int rc = usage_add(&r.u, &door, &s, (struct wall){row[i].latest_ms}, &got, &room);
                bool folded = row[i].cpu_folded || row[i].memory_folded;
                if (rc != 0 || got != row[i].want || r.u.of[CPU].count != row[i].cpu_folded ||
                    r.u.of[MEMORY].count != row[i].memory_folded || r.u.samples != folded ||
                    door.last_ms != (folded ? row[i].at_ms : last))
                        fail_msg("%s: %s", row[i].name, sample_verdict_name(got));
                if (!folded) {
                        was.u.of[CPU].w = r.u.of[CPU].w;
                        was.u.of[MEMORY].w = r.u.of[MEMORY].w;
                        assert_memory_equal(&r.u, &was.u, sizeof(r.u));
                        assert_memory_equal(r.w, was.w, sizeof(r.w));
                }
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
        struct sample_door a = {0}, b = {0};
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
        struct sample_door door = {0};
        roomy_init(&r, 0);
        for (int64_t m = 100; m < 110; m++)
                usage_running(&r.u, (struct wall){m * MIN + 59999});
        assert_int_equal(add_both(&r, &door, 100 * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(add_both(&r, &door, 100 * MIN + 30000, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(add_both(&r, &door, 105 * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.sampled.count, 2);
        assert_int_equal(r.u.running.count, 10);
        /* a sample is a running pod, even where its minute is too far back to be told */
        assert_int_equal(add_both(&r, &door, 111 * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.running.count, 11);
        usage_running(&r.u, (struct wall){1000 * MIN});
        for (int64_t m = 200; m < 220; m++)
                assert_int_equal(add_both(&r, &door, m * MIN, 1, MB), SAMPLE_ACCEPTED);
        assert_int_equal(r.u.sampled.count, 23);
        assert_int_equal(r.u.running.count, 23);
}

static void test_fixed_weights(void **state)
{
        (void)state;
        static const struct {
                double request, step_s, cpu, memory;
        } row[] = {{1, 0, 1, 1},           {0.1, 0, 0.1, 1}, {0.05, 0, 0.1, 1},      {0, 0, 0.1, 1},
                   {-5, 0, 0.1, 1},        {NAN, 0, 0.1, 1}, {64, 0, 64, 1},         {INFINITY, 0, 1e5, 1},
                   {2, 15, 0.5, 0.25},     {2, 60, 2, 1},    {3, 1, 0.05, 1.0 / 60}, {0, 300, 0.5, 5},
                   {0.1, 86400, 144, 1440}};
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r;
                struct sample_door door = {0};
                roomy_init(&r, 0);
                struct sample s = {.at = {5 * DAY},
                                   .has = {true, true},
                                   .value = {1, MB},
                                   .cpu_weight = row[i].request,
                                   .step_s = row[i].step_s};
                assert_int_equal(add(&r, &door, s), SAMPLE_ACCEPTED);
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
                struct sample_door door = {0};
                roomy_init(&r, 0);
                r.policy[MEMORY].half_life_ms = 2 * DAY;
                usage_init(&r.u, r.policy);
                for (int i = 0; i < RESOURCES; i++)
                        histogram_lend(&r.u.of[i], r.w[i], HISTOGRAM_BUCKETS);
                add_both(&r, &door, day * DAY, 1, MB);
                assert_true(fabs(weight(&r, CPU, 1) - 0.1 * (day == 10 ? 1024 : 1)) < 1e-9);
                assert_true(fabs(weight(&r, MEMORY, MB) - (day == 10 ? 32 : 0x1p50)) < 1e-9);
        }
}

/* Nothing is folded until both histograms have room, a closing window's peak included. */
static void test_no_room_changes_nothing(void **state)
{
        (void)state;
        for (int64_t window = 0; window <= HOUR; window += HOUR) {
                struct roomy r;
                struct sample_door door = {0};
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
                        struct usage_room room = {CPU, -1};
                        struct usage before = r.u;
                        struct sample_door before_door = door;
                        double before_w[RESOURCES][HISTOGRAM_BUCKETS];
                        memcpy(before_w, slab, sizeof(slab));
                        int tries = 0;
                        while (usage_add(&r.u, &door, &s, s.at, &verdict, &room) == ERR_NOSPACE) {
                                assert_true(tries++ < 2);
                                assert_memory_equal(&r.u, &before, sizeof(before));
                                assert_memory_equal(&door, &before_door, sizeof(door));
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
        struct sample_door door = {0};
        add_both(&r, &door, at + HOUR, 1, 10 * MB);
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
        struct sample_door door = {1};
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
        assert_int_equal(add_both(&r, &door, 1, 1, MB), SAMPLE_DUPLICATE);
        assert_int_equal(add_both(&r, &door, 2, 1, MB), SAMPLE_ACCEPTED);
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
        struct sample_door door = {0};
        add_both(&r, &door, 10 * DAY, 1, 50 * MB);
        add_both(&r, &door, 11 * DAY, 1, 60 * MB);
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

/* --- kills ----------------------------------------------------------------------------------------------------------
 */

static double hold_at(const struct roomy *r, int64_t now_ms)
{
        return usage_kill_hold(&r->u, &r->policy[MEMORY], (struct wall){now_ms});
}

static void kill_at(struct roomy *r, int64_t at_ms, double last, double limit)
{
        usage_oom(&r->u, &r->policy[MEMORY], (struct wall){at_ms}, last, limit);
}

static void test_kill_sample(void **state)
{
        (void)state;
        static const struct {
                double last, limit, want;
        } row[] = {{1000 * MI, 0, 1200 * MI},
                   {0, 1000 * MI, 1200 * MI},
                   {900 * MI, 1000 * MI, 1200 * MI},
                   {1000 * MI, 900 * MI, 1200 * MI},
                   {100 * MI, 0, 200 * MI},
                   {500 * MI, 0, 600 * MI},
                   {501 * MI, 0, 601.2 * MI},
                   {0, 0, 100 * MI},
                   {NAN, INFINITY, 100 * MI},
                   {-1, 2e15, 100 * MI},
                   {1e15, 0, 1e15},
                   {1000 * MI, 1.1e15, 1200 * MI}};
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r;
                roomy_init(&r, 0);
                kill_at(&r, 100 * DAY, row[i].last, row[i].limit);
                if (fabs(hold_at(&r, 100 * DAY) - row[i].want) > 1e-3)
                        fail_msg("row %zu: %.0f", i, hold_at(&r, 100 * DAY));
                assert_int_equal(r.u.kills, 1);
                assert_int_equal(r.u.kill[1].at_ms, 0);
                assert_int_equal(r.u.of[MEMORY].count, 0);
        }
}

/* A further kill within a half-life starts from the model; three bumps in any half-life. */
static void test_kill_steps(void **state)
{
        (void)state;
        static const struct {
                int64_t at_ms;
                double last, want; /* Mi */
        } row[] = {
                {0, 1000, 1200},
                {HOUR, 1000, 1440},
                {2 * HOUR, 1000, 1728},
                {3 * HOUR, 1000, 1728},
                {4 * HOUR, 1000, 1728},
                {5 * HOUR, 2000, 2000},
                {DAY - 1, 1000, 2000},
                {DAY, 1000, 2400},
                {DAY + 1, 1000, 2400},
                {DAY + HOUR, 1000, 2880},
                {DAY + 2 * HOUR - 1, 0, 2880},
                {DAY + 2 * HOUR, 0, 3456},
                {3 * DAY + 2 * HOUR, 1000, 3456}, /* a half-life later: from what it used, and the hold stands */
        };
        struct roomy r;
        roomy_init(&r, 0);
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                int64_t at = 100 * DAY + row[i].at_ms;
                kill_at(&r, at, row[i].last * MI, 0);
                if (fabs(hold_at(&r, at) - row[i].want * MI) > 1)
                        fail_msg("row %zu: %.3f Mi", i, hold_at(&r, at) / MI);
                assert_int_equal(r.u.kills, i + 1);
        }
        assert_true(fabs(r.u.kill[0].bytes - 1200 * MI) < 1);
        /* a half-life after the newest kill exactly is no longer within it; just before it is */
        roomy_init(&r, 0);
        kill_at(&r, 100 * DAY, 1000 * MI, 0);
        kill_at(&r, 101 * DAY - 1, 1000 * MI, 0);
        assert_true(fabs(hold_at(&r, 101 * DAY) - 1440 * MI) < 1);
        kill_at(&r, 102 * DAY - 1, 1000 * MI, 0);
        assert_true(fabs(r.u.kill[0].bytes - 1200 * MI) < 1);
}

/* The model is the percentile where that is more than what is held, in whole Mi. */
static void test_kill_starts_from_percentile(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, 0);
        add_memory(&r, 100 * DAY, 3e9);
        for (double bytes = 3e9; bytes < 1e12; bytes *= 1.06) {
                double percentile, model;
                roomy_init(&r, 0);
                add_memory(&r, 100 * DAY, bytes);
                assert_int_equal(usage_percentile(&r.u, MEMORY, 990, &percentile), 0);
                model = ceil(percentile / MI) * MI;
                kill_at(&r, 100 * DAY, 100 * MI, 0);
                assert_true(hold_at(&r, 100 * DAY) == 200 * MI);
                kill_at(&r, 100 * DAY + 1, 100 * MI, 0);
                assert_true(fabs(hold_at(&r, 100 * DAY + 1) - 1.2 * model) < 1);
        }
        /* and what is held where that is more */
        roomy_init(&r, 0);
        add_memory(&r, 100 * DAY, 50 * MB);
        kill_at(&r, 100 * DAY, 1000 * MI, 0);
        kill_at(&r, 100 * DAY + 1, 1000 * MI, 0);
        assert_true(fabs(hold_at(&r, 100 * DAY + 1) - 1440 * MI) < 1);
        /* an expired hold is no model */
        roomy_init(&r, 0);
        r.policy[MEMORY].oom_hold_ms = HOUR;
        kill_at(&r, 100 * DAY, 1000 * MI, 0);
        kill_at(&r, 100 * DAY + HOUR + 1, 1000 * MI, 0);
        assert_true(fabs(hold_at(&r, 100 * DAY + HOUR + 1) - 1200 * MI) < 1);
}

static void test_kill_hold_ends(void **state)
{
        (void)state;
        struct roomy r;
        roomy_init(&r, 0);
        assert_true(hold_at(&r, 0) == 0);
        kill_at(&r, 100 * DAY, 1000 * MI, 0);
        assert_true(hold_at(&r, 100 * DAY - 1) > 0);
        assert_true(hold_at(&r, 107 * DAY) > 0);
        assert_true(hold_at(&r, 107 * DAY + 1) == 0);
}

/* Kills larger than every newer one. */
static int kills_needed(const int64_t *at, const double *bytes, int n)
{
        int needed = 0;
        for (int i = 0; i < n; i++) {
                bool is_needed = true;
                for (int k = 0; k < n; k++)
                        if ((at[k] > at[i] && bytes[k] >= bytes[i]) || (at[k] == at[i] && bytes[k] > bytes[i]) ||
                            (k < i && at[k] == at[i] && bytes[k] >= bytes[i]))
                                is_needed = false;
                needed += is_needed;
        }
        return needed;
}

/* Kills that never bump, of any size and order: the largest of any hold, exactly, as long as four suffice. */
static void test_kills_against_all(void **state)
{
        (void)state;
        int exact = 0, upward = 0;
        for (int round = 0; round < 3000; round++) {
                struct roomy r, src;
                int64_t at[12];
                double bytes[12];
                int n = 1 + (int)draw(12);
                bool four_suffice = true;
                roomy_init(&r, 0);
                roomy_init(&src, 0);
                for (int i = 0; i < n; i++) {
                        at[i] = 1000 * DAY + (int64_t)draw(20) * DAY;
                        bytes[i] = (double)(1 + draw(12)) * 100 * MI;
                        src.u.kill[0] = (struct usage_kill){at[i], bytes[i]};
                        struct usage_room room;
                        assert_int_equal(usage_merge(&r.u, &src.u, &room), 0);
                        four_suffice &= kills_needed(at, bytes, i + 1) <= USAGE_KILLS;
                }
                for (int64_t hold = 0; hold <= 21 * DAY; hold += DAY) {
                        r.policy[MEMORY].oom_hold_ms = hold;
                        double want = 0, got = hold_at(&r, 1020 * DAY);
                        for (int i = 0; i < n; i++)
                                if (1020 * DAY - at[i] <= hold && bytes[i] > want)
                                        want = bytes[i];
                        if (four_suffice ? got != want : got < want)
                                fail_msg("round %d, hold %lld days: %g for %g", round, (long long)(hold / DAY), got,
                                         want);
                        exact += four_suffice;
                        upward += got > want;
                }
        }
        assert_true(exact > 1000 && upward > 0);
}

/* With four slots taken, what has expired goes first. */
static void test_expired_kill_makes_room(void **state)
{
        (void)state;
        static const struct {
                int64_t last_ms;
                double oldest;
        } row[] = {{107 * DAY, 2000}, {107 * DAY + 1, 1900}};
        for (int i = 0; i < 2; i++) {
                struct roomy r;
                roomy_init(&r, 0);
                for (int k = 0; k < USAGE_KILLS; k++)
                        r.u.kill[USAGE_KILLS - 1 - k] = (struct usage_kill){(100 + k) * DAY, (2000 - 100 * k) * MI};
                kill_at(&r, row[i].last_ms, 1000 * MI, 0);
                assert_true(r.u.kill[USAGE_KILLS - 1].bytes == row[i].oldest * MI);
                assert_int_equal(r.u.kill[USAGE_KILLS - 1].at_ms, 101 * DAY);
                assert_int_equal(r.u.kill[0].at_ms, row[i].last_ms);
        }
}

/* --- merging --------------------------------------------------------------------------------------------------------
 */

static void test_merge(void **state)
{
        (void)state;
        struct roomy a, b;
        struct sample_door door = {0}, other = {0};
        struct usage_room room;
        roomy_init(&a, 0);
        roomy_init(&b, 0);
        add_both(&a, &door, 10 * MIN, 1, 50 * MB);
        add_both(&a, &door, 12 * MIN, 1, 50 * MB);
        add_both(&b, &other, 7 * MIN, 2, 50 * MB);
        add_both(&b, &other, 12 * MIN + 5000, 3, 80 * MB);
        a.u.runs = 2;
        b.u.runs = 3;
        a.u.last_run_ms = 5;
        b.u.last_run_ms = 4;
        kill_at(&a, 5 * DAY, 1000 * MI, 0);
        kill_at(&a, 7 * DAY, 1000 * MI, 0);
        kill_at(&b, 6 * DAY, 1000 * MI, 0);
        kill_at(&b, 8 * DAY, 1000 * MI, 0);
        struct roomy ab, ba;
        roomy_copy(&ab, &a);
        roomy_copy(&ba, &b);
        assert_int_equal(usage_merge(&ab.u, &b.u, &room), 0);
        assert_int_equal(usage_merge(&ba.u, &a.u, &room), 0);
        uint8_t ab_packed[USAGE_PACK_MAX], ba_packed[USAGE_PACK_MAX];
        size_t len = usage_pack(&ab.u, ab_packed);
        assert_int_equal(len, usage_pack(&ba.u, ba_packed));
        assert_memory_equal(ab_packed, ba_packed, len);
        assert_int_equal(ab.u.first_ms, 7 * MIN);
        assert_int_equal(ab.u.newest_ms, 12 * MIN + 5000);
        assert_int_equal(ab.u.spacing_ms, 5 * MIN + 5000);
        assert_int_equal(ab.u.samples, 4);
        assert_int_equal(ab.u.sampled.count, 4);
        assert_int_equal(ab.u.sampled.last, 12);
        assert_int_equal(ab.u.sampled.recent, 1 | 4 | 32);
        assert_int_equal(ab.u.runs, 5);
        assert_int_equal(ab.u.last_run_ms, 5);
        assert_int_equal(ab.u.kills, 4);
        assert_int_equal(ab.u.step_ms[0], 8 * DAY);
        assert_int_equal(ab.u.step_ms[1], 7 * DAY);
        assert_int_equal(ab.u.step_ms[2], 6 * DAY);
        assert_int_equal(ab.u.kill[0].at_ms, 8 * DAY);
        assert_true(weight(&ab, MEMORY, 50 * MB) > 3 && weight(&ab, MEMORY, 80 * MB) > 1);
        /* with an empty one nothing changes */
        struct roomy empty, kept;
        roomy_init(&empty, 0);
        roomy_copy(&kept, &a);
        assert_int_equal(usage_merge(&a.u, &empty.u, &room), 0);
        len = usage_pack(&kept.u, ab_packed);
        assert_int_equal(usage_pack(&a.u, ba_packed), len);
        assert_memory_equal(ab_packed, ba_packed, len);
        assert_int_equal(usage_merge(&empty.u, &kept.u, &room), 0);
        assert_int_equal(usage_pack(&empty.u, ba_packed), len);
        assert_memory_equal(ab_packed, ba_packed, len);
}

static void test_merge_peaks(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                int64_t window_ms;
                int64_t a_ms, b_ms;
                double a, b; /* MB; 0: none */
                int64_t open_ms;
                double open, entered; /* 0: none */
        } row[] = {
                {"none", HOUR, 0, 0, 0, 0, 0, 0, 0},
                {"one", HOUR, 9 * MIN, 0, 50, 0, 9 * MIN, 50, 0},
                {"one window", HOUR, 9 * MIN, 5 * MIN, 50, 90, 5 * MIN, 90, 0},
                {"one window, equal", HOUR, 9 * MIN, 5 * MIN, 50, 50, 9 * MIN, 50, 0},
                {"one window, later lower", HOUR, 9 * MIN, 5 * MIN, 90, 50, 9 * MIN, 90, 0},
                {"two windows", HOUR, 59 * MIN, 60 * MIN, 90, 50, 60 * MIN, 50, 90},
                {"one byte", HOUR, 59 * MIN, 60 * MIN, 1e-6, 50, 60 * MIN, 50, 1e-6},
                {"one byte stays", HOUR, 0, 60 * MIN, 0, 1e-6, 60 * MIN, 1e-6, 0},
                {"shortest windows", 1, 5, 5, 70, 50, 5, 70, 0},
                {"shortest windows, two", 1, 5, 6, 70, 50, 6, 50, 70},
                {"windows off, at once", 0, 5, 5, 70, 50, 5, 70, 50},
                {"windows off", 0, 59 * MIN, 58 * MIN, 50, 90, 59 * MIN, 50, 90},
        };
        for (size_t i = 0; i < 2 * sizeof(row) / sizeof(row[0]); i++) {
                struct roomy a, b;
                struct usage_room room;
                size_t k = i / 2;
                roomy_init(&a, row[k].window_ms);
                roomy_init(&b, row[k].window_ms);
                a.u.peak = row[k].a * MB;
                a.u.peak_at_ms = row[k].a_ms;
                b.u.peak = row[k].b * MB;
                b.u.peak_at_ms = row[k].b_ms;
                struct roomy *to = i % 2 ? &b : &a, *from = i % 2 ? &a : &b;
                assert_int_equal(usage_merge(&to->u, &from->u, &room), 0);
                double entered = row[k].entered > 0 ? weight(to, MEMORY, row[k].entered * MB) : 0;
                if (to->u.peak != row[k].open * MB || to->u.peak_at_ms != row[k].open_ms ||
                    to->u.of[MEMORY].count != (row[k].entered > 0) || (row[k].entered > 0) != (entered >= 1))
                        fail_msg("%s: %g MB open", row[k].name, to->u.peak / MB);
        }
}

static void test_merge_refused(void **state)
{
        (void)state;
        struct roomy a, b;
        struct usage_room room = {CPU, 0};
        for (int r = 0; r < RESOURCES; r++) {
                roomy_init(&a, 0);
                roomy_init(&b, 0);
                add_memory(&b, 1000, MB);
                b.policy[r].half_life_ms = HOUR;
                usage_adopt(&b.u, b.policy);
                assert_int_equal(usage_merge(&a.u, &b.u, &room), ERR_INVALID);
                assert_int_equal(a.u.samples, 0);
        }
        roomy_init(&a, HOUR);
        roomy_init(&b, HOUR);
        struct sample_door door = {0}, other = {0};
        add_both(&a, &door, 30 * MIN, 1, 25 * MB);
        add_both(&b, &other, 90 * MIN, 1, 25 * MB);
        add_both(&b, &other, 190 * MIN, 3, 25 * MB);
        double one[1], slab[2][HISTOGRAM_BUCKETS];
        histogram_lend(&a.u.of[CPU], one, 1);
        histogram_lend(&a.u.of[MEMORY], NULL, 0);
        struct usage before = a.u;
        assert_int_equal(usage_merge(&a.u, &b.u, &room), ERR_NOSPACE);
        assert_int_equal(room.resource, CPU);
        assert_memory_equal(&before, &a.u, sizeof(before));
        histogram_lend(&a.u.of[CPU], slab[0], room.cap);
        assert_int_equal(usage_merge(&a.u, &b.u, &room), ERR_NOSPACE);
        assert_int_equal(room.resource, MEMORY);
        assert_int_equal(room.cap, 1);
        /* the peak that enters wants room as well */
        roomy_init(&b, HOUR);
        add_memory(&b, 190 * MIN, 90 * MB);
        histogram_lend(&a.u.of[MEMORY], slab[1], 0);
        assert_int_equal(usage_merge(&a.u, &b.u, &room), ERR_NOSPACE);
        assert_int_equal(room.cap, 1);
        histogram_lend(&a.u.of[MEMORY], slab[1], 1);
        assert_int_equal(usage_merge(&a.u, &b.u, &room), 0);
        assert_true(weight(&a, MEMORY, 25 * MB) > 0);
        assert_true(a.u.peak == 90 * MB);
}

/* Room for just what comes of it will do. */
static void test_merge_exact_room(void **state)
{
        (void)state;
        for (int peaks = 0; peaks < 2; peaks++) {
                struct roomy a, b;
                struct usage_room room;
                struct sample_door door = {0}, other = {0};
                double cpu[3], memory[3];
                roomy_init(&a, 0);
                roomy_init(&b, 0);
                add_both(&a, &door, 10 * HOUR, histogram_start(CPU, 50), histogram_start(MEMORY, 100));
                add_both(&b, &other, 9 * HOUR, histogram_start(CPU, 52), histogram_start(MEMORY, 102));
                if (peaks) {
                        a.u.peak = b.u.peak = histogram_start(MEMORY, 101);
                        a.u.peak_at_ms = 10 * HOUR;
                        b.u.peak_at_ms = 9 * HOUR;
                }
                a.u.spacing_ms = 5;
                b.u.spacing_ms = 7;
                b.u.kill[0] = (struct usage_kill){DAY, 1};
                histogram_lend(&a.u.of[CPU], cpu, 3);
                histogram_lend(&a.u.of[MEMORY], memory, 3);
                assert_int_equal(usage_merge(&a.u, &b.u, &room), 0);
                assert_int_equal(a.u.of[CPU].count, 3);
                assert_int_equal(a.u.of[MEMORY].count, 3);
                assert_int_equal(a.u.samples, 2);
                assert_int_equal(a.u.first_ms, 9 * HOUR);
                assert_int_equal(a.u.newest_ms, 10 * HOUR);
                assert_int_equal(a.u.spacing_ms, 5); /* the newer's */
                assert_true(a.u.kill[0].bytes == 1 && a.u.kill[0].at_ms == DAY);
        }
}

/* Minutes of a merge stay distinct as far as the bits reach. */
static void test_merge_minutes(void **state)
{
        (void)state;
        static const struct {
                int64_t later, earlier;
                uint64_t want;
        } row[] = {{100, 100, 1}, {101, 100, 3}, {163, 100, 1 | (uint64_t)1 << 63}, {164, 100, 1}, {1000, 100, 1}};
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy a, b;
                struct usage_room room;
                roomy_init(&a, 0);
                roomy_init(&b, 0);
                usage_running(&a.u, (struct wall){row[i].later * MIN});
                usage_running(&b.u, (struct wall){row[i].earlier * MIN});
                assert_int_equal(usage_merge(i % 2 ? &a.u : &b.u, i % 2 ? &b.u : &a.u, &room), 0);
                const struct usage_minutes *m = i % 2 ? &a.u.running : &b.u.running;
                assert_int_equal(m->count, 2);
                assert_int_equal(m->last, row[i].later);
                if (m->recent != row[i].want)
                        fail_msg("row %zu: %llx", i, (unsigned long long)m->recent);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_verdicts),
                cmocka_unit_test(test_verdict_names),
                cmocka_unit_test(test_counters),
                cmocka_unit_test(test_minutes),
                cmocka_unit_test(test_coverage),
                cmocka_unit_test(test_fixed_weights),
                cmocka_unit_test(test_two_half_lives),
                cmocka_unit_test(test_no_room_changes_nothing),
                cmocka_unit_test(test_window_takes_the_peak),
                cmocka_unit_test(test_window_late_sample),
                cmocka_unit_test(test_smallest),
                cmocka_unit_test(test_window_any_order),
                cmocka_unit_test(test_adopt),
                cmocka_unit_test(test_kill_sample),
                cmocka_unit_test(test_kill_steps),
                cmocka_unit_test(test_kill_starts_from_percentile),
                cmocka_unit_test(test_kill_hold_ends),
                cmocka_unit_test(test_kills_against_all),
                cmocka_unit_test(test_expired_kill_makes_room),
                cmocka_unit_test(test_merge),
                cmocka_unit_test(test_merge_peaks),
                cmocka_unit_test(test_merge_refused),
                cmocka_unit_test(test_merge_minutes),
                cmocka_unit_test(test_merge_exact_room),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
