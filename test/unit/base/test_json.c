#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static struct json json_of(const char *s)
{
        struct json j;
        json_init(&j, s, strlen(s));
        return j;
}

static void whole_values_are_accepted(void **state)
{
        (void)state;
        static const char *const row[] = {
                "0",
                "-0",
                "1.5e-7",
                "1E+2",
                "true",
                "false",
                "null",
                "\"\"",
                "[]",
                "{}",
                " \t\r\n[ ]\n",
                "[1,2]",
                "{\"a\":1,\"b\":[{\"c\":null}]}",
                "{\"a\":1,\"a\":2}",
                "{\"\":0}",
                "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
                "\"\\ud83d\\ude00\"",
                "\"\\u0000\"",
                "\"\u00e9\u20ac\U0001f600\x7f\"",
                "1e999999999999999999999",
                "123456789012345678901234567890",
                "[[[[[[[[[[0]]]]]]]]]]",
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct json j = json_of(row[i]);
                struct err err = {0};
                json_skip(&j);
                if (json_done(&j, &err) != 0)
                        fail_msg("%s: %s", row[i], err.text);
        }
}

static void malformed_values_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *in, *why;
        } row[] = {
                {"", "it ends after 0 bytes: a value was expected"},
                {"  ", "it ends after 2 bytes: a value was expected"},
                {"[", "it ends after 1 bytes: a value was expected"},
                {"[1", "it ends after 2 bytes: ',' or ']' was expected"},
                {"[1,", "it ends after 3 bytes: a value was expected"},
                {"[1,]", "at byte 3: a value was expected"},
                {"[,1]", "at byte 1: no value begins like this"},
                {"[1 2]", "at byte 3: ',' or ']' was expected"},
                {"[1}", "at byte 2: ',' or ']' was expected"},
                {"{\"a\":1]", "at byte 6: ',' or '}' was expected"},
                {"{\"a\":1,}", "at byte 7: a key was expected"},
                {"{a:1}", "at byte 1: a key was expected"},
                {"{1:1}", "at byte 1: a key was expected"},
                {"{\"a\" 1}", "at byte 5: ':' was expected"},
                {"{\"a\":}", "at byte 5: no value begins like this"},
                {"{\"a\"", "it ends after 4 bytes: ':' was expected"},
                {"1 2", "at byte 2: more bytes follow the value"},
                {"{}x", "at byte 2: more bytes follow the value"},
                {"\"", "it ends after 1 bytes: a string does not end"},
                {"\"abc", "it ends after 4 bytes: a string does not end"},
                {"\"a\\", "at byte 2: a string holds a wrong escape"},
                {"\"\\x\"", "at byte 1: a string holds a wrong escape"},
                {"\"\\u12\"", "at byte 1: a string holds a wrong escape"},
                {"\"\\u12g4\"", "at byte 1: a string holds a wrong escape"},
                {"\"\\ud800\"", "at byte 1: a string holds a wrong escape"},
                {"\"\\ud800\\u0041\"", "at byte 1: a string holds a wrong escape"},
                {"\"\\ud800\\ud800\"", "at byte 1: a string holds a wrong escape"},
                {"\"\\udc00\"", "at byte 1: a string holds a wrong escape"},
                {"\"\\ud800\\", "at byte 1: a string holds a wrong escape"},
                {"\"a\nb\"", "at byte 2: a string holds a control character"},
                {"\"12345678\x1f\"", "at byte 9: a string holds a control character"},
                {"\"\xff\"", "at byte 1: a string is not UTF-8"},
                {"\"\xc0\x80\"", "at byte 1: a string is not UTF-8"},
                {"\"\xed\xa0\x80\"", "at byte 1: a string is not UTF-8"},
                {"\"\xe2\x82\"", "at byte 1: a string is not UTF-8"},
                {"{\"\xff\":1}", "at byte 2: a string is not UTF-8"},
                {"\xef\xbb\xbf{}", "at byte 0: no value begins like this"},
                {"01", "at byte 1: more bytes follow the value"},
                {"-", "it ends after 1 bytes: a number has no digits"},
                {"-a", "at byte 1: a number has no digits"},
                {"+1", "at byte 0: no value begins like this"},
                {".5", "at byte 0: no value begins like this"},
                {"1.", "it ends after 2 bytes: a number has no digits behind its point"},
                {"1.e5", "at byte 2: a number has no digits behind its point"},
                {"1e", "it ends after 2 bytes: a number has no digits in its exponent"},
                {"1e+", "it ends after 3 bytes: a number has no digits in its exponent"},
                {"tru", "at byte 0: no value begins like this"},
                {"nul", "at byte 0: no value begins like this"},
                {"truefalse", "at byte 4: more bytes follow the value"},
                {"NaN", "at byte 0: no value begins like this"},
                {"// x\n1", "at byte 0: no value begins like this"},
                {"'a'", "at byte 0: no value begins like this"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct json j = json_of(row[i].in);
                struct err err = {0};
                json_skip(&j);
                char want[200] = "malformed JSON";
                strcat(strcat(want, *row[i].why == 'i' ? ": " : " "), row[i].why);
                if (json_done(&j, &err) != ERR_INVALID || strcmp(err.text, want) != 0)
                        fail_msg("%s: %s", row[i].in, err.text);
        }
}

static void nul_bytes_are_no_end(void **state)
{
        (void)state;
        static const struct {
                const char *p;
                size_t len;
        } row[] = {{"\0", 1}, {"1\0", 2}, {"[\0]", 3}, {"{\0}", 3}, {"\"a\0b\"", 5}, {"{\"a\"\0:1}", 8}};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct json j;
                json_init(&j, row[i].p, row[i].len);
                json_skip(&j);
                if (json_done(&j, NULL) != ERR_INVALID)
                        fail_msg("row %zu", i);
        }
}

static void whole_numbers(void **state)
{
        (void)state;
        static const struct {
                const char *in;
                int64_t want;
        } row[] = {
                {"0", 0},
                {"-0", 0},
                {"7", 7},
                {"-7", -7},
                {"2.0", 2},
                {"2e3", 2000},
                {"2.5e1", 25},
                {"1000e-3", 1},
                {"-1200.00e-2", -12},
                {"0e99999999999999999999", 0},
                {"0.000", 0},
                {"-0.0e-5", 0},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"9223372036854775807.000", INT64_MAX},
                {"9.223372036854775807e18", INT64_MAX},
                {"92233720368547758070e-1", INT64_MAX},
                {"1000000000000000000000000000000e-30", 1},
                {"0.000000000000000000000000000001e30", 1},
                {"1e18", 1000000000000000000},
                {"null", 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct json j = json_of(row[i].in);
                int64_t value = json_int(&j);
                if (json_done(&j, NULL) != 0 || value != row[i].want)
                        fail_msg("%s: %" PRId64, row[i].in, value);
        }
}

static void what_is_no_whole_number_is_refused(void **state)
{
        (void)state;
        static const char *const row[] = {
                "2.5",
                "25e-1",
                "1e-1",
                "1e-99999999999999999999",
                "9223372036854775808",
                "-9223372036854775809",
                "1e19",
                "1e99999999999999999999",
                "18446744073709551616",
                "99999999999999999999999999",
                "1234567890123456789012e-1",
                "\"1\"",
                "true",
                "[]",
                "{}",
                "",
                "-",
                "1.",
                "1e",
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct json j = json_of(row[i]);
                if (json_int(&j) != 0 || json_done(&j, NULL) != ERR_INVALID)
                        fail_msg("%s was read", row[i]);
        }
}

/* A megabyte of digits costs a megabyte of time, no more. */
static void overlong_numbers(void **state)
{
        (void)state;
        enum { LEN = 1 << 20 };
        char *digits AUTO(mem_free) = mem_new(LEN + 8);
        memset(digits, '9', LEN);
        struct json j = json_of(digits);
        assert_int_equal(json_int(&j), 0);
        assert_int_equal(json_done(&j, NULL), ERR_INVALID);
        j = json_of(digits);
        assert_int_equal(json_scalar(&j, NULL).len, LEN);
        assert_int_equal(json_done(&j, NULL), 0);
        memset(digits, '0', LEN);
        memcpy(digits, "1.", 2);
        j = json_of(digits);
        assert_int_equal(json_int(&j), 1);
        assert_int_equal(json_done(&j, NULL), 0);
        memset(digits + 1, '0', LEN - 1);
        strcpy(digits + LEN, "e-48575");
        j = json_of(digits);
        assert_int_equal(json_int(&j), 0); /* 10^1000000 */
        assert_int_equal(json_done(&j, NULL), ERR_INVALID);
}

static void texts(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
                size_t len;
        } row[] = {
                {"\"\"", "", 0},
                {"\"abc\"", "abc", 3},
                {"\"a\\nb\"", "a\nb", 3},
                {"\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00!\"", "A\u00e9\u20ac\U0001f600!", 11},
                {"\"x\\u0000y\"", "x\0y", 3},
                {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
                {"\"\\udbff\\udfff\"", "\U0010ffff", 4},
                {"\"longer than a word, with \u00e9 and \\\\ at the end\\\\\"",
                 "longer than a word, with \u00e9 and \\ at the end\\", 45},
                {"null", "", 0},
        };
        struct arena a = {0};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct json j = json_of(row[i].in);
                struct text t = json_text(&j, &a);
                if (json_done(&j, NULL) != 0 || !text_equal(t, (struct text){row[i].want, row[i].len}))
                        fail_msg("%s: %.*s (%zu)", row[i].in, TEXT_ARG(t), t.len);
        }
        arena_release(&a);
}

/* Every place of a byte that matters, for the word-wise scan: strings of every length and alignment. */
static void strings_of_every_shape(void **state)
{
        (void)state;
        static const char odd[] = {'"', '\\', '\n', '\x1f', '\x01', '\x80', '\xff', '\x20', '\x7f', '!', '#', '[', ']'};
        for (size_t len = 1; len < 40; len++) {
                for (size_t at = 0; at < len; at++) {
                        for (size_t i = 0; i < sizeof odd; i++) {
                                char *s AUTO(mem_free) =
                                        mem_new(len + 3); /* the end of the heap block is the end of the text */
                                memset(s + 1, 'a', len);
                                s[0] = s[len + 1] = '"';
                                s[1 + at] = odd[i];
                                struct json j;
                                json_init(&j, s, len + 2);
                                struct text t = json_text(&j, NULL);
                                bool good = i >= 7, done = json_done(&j, NULL) == 0;
                                if (odd[i] == '\\')
                                        assert_false(done && t.len); /* \a and \" at the end are errors */
                                else if (good != done || (good && t.len != len))
                                        fail_msg("length %zu, byte %02x at %zu", len, (unsigned char)odd[i], at);
                        }
                }
        }
}

static void wrong_types_are_errors(void **state)
{
        (void)state;
        static const char *const row[] = {"0", "\"s\"", "true", "[]", "{}"};
        for (size_t i = 0; i < 5; i++) {
                struct json j = json_of(row[i]);
                bool is_number = i == 0, is_text = i == 1, is_bool = i == 2;
                (void)json_text(&j, NULL);
                assert_int_equal(!j.error, is_text);
                j = json_of(row[i]);
                (void)json_bool(&j);
                assert_int_equal(!j.error, is_bool);
                j = json_of(row[i]);
                (void)json_scalar(&j, NULL);
                assert_int_equal(!j.error, is_number || is_text);
                j = json_of(row[i]);
                (void)json_enter(&j, '[');
                assert_int_equal(!j.error, i == 3);
                j = json_of(row[i]);
                (void)json_enter(&j, '{');
                assert_int_equal(!j.error, i == 4);
        }
}

static void words_are_booleans(void **state)
{
        (void)state;
        struct json j = json_of("[true,false]");
        assert_true(json_enter(&j, '['));
        assert_true(json_item(&j) && json_bool(&j));
        assert_true(json_item(&j) && !json_bool(&j));
        assert_false(json_item(&j));
        assert_int_equal(json_done(&j, NULL), 0);
}

static void null_is_absent(void **state)
{
        (void)state;
        struct json j = json_of("[null,null,null,null,null,null,null]");
        assert_true(json_enter(&j, '['));
        assert_true(json_item(&j) && json_text(&j, NULL).len == 0);
        assert_true(json_item(&j) && json_int(&j) == 0);
        assert_true(json_item(&j) && !json_bool(&j));
        assert_true(json_item(&j) && !json_enter(&j, '{'));
        assert_true(json_item(&j) && !json_enter(&j, '['));
        assert_true(json_item(&j) && json_scalar(&j, NULL).len == 0);
        assert_true(json_item(&j) && json_peek(&j) == 'n');
        json_skip(&j);
        assert_false(json_item(&j));
        assert_int_equal(json_done(&j, NULL), 0);
}

static void objects_are_read_member_by_member(void **state)
{
        (void)state;
        struct json j =
                json_of("{\"name\" : \"web\", \"n\":3, \"skip\":{\"deep\":[1,{\"x\":[]}]}, \"on\":true, \"q\":0.5,"
                        "\"raw\": [1, 2] ,\"\\u006eame\":\"other\"}");
        struct text key, name = {0}, q = {0}, raw = {0};
        int64_t n = 0;
        bool on = false;
        int unknown = 0;
        if (json_enter(&j, '{')) {
                while (json_key(&j, &key)) {
                        if (text_is(key, "name"))
                                name = json_text(&j, NULL);
                        else if (text_is(key, "n"))
                                n = json_int(&j);
                        else if (text_is(key, "on"))
                                on = json_bool(&j);
                        else if (text_is(key, "q"))
                                q = json_scalar(&j, NULL);
                        else if (text_is(key, "raw"))
                                raw = json_raw(&j);
                        else if (++unknown)
                                json_skip(&j);
                }
        }
        assert_int_equal(json_done(&j, NULL), 0);
        assert_true(text_is(name, "web") && n == 3 && on && text_is(q, "0.5") && text_is(raw, "[1, 2]"));
        assert_int_equal(unknown, 2); /* a key with escapes comes raw */
}

static void what_comes_next_is_told(void **state)
{
        (void)state;
        struct json j = json_of(" [ {} , [] , \"\" , -1 , 5 , true , false , null ] ");
        const char want[] = "{[\"00tfn";
        assert_int_equal(json_peek(&j), '[');
        assert_true(json_enter(&j, '['));
        for (const char *c = want; *c; c++) {
                assert_true(json_item(&j));
                assert_int_equal(json_peek(&j), *c);
                assert_int_equal(json_peek(&j), *c);
                json_skip(&j);
        }
        assert_false(json_item(&j));
        assert_int_equal(json_peek(&j), 0);
        assert_int_equal(json_done(&j, NULL), 0);
}

static void depth_is_bounded(void **state)
{
        (void)state;
        for (int depth = JSON_DEPTH_MAX - 1; depth <= JSON_DEPTH_MAX + 1; depth++) {
                char text[2 * JSON_DEPTH_MAX + 3] = "";
                memset(text, '[', (size_t)depth);
                memset(text + depth, ']', (size_t)depth);
                struct json j = json_of(text);
                json_skip(&j);
                assert_int_equal(json_done(&j, NULL) == 0, depth <= JSON_DEPTH_MAX);
        }
        enum { LEN = 1 << 20 };
        char *deep AUTO(mem_free) = mem_new(LEN + 1);
        memset(deep, '[', LEN);
        struct json j = json_of(deep);
        json_skip(&j);
        struct err err;
        assert_int_equal(json_done(&j, &err), ERR_INVALID);
        assert_string_equal(err.text, "malformed JSON at byte 64: values are nested too deeply");
}

static void errors_stick(void **state)
{
        (void)state;
        struct json j = json_of("{\"a\":tru,\"b\":1}");
        struct text key;
        assert_true(json_enter(&j, '{'));
        assert_true(json_key(&j, &key));
        assert_false(json_bool(&j));
        assert_false(json_key(&j, &key));
        assert_false(json_item(&j));
        assert_false(json_enter(&j, '{'));
        assert_int_equal(json_int(&j), 0);
        assert_int_equal(json_text(&j, NULL).len, 0);
        assert_int_equal(json_raw(&j).len, 0);
        assert_int_equal(json_peek(&j), 0);
        json_skip(&j);
        struct err err;
        assert_int_equal(json_done(&j, &err), ERR_INVALID);
        assert_string_equal(err.text, "malformed JSON at byte 5: no value begins like this");
}

static void an_unfinished_reader_is_told(void **state)
{
        (void)state;
        struct json j = json_of("[1]");
        json_enter(&j, '[');
        assert_int_equal(json_done(&j, NULL), ERR_INVALID);
}

static const char sample[] =
        "{\"kind\":\"PodMetricsList\",\"items\":[{\"metadata\":{\"name\":\"web-0\",\"labels\":{\"app\":\"w\\u00e9b\"}},"
        "\"timestamp\":\"2026-11-21T11:54:02Z\",\"window\":\"15.03s\",\"containers\":[{\"name\":\"app\",\"usage\":"
        "{\"cpu\":\"12345n\",\"memory\":\"812Mi\"}}],\"x\":[-1.5e3,true,false,null,{}]}]}";

/* A value cut anywhere is refused, whatever was read before the cut. */
static void every_cut_is_noticed(void **state)
{
        (void)state;
        for (size_t len = 0; len < sizeof sample - 1; len++) {
                char *part = malloc(len ? len : 1); /* the end of the heap block is the end of the text */
                memcpy(part, sample, len);
                struct json j;
                json_init(&j, part, len);
                json_skip(&j);
                if (json_done(&j, NULL) != ERR_INVALID)
                        fail_msg("cut at %zu was accepted", len);
                free(part);
        }
}

/* Each byte replaced by each of those that mean something: never a read beyond the end, never an endless loop. */
static void any_byte_may_be_wrong(void **state)
{
        (void)state;
        static const char odd[] = "{}[]\",:\\u0t-e. \x01\x80\xff";
        struct arena a = {0};
        for (size_t at = 0; at < sizeof sample - 1; at++) {
                for (const char *o = odd; *o; o++) {
                        char *s AUTO(mem_free) = mem_string_n(sample, sizeof sample - 1);
                        s[at] = *o;
                        struct json j;
                        struct text key;
                        json_init(&j, s, sizeof sample - 1);
                        bool more = json_enter(&j, '{');
                        while (more && json_key(&j, &key)) {
                                if (json_peek(&j) == '"')
                                        (void)json_text(&j, &a);
                                else
                                        (void)json_raw(&j);
                        }
                        struct json whole;
                        json_init(&whole, s, sizeof sample - 1);
                        json_skip(&whole);
                        assert_int_equal(json_done(&j, NULL), json_done(&whole, NULL));
                        arena_reset(&a);
                }
        }
        arena_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(whole_values_are_accepted),
                cmocka_unit_test(malformed_values_are_refused),
                cmocka_unit_test(nul_bytes_are_no_end),
                cmocka_unit_test(whole_numbers),
                cmocka_unit_test(what_is_no_whole_number_is_refused),
                cmocka_unit_test(overlong_numbers),
                cmocka_unit_test(texts),
                cmocka_unit_test(strings_of_every_shape),
                cmocka_unit_test(wrong_types_are_errors),
                cmocka_unit_test(words_are_booleans),
                cmocka_unit_test(null_is_absent),
                cmocka_unit_test(objects_are_read_member_by_member),
                cmocka_unit_test(what_comes_next_is_told),
                cmocka_unit_test(depth_is_bounded),
                cmocka_unit_test(errors_stick),
                cmocka_unit_test(an_unfinished_reader_is_told),
                cmocka_unit_test(every_cut_is_noticed),
                cmocka_unit_test(any_byte_may_be_wrong),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
