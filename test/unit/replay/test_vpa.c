/* VPA's rules by numbers worked out by hand: the upper edge of the bucket that holds P90, cut, times 1.15, cut again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay/vpa.h"

enum { ROOM = HISTOGRAM_BUCKETS };

struct fixture {
        struct vpa v;
        double w[RESOURCES][ROOM];
};

static void begin(struct fixture *f)
{
        vpa_init(&f->v);
        for (enum resource r = CPU; r < RESOURCES; r++)
                histogram_lend(&f->v.of[r], f->w[r], ROOM);
}

static void add(struct fixture *f, enum resource r, double value, int64_t at_ms)
{
        int cap;
        assert_int_equal(vpa_add(&f->v, r, value, (struct wall){at_ms}, &cap), 0);
}

static void test_targets(void **state)
{
        (void)state;
        static const struct {
                enum resource resource;
                double value;
                int64_t target;
        } row[] = {
                {CPU, 0.05, 63},                    /* 0.05525631: 55m */
                {CPU, 0.1, 126},                    /* 0.1102656: 110m, and 126.5m */
                {CPU, 0, 25},                       /* 10m */
                {MEMORY, 1e8, INT64_C(250) << 20},  /* 110265643 bytes */
                {MEMORY, 1e9, INT64_C(1168723596)}, /* 1016281388.3 bytes */
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct fixture f;
                int64_t target = -1;
                begin(&f);
                assert_false(vpa_target(&f.v, row[i].resource, &target));
                assert_int_equal(target, -1);
                add(&f, row[i].resource, row[i].value, HOUR_MS);
                assert_true(vpa_target(&f.v, row[i].resource, &target));
                if (target != row[i].target)
                        fail_msg("row %zu: %lld", i, (long long)target);
        }
}

/* Windows begin with the first sample, not at midnight; the peak counts while its window is open. */
static void test_windows(void **state)
{
        (void)state;
        static const struct {
                int64_t at_ms;
                double bytes, peak;
                int64_t end_ms;
                bool closed; /* a window was closed by then */
        } row[] = {
                {12 * HOUR_MS, 1e9, 1e9, 36 * HOUR_MS, false},
                {25 * HOUR_MS, 2e9, 2e9, 36 * HOUR_MS, false},
                {36 * HOUR_MS - 1, 1e9, 2e9, 36 * HOUR_MS, false},
                {36 * HOUR_MS, 3e9, 3e9, 60 * HOUR_MS, true},
                {12 * HOUR_MS + 4 * DAY_MS, 1e9, 1e9, 12 * HOUR_MS + 5 * DAY_MS, true},
        };
        struct fixture f;
        begin(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                add(&f, MEMORY, row[i].bytes, row[i].at_ms);
                bool closed = histogram_total(&f.v.of[MEMORY]) > 0;
                if (f.v.peak > row[i].peak || f.v.peak < row[i].peak || f.v.window_end_ms != row[i].end_ms ||
                    closed != row[i].closed)
                        fail_msg("row %zu: %g until %lld", i, f.v.peak, (long long)f.v.window_end_ms);
        }
        /* dated at their windows' ends: 2e9 weighs 2^-3.5, 3e9 2^-2.5, the open 1e9 1 of a day later */
        int64_t target;
        assert_true(vpa_target(&f.v, MEMORY, &target));
        assert_int_equal(target,
                         (int64_t)((double)(int64_t)histogram_edge(MEMORY, histogram_bucket(MEMORY, 3e9)) * 1.15));
}

static void test_room(void **state)
{
        (void)state;
        struct vpa v;
        vpa_init(&v);
        int cap = 0;
        assert_int_equal(vpa_add(&v, CPU, 0.05, (struct wall){1}, &cap), ERR_NOSPACE);
        assert_true(cap > 0);
        assert_int_equal(vpa_add(&v, MEMORY, 1e9, (struct wall){1}, &cap), 0); /* the open peak needs none */
        assert_int_equal(vpa_add(&v, MEMORY, 2e9, (struct wall){1 + DAY_MS}, &cap), ERR_NOSPACE);
        assert_true(v.peak < 1.5e9); /* nothing has changed */
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_targets),
                cmocka_unit_test(test_windows),
                cmocka_unit_test(test_room),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
