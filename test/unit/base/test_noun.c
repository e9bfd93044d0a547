#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/noun.h"

static void test_count(void **state)
{
        (void)state;
        static const struct {
                int64_t count;
                const char *noun, *want;
        } row[] = {
                {0, "row", "0 rows"},
                {1, "row", "1 row"},
                {2, "row", "2 rows"},
                {1, "entity", "1 entity"},
                {11, "entity", "11 entities"},
                {2, "day", "2 days"},
                {3, "imported history", "3 imported histories"},
                {2, "alias", "2 aliases"},
                {INT64_MAX, "box", "9223372036854775807 boxes"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                assert_string_equal(NOUN_COUNT(row[i].count, row[i].noun), row[i].want);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_count)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
