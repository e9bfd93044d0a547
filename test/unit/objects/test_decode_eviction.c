#include "decode_help.h"

static size_t searched; /* bytes, by all searches together */

/* In front of the C library's. */
void *memmem(const void *in, size_t len, const void *word, size_t word_len)
{
        const char *p = in;
        for (size_t at = 0; at + word_len <= len; at++)
                if (memcmp(p + at, word, word_len) == 0) {
                        searched += at + word_len;
                        return (void *)(uintptr_t)(p + at);
                }
        searched += len;
        return NULL;
}

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

/* An Event can be as long as the server accepts. Reading it takes time at most linear in its length. */
static void a_long_one_costs_its_length(void **state)
{
        static const char *const piece[] = {"Container ", "Container a was using 1Ki", " was using ",
                                            "Container a was using 1Ki, request is "};
        enum { PIECES = 1000, TIMES = 6 };
        (void)state;
        for (size_t i = 0; i < sizeof piece / sizeof *piece; i++) {
                struct text name;
                int64_t used;
                struct buf b;
                buf_init(&b, 1 << 20);
                say(&b, LOW);
                for (int k = 0; k < PIECES; k++)
                        say(&b, "%s", piece[i]);
                say(&b, "Container x was using 1Mi");
                searched = 0;
                assert_true(decode_eviction(buf_text(&b), &name, &used));
                assert_true(text_is(name, "x") && used == 1 << 20);
                if (searched > TIMES * b.len)
                        fail_msg("%s: %zu bytes searched of %zu", piece[i], searched, b.len);
                buf_release(&b);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(the_furthest_above_its_request_is_named),
                                           cmocka_unit_test(a_cut_one_is_read_as_far_as_it_goes),
                                           cmocka_unit_test(a_long_one_costs_its_length)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
