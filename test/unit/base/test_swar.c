#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/swar.h"

static size_t place(uint64_t found)
{
        return found ? word_first(found) : sizeof(uint64_t);
}

/* Of every pair of bytes among plain ones: the first that is sought, as a plain search finds it. */
static void test_the_first_is_found(void **state)
{
        (void)state;
        static const unsigned char bytes[] = {0, 1, 0x1f, 0x20, 0x21, '"', '#', '[', '\\', ']', 0x7f, 0x80, 0xa2, 0xff};
        for (size_t i = 0; i < sizeof bytes; i++)
                for (size_t k = 0; k < sizeof bytes; k++)
                        for (size_t at = 0; at < 8; at++)
                                for (size_t to = 0; to < 8; to++) {
                                        char text[8] = "aaaaaaa";
                                        size_t quote = 8, below = 8, high = 8;
                                        text[7] = 'a';
                                        text[to] = (char)bytes[k];
                                        text[at] = (char)bytes[i];
                                        for (size_t p = 8; p-- > 0;) {
                                                unsigned char c = (unsigned char)text[p];
                                                quote = c == '"' ? p : quote;
                                                below = c < 0x20 ? p : below;
                                                high = c >= 0x80 ? p : high;
                                        }
                                        uint64_t word = word_at(text);
                                        assert_int_equal(place(word_has(word, '"')), quote);
                                        assert_int_equal(place(word_has_below(word, 0x20)), below);
                                        assert_int_equal(place(word_has_high(word)), high);
                                }
}

static bool is_sought(unsigned char c, bool others)
{
        return c == '"' || c == '\\' || (others && (c < 0x20 || c >= 0x80));
}

/* Each byte at each place of a text, with quotes behind it: found as a plain search finds it, and never read over. */
static void test_a_block_is_searched_as_bytes_are(void **state)
{
        (void)state;
        for (int c = 0; c < 256; c++)
                for (size_t at = 0; at < 40; at++)
                        for (int others = 0; others < 2; others++) {
                                char text[40];
                                const char *p = text, *end = text + sizeof text;
                                memset(text, 'a', sizeof text);
                                memset(text + at, '"', sizeof text - at);
                                text[at] = (char)c;
                                size_t want = is_sought((unsigned char)c, others) ? at : at + 1;
                                if (block_find(&p, end, others))
                                        assert_int_equal(p - text, want);
                                else
                                        assert_true((size_t)(p - text) <= want);
                        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_first_is_found),
                cmocka_unit_test(test_a_block_is_searched_as_bytes_are),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
