#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/request_reading.h"

static void test_resource(void **state)
{
        (void)state;
        static const struct {
                const char *field;
                enum resource want;
        } row[] = {
                {"requests.cpu", CPU},
                {"requests.memory", MEMORY},
                {"limits.cpu", RESOURCES},
                {"limits.memory", RESOURCES},
                {"requests.", RESOURCES},
                {"requests.ephemeral-storage", RESOURCES},
                {"", RESOURCES},
                {"requests.hugepages-2Mi", RESOURCES},
                {"requests.cpux", RESOURCES},
                {"cpu", RESOURCES},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                assert_int_equal(request_reading_resource(text_of(row[i].field)), row[i].want);
}

static void test_divisor(void **state)
{
        (void)state;
        static const struct {
                enum resource r;
                const char *divisor;
                int64_t want;
        } row[] = {
                {CPU, "", 1000},     {CPU, "0", 1000},  {CPU, "1", 1000},         {CPU, "1m", 1},
                {MEMORY, "", 1},     {MEMORY, "0", 1},  {MEMORY, "1Mi", 1048576}, {MEMORY, "1M", 1000000},
                {CPU, "{{ x }}", 1}, {MEMORY, "-1", 1}, {CPU, "2", 2000},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                assert_int_equal(request_reading_divisor(row[i].r, text_of(row[i].divisor)), row[i].want);
}

/* The lowest request that reads alike: one less reads as another value, by Kubernetes' own rounding. */
static void test_least(void **state)
{
        (void)state;
        static const int64_t divisor[] = {1, 7, 1000, 1048576},
                             original[] = {1, 6, 7, 8, 250, 999, 1000, 1001, 2000, INT64_MAX};
        for (size_t i = 0; i < sizeof divisor / sizeof divisor[0]; i++)
                for (size_t k = 0; k < sizeof original / sizeof original[0]; k++) {
                        int64_t d = divisor[i], read = (original[k] - 1) / d;
                        struct amount least = request_reading_least(d, (struct amount){true, original[k]});
                        assert_true(least.set && least.value <= original[k]);
                        assert_int_equal((least.value - 1) / d, read);
                        assert_true(least.value == 1 || (least.value - 2) / d != read);
                }
        assert_false(request_reading_least(0, (struct amount){true, 5}).set);
        assert_false(request_reading_least(1, (struct amount){0}).set);
        assert_false(request_reading_least(1, (struct amount){true, 0}).set);
}

static void test_of_several(void **state)
{
        (void)state;
        static const struct {
                int64_t a, b, want;
                const char *named;
        } row[] = {
                {0, 1000, 1000, "b"},    {1000, 1, 1, "b"},          {1, 1000, 1, "a"},
                {1000, 1000, 1000, "a"}, {1000000, 1048576, 1, "a"}, {1048576, 1000000, 1, "b"},
                {1000, 1001, 1, "a"},    {1001, 1000, 1, "b"},       {1000, 2000, 1000, "a"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct request_reading to = {.divisor = row[i].a, .name = TEXT("a")};
                const struct request_reading also = {.divisor = row[i].b, .name = TEXT("b")};
                request_reading_add(&to, &also);
                assert_int_equal(to.divisor, row[i].want);
                assert_true(text_is(to.name, row[i].named));
        }
}

static void test_print(void **state)
{
        (void)state;
        char out[REQUEST_READING_TEXT_MAX];
        const struct request_reading variable = {1, TEXT("app"), TEXT("GOMAXPROCS"), {0}};
        const struct request_reading file = {.divisor = 1, .name = TEXT("cpu"), .volume = TEXT("info")};
        const struct request_reading nameless = {.divisor = 1, .volume = TEXT("info")};
        assert_string_equal(request_reading_print(&variable, out), "variable 'GOMAXPROCS' of container 'app'");
        assert_string_equal(request_reading_print(&file, out), "file 'cpu' of volume 'info'");
        assert_string_equal(request_reading_print(&nameless, out), "file '' of volume 'info'");
}

/* Names of more than 80 bytes are cut there. */
static void test_print_long(void **state)
{
        (void)state;
        static const struct {
                size_t len;
                int shown;
        } row[] = {{79, 79}, {80, 80}, {81, 80}, {300, 80}};
        char out[REQUEST_READING_TEXT_MAX], want[REQUEST_READING_TEXT_MAX], name[300];
        memset(name, 'x', sizeof name);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct request_reading of = {1, {name, row[i].len}, {name, row[i].len}, {0}};
                int shown = row[i].shown;
                snprintf(want, sizeof want, "variable '%.*s' of container '%.*s'", shown, name, shown, name);
                assert_string_equal(request_reading_print(&of, out), want);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_resource),   cmocka_unit_test(test_divisor), cmocka_unit_test(test_least),
                cmocka_unit_test(test_of_several), cmocka_unit_test(test_print),   cmocka_unit_test(test_print_long),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
