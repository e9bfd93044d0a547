#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/recent_count.h"

enum { LIFETIME_MS = 1000, MOST = 10 };

static struct mono at_ms(int64_t ms)
{
        return (struct mono){ms * 1000000};
}

/* Each row adds so much to a name at a time, and then reads a name's count; it goes on where the last one ended. */
static void counts_live_one_lifetime_and_at_most_two(void **state)
{
        (void)state;
        static const struct {
                int64_t ms;
                const char *name;
                uint64_t added, count;
        } row[] = {
                {0, "a", 0, 0},    {0, "a", 2, 2},    {900, "b", 1, 1},  {999, "a", 1, 3},  {1000, "a", 0, 3},
                {1500, "b", 1, 2}, {1999, "a", 0, 3}, {2000, "a", 0, 0}, {2999, "b", 0, 1}, {3000, "b", 0, 0},
                {3100, "a", 1, 1}, {9000, "a", 0, 0}, {9000, "a", 1, 1},
        };
        struct recent_count r;
        recent_count_init(&r, LIFETIME_MS, MOST, at_ms(0));
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                if (row[i].added)
                        recent_count_add(&r, text_of(row[i].name), row[i].added, at_ms(row[i].ms));
                uint64_t count = recent_count_get(&r, text_of(row[i].name), at_ms(row[i].ms));
                if (count != row[i].count)
                        fail_msg("row %zu: '%s' at %lld ms: %llu, not %llu", i, row[i].name, (long long)row[i].ms,
                                 (unsigned long long)count, (unsigned long long)row[i].count);
        }
        recent_count_release(&r);
}

/* However many names come, two maps of MOST names are kept, and the newest name is among them. */
static void names_have_a_bound(void **state)
{
        (void)state;
        struct recent_count r;
        char name[16];
        recent_count_init(&r, LIFETIME_MS, MOST, at_ms(0));
        for (int i = 0; i < 100 * MOST; i++) {
                snprintf(name, sizeof name, "n-%d", i);
                recent_count_add(&r, text_of(name), 1, at_ms(1));
                assert_in_range(r.young.count, 1, MOST);
                assert_in_range(r.old.count, 0, MOST);
                assert_int_equal(recent_count_get(&r, text_of(name), at_ms(1)), 1);
        }
        recent_count_release(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(counts_live_one_lifetime_and_at_most_two),
                cmocka_unit_test(names_have_a_bound),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
