/* The ring of a node's samples: what is taken, what is refused, and what the last quarter of an hour amounts to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "core/node_ring.h"

#define BEGIN_MS (INT64_C(1764000000) * SECOND_MS)
#define GI       (INT64_C(1) << 30)

static const int64_t size[RESOURCES] = {4000, 16 * GI};

static struct wall after(int64_t seconds)
{
        return (struct wall){BEGIN_MS + seconds * SECOND_MS};
}

static enum node_verdict add(struct node_ring *g, int64_t at_s, int64_t cpu, int64_t memory, int64_t now_s)
{
        return node_ring_add(g, &(struct node_usage){after(at_s), {cpu, memory}}, size, after(now_s));
}

/* Each row is added to a ring whose only sample is of second 0. */
static const struct {
        const char *what;
        int64_t at_s, cpu, memory, now_s;
        enum node_verdict want;
        int64_t took_cpu, took_memory; /* where it was taken */
} row[] = {
        {"usual", 60, 1000, GI, 60, NODE_ACCEPTED, 1000, GI},
        {"idle CPU", 60, 0, GI, 60, NODE_ACCEPTED, 0, GI},
        {"full", 60, 4000, 16 * GI, 60, NODE_ACCEPTED, 4000, 16 * GI},
        {"CPU above capacity", 60, 4001, GI, 60, NODE_BOUNDED, 4000, GI},
        {"memory above capacity", 60, 1, 17 * GI, 60, NODE_BOUNDED, 1, 16 * GI},
        {"absurd", 60, INT64_MAX, INT64_MAX, 60, NODE_BOUNDED, 4000, 16 * GI},
        {"the same again", 0, 1000, GI, 60, NODE_DUPLICATE, 0, 0},
        {"older", -1, 1000, GI, 60, NODE_REORDERED, 0, 0},
        {"of before 1970", -1764000001, 1000, GI, 60, NODE_INVALID, 0, 0},
        {"ahead as far as it may", 360, 1000, GI, 60, NODE_ACCEPTED, 1000, GI},
        {"ahead", 361, 1000, GI, 60, NODE_FUTURE, 0, 0},
        {"years ahead", 4000000000, 1000, GI, 4000000000, NODE_FUTURE, 0, 0},
        {"no CPU", 60, -1, GI, 60, NODE_INVALID, 0, 0},
        {"negative CPU", 60, -5, GI, 60, NODE_INVALID, 0, 0},
        {"no memory", 60, 1000, -1, 60, NODE_INVALID, 0, 0},
        {"memory of zero", 60, 1000, 0, 60, NODE_INVALID, 0, 0},
};

static void samples_are_taken_as_the_table_says(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct node_ring g = {0};
                assert_int_equal(add(&g, 0, 500, GI, 0), NODE_ACCEPTED);
                enum node_verdict got = add(&g, row[i].at_s, row[i].cpu, row[i].memory, row[i].now_s);
                bool taken = got == NODE_ACCEPTED || got == NODE_BOUNDED;
                if (got != row[i].want || g.count != (taken ? 2 : 1))
                        fail_msg("%s: %s, %d samples", row[i].what, node_verdict_name(got), g.count);
                if (taken && (node_ring_at(&g, 0)->cpu_milli != row[i].took_cpu ||
                              node_ring_at(&g, 0)->memory_bytes != row[i].took_memory))
                        fail_msg("%s: took %d, %lld", row[i].what, node_ring_at(&g, 0)->cpu_milli,
                                 (long long)node_ring_at(&g, 0)->memory_bytes);
        }
}

/* Once halflife's clock is right again, what it took while it was ahead gives way. */
static void samples_ahead_of_every_clock_give_way(void **state)
{
        (void)state;
        struct node_ring g = {0};
        for (int64_t at = 0; at < 600; at += 60)
                assert_int_equal(add(&g, 86400 + at, 4000, GI, 86400 + at), NODE_ACCEPTED);
        assert_int_equal(add(&g, 660, 1000, GI, 660), NODE_ACCEPTED);
        assert_int_equal(g.count, 1);
        assert_int_equal(add(&g, 720, 1000, GI, 720), NODE_ACCEPTED);
        assert_int_equal(add(&g, 719, 1000, GI, 420), NODE_REORDERED); /* 5 minutes ahead may be */
        assert_int_equal(g.count, 2);
}

/* One alone gives way as well, and the newest does though the one before it was right. */
static void one_sample_ahead_gives_way(void **state)
{
        (void)state;
        for (int before = 0; before <= 1; before++) {
                struct node_ring g = {0};
                if (before)
                        assert_int_equal(add(&g, 0, 1000, GI, 0), NODE_ACCEPTED);
                assert_int_equal(add(&g, 86400, 1000, GI, 86400), NODE_ACCEPTED);
                assert_int_equal(add(&g, 60, 1000, GI, 60), NODE_ACCEPTED);
                assert_int_equal(g.count, 1);
        }
}

/* Times from the second second of 1970 on, as far as 32 bits go; a millicore and a byte are a capacity. */
static void the_least_and_the_most(void **state)
{
        static const int64_t least[RESOURCES] = {1, 1}, none[RESOURCES] = {0, 0};
        static const struct {
                int64_t at_s;
                enum node_verdict want;
        } at[] = {{0, NODE_INVALID}, {1, NODE_ACCEPTED}, {UINT32_MAX, NODE_ACCEPTED}, {INT64_C(1) << 32, NODE_FUTURE}};
        (void)state;
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
                struct node_ring g = {0};
                struct node_load l;
                struct node_spread s;
                const struct wall time = {at[i].at_s * SECOND_MS};
                assert_int_equal(node_ring_add(&g, &(struct node_usage){time, {1, 1}}, least, time), at[i].want);
                if (at[i].want != NODE_ACCEPTED)
                        continue;
                node_ring_load(&g, least, time, &l);
                assert_int_equal(l.latest[CPU], 1000);
                assert_int_equal(l.mean[MEMORY], 1000);
                node_ring_spread(&g, least, time, &s);
                assert_int_equal(s.latest[CPU], NODE_WHOLE);
                node_ring_spread(&g, none, time, &s); /* the capacity is no longer known */
                assert_int_equal(s.latest[CPU] | s.mean[CPU] | s.deviation[MEMORY], 0);
                node_ring_load(&g, none, time, &l);
                assert_int_equal(l.samples, 1);
                assert_int_equal(l.latest[CPU] | l.mean[CPU] | l.most[MEMORY], 0);
        }
}

/* The newest of two moves on as well. */
static void the_second_sample_moves_on(void **state)
{
        struct node_ring g = {0};
        (void)state;
        for (int64_t at = 0; at < 50; at += 10) {
                assert_int_equal(add(&g, at, 1000, GI, at), NODE_ACCEPTED);
                assert_int_equal(g.count, at == 0 ? 1 : 2);
        }
}

static void without_a_capacity_there_is_no_share(void **state)
{
        static const int64_t bad[][RESOURCES] = {{0, GI}, {4000, 0}, {-1, GI}, {INT64_C(1) << 31, GI}, {0, 0}};
        (void)state;
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                struct node_ring g = {0};
                const struct node_usage u = {after(0), {1, GI}};
                assert_int_equal(node_ring_add(&g, &u, bad[i], after(0)), NODE_NO_CAPACITY);
                assert_int_equal(g.count, 0);
        }
}

/* Each row: how far apart usage is read, and how far apart the samples are that an hour of it leaves. */
static void samples_are_a_minute_apart(void **state)
{
        static const struct {
                int64_t every_s, apart_s;
        } step[] = {{5, 50}, {7, 56}, {10, 50}, {15, 60}, {20, 60}, {30, 60}, {45, 90}, {50, 50}, {60, 60}, {120, 120}};
        (void)state;
        for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
                struct node_ring g = {0};
                for (int64_t at = 0; at <= 3600; at += step[i].every_s)
                        assert_int_equal(add(&g, at, 1000, GI, at), NODE_ACCEPTED);
                assert_int_equal(g.count, NODE_SAMPLES);
                for (int k = 1; k + 1 < NODE_SAMPLES; k++)
                        if (node_ring_at(&g, k)->at_s - node_ring_at(&g, k + 1)->at_s != step[i].apart_s)
                                fail_msg("read every %lld s: %u s apart", (long long)step[i].every_s,
                                         node_ring_at(&g, k)->at_s - node_ring_at(&g, k + 1)->at_s);
        }
}

static void a_ring_amounts_to_shares(void **state)
{
        struct node_ring g = {0};
        struct node_load l;
        (void)state;
        for (int i = 0; i < 20; i++) /* the first five are overwritten */
                assert_int_equal(add(&g, i * 60, i < 5 ? 4000 : i == 19 ? 3600 : 400, 8 * GI, i * 60), NODE_ACCEPTED);
        node_ring_load(&g, size, after(19 * 60 + 30), &l);
        assert_int_equal(l.samples, NODE_SAMPLES);
        assert_int_equal(l.at_ms, after(19 * 60).ms);
        assert_int_equal(l.used[CPU], 3600);
        assert_int_equal(l.latest[CPU], 900);
        assert_int_equal(l.most[CPU], 900);
        assert_int_equal(l.mean[CPU], (14 * 100 + 900) / 15);
        assert_int_equal(l.mean[MEMORY], 500);
        assert_int_equal(node_load_pressure(&l), 500);
        assert_int_equal(node_ring_above(&g, CPU, size[CPU], 80, after(19 * 60)), 1);
        assert_int_equal(node_ring_above(&g, CPU, size[CPU], 90, after(19 * 60)), 0);
        assert_int_equal(node_ring_above(&g, CPU, size[CPU] - 1, 90, after(19 * 60)), 1);
        assert_int_equal(node_ring_above(&g, MEMORY, size[MEMORY], 49, after(19 * 60)), NODE_SAMPLES);
        assert_int_equal(node_ring_above(&g, MEMORY, size[MEMORY], 50, after(19 * 60)), 0);
}

/* Computed by hand: shares in millionths of a per cent, and the root of the mean square of what they are off by. */
static const struct {
        const char *what;
        int64_t capacity;
        int samples, value[NODE_SAMPLES]; /* the newest last */
        int32_t latest, mean, deviation;
} vector[] = {
        {"one sample", 4000, 1, {1000}, 25000000, 25000000, 0},
        {"all alike", 4000, 5, {1000, 1000, 1000, 1000, 1000}, 25000000, 25000000, 0},
        {"a quarter and three", 4000, 2, {1000, 3000}, 75000000, 50000000, 25000000},
        {"0 to 100 %: root of 1250", 4000, 5, {0, 1000, 2000, 3000, 4000}, NODE_WHOLE, 50000000, 35355339},
        {"thirds: root of 2, by 9", 3, 3, {1, 1, 2}, 66666667, 44444444, 15713484},
        {"one of 15: root of 14, by 15", 100, 15, {[14] = 100}, NODE_WHOLE, 6666667, 24944383},
        {"the most that it deviates",
         7,
         14,
         {0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7},
         NODE_WHOLE,
         50000000,
         50000000},
        {"half of one is rounded up", 100000000, 2, {0, 1}, 1, 1, 1},
        {"less than half a millionth", INT32_MAX, 1, {1}, 0, 0, 0},
        {"more than half of one", INT32_MAX, 1, {11}, 1, 1, 0},
};

static void a_ring_has_mean_and_deviation(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
                const int64_t whole[RESOURCES] = {vector[i].capacity, vector[i].capacity * GI};
                struct node_ring g = {0};
                struct node_spread s;
                int n = vector[i].samples;
                for (int k = 0; k < n; k++) {
                        int64_t value = vector[i].value[k];
                        const struct node_usage u = {after(k * 60), {value, value ? value * GI : 1}};
                        assert_int_equal(node_ring_add(&g, &u, whole, after(k * 60)), NODE_ACCEPTED);
                }
                node_ring_spread(&g, whole, after(n * 60), &s);
                assert_int_equal(s.samples, n);
                assert_int_equal(s.at_s * SECOND_MS, after((n - 1) * 60).ms);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (s.latest[r] != vector[i].latest || s.mean[r] != vector[i].mean ||
                            s.deviation[r] != vector[i].deviation)
                                fail_msg("%s, %s: %d %d %d", vector[i].what, r == CPU ? "cpu" : "memory", s.latest[r],
                                         s.mean[r], s.deviation[r]);
                node_ring_spread(&g, whole, after((n - 1) * 60 + 301), &s);
                assert_int_equal(s.samples | s.at_s | s.latest[CPU] | s.mean[MEMORY] | s.deviation[CPU], 0);
        }
}

/* A kind of random that is the same everywhere. */
static int64_t dice(uint64_t *seed, int64_t sides)
{
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        return (int64_t)((*seed >> 1) % (uint64_t)sides);
}

/* Over random rings: within two millionths of what floating point has, and within what such samples can be. */
static void mean_and_deviation_are_those_of_the_samples(void **state)
{
        uint64_t seed = 17;
        (void)state;
        for (int run = 0; run < 20000; run++) {
                const int64_t whole[RESOURCES] = {1 + dice(&seed, run % 2 ? INT32_MAX : 8), 1 + dice(&seed, INT64_MAX)};
                int n = 1 + (int)dice(&seed, 20);
                struct node_ring g = {0};
                struct node_spread s;
                for (int k = 0; k < n; k++) {
                        const struct node_usage u = {after(k * 60),
                                                     {dice(&seed, whole[CPU] + 1), 1 + dice(&seed, whole[MEMORY])}};
                        (void)node_ring_add(&g, &u, whole, after(k * 60));
                }
                node_ring_spread(&g, whole, after(n * 60), &s);
                assert_int_equal(s.samples, n < NODE_SAMPLES ? n : NODE_SAMPLES);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        long double sum = 0, squares = 0, share = 0;
                        for (int k = s.samples; k-- > 0;) {
                                const struct node_sample *of = node_ring_at(&g, k);
                                share = (long double)(r == CPU ? of->cpu_milli : of->memory_bytes) /
                                        (long double)whole[r] * NODE_WHOLE;
                                sum += share;
                                squares += share * share;
                        }
                        long double mean = sum / s.samples;
                        long double deviation = sqrtl(fmaxl(squares / s.samples - mean * mean, 0));
                        if (fabsl((long double)s.latest[r] - share) > 0.5001L ||
                            fabsl((long double)s.mean[r] - mean) > 1.01L ||
                            fabsl((long double)s.deviation[r] - deviation) > 2 || s.deviation[r] > NODE_WHOLE / 2)
                                fail_msg("run %d: %d %d %d, not %Lf %Lf %Lf", run, s.latest[r], s.mean[r],
                                         s.deviation[r], share, mean, deviation);
                }
        }
}

/* A silent node has no load, and after a gap only what came since counts. */
static void what_is_old_does_not_count(void **state)
{
        struct node_ring g = {0};
        struct node_load l;
        (void)state;
        node_ring_load(&g, size, after(0), &l);
        assert_int_equal(l.samples, 0);
        for (int i = 0; i < NODE_SAMPLES; i++)
                (void)add(&g, i * 60, 4000, GI, i * 60);
        assert_int_equal(node_ring_counted(&g, after(14 * 60 + 300)), NODE_SAMPLES);
        assert_int_equal(node_ring_counted(&g, after(14 * 60 + 301)), 0);
        assert_int_equal(node_ring_above(&g, CPU, size[CPU], 80, after(14 * 60 + 301)), 0);
        assert_int_equal(node_ring_counted(&g, after(14 * 60 - 300)), NODE_SAMPLES);
        assert_int_equal(node_ring_counted(&g, after(14 * 60 - 301)), 0); /* the clock was set back */
        (void)add(&g, 14 * 60 + 840, 400, GI, 14 * 60 + 840);
        assert_int_equal(node_ring_counted(&g, after(14 * 60 + 840)), 2);
        (void)add(&g, 3 * 3600, 400, GI, 3 * 3600);
        node_ring_load(&g, size, after(3 * 3600), &l);
        assert_int_equal(l.samples, 1);
        assert_int_equal(l.mean[CPU], 100);
}

static void hot_is_not_turned_by_one_sample(void **state)
{
        static const struct {
                int above;
                bool was, want;
        } turn[] = {{0, false, false}, {11, false, false}, {12, false, true}, {15, false, true},
                    {11, true, true},  {8, true, true},    {7, true, false},  {0, true, false}};
        (void)state;
        for (size_t i = 0; i < sizeof turn / sizeof *turn; i++)
                if (node_ring_hot(turn[i].above, turn[i].was) != turn[i].want)
                        fail_msg("%d samples, %s before", turn[i].above, turn[i].was ? "hot" : "not");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(samples_are_taken_as_the_table_says),
                cmocka_unit_test(samples_ahead_of_every_clock_give_way),
                cmocka_unit_test(one_sample_ahead_gives_way),
                cmocka_unit_test(the_least_and_the_most),
                cmocka_unit_test(the_second_sample_moves_on),
                cmocka_unit_test(without_a_capacity_there_is_no_share),
                cmocka_unit_test(samples_are_a_minute_apart),
                cmocka_unit_test(a_ring_amounts_to_shares),
                cmocka_unit_test(a_ring_has_mean_and_deviation),
                cmocka_unit_test(mean_and_deviation_are_those_of_the_samples),
                cmocka_unit_test(what_is_old_does_not_count),
                cmocka_unit_test(hot_is_not_turned_by_one_sample),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
