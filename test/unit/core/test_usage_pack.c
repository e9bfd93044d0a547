#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/crc.h"
#include "core/usage.h"

#define DAY ((int64_t)DAY_MS)

static const struct resource_policy policy[RESOURCES] = {
        [CPU] = {.percentile = 950, .half_life_ms = DAY},
        [MEMORY] = {.percentile = 990,
                    .half_life_ms = DAY / 2,
                    .oom_hold_ms = 7 * DAY_MS,
                    .oom_bump = 1200,
                    .window_ms = 6 * HOUR_MS},
};

struct roomy {
        struct usage u;
        struct usage_memory memory;
};

static void roomy_init(struct roomy *r)
{
        usage_init(&r->u, policy);
        for (int i = 0; i < RESOURCES; i++)
                histogram_lend(&r->u.of[i], r->memory.w + i * HISTOGRAM_SUM_BUCKETS, HISTOGRAM_SUM_BUCKETS);
}

static uint64_t random_state = 88172645463325252u;
static uint64_t draw(uint64_t below)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state % below;
}

static void live(struct roomy *r, int samples)
{
        struct sample_watermark watermark = {0};
        int64_t at = 1700000000000 + (int64_t)draw(1u << 30);
        for (int i = 0; i < samples; i++, at += 30000 + (int64_t)draw(60000)) {
                struct sample s = {.at = {at},
                                   .has = {true, true},
                                   .value = {(double)draw(1000000) / 1000, (double)(1 + draw(1u << 31))},
                                   .cpu_weight = (double)draw(100) / 10};
                enum sample_verdict verdict;
                struct usage_room room;
                assert_int_equal(usage_add(&r->u, &watermark, &s, s.at, &verdict, &room), 0);
                if (draw(100) == 0)
                        usage_oom(&r->u, &policy[MEMORY], s.at, 1e9, 0);
        }
        for (int i = 0; i < USAGE_KILLS; i++)
                r->u.kill[i] = (struct usage_kill){at - i - 1, (double)(i + 1) * 1e9};
        for (int i = 0; i < USAGE_STEPS; i++)
                r->u.step_ms[i] = at - 10 - i;
        r->u.runs = (int64_t)draw(10);
        r->u.last_run_ms = at;
}

static void seal(uint8_t *packed, size_t len)
{
        uint32_t crc = crc_add(0, packed, len - 4);
        for (int i = 0; i < 4; i++)
                packed[len - 4 + (size_t)i] = (uint8_t)(crc >> 8 * i);
}

/* What is stored is the same on every machine. */
static void test_layout(void **state)
{
        (void)state;
        struct roomy r;
        uint8_t packed[USAGE_PACK_MAX];
        roomy_init(&r);
        size_t len = usage_pack(&r.u, packed);
        assert_int_equal(len, 1 + 4 + 31 * 8 + 8 * 4 + 4);
        assert_int_equal(packed[0], 2);
        r.u.of[CPU].first = 7;
        r.u.of[CPU].count = 2;
        r.u.of[CPU].ref_ms = 0x0102030405060708;
        r.u.of[CPU].w[0] = 1.5;
        r.u.of[CPU].w[1] = 2;
        r.u.kills = 0x1122;
        for (int i = 0; i < USAGE_DAYS; i++)
                r.u.day_mi[i] = 0x01020304u * (uint32_t)(i + 1);
        r.u.of[MEMORY].first = 9;
        r.u.of[MEMORY].count = 1;
        r.u.of[MEMORY].w[0] = -2;
        assert_int_equal(usage_pack(&r.u, packed), len + 24);
        static const uint8_t head[] = {2, 7, 2, 9, 1, 8, 7, 6, 5, 4, 3, 2, 1};
        static const uint8_t tail[] = {0x22, 0x11, 0,  0, 0,  0,  0,  0,    4,  3,  2,  1, 8,  6,  4,    2,
                                       12,   9,    6,  3, 16, 12, 8,  4,    20, 15, 10, 5, 24, 18, 12,   6,
                                       28,   21,   14, 7, 32, 24, 16, 8,    0,  0,  0,  0, 0,  0,  0xf8, 0x3f,
                                       0,    0,    0,  0, 0,  0,  0,  0x40, 0,  0,  0,  0, 0,  0,  0,    0xc0};
        assert_memory_equal(packed, head, sizeof(head));
        assert_memory_equal(packed + len + 24 - 4 - sizeof(tail), tail, sizeof(tail));
}

static void test_save_then_load(void **state)
{
        (void)state;
        for (int round = 0; round < 300; round++) {
                struct roomy r, got;
                uint8_t packed[USAGE_PACK_MAX], again[USAGE_PACK_MAX];
                roomy_init(&r);
                live(&r, (int)draw(300));
                size_t len = usage_pack(&r.u, packed);
                assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), 0);
                assert_int_equal(usage_pack(&got.u, again), len);
                assert_memory_equal(packed, again, len);
                assert_ptr_equal(got.u.of[CPU].w, got.memory.w);
                assert_memory_equal(r.u.kill, got.u.kill, sizeof(r.u.kill));
                assert_memory_equal(r.u.step_ms, got.u.step_ms, sizeof(r.u.step_ms));
                assert_memory_equal(&r.u.sampled, &got.u.sampled, sizeof(r.u.sampled));
                assert_memory_equal(&r.u.running, &got.u.running, sizeof(r.u.running));
                assert_memory_equal(r.u.day_mi, got.u.day_mi, sizeof(r.u.day_mi));
                for (int k = 0; k < RESOURCES; k++) {
                        struct histogram *a = &r.u.of[k], *b = &got.u.of[k];
                        assert_int_equal(b->cap, HISTOGRAM_SUM_BUCKETS);
                        assert_int_equal(b->resource, k);
                        if (a->count > 0)
                                assert_memory_equal(a->w, b->w, a->count * sizeof(double));
                }
        }
}

/* A history as it was stored before there were daily peaks: without them. */
static void test_version_1(void **state)
{
        (void)state;
        enum { HEAD = 5, FIELDS = 31 * 8, SINCE = 4 * USAGE_DAYS };
        for (int round = 0; round < 50; round++) {
                struct roomy r, got;
                uint8_t packed[USAGE_PACK_MAX], again[USAGE_PACK_MAX], old[USAGE_PACK_MAX];
                roomy_init(&r);
                live(&r, (int)draw(300));
                size_t len = usage_pack(&r.u, packed), old_len = len - SINCE;
                memcpy(old, packed, HEAD + FIELDS);
                memcpy(old + HEAD + FIELDS, packed + HEAD + FIELDS + SINCE, old_len - HEAD - FIELDS);
                old[0] = 1;
                seal(old, old_len);
                memset(&got.u, 0x55, sizeof(got.u));
                assert_int_equal(usage_unpack(old, old_len, &got.u, &got.memory), 0);
                static const uint32_t none[USAGE_DAYS];
                assert_memory_equal(got.u.day_mi, none, sizeof(none));
                memcpy(got.u.day_mi, r.u.day_mi, sizeof(none));
                assert_int_equal(usage_pack(&got.u, again), len);
                assert_memory_equal(packed, again, len);
                old[0] = 2;
                seal(old, old_len);
                assert_int_equal(usage_unpack(old, old_len, &got.u, &got.memory), ERR_DAMAGED);
                packed[0] = 1;
                seal(packed, len);
                assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), ERR_DAMAGED);
        }
}

static void test_full_histograms(void **state)
{
        (void)state;
        struct roomy r, got;
        uint8_t packed[USAGE_PACK_MAX];
        roomy_init(&r);
        for (int k = 0; k < RESOURCES; k++) {
                r.u.of[k].count = HISTOGRAM_BUCKETS;
                for (int n = 0; n < HISTOGRAM_BUCKETS; n++)
                        r.u.of[k].w[n] = n + 1;
        }
        size_t len = usage_pack(&r.u, packed);
        assert_true(len <= USAGE_PACK_MAX);
        assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), 0);
        for (int k = 0; k < RESOURCES; k++)
                assert_memory_equal(got.u.of[k].w, r.u.of[k].w, HISTOGRAM_BUCKETS * sizeof(double));
}

/* A sum is saved as a container's history for as long as it might be one, so that older programs can read it. */
static void test_sums(void **state)
{
        static const struct {
                const char *what;
                double cores, bytes, kill;
                uint32_t day_mi;
                bool starts;
                int version;
        } row[] = {
                {"as small as a container", 900, 9e11, 0, 1, false, 2},
                {"the last of a container", 1022, 9e11, 0, 1, false, 4},
                {"the last but one of a container", 1021, 1.02e12, 0, 1, false, 2},
                {"one bucket more of CPU", 1100, 9e11, 0, 1, false, 4},
                {"one bucket more of memory", 1, 1.1e12, 0, 1, false, 4},
                {"small, with starts", 900, 9e11, 0, 1, true, 3},
                {"large, with starts", 5000, 4e12, 0, 1, true, 4},
                {"the largest", 5.7e6, 5.7e15, 5.7e15, UINT32_MAX, false, 4},
                {"a kill", 900, 9e11, 1.1e15, 1, false, 4},
                {"a kill as of a container", 900, 9e11, 1e15, 1, false, 2},
                {"a day", 900, 9e11, 0, 953674318, false, 4},
                {"a day as of a container", 900, 9e11, 0, 953674317, false, 2},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct roomy r, got;
                struct usage_starts starts = {0};
                uint8_t packed[USAGE_PACK_MAX], again[USAGE_PACK_MAX];
                int unused;
                roomy_init(&r);
                usage_make_sum(&r.u);
                for (enum resource k = CPU; k < RESOURCES; k++)
                        histogram_lend(&r.u.of[k], r.memory.w + k * HISTOGRAM_SUM_BUCKETS, HISTOGRAM_SUM_BUCKETS);
                assert_int_equal(histogram_add(&r.u.of[CPU], row[i].cores, 1, (struct wall){0}, &unused), 0);
                assert_int_equal(histogram_add(&r.u.of[MEMORY], row[i].bytes, 1, (struct wall){0}, &unused), 0);
                r.u.kill[0] = (struct usage_kill){1, row[i].kill};
                r.u.day_mi[3] = row[i].day_mi;
                r.u.starts = row[i].starts ? &starts : NULL;
                size_t len = usage_pack(&r.u, packed);
                if (packed[0] != row[i].version)
                        fail_msg("%s: version %d", row[i].what, packed[0]);
                if (usage_unpack(packed, len, &got.u, &got.memory) != 0)
                        fail_msg("%s: not read", row[i].what);
                assert_true(got.u.of[CPU].sum == (row[i].version == 4));
                usage_make_sum(&got.u);
                assert_int_equal(usage_pack(&got.u, again), len);
                assert_memory_equal(packed, again, len);
                assert_true((got.u.starts != NULL) == row[i].starts);
                for (size_t cut = 0; cut < len; cut++)
                        assert_int_equal(usage_unpack(packed, cut, &got.u, &got.memory), ERR_DAMAGED);
        }
}

/* Full, it still fits; and a range beyond the last bucket is damage. */
static void test_full_sums(void **state)
{
        (void)state;
        struct roomy r, got;
        uint8_t packed[USAGE_PACK_MAX];
        struct usage_starts starts = {0};
        roomy_init(&r);
        usage_make_sum(&r.u);
        r.u.starts = &starts;
        for (int k = 0; k < RESOURCES; k++) {
                r.u.of[k].count = HISTOGRAM_SUM_BUCKETS;
                for (int n = 0; n < HISTOGRAM_SUM_BUCKETS; n++)
                        r.u.of[k].w[n] = n + 1;
        }
        size_t len = usage_pack(&r.u, packed);
        assert_true(len <= USAGE_PACK_MAX);
        assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), 0);
        assert_memory_equal(got.memory.w, r.memory.w, sizeof r.memory.w);
        packed[1] = 1; /* first */
        seal(packed, len);
        assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), ERR_DAMAGED);
}

/* Any bit of it turned, any length of it cut: damaged, and the answer untouched. */
static void test_damage(void **state)
{
        (void)state;
        struct roomy r, got;
        uint8_t packed[USAGE_PACK_MAX + 1];
        roomy_init(&r);
        live(&r, 20);
        size_t len = usage_pack(&r.u, packed);
        memset(&got.u, 0x55, sizeof(got.u));
        struct usage before = got.u;
        for (size_t bit = 0; bit < 8 * len; bit++) {
                packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
                assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), ERR_DAMAGED);
                packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (size_t cut = 0; cut < len; cut++)
                assert_int_equal(usage_unpack(packed, cut, &got.u, &got.memory), ERR_DAMAGED);
        packed[len] = 0;
        assert_int_equal(usage_unpack(packed, len + 1, &got.u, &got.memory), ERR_DAMAGED);
        assert_memory_equal(&before, &got.u, sizeof(before));
        assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), 0);
}

static void test_lengths(void **state)
{
        (void)state;
        struct roomy r, got;
        uint8_t packed[USAGE_PACK_MAX + 8];
        roomy_init(&r);
        size_t len = usage_pack(&r.u, packed);
        memset(packed + len, 0, 8);
        seal(packed, len + 8);
        assert_int_equal(usage_unpack(packed, len + 8, &got.u, &got.memory), ERR_DAMAGED);
        seal(packed, len - 8);
        assert_int_equal(usage_unpack(packed, len - 8, &got.u, &got.memory), ERR_DAMAGED);
        for (size_t n = 5; n < 9; n++) { /* a sealed nothing */
                usage_pack(&r.u, packed);
                seal(packed, n);
                assert_int_equal(usage_unpack(packed, n, &got.u, &got.memory), n < 9 ? ERR_DAMAGED : 0);
        }
        usage_pack(&r.u, packed);
        packed[0] = 0;
        seal(packed, len);
        assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), ERR_INVALID);
        packed[0] = 3; /* one without its starts */
        seal(packed, len);
        assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), ERR_DAMAGED);
        packed[0] = 4; /* a container's as a sum's */
        seal(packed, len);
        assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), ERR_DAMAGED);
        for (size_t n = 9; n < 14; n++) {
                seal(packed, n);
                assert_int_equal(usage_unpack(packed, n, &got.u, &got.memory), ERR_DAMAGED);
        }
        packed[0] = 5;
        seal(packed, len);
        assert_int_equal(usage_unpack(packed, len, &got.u, &got.memory), ERR_INVALID);
        seal(packed, 9); /* a short one of the future is not damaged either */
        assert_int_equal(usage_unpack(packed, 9, &got.u, &got.memory), ERR_INVALID);
}

/* Sealed well, but nothing that we would have written: one field or weight changed. */
#define FIELD(f) offsetof(struct usage, f)
static void test_what_does_not_hold(void **state)
{
        (void)state;
        enum { WHOLE, REAL };
        const int64_t most = (int64_t)1 << 60;
        static const size_t counts[] = {
                FIELD(first_ms), FIELD(newest_ms),     FIELD(samples),      FIELD(spacing_ms),    FIELD(window_ms),
                FIELD(runs),     FIELD(last_run_ms),   FIELD(step_ms[0]),   FIELD(step_ms[1]),    FIELD(step_ms[2]),
                FIELD(kills),    FIELD(sampled.count), FIELD(sampled.last), FIELD(running.count), FIELD(running.last)};
        const struct {
                size_t field;
                int64_t whole;
                double real;
                int kind, rc;
        } row[] = {
                {FIELD(of[CPU].half_life_ms), 0, 0, WHOLE, ERR_DAMAGED},
                {FIELD(of[CPU].half_life_ms), -DAY, 0, WHOLE, ERR_DAMAGED},
                {FIELD(of[CPU].half_life_ms), 1, 0, WHOLE, 0},
                {FIELD(of[MEMORY].half_life_ms), 0, 0, WHOLE, ERR_DAMAGED},
                {FIELD(of[CPU].ref_ms), 5, 0, WHOLE, ERR_DAMAGED},
                {FIELD(of[CPU].ref_ms), -DAY, 0, WHOLE, ERR_DAMAGED},
                {FIELD(of[MEMORY].ref_ms), DAY / 4, 0, WHOLE, ERR_DAMAGED},
                {FIELD(of[MEMORY].ref_ms), DAY / 2, 0, WHOLE, 0},
                {FIELD(first_ms), 101, 0, WHOLE, ERR_DAMAGED},
                {FIELD(first_ms), 100, 0, WHOLE, 0},
                {FIELD(sampled.count), 6, 0, WHOLE, ERR_DAMAGED},
                {FIELD(sampled.count), 5, 0, WHOLE, 0},
                {FIELD(sampled.count), 0, 0, WHOLE, ERR_DAMAGED},
                {FIELD(sampled.recent), 2, 0, WHOLE, ERR_DAMAGED},
                {FIELD(running.recent), 2, 0, WHOLE, ERR_DAMAGED},
                {FIELD(running.recent), 3, 0, WHOLE, 0},
                {FIELD(peak), 0, (double)NAN, REAL, ERR_DAMAGED},
                {FIELD(peak), 0, -0.0, REAL, ERR_DAMAGED},
                {FIELD(peak), 0, -1, REAL, ERR_DAMAGED},
                {FIELD(peak), 0, 1.1e15, REAL, ERR_DAMAGED},
                {FIELD(peak), 0, 1e15, REAL, 0},
                {FIELD(peak), 0, 0, REAL, 0},
                {FIELD(peak_at_ms), -1, 0, WHOLE, ERR_DAMAGED},
                {FIELD(kill[0].bytes), 0, (double)NAN, REAL, ERR_DAMAGED},
                {FIELD(kill[0].bytes), 0, 0, REAL, ERR_DAMAGED},
                {FIELD(kill[0].bytes), 0, 2e9, REAL, ERR_DAMAGED},
                {FIELD(kill[0].bytes), 0, 1.9e9, REAL, 0},
                {FIELD(kill[0].bytes), 0, 1, REAL, 0},
                {FIELD(kill[0].at_ms), 19, 0, WHOLE, ERR_DAMAGED},
                {FIELD(kill[0].at_ms), 20, 0, WHOLE, 0},
                {FIELD(kill[0].at_ms), -1, 0, WHOLE, ERR_DAMAGED},
                {FIELD(kill[1].bytes), 0, (double)INFINITY, REAL, ERR_DAMAGED},
                {FIELD(kill[1].bytes), 0, 0, REAL, 0},
                {FIELD(kill[3].bytes), 0, 1, REAL, ERR_DAMAGED},
                {FIELD(day_mi[0]), INT64_C(953674317) << 32 | 953674317, 0, WHOLE, 0},
                {FIELD(day_mi[0]), 953674318, 0, WHOLE, ERR_DAMAGED},
                {FIELD(day_mi[6]), INT64_C(953674318) << 32, 0, WHOLE, ERR_DAMAGED},
        };
        struct roomy r, got;
        uint8_t packed[USAGE_PACK_MAX];
        roomy_init(&r);
        r.u.samples = 7;
        r.u.first_ms = r.u.newest_ms = 100;
        r.u.sampled = (struct usage_minutes){3, 50, 1};
        r.u.running = (struct usage_minutes){5, 50, 1};
        r.u.kill[0] = (struct usage_kill){30, 1e9};
        r.u.kill[1] = (struct usage_kill){20, 2e9};
        assert_int_equal(usage_unpack(packed, usage_pack(&r.u, packed), &got.u, &got.memory), 0);
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct usage changed = r.u;
                memcpy((char *)&changed + row[i].field,
                       row[i].kind == WHOLE ? (const void *)&row[i].whole : (const void *)&row[i].real, 8);
                int rc = usage_unpack(packed, usage_pack(&changed, packed), &got.u, &got.memory);
                if (rc != row[i].rc)
                        fail_msg("row %zu: %d", i, rc);
        }
        for (size_t i = 0; i < 2 * sizeof(counts) / sizeof(counts[0]); i++) {
                struct usage changed = r.u;
                int64_t value = i % 2 ? -1 : most + 1;
                memcpy((char *)&changed + counts[i / 2], &value, sizeof(value));
                if (counts[i / 2] == FIELD(first_ms) && value > 0)
                        changed.newest_ms = most; /* so that nothing else is wrong with it */
                if (counts[i / 2] == FIELD(sampled.count) && value > 0)
                        changed.running.count = most;
                if (usage_unpack(packed, usage_pack(&changed, packed), &got.u, &got.memory) != ERR_DAMAGED)
                        fail_msg("count %zu: %lld", i / 2, (long long)value);
        }
        struct usage large = r.u;
        large.newest_ms = large.samples = large.running.count = large.running.last = large.kills = most;
        assert_int_equal(usage_unpack(packed, usage_pack(&large, packed), &got.u, &got.memory), 0);
}

static void test_shapes(void **state)
{
        (void)state;
        static const struct {
                int first, count;
                double w[3];
                int rc;
        } row[] = {
                {0, 3, {1, 0, 1}, 0},
                {173, 3, {1, 0, 1}, 0},
                {174, 3, {1, 0, 1}, ERR_DAMAGED},
                {255, 3, {1, 0, 1}, ERR_DAMAGED},
                {0, 0, {0}, 0},
                {1, 0, {0}, ERR_DAMAGED}, /* nothing held is held from 0 */
                {176, 0, {0}, ERR_DAMAGED},
                {177, 0, {0}, ERR_DAMAGED},
                {5, 3, {0, 1, 1}, ERR_DAMAGED},
                {5, 3, {1, 1, 0}, ERR_DAMAGED},
                {5, 1, {0}, ERR_DAMAGED},
                {5, 3, {1, (double)NAN, 1}, ERR_DAMAGED},
                {5, 3, {1, (double)INFINITY, 1}, ERR_DAMAGED},
                {5, 3, {(double)INFINITY, 1, 1}, ERR_DAMAGED},
                {5, 3, {1, 1, 0x1.1p1000}, ERR_DAMAGED},
                {5, 3, {1, -1, 1}, ERR_DAMAGED},
                {5, 3, {1, -0.0, 1}, ERR_DAMAGED},
                {5, 3, {1, DBL_MIN, 1}, 0},
                {5, 3, {1, DBL_MIN / 2, 1}, ERR_DAMAGED},
                {5, 3, {1, 0x1p1000, 1}, 0},
                {5, 3, {1, 0x1.1p1000, 1}, ERR_DAMAGED},
        };
        for (size_t i = 0; i < 2 * sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r, got;
                uint8_t packed[USAGE_PACK_MAX];
                roomy_init(&r);
                struct histogram *h = &r.u.of[i % 2];
                h->first = (uint8_t)row[i / 2].first;
                h->count = (uint8_t)row[i / 2].count;
                memcpy(h->w, row[i / 2].w, sizeof(row[0].w));
                int rc = usage_unpack(packed, usage_pack(&r.u, packed), &got.u, &got.memory);
                if (rc != row[i / 2].rc)
                        fail_msg("row %zu: %d", i / 2, rc);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_layout),
                cmocka_unit_test(test_save_then_load),
                cmocka_unit_test(test_version_1),
                cmocka_unit_test(test_full_histograms),
                cmocka_unit_test(test_sums),
                cmocka_unit_test(test_full_sums),
                cmocka_unit_test(test_damage),
                cmocka_unit_test(test_lengths),
                cmocka_unit_test(test_what_does_not_hold),
                cmocka_unit_test(test_shapes),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
