/* What starts need: the coarse histogram and the ages, that they age and merge, and that they leave the rest alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include <math.h>

#include "usage_fixture.h"

static const int64_t noon = 1700000000000;

static void put(struct usage_starts *s, int64_t at_ms, double value, int64_t age_ms, double steady)
{
        usage_starts_add(s, CPU, DAY, &(struct start_sample){{at_ms}, value, age_ms, steady, 0});
}

static void put_step(struct usage_starts *s, int64_t at_ms, double step_s)
{
        usage_starts_add(s, CPU, DAY, &(struct start_sample){{at_ms}, 2, 0, 1, step_s});
}

static void test_buckets(void **state)
{
        (void)state;
        for (enum resource r = CPU; r < RESOURCES; r++)
                for (int n = 0; n < HISTOGRAM_BUCKETS; n++) {
                        struct usage_starts s = {0};
                        double got = 0, value = histogram_start(r, n);
                        assert_false(usage_starts_need(&s, r, 500, &got));
                        usage_starts_add(&s, r, DAY, &(struct start_sample){{noon}, value, 0, 0, 0});
                        assert_true(usage_starts_need(&s, r, 500, &got));
                        assert_true(got == histogram_edge(r, n / 4 * 4 + 3));
                        assert_true(n >= 172 || got > value);
                }
}

static void test_percentile(void **state)
{
        (void)state;
        static const struct {
                int low, high, p; /* so many samples of 0.1 and of 2 cores */
                double want;      /* in the bucket of this value */
        } row[] = {{95, 5, 950, 0.1},   {94, 6, 950, 2},       {0, 1, 500, 2},   {1, 0, 1000, 0.1}, {99, 1, 1000, 2},
                   {9495, 505, 950, 2}, {9500, 500, 950, 0.1}, {1, 999, 0, 0.1}, {0, 1, 0, 2}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct usage_starts s = {0};
                double got;
                for (int k = 0; k < row[i].low + row[i].high; k++)
                        put(&s, noon, k < row[i].low ? 0.1 : 2, 0, 0);
                assert_true(usage_starts_need(&s, CPU, row[i].p, &got));
                if (got < row[i].want || got > 1.6 * row[i].want)
                        fail_msg("row %zu: %g", i, got);
        }
}

/* What the rounding of weights may hide: less than a millionth of all. */
static void test_rounding(void **state)
{
        (void)state;
        static const struct {
                float low, high; /* in the first bucket, and in the next */
                int want;
        } row[] = {{1, 0, 0}, {1, 0.75F * 0x1p-20F, 0}, {1, 1.5F * 0x1p-20F, 1},
                   {1, 1, 1}, {1048575, 1, 0},          {1048574, 1, 1}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct usage_starts s = {0};
                double got;
                s.of[CPU].weight[0] = row[i].low;
                s.of[CPU].weight[1] = row[i].high;
                assert_true(usage_starts_need(&s, CPU, 1000, &got));
                if (got != histogram_edge(CPU, row[i].want * START_FINE + START_FINE - 1))
                        fail_msg("row %zu: %g", i, got);
        }
}

/* The first and the last bucket count, and nothing beside them. */
static void test_ends(void **state)
{
        (void)state;
        for (int end = 0; end < 2; end++) {
                struct usage_starts s = {0}, twice;
                int bucket = end ? START_BUCKETS - 1 : 0, age = end ? START_AGES - 1 : 0;
                double got;
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        s.of[r].at_ms = noon;
                        s.of[r].weight[bucket] = 0.5F;
                        s.of[r].above[age] = 0.25F;
                }
                assert_true(usage_starts_hold(&s));
                assert_true(usage_starts_need(&s, CPU, 1000, &got));
                assert_true(got == histogram_edge(CPU, bucket * START_FINE + START_FINE - 1));
                assert_int_equal(usage_starts_last_ms(&s, CPU), start_age_edge(age));
                twice = s;
                usage_starts_merge(&twice, &s, CPU, DAY);
                assert_memory_equal(&twice.of[MEMORY], &s.of[MEMORY], sizeof s.of[MEMORY]);
                assert_true(twice.of[CPU].weight[bucket] == 1 && twice.of[CPU].above[age] == 0.5F);
                put(&twice, noon + DAY, 2, 0, 0);
                assert_memory_equal(&twice.of[MEMORY], &s.of[MEMORY], sizeof s.of[MEMORY]);
                assert_true(twice.of[CPU].weight[bucket] == 0.5F && twice.of[CPU].above[age] == 0.25F);
        }
        /* samples far above the target do not count among all samples */
        struct usage_starts s = {0};
        double got;
        s.of[CPU].weight[0] = 1;
        s.of[CPU].above[0] = 1000;
        assert_true(usage_starts_need(&s, CPU, 500, &got));
        assert_true(got == histogram_edge(CPU, START_FINE - 1));
        s.of[CPU].weight[0] = 0;
        assert_false(usage_starts_need(&s, CPU, 500, &got));
        s.of[CPU].weight[0] = 1;
        s.of[CPU].above[0] = 0;
        s.of[MEMORY].at_ms = 1 << 30; /* a weight of 2, where it is read as one */
        assert_int_equal(usage_starts_last_ms(&s, CPU), 0);
}

static void test_ages(void **state)
{
        (void)state;
        static const struct {
                int64_t age_ms[4];
                double value, steady;
                int64_t want_ms;
        } row[] = {
                {{0, 0, 0, 0}, 2, 1, 30 * SECOND_MS},
                {{30000, 30000, 30000, 30000}, 2, 1, 30 * SECOND_MS},
                {{30001, 0, 0, 0}, 2, 1, MINUTE_MS},
                {{MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS, 4 * MINUTE_MS}, 2, 1, 4 * MINUTE_MS},
                {{HOUR_MS, HOUR_MS, 0, 0}, 2, 1, HOUR_MS},
                {{DAY_MS, DAY_MS, 0, 0}, 2, 1, HOUR_MS},
                {{MINUTE_MS, 0, 0, 0}, 1, 1, 0}, /* not above */
                {{MINUTE_MS, 0, 0, 0}, 1, 0, 0}, /* the steady target is not known */
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct usage_starts s = {0};
                for (int k = 0; k < 4; k++)
                        put(&s, noon, row[i].value, row[i].age_ms[k], row[i].steady);
                if (usage_starts_last_ms(&s, CPU) != row[i].want_ms)
                        fail_msg("row %zu: %lld", i, (long long)usage_starts_last_ms(&s, CPU));
        }
        static const int edge_s[START_AGES] = {30, 60, 90, 120, 180, 240, 300, 420, 600, 900, 1200, 1800, 2700, 3600};
        for (int n = 0; n < START_AGES; n++) {
                assert_int_equal(start_age_edge(n), edge_s[n] * (int64_t)SECOND_MS);
                for (int beyond = 0; beyond < 2; beyond++) { /* an edge belongs to the bucket that it ends */
                        struct usage_starts at = {0};
                        int want = n + beyond < START_AGES ? n + beyond : START_AGES - 1;
                        put(&at, noon, 2, start_age_edge(n) + beyond, 1);
                        assert_int_equal(usage_starts_last_ms(&at, CPU), edge_s[want] * (int64_t)SECOND_MS);
                }
        }
        /* of 100 starts 95 decide, and 94 do not */
        for (int most = 94; most <= 95; most++) {
                struct usage_starts share = {0};
                for (int k = 0; k < 100; k++)
                        put(&share, noon, 2, k < most ? MINUTE_MS : HOUR_MS, 1);
                assert_int_equal(usage_starts_last_ms(&share, CPU), most == 95 ? MINUTE_MS : HOUR_MS);
        }
        /* nor 949 of a thousand */
        struct usage_starts nearly = {0};
        for (int k = 0; k < 1000; k++)
                put(&nearly, noon, 2, k < 949 ? MINUTE_MS : HOUR_MS, 1);
        assert_int_equal(usage_starts_last_ms(&nearly, CPU), HOUR_MS);
        /* one start in a hundred that lasts longer does not say how long starts last */
        struct usage_starts s = {0};
        for (int k = 0; k < 100; k++)
                put(&s, noon, 2, k ? MINUTE_MS : HOUR_MS, 1);
        assert_int_equal(usage_starts_last_ms(&s, CPU), MINUTE_MS);
}

/* A half-life later a sample counts half, in whatever order the samples come. */
static void test_ageing(void **state)
{
        (void)state;
        int n = histogram_bucket(CPU, 2) / START_FINE, low = histogram_bucket(CPU, 0.1) / START_FINE;
        for (int way = 0; way < 2; way++) {
                struct usage_starts s = {0};
                put(&s, way ? noon : noon - DAY, way ? 0.1 : 2, 0, 1);
                put(&s, way ? noon - DAY : noon, way ? 2 : 0.1, 0, 1);
                assert_int_equal(s.of[CPU].at_ms, noon);
                assert_true(s.of[CPU].weight[n] == 0.5F && s.of[CPU].weight[low] == 1);
                assert_true(s.of[CPU].above[0] == 0.5F);
                assert_int_equal(s.of[MEMORY].at_ms, 0);
        }
        /* the first instants of time age too, and no later sample is one of the same time */
        struct usage_starts s = {0}, more = {0};
        put(&s, 1, 2, 0, 1);
        put(&s, 1 + DAY, 0.1, 0, 1);
        assert_true(s.of[CPU].weight[n] == 0.5F && s.of[CPU].above[0] == 0.5F);
        put(&more, 1, 2, 0, 1);
        usage_starts_merge(&s, &more, CPU, DAY);
        assert_true(s.of[CPU].weight[n] == 1 && s.of[CPU].at_ms == 1 + DAY);
}

/* A back-filled point weighs as much as the live samples, one a minute, of the time that it stands for. */
static void test_steps(void **state)
{
        (void)state;
        static const struct {
                double step_s;
                float want;
        } row[] = {{0, 1}, {1, 1 / 60.0F}, {30, 0.5F}, {60, 1}, {300, 5}, {86400, 1440}};
        int n = histogram_bucket(CPU, 2) / START_FINE;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct usage_starts s = {0};
                put_step(&s, noon, row[i].step_s);
                if (s.of[CPU].weight[n] != row[i].want || s.of[CPU].above[0] != row[i].want)
                        fail_msg("row %zu: %g", i, (double)s.of[CPU].weight[n]);
                put_step(&s, noon - DAY, row[i].step_s); /* half as much, a half-life before */
                assert_true(s.of[CPU].weight[n] == row[i].want + row[i].want / 2);
        }
}

static void test_merge(void **state)
{
        (void)state;
        for (int round = 0; round < 200; round++) {
                struct usage_starts part[2] = {0}, ab, ba, none = {0};
                for (int k = (int)draw(40); k > 0; k--)
                        put(&part[draw(2)], noon - (int64_t)draw(3 * DAY), (double)draw(4000) / 1000,
                            (int64_t)draw(HOUR), 1);
                ab = part[0];
                ba = part[1];
                usage_starts_merge(&ab, &part[1], CPU, DAY);
                usage_starts_merge(&ba, &part[0], CPU, DAY);
                assert_memory_equal(&ab, &ba, sizeof ab);
                assert_true(usage_starts_hold(&ab));
                usage_starts_merge(&none, &ab, CPU, DAY);
                assert_memory_equal(&none, &ab, sizeof ab);
        }
        struct usage_starts heavy = {0}, more;
        heavy.of[CPU].at_ms = noon;
        heavy.of[CPU].weight[1] = 9e29F;
        heavy.of[CPU].weight[2] = 4e29F;
        heavy.of[CPU].above[START_AGES - 1] = 9e29F;
        more = heavy;
        usage_starts_merge(&heavy, &more, CPU, DAY);
        assert_true(heavy.of[CPU].weight[1] == 1e30F && usage_starts_hold(&heavy));
        assert_true(heavy.of[CPU].weight[2] == 8e29F && heavy.of[CPU].above[START_AGES - 1] == 1e30F);
        /* whichever is older counts half, and the later time stays */
        for (int older = 0; older < 2; older++) {
                struct usage_starts of[2] = {0};
                int n = histogram_bucket(CPU, 2) / START_FINE, low = histogram_bucket(CPU, 0.1) / START_FINE;
                put(&of[0], older == 0 ? noon - DAY : noon, 2, 0, 1);
                put(&of[1], older == 1 ? noon - DAY : noon, 0.1, 0, 0);
                usage_starts_merge(&of[0], &of[1], CPU, DAY);
                assert_int_equal(of[0].of[CPU].at_ms, noon);
                assert_true(of[0].of[CPU].weight[n] == (older == 0 ? 0.5F : 1));
                assert_true(of[0].of[CPU].above[0] == (older == 0 ? 0.5F : 1));
                assert_true(of[0].of[CPU].weight[low] == (older == 1 ? 0.5F : 1));
        }
}

/* What starts of one resource needed is forgotten without the other. */
static void test_forget(void **state)
{
        (void)state;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                enum resource other = r == CPU ? MEMORY : CPU;
                struct usage_starts s = {0}, was, none = {0};
                double got;
                assert_true(usage_starts_empty(&s));
                usage_starts_add(&s, other, DAY, &(struct start_sample){{1}, 2, 0, 1, 0});
                assert_false(usage_starts_empty(&s));
                was = s;
                usage_starts_add(&s, r, DAY, &(struct start_sample){{1}, 2, 0, 1, 0});
                usage_starts_forget(&s, r);
                assert_memory_equal(&s, &was, sizeof s);
                assert_false(usage_starts_need(&s, r, 500, &got));
                usage_starts_forget(&s, other);
                assert_true(usage_starts_empty(&s));
                assert_memory_equal(&s, &none, sizeof s);
        }
}

/* What a clock that was ahead dated is of the time that is known to be the latest; the rest stays. */
static void test_pull_back(void **state)
{
        (void)state;
        static const struct {
                int64_t at_ms[RESOURCES], want_ms[RESOURCES];
                bool after;
        } row[] = {
                {{0, 0}, {0, 0}, false},
                {{noon, noon}, {noon, noon}, false},
                {{noon + 1, noon}, {noon, noon}, true},
                {{noon, noon + 1}, {noon, noon}, true},
                {{noon - 1, noon + DAY}, {noon - 1, noon}, true},
                {{noon + DAY, 0}, {noon, 0}, true},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct usage_starts s = {0}, want;
                for (int r = 0; r < RESOURCES; r++) {
                        s.of[r].at_ms = row[i].at_ms[r];
                        s.of[r].weight[7] = s.of[r].above[3] = 1;
                }
                want = s;
                for (int r = 0; r < RESOURCES; r++)
                        want.of[r].at_ms = row[i].want_ms[r];
                if (usage_starts_after(&s, (struct wall){noon}) != row[i].after)
                        fail_msg("row %zu", i);
                usage_starts_pull_back(&s, (struct wall){noon});
                if (memcmp(&s, &want, sizeof s) != 0)
                        fail_msg("row %zu: not pulled back", i);
        }
}

static void test_hold(void **state)
{
        (void)state;
        enum { LATEST_BITS = 60 };
        static const int64_t latest = (int64_t)1 << LATEST_BITS;
        static const struct {
                int64_t at_ms;
                float weight, above;
                bool want;
        } row[] = {
                {noon, 1, 0, true},
                {0, 0, 0, true},
                {-1, 0, 0, false},
                {INT64_MAX, 0, 0, false},
                {noon, -1, 0, false},
                {noon, 0, -0.5F, false},
                {noon, NAN, 0, false},
                {noon, 0, INFINITY, false},
                {noon, 1e30F, 1e30F, true},
                {noon, 2e30F, 0, false},
                {noon, -0.0F, 0, false},
                {noon, 0, -0.0F, false},
                {latest, 1, 1, true},
                {latest + 1, 1, 1, false},
                {1, 1, 1, true},
                {noon, 0, 2e30F, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                for (int k = 0; k < 2 * RESOURCES; k++) {
                        struct usage_starts s = {0};
                        struct start_samples *of = &s.of[k % 2];
                        of->at_ms = row[i].at_ms;
                        of->weight[k < 2 ? START_BUCKETS - 1 : 0] = row[i].weight;
                        of->above[k < 2 ? START_AGES - 1 : 0] = row[i].above;
                        if (usage_starts_hold(&s) != row[i].want)
                                fail_msg("row %zu", i);
                }
}

/* --- in a history --- */

static struct sample start_sample(int64_t at_ms, double cpu, double memory, bool cpu_starts, bool memory_starts)
{
        return (struct sample){.at = {at_ms},
                               .has = {true, true},
                               .value = {cpu, memory},
                               .cpu_weight = 1,
                               .starts = {cpu_starts, memory_starts},
                               .age_ms = MINUTE_MS,
                               .steady = {1, 1e9}};
}

static size_t pack_steady(const struct roomy *r, uint8_t *out)
{
        struct usage u = r->u;
        u.starts = NULL;
        return usage_pack(&u, out);
}

/* A sample whose values are all of a start leaves everything but its minute, spacing and watermark. */
static void test_apart(void **state)
{
        (void)state;
        static const int64_t windows[] = {0, HOUR};
        for (size_t i = 0; i < 2; i++) {
                struct roomy r, before;
                struct usage_starts starts = {0};
                struct sample_watermark watermark = {0};
                uint8_t a[USAGE_PACK_MAX], b[USAGE_PACK_MAX];
                roomy_init(&r, windows[i]);
                r.u.starts = &starts;
                for (int k = 0; k < 10; k++)
                        add_both(&r, &watermark, noon + k * MIN, 0.2, 3e8);
                roomy_copy(&before, &r);
                /* days later: no day passes, no window closes, no ref moves */
                assert_int_equal(add(&r, &watermark, start_sample(noon + 80 * DAY, 4, 9e9, true, true)),
                                 SAMPLE_ACCEPTED);
                assert_int_equal(watermark.last_ms, noon + 80 * DAY);
                assert_int_equal(r.u.running.count, before.u.running.count + 1);
                assert_int_equal(r.u.spacing_ms, 80 * DAY - 9 * MIN);
                before.u.running = r.u.running;
                before.u.spacing_ms = r.u.spacing_ms;
                size_t len = pack_steady(&r, a);
                assert_int_equal(pack_steady(&before, b), len);
                assert_memory_equal(a, b, len);
                assert_int_equal(starts.of[CPU].at_ms, noon + 80 * DAY);
                assert_int_equal(starts.of[MEMORY].at_ms, noon + 80 * DAY);
                assert_int_equal(usage_starts_last_ms(&starts, MEMORY), MINUTE_MS);
                assert_int_equal(add(&r, &watermark, start_sample(noon + 80 * DAY, 4, 9e9, true, true)),
                                 SAMPLE_DUPLICATE);
                assert_true(starts.of[CPU].weight[histogram_bucket(CPU, 4) / START_FINE] == 1);
        }
}

/* Each resource on its own: the other one counts as ever. */
static void test_one_resource(void **state)
{
        (void)state;
        for (int which = 0; which < RESOURCES; which++) {
                struct roomy r, plain;
                struct usage_starts starts = {0};
                struct sample_watermark watermark = {0}, other = {0};
                roomy_init(&r, 0);
                roomy_init(&plain, 0);
                r.u.starts = &starts;
                struct sample s = start_sample(noon, 4, 9e9, which == CPU, which == MEMORY);
                assert_int_equal(add(&r, &watermark, s), SAMPLE_ACCEPTED);
                s.starts[which] = s.has[which] = false;
                assert_int_equal(add(&plain, &other, s), SAMPLE_ACCEPTED);
                uint8_t a[USAGE_PACK_MAX], b[USAGE_PACK_MAX];
                size_t len = pack_steady(&r, a);
                assert_int_equal(pack_steady(&plain, b), len);
                assert_memory_equal(a, b, len);
                assert_int_equal(r.u.samples, 1);
                assert_int_equal(starts.of[which].at_ms, noon);
                assert_int_equal(starts.of[1 - which].at_ms, 0);
        }
}

/* What is refused is refused of a start too, and memory of zero is missing there as well. */
static void test_refused(void **state)
{
        (void)state;
        struct roomy r;
        struct usage_starts starts = {0}, none = {0};
        struct sample_watermark watermark = {0};
        roomy_init(&r, 0);
        r.u.starts = &starts;
        assert_int_equal(add(&r, &watermark, start_sample(noon, (double)NAN, 9e9, true, true)), SAMPLE_INVALID);
        assert_int_equal(add(&r, &watermark, start_sample(noon, 1e6, 9e9, true, true)), SAMPLE_ABSURD);
        assert_memory_equal(&starts, &none, sizeof none);
        assert_int_equal(watermark.last_ms, 0);
        assert_int_equal(add(&r, &watermark, start_sample(noon, 4, 0, true, true)), SAMPLE_NO_MEMORY);
        assert_int_equal(starts.of[CPU].at_ms, noon);
        assert_int_equal(starts.of[MEMORY].at_ms, 0);
}

static void test_lending(void **state)
{
        (void)state;
        struct roomy r, from;
        struct usage_starts starts = {0}, theirs = {0};
        struct sample_watermark watermark = {0};
        struct usage_room room = {.cap = -1};
        enum sample_verdict verdict;
        struct sample s = start_sample(noon, 4, 9e9, true, false);
        roomy_init(&r, 0);
        assert_int_equal(usage_add(&r.u, &watermark, &s, s.at, &verdict, &room), ERR_NOSPACE);
        assert_true(room.starts && watermark.last_ms == 0 && r.u.samples == 0);
        roomy_init(&from, 0);
        put(&theirs, noon, 2, MIN, 1);
        from.u.starts = &theirs;
        room = (struct usage_room){.cap = -1};
        assert_int_equal(usage_merge(&r.u, &from.u, &room), ERR_NOSPACE);
        assert_true(room.starts);
        r.u.starts = &starts;
        assert_int_equal(usage_merge(&r.u, &from.u, &room), 0);
        assert_memory_equal(&starts, &theirs, sizeof starts);
        from.u.starts = NULL;
        assert_int_equal(usage_merge(&r.u, &from.u, &room), 0);
        assert_memory_equal(&starts, &theirs, sizeof starts);
        theirs.of[MEMORY].at_ms = noon + HOUR;
        assert_true(usage_may_join(&r.u, (struct wall){noon}));
        r.u.starts = &theirs;
        assert_false(usage_may_join(&r.u, (struct wall){noon}));
}

/* A clock that was ahead dated starts and the minutes in which a pod ran: both go on from the present. */
static void test_back_in_time(void **state)
{
        (void)state;
        for (int steady = 0; steady < 2; steady++) { /* a sample that counts is ahead as well: it is left to others */
                struct roomy r;
                struct usage_starts starts = {0};
                struct sample_watermark watermark = {0}, other = {0};
                roomy_init(&r, 0);
                r.u.starts = &starts;
                add_both(&r, &other, noon, 0.2, 3e8);
                assert_int_equal(add(&r, &watermark, start_sample(noon + 80 * DAY, 4, 9e9, true, !steady)),
                                 SAMPLE_ACCEPTED);
                struct usage_minutes ran = r.u.running;
                usage_pull_back_starts(&r.u, (struct wall){noon});
                assert_int_equal(starts.of[CPU].at_ms, noon);
                assert_int_equal(starts.of[MEMORY].at_ms, steady ? 0 : noon);
                assert_int_equal(r.u.running.count, ran.count);
                assert_int_equal(r.u.running.last, steady ? ran.last : noon / MIN);
                assert_int_equal(r.u.running.recent, 1);
                usage_running(&r.u, (struct wall){noon});
                assert_int_equal(r.u.running.count, ran.count);
                usage_running(&r.u, (struct wall){noon + MIN});
                assert_int_equal(r.u.running.count, ran.count + !steady);
                ran = r.u.running;
                usage_pull_back_starts(&r.u, (struct wall){steady ? noon + 81 * DAY : noon + MIN});
                assert_memory_equal(&r.u.running, &ran, sizeof ran);
        }
}

/* A back-filled point of a start weighs its step. */
static void test_backfilled(void **state)
{
        (void)state;
        struct roomy r;
        struct usage_starts starts = {0};
        struct sample_watermark watermark = {0};
        struct sample s = start_sample(noon, 4, 9e9, true, true);
        roomy_init(&r, 0);
        r.u.starts = &starts;
        s.step_s = 300;
        assert_int_equal(add(&r, &watermark, s), SAMPLE_ACCEPTED);
        assert_true(starts.of[CPU].weight[histogram_bucket(CPU, 4) / START_FINE] == 5);
        assert_true(starts.of[MEMORY].above[1] == 5);
}

/* Without ignoreFirst nothing changes: whatever age and steady say, the same bits come out. */
static void test_nothing_ignored(void **state)
{
        (void)state;
        for (int round = 0; round < 50; round++) {
                struct roomy with, without;
                struct sample_watermark a = {0}, b = {0};
                uint8_t x[USAGE_PACK_MAX], y[USAGE_PACK_MAX];
                roomy_init(&with, round % 2 ? HOUR : 0);
                roomy_init(&without, round % 2 ? HOUR : 0);
                for (int k = 0; k < 200; k++) {
                        struct sample s = {.at = {noon + k * MIN + (int64_t)draw(MIN)},
                                           .has = {draw(4) > 0, draw(4) > 0},
                                           .value = {(double)draw(8000) / 1000, (double)draw(4000) * MB},
                                           .cpu_weight = (double)draw(4)};
                        struct sample plain = s;
                        s.age_ms = (int64_t)draw(HOUR);
                        s.steady[CPU] = (double)draw(4);
                        assert_int_equal(add(&with, &a, s), add(&without, &b, plain));
                }
                size_t len = usage_pack(&with.u, x);
                assert_int_equal(usage_pack(&without.u, y), len);
                assert_memory_equal(x, y, len);
                assert_int_equal(x[0], 2);
        }
}

static void test_saved(void **state)
{
        (void)state;
        for (int round = 0; round < 50; round++) {
                struct roomy r;
                struct usage got;
                struct usage_memory memory;
                struct usage_starts starts = {0};
                struct sample_watermark watermark = {0};
                uint8_t packed[USAGE_PACK_MAX], again[USAGE_PACK_MAX];
                roomy_init(&r, 0);
                r.u.starts = &starts;
                for (int k = 0; k < 30; k++)
                        add(&r, &watermark,
                            start_sample(noon + k * HOUR + (int64_t)draw(MIN), (double)draw(8000) / 1000, 1e9,
                                         draw(2) > 0, draw(2) > 0));
                size_t len = usage_pack(&r.u, packed);
                assert_int_equal(packed[0], 3);
                assert_int_equal(usage_unpack(packed, len, &got, &memory), 0);
                assert_ptr_equal(got.starts, &memory.starts);
                assert_memory_equal(&memory.starts, &starts, sizeof starts);
                assert_int_equal(usage_pack(&got, again), len);
                assert_memory_equal(packed, again, len);
                starts.of[MEMORY].weight[3] = -1;
                assert_int_equal(usage_unpack(packed, usage_pack(&r.u, packed), &got, &memory), ERR_DAMAGED);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_buckets),
                cmocka_unit_test(test_percentile),
                cmocka_unit_test(test_ages),
                cmocka_unit_test(test_ageing),
                cmocka_unit_test(test_merge),
                cmocka_unit_test(test_hold),
                cmocka_unit_test(test_apart),
                cmocka_unit_test(test_one_resource),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_lending),
                cmocka_unit_test(test_nothing_ignored),
                cmocka_unit_test(test_saved),
                cmocka_unit_test(test_rounding),
                cmocka_unit_test(test_ends),
                cmocka_unit_test(test_steps),
                cmocka_unit_test(test_forget),
                cmocka_unit_test(test_pull_back),
                cmocka_unit_test(test_back_in_time),
                cmocka_unit_test(test_backfilled),
        };
        return cmocka_run_group_tests_name("usage_starts", tests, NULL, NULL);
}
