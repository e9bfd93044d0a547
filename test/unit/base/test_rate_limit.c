#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rate_limit.h"

static struct mono at_ms(int64_t ms)
{
        return (struct mono){ms * 1000000};
}

/* How many begin in a row at this time. */
static int taken(struct rate_limit *l, int64_t ms)
{
        int n = 0;
        for (; rate_limit_has(l, 1, at_ms(ms)); n++)
                rate_limit_take(l);
        return n;
}

/* Ten a second, five at once; each row goes on where the last one ended. */
static void tokens_gather_up_to_the_burst(void **state)
{
        (void)state;
        static const struct {
                int64_t ms;
                int taken;
        } row[] = {
                {1000, 5}, {1000, 0}, {1099, 0}, {1101, 1}, {1150, 0}, {1201, 1}, {1501, 3}, {9000, 5}, {9000, 0},
        };
        struct rate_limit l;
        rate_limit_init(&l, 10, 5, at_ms(1000));
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int n = taken(&l, row[i].ms);
                if (n != row[i].taken)
                        fail_msg("at %lld ms: %d, not %d", (long long)row[i].ms, n, row[i].taken);
        }
}

static void several_may_be_asked_for(void **state)
{
        (void)state;
        struct rate_limit l;
        rate_limit_init(&l, 10, 5, at_ms(0));
        assert_true(rate_limit_has(&l, 5, at_ms(0)));
        assert_false(rate_limit_has(&l, 5.1, at_ms(60000)));
        rate_limit_take(&l);
        assert_false(rate_limit_has(&l, 5, at_ms(60000)));
        assert_true(rate_limit_has(&l, 4, at_ms(60000)));
        assert_true(rate_limit_has(&l, 5, at_ms(60101)));
}

/* Never too early: a millisecond is added for what rounds away. */
static void a_wait_is_long_enough(void **state)
{
        (void)state;
        static const double rate[] = {0.001, 0.3, 1, 7, 200, 5000};
        for (size_t i = 0; i < sizeof rate / sizeof rate[0]; i++) {
                struct rate_limit l;
                int64_t ms = 12345;
                rate_limit_init(&l, rate[i], 1, at_ms(ms));
                for (int n = 0; n < 100; n++) {
                        assert_int_equal(rate_limit_wait_ms(&l, at_ms(ms)), 0);
                        rate_limit_take(&l);
                        int64_t wait_ms = rate_limit_wait_ms(&l, at_ms(ms));
                        assert_true(wait_ms > 0 && (double)wait_ms <= 1000 / rate[i] + 1);
                        ms += wait_ms;
                }
        }
}

static void new_bounds(void **state)
{
        (void)state;
        struct rate_limit l;
        rate_limit_init(&l, 10, 5, at_ms(0));
        rate_limit_set(&l, 1, 2);
        assert_int_equal(taken(&l, 0), 2); /* what was over the burst is gone */
        rate_limit_set(&l, 100, 50);
        assert_int_equal(taken(&l, 0), 0); /* a larger burst gathers by and by */
        assert_int_equal(taken(&l, 101), 10);
        rate_limit_set(&l, 0, 1);
        assert_int_equal(taken(&l, 3600000), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(tokens_gather_up_to_the_burst),
                cmocka_unit_test(several_may_be_asked_for),
                cmocka_unit_test(a_wait_is_long_enough),
                cmocka_unit_test(new_bounds),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
