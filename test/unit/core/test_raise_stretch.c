#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/raise_stretch.h"

static const struct raise_policy policy = {.enabled = true, .after_ms = 15 * MINUTE_MS, .factor = 1100, .most = 3000};

/* --- one story a row: a sample a step, and what it answers --- */

enum { STEPS = 12, NONE = -1 };
struct step {
        int minute;
        int64_t used, request;
        int64_t want; /* NONE: stays */
};

static const struct {
        const char *name;
        int64_t original;
        struct step step[STEPS]; /* up to the first whose used is 0 behind the first */
} story[] = {
        {"a quarter of an hour above",
         1000,
         {{0, 101, 100, NONE}, {5, 120, 100, NONE}, {10, 110, 100, NONE}, {15, 105, 100, 132}}},
        {"after a quarter of an hour the next sample counts",
         1000,
         {{0, 101, 100, NONE}, {7, 150, 100, NONE}, {14, 101, 100, NONE}, {16, 140, 100, 165}}},
        {"at the request is not above",
         1000,
         {{0, 100, 100, NONE}, {5, 101, 100, NONE}, {10, 101, 100, NONE}, {15, 101, 100, NONE}, {20, 101, 100, 112}}},
        {"a sample at the request breaks",
         1000,
         {{0, 200, 100, NONE},
          {5, 200, 100, NONE},
          {10, 100, 100, NONE},
          {15, 150, 100, NONE},
          {20, 150, 100, NONE},
          {30, 150, 100, 165}}},
        {"and so does one below; its maximum is forgotten",
         1000,
         {{0, 280, 100, NONE}, {5, 99, 100, NONE}, {10, 110, 100, NONE}, {20, 110, 100, NONE}, {25, 110, 100, 121}}},
        {"ten minutes apart go on", 1000, {{0, 150, 100, NONE}, {10, 150, 100, NONE}, {20, 150, 100, 165}}},
        {"eleven begin anew",
         1000,
         {{0, 250, 100, NONE}, {11, 150, 100, NONE}, {21, 150, 100, NONE}, {26, 150, 100, 165}}},
        {"the first request is what a gap's sample is above",
         1000,
         {{0, 250, 100, NONE}, {10, 250, 100, NONE}, {21, 101, 100, NONE}, {31, 102, 100, NONE}, {36, 103, 100, 114}}},
        {"three times the request at most", 1000, {{0, 900, 100, NONE}, {8, 400, 100, NONE}, {15, 400, 100, 300}}},
        {"never above the original", 120, {{0, 150, 100, NONE}, {8, 150, 100, NONE}, {15, 150, 100, 120}}},
        {"at the original already",
         100,
         {{0, 150, 100, NONE}, {8, 150, 100, NONE}, {15, 150, 100, NONE}, {20, 150, 100, NONE}}},
        {"above the original (its owner lowered it)",
         90,
         {{0, 150, 100, NONE}, {8, 150, 100, NONE}, {15, 150, 100, NONE}}},
        {"it goes on asking until somebody writes",
         1000,
         {{0, 150, 100, NONE},
          {10, 150, 100, NONE},
          {15, 150, 100, 165},
          {20, 160, 100, 176},
          {25, 120, 100, 176},
          {26, 100, 100, NONE}}},
        {"written: a stretch of its own above the new request",
         1000,
         {{0, 400, 100, NONE},
          {10, 400, 100, NONE},
          {15, 400, 100, 300},
          {20, 400, 300, NONE},
          {30, 400, 300, NONE},
          {34, 350, 300, NONE},
          {35, 350, 300, 440}}},
        {"a higher request in between begins anew",
         1000,
         {{0, 280, 100, NONE}, {10, 280, 200, NONE}, {15, 210, 200, NONE}, {20, 210, 200, NONE}, {25, 210, 200, 308}}},
        {"a lower one does not",
         1000,
         {{0, 280, 200, NONE}, {10, 280, 200, NONE}, {14, 280, 150, NONE}, {15, 280, 150, 308}}},
        {"lowered, then back up",
         1000,
         {{0, 280, 200, NONE}, {10, 280, 150, NONE}, {15, 280, 200, NONE}, {25, 280, 200, NONE}, {30, 280, 200, 308}}},
        {"a request of zero has no multiple", 1000, {{0, 50, 0, NONE}, {10, 50, 0, NONE}, {15, 50, 0, NONE}}},
        {"a duplicate and a late one are not looked at",
         1000,
         {{0, 150, 100, NONE},
          {10, 150, 100, NONE},
          {10, 90, 100, NONE},
          {5, 90, 100, NONE},
          {15, 150, 100, 165},
          {15, 290, 100, NONE},
          {16, 110, 100, 165}}},
        {"one ten minutes late is not looked at either",
         1000,
         {{20, 150, 100, NONE}, {30, 150, 100, NONE}, {20, 90, 100, NONE}, {35, 150, 100, 165}}},
        {"a clock that was a year ahead is set right",
         1000,
         {{525600, 150, 100, NONE},
          {525610, 150, 100, NONE},
          {10, 150, 100, NONE},
          {20, 150, 100, NONE},
          {25, 150, 100, 165}}},
        {"the same, and it uses less by then",
         1000,
         {{525600, 150, 100, NONE}, {10, 90, 100, NONE}, {525601, 150, 100, NONE}, {525610, 150, 100, NONE}}},
        {"time begins at nought",
         1000,
         {{0, 150, 100, NONE}, {0, 290, 100, NONE}, {7, 150, 100, NONE}, {15, 150, 100, 165}}},
};

static void test_stories(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof story / sizeof story[0]; i++) {
                struct raise_stretch s = {0};
                for (int n = 0; n < STEPS && story[i].step[n].used > 0; n++) {
                        const struct step *t = &story[i].step[n];
                        struct raise_facts f = {.policy = &policy,
                                                .at = {(int64_t)t->minute * MINUTE_MS},
                                                .used = t->used,
                                                .request = t->request,
                                                .original = {true, story[i].original},
                                                .round_to = 1};
                        int64_t to = NONE;
                        bool raised = raise_sample(&s, &f, &to);
                        if (to != t->want || raised != (t->want != NONE))
                                fail_msg("%s, sample %d: %lld is not %lld", story[i].name, n, (long long)to,
                                         (long long)t->want);
                }
        }
}

/* --- the amount --- */

/* Usage that has been above for long enough by now. */
static bool after_long(struct raise_facts f, int64_t *ret_to)
{
        struct raise_stretch s = {.since_ms = f.at.ms - f.policy->after_ms,
                                  .last_ms = f.at.ms - MINUTE_MS,
                                  .request = f.request,
                                  .highest = f.used};
        return raise_sample(&s, &f, ret_to);
}

static void test_amounts(void **state)
{
        (void)state;
        enum { MI = 1048576 };
        static const struct {
                int factor, most;
                int64_t used, request, original, round_to, want;
        } row[] = {
                {1100, 3000, 1001, 1000, 5000, 1, 1102}, /* a fraction rounds up */
                {1100, 3000, 201 * MI, 200 * MI, 512 * MI, MI, 222 * MI},
                {1100, 3000, 200 * MI + 1, 200 * MI, 221 * MI - 1, MI, 221 * MI - 1}, /* the original is not rounded */
                {1100, 3000, 200 * MI + 1, 200 * MI, 512 * MI, MI, 221 * MI},
                {1000, 3000, 201, 200, 512, 1, 201},
                {1000, 3000, 201, 200, 512, 50, 250},
                {1100, 1000, 900, 200, 512, 1, NONE}, /* most 1: never */
                {1100, 1001, 900, 200, 512, 1, 201},
                {1100, 3000, INT64_MAX, 1, INT64_MAX, 1, 3},
                {10000, 100000, INT64_MAX, INT64_MAX / 10, INT64_MAX, 1, INT64_MAX}, /* no overflow */
                {10000, 100000, INT64_MAX, INT64_MAX / 10, INT64_MAX - 1, 1, INT64_MAX - 1},
                {1100, 3000, 1, 0, 100, 1, NONE},
                {1100, 3000, 101, 100, 101, 1, 101},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct raise_policy p = policy;
                p.factor = row[i].factor;
                p.most = row[i].most;
                struct raise_facts f = {.policy = &p,
                                        .at = {DAY_MS},
                                        .used = row[i].used,
                                        .request = row[i].request,
                                        .original = {true, row[i].original},
                                        .round_to = row[i].round_to};
                int64_t to = NONE;
                bool raised = after_long(f, &to);
                if (to != row[i].want || raised != (row[i].want != NONE))
                        fail_msg("row %zu: %lld is not %lld", i, (long long)to, (long long)row[i].want);
        }
}

static void test_no_original(void **state)
{
        (void)state;
        int64_t to = NONE;
        assert_false(after_long(
                (struct raise_facts){.policy = &policy, .at = {DAY_MS}, .used = 2, .request = 1, .round_to = 1}, &to));
        assert_int_equal(to, NONE);
}

static void test_off(void **state)
{
        (void)state;
        struct raise_policy off = policy;
        off.enabled = false;
        struct raise_stretch s = {.since_ms = 1, .last_ms = 1, .request = 1, .highest = 2};
        struct raise_facts f = {
                .policy = &off, .at = {DAY_MS}, .used = 2, .request = 1, .original = {true, 9}, .round_to = 1};
        int64_t to = NONE;
        assert_false(raise_sample(&s, &f, &to));
        assert_int_equal(to, NONE);
        assert_int_equal(s.highest, 0);
        assert_int_equal(s.since_ms, 0);
}

static void test_after_counts_to_the_millisecond(void **state)
{
        (void)state;
        for (int early = 0; early < 2; early++) {
                struct raise_stretch s = {.since_ms = 7, .last_ms = 14 * MINUTE_MS, .request = 100, .highest = 150};
                struct raise_facts f = {.policy = &policy,
                                        .at = {15 * MINUTE_MS + 7 - early},
                                        .used = 150,
                                        .request = 100,
                                        .original = {true, 999},
                                        .round_to = 1};
                int64_t to = NONE;
                assert_int_equal(raise_sample(&s, &f, &to), !early);
                assert_int_equal(to, early ? NONE : 165);
        }
}

static void test_gap_counts_to_the_millisecond(void **state)
{
        (void)state;
        for (int late = 0; late < 2; late++) {
                struct raise_stretch s = {.since_ms = 0, .last_ms = DAY_MS, .request = 100, .highest = 150};
                struct raise_facts f = {.policy = &policy,
                                        .at = {DAY_MS + 600000 + late},
                                        .used = 150,
                                        .request = 100,
                                        .original = {true, 999},
                                        .round_to = 1};
                int64_t to;
                assert_int_equal(raise_sample(&s, &f, &to), !late);
                assert_int_equal(s.since_ms, late ? f.at.ms : 0);
        }
}

/* --- against the words of the header, sample by sample, over all that came before --- */

enum { SAMPLES = 400 };
struct history {
        int64_t at_ms[SAMPLES], used[SAMPLES], request[SAMPLES];
};

/* The longest run of samples that ends with the n-th, read backwards. */
static bool model(const struct history *h, int n, int64_t original, int64_t round_to, int64_t *ret)
{
        int64_t highest = 0, since = h->at_ms[n], to;
        if (h->used[n] <= h->request[n])
                return false;
        for (int i = n; i >= 0 && h->used[i] > h->request[i]; i--) {
                if (i < n && (h->at_ms[i + 1] - h->at_ms[i] > 600000 || h->request[i + 1] > h->request[i]))
                        break;
                since = h->at_ms[i];
                if (h->used[i] > highest)
                        highest = h->used[i];
        }
        if (h->at_ms[n] - since < policy.after_ms)
                return false;
        to = (highest * 11 + 9) / 10;
        to = (to + round_to - 1) / round_to * round_to;
        int64_t most = (h->request[n] * 3 + round_to - 1) / round_to * round_to;
        to = to < most ? to : most;
        to = to < original ? to : original;
        *ret = to;
        return to > h->request[n];
}

static uint32_t roll(uint32_t *seed)
{
        *seed = *seed * 1664525 + 1013904223;
        return *seed >> 16;
}

static void test_as_the_words_say(void **state)
{
        (void)state;
        uint32_t seed = 5;
        int raises = 0;
        for (int run = 0; run < 300; run++) {
                static struct history h;
                struct raise_stretch s = {0};
                int64_t at_ms = 0, request = 100, original = 50 + roll(&seed) % 1000, round_to = 1 + roll(&seed) % 20;
                for (int n = 0; n < SAMPLES; n++) {
                        at_ms += roll(&seed) % 20 ? 1 + roll(&seed) % (5 * MINUTE_MS)
                                                  : 1 + roll(&seed) % (20 * MINUTE_MS);
                        if (roll(&seed) % 15 == 0)
                                request = 1 + roll(&seed) % 200;
                        h.at_ms[n] = at_ms;
                        h.request[n] = request;
                        h.used[n] = roll(&seed) % 12 ? request + 1 + roll(&seed) % 300 : roll(&seed) % 100;
                        struct raise_facts f = {.policy = &policy,
                                                .at = {at_ms},
                                                .used = h.used[n],
                                                .request = request,
                                                .original = {true, original},
                                                .round_to = round_to};
                        int64_t to = NONE, want = NONE;
                        bool must = model(&h, n, original, round_to, &want), raised = raise_sample(&s, &f, &to);
                        if (raised != must || (must && to != want))
                                fail_msg("run %d, sample %d: %d %lld is not %d %lld", run, n, raised, (long long)to,
                                         must, (long long)want);
                        if (raised) {
                                assert_true(to > request && to <= original);
                                raises++;
                                if (roll(&seed) % 3)
                                        request = to;
                        }
                }
        }
        assert_true(raises > 1000);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_stories),
                cmocka_unit_test(test_amounts),
                cmocka_unit_test(test_no_original),
                cmocka_unit_test(test_off),
                cmocka_unit_test(test_after_counts_to_the_millisecond),
                cmocka_unit_test(test_gap_counts_to_the_millisecond),
                cmocka_unit_test(test_as_the_words_say),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
