#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/retry.h"

static struct mono at_ms(int64_t ms)
{
        return (struct mono){ms * 1000000};
}

/* Each delay is drawn from [d, 2d), d doubling from least to most. */
static void delays_double_to_the_cap(void **state)
{
        (void)state;
        static const int64_t base[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000};
        for (int round = 0; round < 200; round++) {
                struct retry r = RETRY_REFLECTOR;
                int64_t now = 5000;
                for (size_t i = 0; i < sizeof base / sizeof base[0]; i++) {
                        int64_t delay = retry_delay_ms(&r, at_ms(now), 0);
                        if (delay < base[i] || delay >= 2 * base[i])
                                print_error("try %zu: %lld ms\n", i, (long long)delay);
                        assert_true(delay >= base[i] && delay < 2 * base[i]);
                        now += delay;
                }
        }
}

static void delays_differ(void **state)
{
        (void)state;
        int64_t least = INT64_MAX, most = 0;
        for (int i = 0; i < 500; i++) {
                struct retry r = RETRY_REFLECTOR;
                int64_t delay = retry_delay_ms(&r, at_ms(1), 0);
                least = delay < least ? delay : least;
                most = delay > most ? delay : most;
        }
        assert_true(least < 900 && most > 1500);
}

static void the_server_can_ask_for_more(void **state)
{
        (void)state;
        struct retry r = RETRY_REFLECTOR;
        assert_int_equal(retry_delay_ms(&r, at_ms(1), 60000), 60000);
        assert_true(retry_delay_ms(&r, at_ms(2), 5) >= 1600); /* never for less */
}

static void quiet_time_and_reset_forget(void **state)
{
        (void)state;
        struct retry r = RETRY_REFLECTOR;
        for (int i = 0; i < 10; i++)
                (void)retry_delay_ms(&r, at_ms(i), 0);
        assert_true(retry_delay_ms(&r, at_ms(120009), 0) >= 30000); /* 2 min to the millisecond: not yet */
        assert_true(retry_delay_ms(&r, at_ms(120009 + 120001), 0) < 1600);
        assert_true(retry_delay_ms(&r, at_ms(240011), 0) >= 1600);
        retry_reset(&r);
        assert_true(retry_delay_ms(&r, at_ms(240012), 0) < 1600);
}

static void bounds_of_bases_hold(void **state)
{
        (void)state;
        struct retry one = {.least_ms = 1, .most_ms = 1, .reset_ms = 10};
        for (int i = 0; i < 5; i++)
                assert_int_equal(retry_delay_ms(&one, at_ms(i), 0), 1);
        struct retry odd = {.least_ms = 700, .most_ms = 1000, .reset_ms = 100000};
        (void)retry_delay_ms(&odd, at_ms(0), 0);
        for (int i = 0; i < 50; i++) {
                int64_t delay = retry_delay_ms(&odd, at_ms(i), 0);
                assert_true(delay >= 1000 && delay < 2000);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(delays_double_to_the_cap),    cmocka_unit_test(delays_differ),
                cmocka_unit_test(the_server_can_ask_for_more), cmocka_unit_test(quiet_time_and_reset_forget),
                cmocka_unit_test(bounds_of_bases_hold),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
