#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/recommend.h"

#define MIN  ((int64_t)MINUTE_MS)
#define HOUR ((int64_t)HOUR_MS)
#define DAY  ((int64_t)DAY_MS)
#define MI   INT64_C(1048576)

static const struct resource_policy policy[RESOURCES] = {
        [CPU] = {.enabled = true, .percentile = 950, .half_life_ms = DAY},
        [MEMORY] =
                {.enabled = true, .percentile = 990, .half_life_ms = DAY, .oom_hold_ms = 7 * DAY_MS, .oom_bump = 1200},
};

struct roomy {
        struct usage u;
        double w[RESOURCES][HISTOGRAM_BUCKETS];
};

static void roomy_init(struct roomy *r)
{
        usage_init(&r->u, policy);
        for (int i = 0; i < RESOURCES; i++)
                histogram_lend(&r->u.of[i], r->w[i], HISTOGRAM_BUCKETS);
}

static void add(struct roomy *r, int64_t at_ms, double cpu, double memory)
{
        struct sample_watermark watermark = {0};
        struct sample s = {.at = {at_ms}, .has = {cpu >= 0, memory >= 0}, .value = {cpu, memory}};
        enum sample_verdict verdict;
        struct usage_room room;
        assert_int_equal(usage_add(&r->u, &watermark, &s, s.at, &verdict, &room), 0);
        assert_int_equal(verdict, SAMPLE_ACCEPTED);
}

static uint64_t random_state = 88172645463325252u;
static uint64_t draw(uint64_t below)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state % below;
}

/* --- states ---------------------------------------------------------------------------------------------------------
 */

static void test_state_names(void **state)
{
        (void)state;
        static const char *const want[STATES] = {"NoData", "Learning", "Ready", "Stale", "Held"};
        for (int s = 0; s < STATES; s++)
                assert_string_equal(state_name((enum state)s), want[s]);
}

static void test_state_least(void **state)
{
        (void)state;
        static const enum state order[STATES] = {STATE_NO_DATA, STATE_LEARNING, STATE_HELD, STATE_STALE, STATE_READY};
        for (int a = 0; a < STATES; a++)
                for (int b = 0; b < STATES; b++)
                        assert_int_equal(state_least(order[a], order[b]), order[a < b ? a : b]);
}

static void test_states(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                int64_t samples, span_ms, spacing_ms, runs;
                int64_t min_history_ms, interval_ms, silent_ms;
                bool by_runs;
                enum state want;
        } row[] = {
                {"nothing", 0, 0, 0, 0, DAY, MIN, 0, false, STATE_NO_DATA},
                {"nothing, silent", 0, 0, 0, 0, 0, MIN, DAY, false, STATE_NO_DATA},
                {"a day, a hundred", 100, DAY, MIN, 0, DAY, MIN, 0, false, STATE_READY},
                {"a day, one less", 99, DAY, MIN, 0, DAY, MIN, 0, false, STATE_LEARNING},
                {"a ms short of a day", 1000, DAY - 1, MIN, 0, DAY, MIN, 0, false, STATE_LEARNING},
                {"half of an hour's", 30, HOUR, MIN, 0, HOUR, MIN, 0, false, STATE_READY},
                {"one less", 29, HOUR, MIN, 0, HOUR, MIN, 0, false, STATE_LEARNING},
                {"slow interval", 12, DAY, HOUR, 0, DAY, HOUR, 0, false, STATE_READY},
                {"slow interval, one less", 11, DAY, HOUR, 0, DAY, HOUR, 0, false, STATE_LEARNING},
                {"no history wanted", 1, 0, 0, 0, 0, MIN, 0, false, STATE_READY},
                {"ten seconds", 5, 10000, 1000, 0, 10000, 1000, 0, false, STATE_READY},
                {"ten seconds, one less", 4, 10000, 1000, 0, 10000, 1000, 0, false, STATE_LEARNING},
                {"runs", 30, 0, 0, 3, DAY, MIN, 0, true, STATE_READY},
                {"too few runs", 1000, 9 * DAY, 0, 2, DAY, MIN, 0, true, STATE_LEARNING},
                {"runs, too few samples", 29, 9 * DAY, 0, 9, DAY, MIN, 0, true, STATE_LEARNING},
                {"silent for less than five minutes", 100, DAY, MIN, 0, DAY, MIN, 5 * MIN - 1, false, STATE_READY},
                {"silent for five minutes", 100, DAY, MIN, 0, DAY, MIN, 5 * MIN, false, STATE_STALE},
                {"short intervals wait as long", 100, DAY, 1000, 0, DAY, 1000, 5 * MIN - 1, false, STATE_READY},
                {"five intervals, not yet", 100, DAY, MIN, 0, DAY, 2 * MIN, 10 * MIN - 1, false, STATE_READY},
                {"five intervals", 100, DAY, MIN, 0, DAY, 2 * MIN, 10 * MIN, false, STATE_STALE},
                {"three spacings, not yet", 100, DAY, 5 * MIN, 0, DAY, MIN, 15 * MIN - 1, false, STATE_READY},
                {"three spacings", 100, DAY, 5 * MIN, 0, DAY, MIN, 15 * MIN, false, STATE_STALE},
                {"learning and silent", 99, DAY, MIN, 0, DAY, MIN, DAY, false, STATE_LEARNING},
        };
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r;
                struct recommendation got;
                roomy_init(&r);
                r.u.samples = row[i].samples;
                r.u.first_ms = 1000 * DAY;
                r.u.newest_ms = 1000 * DAY + row[i].span_ms;
                r.u.spacing_ms = row[i].spacing_ms;
                r.u.runs = row[i].runs;
                struct recommend_facts f = {.now = {r.u.newest_ms},
                                            .interval_ms = row[i].interval_ms,
                                            .silent_ms = row[i].silent_ms,
                                            .by_runs = row[i].by_runs,
                                            .min_history_ms = row[i].min_history_ms};
                recommend(&r.u, policy, &f, &got);
                if (got.state != row[i].want)
                        fail_msg("%s: %s", row[i].name, state_name(got.state));
        }
}

/* Only a history that is learning has an early request, and one that ends at the usual target. */
static void test_early(void **state)
{
        static const struct early_policy on = {true, 3 * (int64_t)HOUR_MS, 1500}, off = {false, 0, 1500};
        static const struct {
                const char *name;
                const struct early_policy *early;
                int64_t samples, span_ms, silent_ms;
                bool by_runs;
                int64_t want; /* of a model of 415m */
        } row[] = {
                {"not asked for", NULL, 200, 3 * HOUR, 0, false, 0},
                {"off", &off, 200, 3 * HOUR, 0, false, 0},
                {"too young", &on, 200, 3 * HOUR - 1, 0, false, 0},
                {"three hours", &on, 200, 3 * HOUR, 0, false, 623},
                {"one less than half of its samples", &on, 89, 3 * HOUR, 0, false, 0},
                {"half of its samples", &on, 90, 3 * HOUR, 0, false, 623},
                {"more than half of its samples", &on, 95, 3 * HOUR, 0, false, 623},
                {"few samples for its age", &on, 99, DAY, 0, false, 620}, /* as of 198 minutes */
                {"13.5 hours", &on, 200, 27 * HOUR / 2, 0, false, 519},
                {"a ms short of a day", &on, 1000, DAY - 1, 0, false, 416},
                {"a day", &on, 1000, DAY, 0, false, 0},
                {"silent", &on, 200, 3 * HOUR, 5 * MIN, false, 0},
                {"by runs", &on, 200, 3 * HOUR, 0, true, 0},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct resource_policy p[RESOURCES] = {policy[CPU], policy[MEMORY]};
                struct roomy r;
                struct recommendation got;
                p[CPU].multiplier = p[MEMORY].multiplier = 1000;
                p[CPU].round_to = p[MEMORY].round_to = 1;
                roomy_init(&r);
                add(&r, 1000 * DAY, 0.4, -1);
                r.u.samples = row[i].samples;
                r.u.newest_ms = r.u.first_ms + row[i].span_ms;
                const struct recommend_facts f = {.now = {r.u.newest_ms},
                                                  .interval_ms = MIN,
                                                  .silent_ms = row[i].silent_ms,
                                                  .by_runs = row[i].by_runs,
                                                  .min_history_ms = DAY,
                                                  .early = row[i].early};
                recommend(&r.u, p, &f, &got);
                assert_int_equal(got.of[CPU].model, 415);
                if (got.of[CPU].early != row[i].want || got.of[MEMORY].early != 0)
                        fail_msg("%s: %lld", row[i].name, (long long)got.of[CPU].early);
        }
}

/* What may be more than the model says has no early request. */
static void test_early_in_the_last_bucket(void **state)
{
        static const struct early_policy on = {true, 3 * (int64_t)HOUR_MS, 1500};
        (void)state;
        for (int last = 0; last <= 1; last++) {
                struct resource_policy p[RESOURCES] = {policy[CPU], policy[MEMORY]};
                struct roomy r;
                struct recommendation got;
                p[CPU].multiplier = p[MEMORY].multiplier = 1000;
                p[CPU].round_to = p[MEMORY].round_to = 1;
                roomy_init(&r);
                add(&r, 1000 * DAY, histogram_start(CPU, HISTOGRAM_BUCKETS - 2 + last), -1);
                r.u.samples = 200;
                r.u.newest_ms = r.u.first_ms + 3 * HOUR;
                const struct recommend_facts f = {
                        .now = {r.u.newest_ms}, .interval_ms = MIN, .min_history_ms = DAY, .early = &on};
                recommend(&r.u, p, &f, &got);
                assert_int_equal(got.of[CPU].more, last);
                assert_int_equal(got.of[CPU].early > 0, !last);
        }
}

static void test_nothing_learned(void **state)
{
        (void)state;
        struct recommendation got;
        struct recommend_facts f = {.interval_ms = MIN};
        struct roomy r;
        roomy_init(&r);
        for (int i = 0; i < 2; i++) {
                memset(&got, 0x55, sizeof(got));
                recommend(i ? &r.u : NULL, policy, &f, &got);
                assert_int_equal(got.state, STATE_NO_DATA);
                assert_int_equal(got.confidence_percent, 0);
                for (int k = 0; k < RESOURCES; k++)
                        assert_true(!got.of[k].known && got.of[k].model == 0 && got.of[k].upper == 0);
        }
        /* one resource known, a kill but no memory sample */
        add(&r, DAY, 0.5, -1);
        usage_oom(&r.u, &policy[MEMORY], (struct wall){DAY}, 1e9, 0);
        recommend(&r.u, policy, &f, &got);
        assert_true(got.of[CPU].known);
        assert_false(got.of[MEMORY].known);
}

/* --- confidence -----------------------------------------------------------------------------------------------------
 */

static void test_confidence(void **state)
{
        (void)state;
        static const struct {
                int64_t span_ms, sampled, running;
                int want;
        } row[] = {{7 * DAY, 10, 10, 100},
                   {70 * DAY, 10, 10, 100},
                   {7 * DAY - 1, 10, 10, 99},
                   {0, 10, 10, 0},
                   {7 * DAY / 2, 10, 10, 50},
                   {7 * DAY, 5, 10, 50},
                   {7 * DAY / 2, 5, 10, 25},
                   {7 * DAY, 0, 0, 0},
                   {7 * DAY, 999, 1000, 99},
                   {7 * DAY, 1, 1000, 0},
                   {7 * DAY, 1, 100, 1},
                   {DAY, 7, 7, 14},
                   {7 * DAY, 5256000, 5256000, 100},
                   {7 * DAY, (int64_t)1 << 60, (int64_t)1 << 60, 100}};
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r;
                struct recommendation got;
                struct recommend_facts f = {.interval_ms = MIN};
                roomy_init(&r);
                r.u.samples = 100;
                r.u.first_ms = 1000 * DAY;
                r.u.newest_ms = 1000 * DAY + row[i].span_ms;
                r.u.sampled.count = row[i].sampled;
                r.u.running.count = row[i].running;
                recommend(&r.u, policy, &f, &got);
                if (got.confidence_percent != row[i].want)
                        fail_msg("row %zu: %d", i, got.confidence_percent);
        }
}

/* --- estimates ------------------------------------------------------------------------------------------------------
 */

/* Rounded up to whole steps from every bucket, proved with integers: start(n) = 0.2 * (1.05^n - 1). */
static void test_model_of_every_bucket(void **state)
{
        (void)state;
        for (int n = 0; n < HISTOGRAM_BUCKETS; n++) {
                struct roomy r;
                struct recommendation got;
                struct recommend_facts f = {.now = {DAY}, .interval_ms = MIN};
                roomy_init(&r);
                double cpu = histogram_edge(CPU, n), memory = histogram_edge(MEMORY, n);
                add(&r, DAY, histogram_start(CPU, n), fmax(histogram_start(MEMORY, n), 1));
                recommend(&r.u, policy, &f, &got);
                /* 10, 20.5, 31.525, … millicores: only the first is whole, so nothing is near a whole number */
                int64_t milli = n == 0 ? 10 : (int64_t)(cpu * 1000) + 1;
                int64_t mebi = (int64_t)(memory / (double)MI) + 1;
                if (got.of[CPU].model != milli || got.of[MEMORY].model != mebi * MI)
                        fail_msg("bucket %d: %lld, %lld", n, (long long)got.of[CPU].model,
                                 (long long)got.of[MEMORY].model);
        }
}

/* In the last bucket nobody knows how much more it is; a sum has other buckets behind that of a container. */
static void test_more_than_the_model(void **state)
{
        static const struct {
                int bucket;
                bool sum, more;
        } row[] = {
                {HISTOGRAM_BUCKETS - 2, false, false},   {HISTOGRAM_BUCKETS - 1, false, true},
                {HISTOGRAM_BUCKETS - 1, true, false},    {HISTOGRAM_SUM_BUCKETS - 2, true, false},
                {HISTOGRAM_SUM_BUCKETS - 1, true, true},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                double w[RESOURCES][HISTOGRAM_SUM_BUCKETS];
                struct recommend_facts f = {.now = {DAY}, .interval_ms = MIN};
                struct recommendation got;
                struct usage u;
                usage_init(&u, policy);
                if (row[i].sum)
                        usage_make_sum(&u);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        int unused;
                        histogram_lend(&u.of[r], w[r], HISTOGRAM_SUM_BUCKETS);
                        assert_int_equal(histogram_add(&u.of[r], histogram_start(r, row[i].bucket), 1,
                                                       (struct wall){DAY}, &unused),
                                         0);
                }
                recommend(&u, policy, &f, &got);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (got.of[r].more != row[i].more)
                                fail_msg("row %zu, %s", i, resource_name(r));
                int64_t edge = (int64_t)ceil(histogram_start(CPU, row[i].bucket + !row[i].more) * 1000);
                assert_int_equal(got.of[CPU].model, edge);
        }
}

static void test_bounds(void **state)
{
        (void)state;
        /* ten samples: seven in bucket a, two in b, one in c: P50 = a, P80 = b, P95 and P99 = c */
        enum { A = 20, B = 30, C = 40 };
        static const struct {
                int percentile, confidence;
        } row[] = {{500, 0}, {800, 0}, {950, 0}, {990, 0}, {800, 37}, {950, 100}, {800, 100}, {1000, 99}};
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r;
                struct recommendation got;
                struct recommend_facts f = {.now = {DAY}, .interval_ms = MIN};
                struct resource_policy p[RESOURCES] = {policy[CPU], policy[MEMORY]};
                p[CPU].percentile = p[MEMORY].percentile = row[i].percentile;
                roomy_init(&r);
                for (int k = 0; k < 10; k++) {
                        int n = k < 7 ? A : k < 9 ? B : C;
                        add(&r, DAY, histogram_start(CPU, n), histogram_start(MEMORY, n));
                }
                r.u.first_ms = r.u.newest_ms - 7 * DAY;
                r.u.sampled.count = row[i].confidence;
                r.u.running.count = 100;
                recommend(&r.u, p, &f, &got);
                assert_int_equal(got.confidence_percent, row[i].confidence);
                for (int k = 0; k < RESOURCES; k++) {
                        enum resource of = (enum resource)k;
                        double per = k == CPU ? 1000 : 1.0 / (double)MI;
                        int64_t step = k == CPU ? 1 : MI, c = row[i].confidence;
                        int64_t p50 = (int64_t)ceil(histogram_edge(of, A) * per);
                        int64_t p95 = (int64_t)ceil(histogram_edge(of, C) * per);
                        int n = row[i].percentile == 500 ? A : row[i].percentile == 800 ? B : C;
                        int64_t model = (int64_t)ceil(histogram_edge(of, n) * per);
                        int64_t lower = (p50 * (100 + c) + 199) / 200, upper = (p95 * (200 - c) + 99) / 100;
                        const struct estimate *e = &got.of[k];
                        if (!e->known || e->by_kill || e->model != model * step || e->lower != lower * step ||
                            e->upper != upper * step)
                                fail_msg("row %zu, %s: %lld <= %lld <= %lld", i, resource_name(of), (long long)e->lower,
                                         (long long)e->model, (long long)e->upper);
                }
        }
}

/* The shares that the bounds look at are just 50 and just 95 per cent: a thousandth more or less is another bucket. */
static void test_bounds_look_at(void **state)
{
        (void)state;
        enum { FIRST = 10, SECOND = 20, P950 = 30, LAST = 40 };
        for (int more = 0; more < 2; more++) {
                struct roomy r;
                struct recommendation got;
                struct recommend_facts f = {.now = {DAY}, .interval_ms = MIN};
                struct resource_policy p[RESOURCES] = {policy[CPU], policy[MEMORY]};
                p[CPU].percentile = 600;
                roomy_init(&r);
                for (int k = 0; k < 1000; k++) {
                        int n = k < 500 - more ? FIRST : k < 900 ? SECOND : k < 950 - more ? P950 : LAST;
                        add(&r, DAY, histogram_start(CPU, n), 1);
                }
                recommend(&r.u, p, &f, &got);
                int64_t p50 = (int64_t)ceil(histogram_edge(CPU, more ? SECOND : FIRST) * 1000);
                int64_t p95 = (int64_t)ceil(histogram_edge(CPU, more ? LAST : P950) * 1000);
                assert_int_equal(got.of[CPU].lower, (p50 + 1) / 2);
                assert_int_equal(got.of[CPU].upper, 2 * p95);
        }
}

/* Up to the next whole step, from one hundredth above it: 10 x 101 / 200 = 5.05, 3 x 167 / 100 = 5.01. */
static void test_bounds_round_up(void **state)
{
        (void)state;
        for (int64_t c = 0; c <= 100; c++) {
                struct roomy r;
                struct recommendation got;
                struct recommend_facts f = {.now = {DAY}, .interval_ms = MIN};
                roomy_init(&r);
                add(&r, 8 * DAY, 0, 1);
                r.u.first_ms = DAY;
                r.u.sampled.count = c;
                r.u.running.count = 100;
                recommend(&r.u, policy, &f, &got);
                assert_int_equal(got.of[CPU].model, 10);
                assert_int_equal(got.of[CPU].lower, (int64_t)ceil(10 * (100 + (double)c) / 200));
                assert_int_equal(got.of[CPU].upper, (int64_t)ceil(10 * (200 - (double)c) / 100));
                usage_oom(&r.u, &policy[MEMORY], (struct wall){DAY}, 1, 0); /* 101 Mi, an odd number */
                recommend(&r.u, policy, &f, &got);
                assert_int_equal(got.of[MEMORY].upper / MI, (101 * (200 - c) + 99) / 100);
        }
}

static void test_kill_makes_the_model(void **state)
{
        (void)state;
        static const struct {
                double bytes; /* of the kill */
                int64_t age_ms;
                bool by_kill;
                int64_t model_mi;
        } row[] = {{1e9, 0, true, 954}, {1e9, 7 * DAY, true, 954},       {1e9, 7 * DAY + 1, false, 96},
                   {5e7, 0, false, 96}, {200 * 1048576.0, 0, true, 200}, {200 * 1048576.0 + 1, 0, true, 201}};
        struct roomy r;
        roomy_init(&r);
        add(&r, 100 * DAY, 0.5, 99e6);
        double edge = histogram_edge(MEMORY, histogram_bucket(MEMORY, 99e6));
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct recommendation got;
                struct recommend_facts f = {.now = {100 * DAY + row[i].age_ms}, .interval_ms = MIN};
                r.u.kill[0] = (struct usage_kill){100 * DAY, row[i].bytes};
                recommend(&r.u, policy, &f, &got);
                const struct estimate *e = &got.of[MEMORY];
                int64_t model = row[i].by_kill ? row[i].model_mi * MI : (int64_t)ceil(edge / (double)MI) * MI;
                if (e->by_kill != row[i].by_kill || e->model != model || e->upper != 2 * model)
                        fail_msg("row %zu: %lld Mi", i, (long long)(e->model / MI));
                assert_false(got.of[CPU].by_kill);
        }
        /* a kill sample of just the percentile is not what made the model */
        struct recommendation got;
        struct recommend_facts f = {.now = {100 * DAY}, .interval_ms = MIN};
        r.u.kill[0].bytes = edge;
        recommend(&r.u, policy, &f, &got);
        assert_false(got.of[MEMORY].by_kill);
}

static void test_lower_model_upper(void **state)
{
        (void)state;
        for (int round = 0; round < 2000; round++) {
                struct roomy r;
                struct recommendation got;
                struct resource_policy p[RESOURCES] = {policy[CPU], policy[MEMORY]};
                roomy_init(&r);
                p[CPU].percentile = 500 + (int)draw(501);
                p[MEMORY].percentile = 500 + (int)draw(501);
                p[MEMORY].window_ms = draw(2) ? HOUR : 0;
                usage_adopt(&r.u, p);
                int64_t at = 1700000000000;
                for (int i = 1 + (int)draw(40); i > 0; i--, at += (int64_t)draw((uint64_t)DAY))
                        add(&r, at, ldexp((double)draw(1000), -(int)draw(20)),
                            ldexp((double)(1 + draw(1000)), (int)draw(30)));
                if (draw(3) == 0)
                        usage_oom(&r.u, &p[MEMORY], (struct wall){at}, (double)draw(1u << 30), 0);
                for (int64_t m = (int64_t)draw(5); m > 0; m--)
                        usage_running(&r.u, (struct wall){at + m * HOUR});
                struct recommend_facts f = {.now = {at}, .interval_ms = MIN};
                recommend(&r.u, p, &f, &got);
                assert_in_range(got.confidence_percent, 0, 100);
                for (int k = 0; k < RESOURCES; k++) {
                        const struct estimate *e = &got.of[k];
                        if (!e->known || e->lower > e->model || e->model > e->upper || e->lower < 0)
                                fail_msg("round %d: %lld <= %lld <= %lld", round, (long long)e->lower,
                                         (long long)e->model, (long long)e->upper);
                }
        }
}

/* --- against exact fractions ----------------------------------------------------------------------------------------
 */

/* A workload with whole weights and a random past, and what it must come to. */
struct exact {
        int64_t weight[HISTOGRAM_BUCKETS], total; /* of CPU */
        int64_t learned_ms, sampled, running;
};

static void exact_draw(struct exact *e, struct roomy *r)
{
        *e = (struct exact){.learned_ms = (int64_t)draw(10 * (uint64_t)DAY), .running = 1 + (int64_t)draw(20000)};
        e->sampled = draw(4) ? (int64_t)draw((uint64_t)e->running + 1) : e->running;
        int spread = 1 + (int)draw(HISTOGRAM_BUCKETS), unused;
        for (int i = 1 + (int)draw(30); i > 0; i--) {
                int n = (int)draw((uint64_t)spread);
                int64_t w = 1 + (int64_t)draw(50);
                e->weight[n] += w;
                e->total += w;
                assert_int_equal(
                        histogram_add(&r->u.of[CPU], histogram_start(CPU, n), (double)w, (struct wall){0}, &unused), 0);
        }
        r->u.samples = 1000;
        r->u.newest_ms = e->learned_ms;
        r->u.sampled.count = e->sampled;
        r->u.running.count = e->running;
}

/* Millicores that cover the share p: the smallest whole number not below 200 * (21^n - 20^n) / 20^n, whose nearest
 * double is never whole but for n = 1. */
static int64_t exact_milli(const struct exact *e, int p)
{
        int n = 0, last = 0;
        for (int64_t running = e->weight[0]; running * 1000 < p * e->total; running += e->weight[n])
                n++;
        for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
                last = e->weight[i] ? i : last;
        n = p == 1000 ? last : n;
        int64_t milli = 0;
        for (int64_t bit = (int64_t)1 << 40; bit; bit /= 2)
                if ((double)(milli + bit) <= histogram_edge(CPU, n) * 1000)
                        milli += bit;
        return milli + ((double)milli < histogram_edge(CPU, n) * 1000);
}

/* Each number is the one whole number between two fractions, compared crosswise in integers. */
static void test_against_exact_fractions(void **state)
{
        (void)state;
        for (int round = 0; round < 3000; round++) {
                struct roomy r;
                struct exact e;
                struct recommendation got;
                struct recommend_facts f = {.interval_ms = MIN};
                struct resource_policy p[RESOURCES] = {policy[CPU], policy[MEMORY]};
                p[CPU].percentile = draw(8) ? 500 + (int)draw(501) : 1000;
                roomy_init(&r);
                exact_draw(&e, &r);
                recommend(&r.u, p, &f, &got);
                __int128 c = got.confidence_percent, span = e.learned_ms < 7 * DAY ? e.learned_ms : 7 * DAY;
                assert_true(c * e.running * 7 * DAY <= 100 * e.sampled * span);
                assert_true((c + 1) * e.running * 7 * DAY > 100 * e.sampled * span);
                const struct estimate *of = &got.of[CPU];
                int64_t p50 = exact_milli(&e, 500), p95 = exact_milli(&e, 950),
                        model = exact_milli(&e, p[CPU].percentile);
                int64_t high = p95 > model ? p95 : model, share = got.confidence_percent;
                if (of->model != model || of->lower * 200 < p50 * (100 + share) ||
                    (of->lower - 1) * 200 >= p50 * (100 + share) || of->upper * 100 < high * (200 - share) ||
                    (of->upper - 1) * 100 >= high * (200 - share))
                        fail_msg("round %d: %lld <= %lld <= %lld, P50 %lld, P95 %lld, model %lld, %lld %%", round,
                                 (long long)of->lower, (long long)of->model, (long long)of->upper, (long long)p50,
                                 (long long)p95, (long long)model, (long long)share);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_state_names),
                cmocka_unit_test(test_state_least),
                cmocka_unit_test(test_states),
                cmocka_unit_test(test_early),
                cmocka_unit_test(test_early_in_the_last_bucket),
                cmocka_unit_test(test_nothing_learned),
                cmocka_unit_test(test_confidence),
                cmocka_unit_test(test_model_of_every_bucket),
                cmocka_unit_test(test_more_than_the_model),
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_bounds_look_at),
                cmocka_unit_test(test_bounds_round_up),
                cmocka_unit_test(test_kill_makes_the_model),
                cmocka_unit_test(test_lower_model_upper),
                cmocka_unit_test(test_against_exact_fractions),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
