#include "decode_help.h"

#define LOW "The node was low on resource: memory. Threshold quantity: 100Mi, available: 53Mi. "

static const struct {
        const char *message, *want; /* "": names none */
} row[] = {
        {LOW "Container app was using 1200Mi, request is 500Mi, has larger consumption of memory. ", "app 1258291200"},
        {LOW
         "Container app was using 1200Mi, request is 500Mi, has larger consumption of memory. Container log was using "
         "900Mi, request is 0, has larger consumption of memory. ",
         "log 943718400"},
        {LOW
         "Container log was using 900Mi, request is 0, has larger consumption of memory. Container app was using 2Gi, "
         "request is 1Gi, has larger consumption of memory.",
         "app 2147483648"},
        {"The node was low on resource: memory. Container app was using 1Ki, which exceeds its request of 0.",
         "app 1024"},
        {"The node was low on resource: memory. Container app was using 7.5Gi", "app 8053063680"},
        /* what is not as expected */
        {LOW, ""},
        {"", ""},
        {LOW "Container app was using much, request is 500Mi. ", ""},
        {LOW "Container  was using 5Mi", ""},
        {LOW "Container app exceeded it. Container log was using 5Mi, request is 1Mi. ", "log 5242880"},
        {LOW "Container app was using 5Mi, request is 6Mi. ", ""},
        {LOW "Container app was using -5Mi. ", ""},
        {LOW "Container app was using ", ""},
};

static void the_furthest_above_its_request_is_named(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct text name;
                int64_t used;
                char got[200] = "";
                if (decode_eviction(text_of(row[i].message), &name, &used))
                        snprintf(got, sizeof got, "%.*s %lld", TEXT_ARG(name), (long long)used);
                if (strcmp(got, row[i].want) != 0)
                        fail_msg("%s: '%s', not '%s'", row[i].message, got, row[i].want);
        }
}

/* Cut at every byte it says what a whole one may say, and reads no byte behind it. */
static void a_cut_one_is_read_as_far_as_it_goes(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                for (size_t len = 0; len <= strlen(row[i].message); len++) {
                        struct text name;
                        int64_t used;
                        AUTO(mem_free) char *exact = mem_new(len ? len : 1);
                        memcpy(exact, row[i].message, len);
                        if (decode_eviction((struct text){exact, len}, &name, &used))
                                assert_true(used >= 0 && name.len > 0 && name.p >= exact &&
                                            name.p + name.len <= exact + len);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(the_furthest_above_its_request_is_named),
                                           cmocka_unit_test(a_cut_one_is_read_as_far_as_it_goes)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
