#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

static void every_code_point_round_trips(void **state)
{
        (void)state;
        for (uint32_t code = 0; code <= 0x10ffff; code++) {
                char out[4];
                size_t len = utf8_put(code, out);
                bool surrogate = code >= 0xd800 && code <= 0xdfff;
                if (utf8_length(out, len) != (surrogate ? 0 : len))
                        fail_msg("U+%04X", (unsigned)code);
                if (!surrogate && utf8_code(out, len) != code)
                        fail_msg("U+%04X reads as U+%04X", (unsigned)code, (unsigned)utf8_code(out, len));
                if (!surrogate && len > 1 && utf8_length(out, len - 1) != 0)
                        fail_msg("U+%04X cut", (unsigned)code);
        }
}

static void refuses_what_is_no_character(void **state)
{
        (void)state;
        static const char *const row[] = {"\x80",
                                          "\xbf",
                                          "\xc0\x80",
                                          "\xc1\xbf",
                                          "\xe0\x80\x80",
                                          "\xe0\x9f\xbf",
                                          "\xf0\x80\x80\x80",
                                          "\xf0\x8f\xbf\xbf",
                                          "\xf4\x90\x80\x80",
                                          "\xf5\x80\x80\x80",
                                          "\xff",
                                          "\xc3(",
                                          "\xe2\x28\xa1",
                                          "\xe2\x82("};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (utf8_length(row[i], strlen(row[i])) != 0)
                        fail_msg("row %zu", i);
}

static void cuts_whole_characters(void **state)
{
        (void)state;
        static const struct {
                const char *in;
                size_t max, want;
        } row[] = {{"abc", 3, 3},        {"abc", 2, 2},
                   {"a\u20ac", 4, 4},    {"a\u20ac", 3, 1},
                   {"a\u20ac", 2, 1},    {"a\u20ac", 1, 1},
                   {"\U0001f600", 3, 0}, {"\U0001f600x", 4, 4},
                   {"", 0, 0},           {"\x80\x80\x80\x80\x80", 4, 1}};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (utf8_cut(row[i].in, strlen(row[i].in), row[i].max) != row[i].want)
                        fail_msg("row %zu", i);
}

static void mends_what_was_quoted(void **state)
{
        (void)state;
        static const char *const row[][2] = {
                {"", ""},
                {"abc", "abc"},
                {"'a\u20ac'", "'a\u20ac'"},
                {"a\u20ac", "a\u20ac"},
                {"\U0001f600", "\U0001f600"},
                {"'\xe2\x82' is", "'?\?' is"},
                {"\xff\u00e9\x80\x80.", "?\u00e9?\?."},
                {"a\xe2\x82", "a"}, /* cut at its end */
                {"a\xe2", "a"},
                {"\xc3", ""},
                {"a\xff", "a?"}, /* no cut made that */
                {"\u00e9\xf0\x9f\x98", "\u00e9"},
                {"\xff\u00e9\xc3", "?\u00e9"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                char text[16];
                strcpy(text, row[i][0]);
                utf8_repair(text);
                if (strcmp(text, row[i][1]) != 0)
                        fail_msg("row %zu: '%s'", i, text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_code_point_round_trips),
                cmocka_unit_test(refuses_what_is_no_character),
                cmocka_unit_test(cuts_whole_characters),
                cmocka_unit_test(mends_what_was_quoted),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
