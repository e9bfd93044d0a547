#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "usage_fixture.h"

/* --- merging --------------------------------------------------------------------------------------------------------
 */

static void test_merge(void **state)
{
        (void)state;
        struct roomy a, b;
        struct sample_watermark watermark = {0}, other = {0};
        struct usage_room room;
        roomy_init(&a, 0);
        roomy_init(&b, 0);
        add_both(&a, &watermark, 10 * MIN, 1, 50 * MB);
        add_both(&a, &watermark, 12 * MIN, 1, 50 * MB);
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
        struct usage_room room = {.resource = CPU};
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
        struct sample_watermark watermark = {0}, other = {0};
        add_both(&a, &watermark, 30 * MIN, 1, 25 * MB);
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
        /* were it one byte */
        roomy_init(&a, HOUR);
        add_memory(&a, 30 * MIN, 1);
        histogram_lend(&a.u.of[MEMORY], slab[1], 0);
        assert_int_equal(usage_merge(&a.u, &b.u, &room), ERR_NOSPACE);
}

/* Room for just what comes of it will do. */
static void test_merge_exact_room(void **state)
{
        (void)state;
        for (int peaks = 0; peaks < 2; peaks++) {
                struct roomy a, b;
                struct usage_room room;
                struct sample_watermark watermark = {0}, other = {0};
                double cpu[3], memory[3];
                roomy_init(&a, 0);
                roomy_init(&b, 0);
                add_both(&a, &watermark, 10 * HOUR, histogram_start(CPU, 50), histogram_start(MEMORY, 100));
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

/* --- against one history of it all ----------------------------------------------------------------------------------
 */

/* A random life: samples of two pods, minutes, runs, kills. */
static void live(struct roomy *r, struct roomy *too, int64_t from_ms)
{
        struct sample_watermark watermark = {0}, whole = {0};
        for (int64_t at = from_ms, end = at + (int64_t)draw(3 * (uint64_t)DAY); at < end;) {
                double cpu = (double)draw(4000) / 1000, memory = (double)(1 + draw(4000)) * MB;
                at += 1 + (int64_t)draw(30 * MINUTE_MS);
                assert_int_equal(add_both(r, &watermark, at, cpu, memory), SAMPLE_ACCEPTED);
                assert_int_equal(add_both(too, &whole, at, cpu, memory), SAMPLE_ACCEPTED);
        }
        for (int i = (int)draw(3); i > 0; i--) {
                struct usage_kill kill = {from_ms + (int64_t)draw(9) * DAY, (double)(1 + draw(50)) * 1e8};
                if (r->u.kill[0].bytes <= 0)
                        r->u.kill[0] = kill;
        }
        r->u.runs = (int64_t)draw(5);
        r->u.kills = r->u.kill[0].bytes > 0;
        r->u.step_ms[0] = r->u.kill[0].at_ms;
}

/* Merging commutes to the bit, and gives what one history of all the samples has. */
static void test_merge_is_the_whole(void **state)
{
        (void)state;
        static uint8_t ab_packed[USAGE_PACK_MAX], ba_packed[USAGE_PACK_MAX];
        for (int round = 0; round < 200; round++) {
                struct roomy a, b, ab, ba, whole;
                struct usage_room room;
                int64_t window = draw(2) ? HOUR : 0, apart = (int64_t)draw(4) * DAY;
                roomy_init(&a, window);
                roomy_init(&b, window);
                roomy_init(&whole, 0);
                live(&a, &whole, 1000 * DAY);
                live(&b, &whole, 1000 * DAY + apart);
                roomy_copy(&ab, &a);
                roomy_copy(&ba, &b);
                assert_int_equal(usage_merge(&ab.u, &b.u, &room), 0);
                assert_int_equal(usage_merge(&ba.u, &a.u, &room), 0);
                size_t len = usage_pack(&ab.u, ab_packed);
                assert_int_equal(usage_pack(&ba.u, ba_packed), len);
                assert_memory_equal(ab_packed, ba_packed, len);
                assert_int_equal(ab.u.samples, whole.u.samples);
                assert_int_equal(ab.u.first_ms, whole.u.first_ms);
                assert_int_equal(ab.u.newest_ms, whole.u.newest_ms);
                assert_true(ab.u.sampled.count >= whole.u.sampled.count);
                assert_true(ab.u.sampled.count <= ab.u.running.count);
                assert_int_equal(ab.u.kills, a.u.kills + b.u.kills);
                assert_true(hold_at(&ab, 1020 * DAY) == fmax(hold_at(&a, 1020 * DAY), hold_at(&b, 1020 * DAY)));
                for (int k = 0; k < (window ? 1 : RESOURCES); k++) {
                        double merged = histogram_total(&ab.u.of[k]), all = histogram_total(&whole.u.of[k]);
                        int64_t refs = ab.u.of[k].ref_ms - whole.u.of[k].ref_ms;
                        merged *= exp2((double)refs / (double)DAY);
                        assert_true(fabs(merged - all) <= 1e-9 * all);
                }
        }
}

/* --- what comes from elsewhere -------------------------------------------------------------------------------------
 */

static void test_may_join(void **state)
{
        struct roomy good;
        struct sample_watermark watermark = {0};
        const int64_t now = 100 * DAY;
        (void)state;
        roomy_init(&good, HOUR);
        add_both(&good, &watermark, now, 1, 50 * MB);
        kill_at(&good, now, 1000 * MI, 0);
        assert_true(usage_may_join(&good.u, (struct wall){now}));
        assert_true(usage_may_join(&good.u, (struct wall){now - 5 * MIN}));
        assert_false(usage_may_join(&good.u, (struct wall){now - 5 * MIN - 1}));
        const int64_t most = (int64_t)1 << 48, latest = now + 5 * MIN;
        const struct {
                size_t field;
                int64_t value; /* the first that may not */
        } row[] = {
                {offsetof(struct usage, samples), most + 1},
                {offsetof(struct usage, running.count), most + 1},
                {offsetof(struct usage, runs), most + 1},
                {offsetof(struct usage, kills), most + 1},
                {offsetof(struct usage, step_ms[0]), latest + 1},
                {offsetof(struct usage, step_ms[1]), latest + 1},
                {offsetof(struct usage, kill[0].at_ms), latest + 1},
                {offsetof(struct usage, of[CPU].ref_ms), latest + DAY + 1},
                {offsetof(struct usage, of[MEMORY].ref_ms), latest + DAY + 1},
                {offsetof(struct usage, newest_ms), now + 5 * MIN + 1},
                {offsetof(struct usage, peak_at_ms), now + 5 * MIN + 1},
                {offsetof(struct usage, sampled.last), now / MIN + 6},
                {offsetof(struct usage, running.last), now / MIN + 6},
                {offsetof(struct usage, step_ms[2]), now + 5 * MIN + 1},
                {offsetof(struct usage, last_run_ms), now + 5 * MIN + 1},
                {offsetof(struct usage, kill[3].at_ms), now + 5 * MIN + 1},
        };
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
                for (int64_t over = -1; over <= 0; over++) {
                        struct roomy bad;
                        int64_t value = row[i].value + over;
                        roomy_copy(&bad, &good);
                        memcpy((char *)&bad.u + row[i].field, &value, sizeof(value));
                        if (usage_may_join(&bad.u, (struct wall){now}) != (over < 0))
                                fail_msg("row %zu, %s", i, over < 0 ? "the last that may" : "the first that may not");
                }
}

/* The open peak enters as one of its own window, and then stands for as many samples as that has minutes. */
static void test_rewindow(void **state)
{
        struct roomy r;
        (void)state;
        roomy_init(&r, HOUR);
        add_memory(&r, DAY + 10 * MIN, 50 * MB);
        add_memory(&r, DAY + 70 * MIN, 80 * MB);
        usage_rewindow(&r.u, 0);
        assert_true(r.u.peak <= 0 && r.u.peak_at_ms == 0 && r.u.window_ms == 0);
        double early = exp2(10.0 / 1440), late = exp2(70.0 / 1440);
        assert_true(fabs(weight(&r, MEMORY, 50 * MB) * exp2((double)(r.u.of[MEMORY].ref_ms - DAY) / DAY) - 60 * early) <
                    1e-9);
        assert_true(fabs(weight(&r, MEMORY, 80 * MB) * exp2((double)(r.u.of[MEMORY].ref_ms - DAY) / DAY) - 60 * late) <
                    1e-9);
        struct roomy same;
        roomy_copy(&same, &r);
        usage_rewindow(&same.u, 0);
        assert_memory_equal(same.w, r.w, sizeof(r.w));
}

/* What has entered stands for as many samples as its window has minutes (none: for one). */
static void test_rewindow_weights(void **state)
{
        static const struct {
                int64_t was, will;
                double times;
        } row[] = {{0, HOUR, 1.0 / 60}, {HOUR, 0, 60}, {0, DAY, 1.0 / 1440}, {HOUR, DAY, 1.0 / 24},
                   {DAY, HOUR, 24},     {MIN, 0, 1},   {0, 1, MINUTE_MS},    {1, 0, 1.0 / MINUTE_MS}};
        (void)state;
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
                struct roomy r;
                roomy_init(&r, row[i].was);
                add_memory(&r, DAY, 50 * MB);
                add_memory(&r, 3 * DAY, 80 * MB); /* the one before has entered */
                double before = weight(&r, MEMORY, 50 * MB);
                usage_rewindow(&r.u, row[i].will);
                double times = weight(&r, MEMORY, 50 * MB) / before;
                if (before <= 0 || fabs(times / row[i].times - 1) > 1e-12)
                        fail_msg("row %zu: %g times", i, times);
        }
}

/* Where no peak is open nothing enters; a peak of one byte does. */
static void test_rewindow_without_a_peak(void **state)
{
        (void)state;
        for (int byte = 0; byte < 2; byte++) {
                struct roomy r;
                roomy_init(&r, HOUR);
                if (byte)
                        add_memory(&r, DAY, 1);
                usage_rewindow(&r.u, 0);
                assert_int_equal(r.u.of[MEMORY].count, byte);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_merge),
                cmocka_unit_test(test_merge_peaks),
                cmocka_unit_test(test_merge_refused),
                cmocka_unit_test(test_merge_exact_room),
                cmocka_unit_test(test_merge_minutes),
                cmocka_unit_test(test_merge_is_the_whole),
                cmocka_unit_test(test_may_join),
                cmocka_unit_test(test_rewindow),
                cmocka_unit_test(test_rewindow_weights),
                cmocka_unit_test(test_rewindow_without_a_peak),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
