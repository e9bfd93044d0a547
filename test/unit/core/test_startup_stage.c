#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after its needs */
#include <cmocka.h>

#include "core/startup_stage.h"

enum { AFTER_S = 30, MOST_S = 600, DAY_S = 86400 };
static const struct startup_policy original = {
        .request = STARTUP_ORIGINAL, .after_ms = AFTER_S * SECOND_MS, .most_ms = MOST_S * SECOND_MS};

/* --- a table: all times in seconds from the start --- */

static const struct {
        const char *name;
        int now, turned; /* turned: when the condition Ready changed */
        bool ready;
        enum startup_stage want;
} row[] = {
        {"just taken by the kubelet", 0, 0, false, STARTUP_STARTS},
        {"not Ready after a while", 300, 0, false, STARTUP_STARTS},
        {"just Ready", 40, 40, true, STARTUP_SETTLES},
        {"Ready, a second before after", 69, 40, true, STARTUP_SETTLES},
        {"Ready for after", 70, 40, true, STARTUP_OVER},
        {"not Ready a second before most", 599, 0, false, STARTUP_STARTS},
        {"not Ready at most", 600, 0, false, STARTUP_LATE},
        {"Ready just before most: most ends it", 600, 590, true, STARTUP_OVER},
        {"Ready just before most, a second earlier", 599, 590, true, STARTUP_SETTLES},
        {"Ready long after most", 3000, 2999, true, STARTUP_OVER},
        {"Ready since yesterday", DAY_S, 40, true, STARTUP_OVER},
        {"unready since a moment, days later", DAY_S, DAY_S - 5, false, STARTUP_LATE},
        {"unready again while it could still start", 200, 190, false, STARTUP_STARTS},
        {"and Ready again", 215, 210, true, STARTUP_SETTLES},
        {"restarted: the status still calls it Ready of before", 10, -500, true, STARTUP_SETTLES},
        {"restarted and Ready of before, for after", 30, -500, true, STARTUP_OVER},
        {"unready since before the restart", 10, -3, false, STARTUP_STARTS},
        {"Ready since a time that nobody reports", 30, INT32_MIN, true, STARTUP_OVER},
        {"the node's clock is a second ahead", -1, 0, false, STARTUP_STARTS},
        {"the node's clock is a second ahead, and it is Ready", -1, 0, true, STARTUP_SETTLES},
        {"the node's clock is ahead by most", -600, 0, false, STARTUP_STARTS},
        {"the node's clock is ahead by more", -601, 0, true, STARTUP_OVER},
        {"the node's clock is a day ahead", -DAY_S, 0, false, STARTUP_LATE},
        {"Ready by a clock that is ahead: most ends it", 600, DAY_S, true, STARTUP_OVER},
};

static void test_stages(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const int64_t began = INT64_C(1763700000000);
                struct startup_facts f = {.policy = &original,
                                          .now = {began + (int64_t)row[i].now * SECOND_MS},
                                          .began_ms = began,
                                          .ready = row[i].ready,
                                          .turned_ms =
                                                  row[i].turned == INT32_MIN ? 0 : began + row[i].turned * SECOND_MS};
                enum startup_stage got = startup_stage_of(&f);
                if (got != row[i].want)
                        fail_msg("%s: stage %d is not %d", row[i].name, got, row[i].want);
        }
}

static void test_times_count_to_the_millisecond(void **state)
{
        (void)state;
        struct startup_facts f = {.policy = &original, .ready = true, .turned_ms = 7, .now = {30006}};
        assert_int_equal(startup_stage_of(&f), STARTUP_SETTLES);
        f.now.ms++;
        assert_int_equal(startup_stage_of(&f), STARTUP_OVER);
        f = (struct startup_facts){.policy = &original, .now = {599999}};
        assert_int_equal(startup_stage_of(&f), STARTUP_STARTS);
        f.now.ms++;
        assert_int_equal(startup_stage_of(&f), STARTUP_LATE);
}

static void test_after_zero_ends_with_ready(void **state)
{
        (void)state;
        struct startup_policy at_once = original;
        at_once.after_ms = 0;
        struct startup_facts f = {.policy = &at_once, .now = {5000}, .ready = true, .turned_ms = 5000};
        assert_int_equal(startup_stage_of(&f), STARTUP_OVER);
}

static void test_target_is_off(void **state)
{
        (void)state;
        struct startup_policy target = original;
        target.request = STARTUP_TARGET;
        for (int ready = 0; ready < 2; ready++) {
                struct startup_facts f = {.policy = &target, .now = {1000}, .ready = ready};
                assert_int_equal(startup_stage_of(&f), STARTUP_OFF);
        }
}

/* --- the request --- */

static void test_requests(void **state)
{
        (void)state;
        static const struct {
                enum startup_stage stage;
                int64_t has, target, original, want;
        } r[] = {
                {STARTUP_OFF, 1000, 285, 1000, 285},    {STARTUP_STARTS, 1000, 285, 1000, 1000},
                {STARTUP_STARTS, 285, 285, 1000, 1000}, {STARTUP_SETTLES, 285, 285, 1000, 1000},
                {STARTUP_OVER, 1000, 285, 1000, 285},   {STARTUP_LATE, 1000, 285, 1000, 1000},
                {STARTUP_LATE, 285, 285, 1000, 285},    {STARTUP_LATE, 200, 285, 1000, 285},
                {STARTUP_LATE, 1000, 285, 700, 700},    {STARTUP_STARTS, 1000, 285, 200, 200},
                {STARTUP_OVER, 1000, 285, 200, 200},    {STARTUP_OFF, 100, 1200, 1000, 1000},
                {STARTUP_STARTS, 0, 0, 0, 0},
        };
        for (size_t i = 0; i < sizeof r / sizeof r[0]; i++) {
                int64_t got = startup_want(r[i].stage, r[i].has, r[i].target, r[i].original);
                if (got != r[i].want)
                        fail_msg("row %zu: %lld is not %lld", i, (long long)got, (long long)r[i].want);
        }
}

/* --- lives of pods: what holds whatever they do --- */

static uint32_t startup_roll(uint32_t *seed)
{
        *seed = *seed * 1664525 + 1013904223;
        return *seed >> 16;
}

/* A pod as its kubelet reports it, in whole seconds. */
struct life {
        int64_t now_s, began_s, turned_s;
        bool ready;
};

/* What happens within a second: a container restarts, or the pod turns Ready or unready. */
static void live_on(struct life *l, uint32_t *seed)
{
        l->now_s++;
        uint32_t roll = startup_roll(seed) % 1000;
        bool restarts = roll < 2, turns = restarts ? l->ready : roll < (l->ready ? 6 : 20);
        if (restarts)
                l->began_s = l->now_s;
        if (!turns)
                return;
        l->ready = !l->ready;
        l->turned_s = l->now_s;
}

static void test_lives(void **state)
{
        (void)state;
        uint32_t seed = 11;
        int boosted = 0, lowered = 0, late = 0;
        for (int run = 0; run < 400; run++) {
                struct life l = {.now_s = 1763700000, .began_s = 1763700000, .turned_s = 1763700000};
                int64_t most_s = 60 + startup_roll(&seed) % 600, after_s = startup_roll(&seed) % 90;
                const struct startup_policy p = {
                        .request = STARTUP_ORIGINAL, .after_ms = after_s * SECOND_MS, .most_ms = most_s * SECOND_MS};
                int64_t full = 100 + startup_roll(&seed) % 1000, target = 1 + startup_roll(&seed) % full, has = full;
                int64_t cycle_s = 1 + startup_roll(&seed) % 60, ready_boosted_s = 0;
                for (int second = 0; second < 3000; second++) {
                        live_on(&l, &seed);
                        /* a Ready pod is above its target no longer than most from its start, and a cycle */
                        ready_boosted_s = l.ready && has > target ? ready_boosted_s + 1 : 0;
                        if (ready_boosted_s > cycle_s)
                                assert_true(l.now_s - l.began_s <= most_s + cycle_s);
                        if (second % cycle_s != 0)
                                continue;
                        struct startup_facts f = {.policy = &p,
                                                  .now = {l.now_s * SECOND_MS},
                                                  .began_ms = l.began_s * SECOND_MS,
                                                  .ready = l.ready,
                                                  .turned_ms = l.turned_s * SECOND_MS};
                        enum startup_stage stage = startup_stage_of(&f);
                        int64_t to = startup_want(stage, has, target, full);
                        assert_true(to <= full);
                        if (!l.ready)
                                assert_true(to >= has);
                        if (to < has)
                                assert_true(l.now_s - l.turned_s >= after_s || l.now_s - l.began_s >= most_s);
                        if (to > has)
                                assert_true(l.now_s - l.began_s < most_s);
                        boosted += to > has;
                        lowered += to < has;
                        late += stage == STARTUP_LATE && to > target;
                        has = to;
                }
        }
        assert_true(boosted > 100 && lowered > 400 && late > 100);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_stages),
                cmocka_unit_test(test_times_count_to_the_millisecond),
                cmocka_unit_test(test_after_zero_ends_with_ready),
                cmocka_unit_test(test_target_is_off),
                cmocka_unit_test(test_requests),
                cmocka_unit_test(test_lives),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
