/* The peaks of a week: kept day by day, asked for, merged, and the model that holds them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/recommend.h"
#include "usage_fixture.h"

static double week_at(const struct roomy *r, int64_t now_ms, int64_t *ret_day)
{
        *ret_day = -1;
        return usage_week_peak(&r->u, (struct wall){now_ms}, ret_day) / MI;
}

/* Samples of one history, then the highest of the week as of an hour, and its day. */
static void test_days(void **state)
{
        (void)state;
        enum { SAMPLES = 5 };
        static const struct {
                const char *name;
                struct {
                        int64_t hour;
                        double mi; /* 0: no more */
                } sample[SAMPLES];
                int64_t now_hour;
                double want;
                int64_t day;
        } row[] = {
                {"none", {{0, 0}}, 5, 0, -1},
                {"one", {{240, 100}}, 240, 100, 10},
                {"rounded up", {{240, 100.25}}, 240, 101, 10},
                {"the highest of a day", {{240, 100}, {250, 300}, {263, 200}}, 263, 300, 10},
                {"days are UTC's", {{263, 300}, {264, 200}}, 264, 300, 10},
                {"of equals the newest", {{240, 300}, {264, 300}}, 264, 300, 11},
                {"a week ago", {{240, 300}, {408, 200}}, 431, 300, 10},
                {"eight days ago", {{240, 300}, {408, 200}}, 432, 200, 17},
                {"all older", {{240, 300}, {408, 200}}, 408 + 192, 0, -1},
                {"just not all older", {{240, 300}, {408, 200}}, 408 + 191, 200, 17},
                {"days without samples", {{240, 300}, {384, 100}}, 384, 300, 10},
                {"a gap of a year", {{240, 300}, {9000, 100}}, 9000, 100, 375},
                {"another pod's, late", {{264, 100}, {250, 300}}, 264, 300, 10},
                {"of a day without any", {{288, 100}, {250, 300}}, 288, 300, 10},
                {"seven days late", {{408, 100}, {263, 300}}, 408, 300, 10},
                {"too late", {{432, 100}, {263, 300}}, 432, 100, 18},
                {"asked by a clock that is behind", {{240, 100}, {264, 300}}, 263, 300, 11},
                {"the first day", {{0, 100}}, 0, 100, 0},
                {"a byte", {{240, 1e-6}}, 240, 1, 10},
                {"the most there is", {{240, 1e15 / 1048576}}, 240, 953674317, 10},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct roomy r;
                int64_t day;
                roomy_init(&r, 0);
                r.u.runs = 1 << 30; /* what lies behind the peaks is none */
                for (int n = 0; n < SAMPLES && row[i].sample[n].mi > 0; n++)
                        add_memory(&r, row[i].sample[n].hour * HOUR, row[i].sample[n].mi * MI);
                double got = week_at(&r, row[i].now_hour * HOUR, &day);
                if (got < row[i].want || got > row[i].want || day != row[i].day)
                        fail_msg("%s: %g Mi on day %lld", row[i].name, got, (long long)day);
        }
}

/* Days without a sample are empty, and what is too old to be kept is nowhere. */
static void test_kept(void **state)
{
        (void)state;
        static const struct {
                int64_t day;
                double mi; /* 0: a sample of CPU alone */
                uint32_t want[USAGE_DAYS];
        } row[] = {
                {10, 10, {10, 0, 0, 0, 0, 0, 0, 0}},  {17, 20, {20, 0, 0, 0, 0, 0, 0, 10}},
                {20, 30, {30, 0, 0, 20, 0, 0, 0, 0}}, {21, 0, {0, 30, 0, 0, 20, 0, 0, 0}},
                {20, 40, {0, 40, 0, 0, 20, 0, 0, 0}}, {27, 50, {50, 0, 0, 0, 0, 0, 0, 40}},
                {35, 60, {60, 0, 0, 0, 0, 0, 0, 0}},  {27, 70, {60, 0, 0, 0, 0, 0, 0, 0}},
                {28, 7, {60, 0, 0, 0, 0, 0, 0, 7}},   {34, 0, {60, 0, 0, 0, 0, 0, 0, 7}},
        };
        struct roomy r;
        roomy_init(&r, 0);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                add(&r, &(struct sample_watermark){0},
                    (struct sample){.at = {row[i].day * DAY + (row[i].day == 27 ? DAY - 1 : 0)},
                                    .has = {true, row[i].mi > 0},
                                    .value = {0.5, row[i].mi * MI}});
                assert_memory_equal(r.u.day_mi, row[i].want, sizeof(row[i].want));
        }
        assert_int_equal(r.u.runs, 0);
}

/* What is refused is no peak, and CPU has none. A window does not keep a sample from it. */
static void test_which_samples(void **state)
{
        (void)state;
        struct roomy r;
        int64_t day;
        roomy_init(&r, 6 * HOUR);
        struct sample_watermark watermark = {0};
        add(&r, &watermark, (struct sample){.at = {DAY}, .has = {true, false}, .value = {5, 0}});
        add(&r, &watermark, (struct sample){.at = {DAY + MIN}, .has = {true, true}, .value = {5, 0}});
        add(&r, &watermark, (struct sample){.at = {DAY + 2 * MIN}, .has = {true, true}, .value = {5, 2e15}});
        add(&r, &watermark, (struct sample){.at = {DAY}, .has = {true, true}, .value = {5, 1e9}});
        assert_true(week_at(&r, DAY, &day) <= 0);
        add_memory(&r, DAY + 3 * MIN, 70 * MI);
        add_memory(&r, DAY + 4 * MIN, 60 * MI);
        assert_true(week_at(&r, DAY, &day) == 70);
}

/* Any order of samples, any gaps: as a list of all of them says. */
static void test_as_a_list_says(void **state)
{
        (void)state;
        for (int round = 0; round < 300; round++) {
                enum { SAMPLES = 60 };
                struct roomy r;
                int64_t at[SAMPLES], now = 20000 * DAY, newest = 0;
                double mi[SAMPLES];
                roomy_init(&r, 0);
                for (int n = 0; n < SAMPLES; n++) {
                        now += (int64_t)draw(draw(8) ? 12 : 150) * HOUR;
                        at[n] = now - (int64_t)draw(draw(3) ? 5 : 300) * HOUR;
                        mi[n] = 1 + (double)draw(1000);
                        newest = at[n] / DAY > newest ? at[n] / DAY : newest;
                        add_memory(&r, at[n], mi[n] * MI);
                        int64_t asked = now + (int64_t)draw(300) * HOUR, day;
                        double want = 0, got = week_at(&r, asked, &day);
                        for (int k = 0; k <= n; k++) {
                                bool kept = at[k] / DAY > newest - USAGE_DAYS && at[k] / DAY > asked / DAY - USAGE_DAYS;
                                if (kept)
                                        want = fmax(want, mi[k]);
                        }
                        if (got < want || got > want)
                                fail_msg("round %d, sample %d: %g is not %g", round, n, got, want);
                }
        }
}

/* As if all had been learned by one, whichever way round. */
static void test_merge(void **state)
{
        (void)state;
        for (int round = 0; round < 500; round++) {
                struct roomy part[2], whole, merged;
                struct usage_room room;
                int64_t base = 20000 * DAY, far = (int64_t)draw(12) * DAY;
                roomy_init(&part[0], 0);
                roomy_init(&part[1], 0);
                roomy_init(&whole, 0);
                for (int n = (int)draw(40); n > 0; n--) {
                        int which = (int)draw(2);
                        int64_t at = base + which * far + (int64_t)draw(240) * HOUR;
                        double bytes = (double)(1 + draw(1000)) * MI;
                        add_memory(&part[which], at, bytes);
                        add_memory(&whole, at, bytes);
                }
                for (int way = 0; way < 2; way++) {
                        roomy_copy(&merged, &part[way]);
                        assert_int_equal(usage_merge(&merged.u, &part[!way].u, &room), 0);
                        assert_memory_equal(merged.u.day_mi, whole.u.day_mi, sizeof(whole.u.day_mi));
                }
        }
}

/* --- the model --- */

static void test_model(void **state)
{
        (void)state;
        static const struct {
                bool on;
                double peak, kill; /* Mi, two days ago */
                int64_t now_day;
                int64_t model;
                bool by_week, by_kill;
        } row[] = {
                {false, 300, 0, 10, 106, false, false}, /* what all the other samples say */
                {true, 300, 0, 10, 300, true, false},
                {true, 300, 0, 15, 300, true, false},
                {true, 300, 0, 16, 106, false, false}, /* more than a week */
                {true, 300, 400, 10, 400, false, true},
                {true, 300, 300, 10, 300, false, true}, /* of the two the kill is named */
                {true, 300, 200, 10, 300, true, false},
                {false, 300, 200, 10, 200, false, true},
                {true, 50, 0, 10, 106, false, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct roomy r;
                struct recommendation got;
                struct recommend_facts f = {.now = {row[i].now_day * DAY}, .interval_ms = MIN};
                roomy_init(&r, 0);
                r.policy[MEMORY].weekly_peak = row[i].on;
                add_both(&r, &(struct sample_watermark){0}, 8 * DAY, 0.5, row[i].peak * MI);
                for (int n = 1; n < 2000; n++)
                        add_both(&r, &(struct sample_watermark){0}, 8 * DAY + n * MIN, 0.5, 99e6);
                r.u.kill[0] = (struct usage_kill){row[i].kill > 0 ? 8 * DAY : 0, row[i].kill * MI};
                recommend(&r.u, r.policy, &f, &got);
                const struct estimate *e = &got.of[MEMORY];
                if (e->model != row[i].model * 1048576 || e->by_week != row[i].by_week || e->by_kill != row[i].by_kill)
                        fail_msg("row %zu: %lld, %d %d", i, (long long)e->model / 1048576, e->by_week, e->by_kill);
                assert_true(e->lower <= e->model && e->model <= e->upper);
                assert_false(got.of[CPU].by_week);
        }
}

/* Just the percentile is not the week's. */
static void test_a_peak_of_the_percentile(void **state)
{
        (void)state;
        struct roomy r;
        struct recommendation got;
        struct recommend_facts f = {.now = {8 * DAY}, .interval_ms = MIN};
        roomy_init(&r, 0);
        r.policy[MEMORY].weekly_peak = true;
        add_memory(&r, 8 * DAY, 5 * MI); /* the first bucket ends at 10 MB, which is no whole number of Mi */
        recommend(&r.u, r.policy, &f, &got);
        assert_false(got.of[MEMORY].by_week);
        assert_int_equal(got.of[MEMORY].model, 10 * 1048576);
        add_memory(&r, 8 * DAY, 9.5 * MI);
        recommend(&r.u, r.policy, &f, &got); /* 10 Mi, a little more than 10 MB */
        assert_true(got.of[MEMORY].by_week);
        assert_int_equal(got.of[MEMORY].model, 10 * 1048576);
}

/* A kill within a half-life of another starts from the model, whatever made that. */
static void test_kills_start_from_it(void **state)
{
        (void)state;
        for (int on = 0; on < 2; on++) {
                struct roomy r;
                roomy_init(&r, 0);
                r.policy[MEMORY].weekly_peak = on;
                add_memory(&r, 8 * DAY, 3000 * MI);
                for (int n = 1; n < 2000; n++)
                        add_memory(&r, 8 * DAY + n * MIN, 99e6);
                kill_at(&r, 10 * DAY, 200 * MI, 0);
                assert_true(hold_at(&r, 10 * DAY) == 300 * MI);
                kill_at(&r, 10 * DAY + HOUR, 200 * MI, 0);
                assert_true(hold_at(&r, 10 * DAY + HOUR) == (on ? 3600 * MI : 400 * MI));
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_days),
                cmocka_unit_test(test_kept),
                cmocka_unit_test(test_which_samples),
                cmocka_unit_test(test_as_a_list_says),
                cmocka_unit_test(test_merge),
                cmocka_unit_test(test_model),
                cmocka_unit_test(test_a_peak_of_the_percentile),
                cmocka_unit_test(test_kills_start_from_it),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
