#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/file_read.h"
#include "base/yaml.h"

/* What the text reads as, printed as compact JSON, or the error's text. */
static char *shown(const char *text, size_t len)
{
        struct err err = {0};
        json_t *value AUTO(json_decref) = yaml_read(text, len, &err);
        return value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS) : strdup(err.text);
}

static void values_are_what_the_api_server_reads(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
        } row[] = {
                {"a: 1\nb: [x, 'y']\n", "{\"a\":1,\"b\":[\"x\",\"y\"]}"},
                {"", "null"},
                {"# only a comment\n", "null"},
                {"---\n", "null"},
                {"--- ~\n...\n", "null"},
                {"just text", "\"just text\""},
                {"[~, null, Null, NULL, ]", "[null,null,null,null]"},
                {"a:\nb: \"\"\n", "{\"a\":null,\"b\":\"\"}"},
                {"[true, True, TRUE, yes, Yes, YES, y, Y, on, On, ON]",
                 "[true,true,true,true,true,true,true,true,true,true,true]"},
                {"[false, False, FALSE, no, No, NO, n, N, off, Off, OFF]",
                 "[false,false,false,false,false,false,false,false,false,false,false]"},
                {"[tRUE, nULL, yES, 'true', \"no\", nope]", "[\"tRUE\",\"nULL\",\"yES\",\"true\",\"no\",\"nope\"]"},
                {"[0, -0, 7, -7, +7, 1_000, 0x1F, -0x10, 0o17, 017, 00, 0b101]", "[0,0,7,-7,7,1000,31,-16,15,15,0,5]"},
                {"[9223372036854775807, -9223372036854775808]", "[9223372036854775807,-9223372036854775808]"},
                {"[0.5, .5, -1.25, 1.5e3, 2.0, 1e3, 5., 08, 0.1]",
                 "[0.5,0.5,-1.25,1500,2,1000,5,8,0.10000000000000001]"},
                {"[1e20, 1e400, 1.2.3, 12:30:45, 2026-11-21, 0x, 0b2, 0o9, 1e, +, -1-, _1]",
                 "[1e20,\"1e400\",\"1.2.3\",\"12:30:45\",\"2026-11-21\",\"0x\",\"0b2\",\"0o9\",\"1e\",\"+\",\"-1-\",\"_"
                 "1\"]"},
                {"[100m, 1Gi, 2h, v1]", "[\"100m\",\"1Gi\",\"2h\",\"v1\"]"},
                {"1: a\ntrue: b\nnull: c\n", "{\"1\":\"a\",\"null\":\"c\",\"true\":\"b\"}"},
                {"a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{\"a\":\"x\\ny\\n\",\"b\":\"x y\"}"},
                {"a: !!str 12\nb: !!int '7'\nc: !!float 1\nd: !!bool yes\ne: ! 12\nf: !!map {}\ng: !!seq []\nh: !!null "
                 "~\n",
                 "{\"a\":\"12\",\"b\":7,\"c\":1,\"d\":true,\"e\":\"12\",\"f\":{},\"g\":[],\"h\":null}"},
                {"a: &x {k: [1]}\nb: *x\nc: &x 2\nd: *x\n", "{\"a\":{\"k\":[1]},\"b\":{\"k\":[1]},\"c\":2,\"d\":2}"},
                {"[&x 1, &y 2, *x, *y]", "[1,2,1,2]"},
                {"'<<': 1\n", "{\"<<\":1}"},
                {"{\"json\": [1, null, \"\\u00e9\\n\"]}", "{\"json\":[1,null,\"\u00e9\\n\"]}"},
                {"\xef\xbb\xbf"
                 "a: 1\n",
                 "{\"a\":1}"},
                {"\xef\xbb\xbf"
                 "a: 1\nb: 2\n",
                 "{\"a\":1,\"b\":2}"},
                {"a: 1\r\nb: 2\r\n", "{\"a\":1,\"b\":2}"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                char *got AUTO(mem_free) = shown(row[i].in, strlen(row[i].in));
                if (strcmp(got, row[i].want) != 0)
                        fail_msg("%s\nread as %s\nnot     %s", row[i].in, got, row[i].want);
        }
}

static void errors_tell_the_place(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
        } row[] = {
                {"a: 1\nb: 2\na: 3\n", "line 3, column 1: key 'a' is there twice"},
                {"a:\n  b: 1\n  'b': 2\n", "line 3, column 3: key 'b' is there twice"},
                {"a: &a {x: 1}\nb:\n  <<: *a\n",
                 "line 3, column 3: merge keys ('<<') are not supported: write the members out"},
                {"a: *x\n", "line 1, column 4: alias 'x' has no anchor before it"},
                {"a: &x [*x]\n", "line 1, column 8: alias 'x' has no anchor before it"},
                {"a: 1\n---\nb: 2\n", "line 2, column 4: more than one document, where only one is allowed"},
                {"? [a]\n: 1\n", "line 1, column 3: a key must be a text, not a collection or an alias"},
                {"? {a: b}\n: 1\n", "line 1, column 3: a key must be a text, not a collection or an alias"},
                {"a: &x k\n*x : 1\n", "line 2, column 1: a key must be a text, not a collection or an alias"},
                {"&k a: 1\n", "line 1, column 1: a key may have no anchor"},
                {"a: .inf\n", "line 1, column 4: '.inf' is not a number that JSON can hold"},
                {"- 1\n- .NaN\n", "line 2, column 3: '.NaN' is not a number that JSON can hold"},
                {"a: !!int x\n", "line 1, column 4: 'x' is not of the type 'tag:yaml.org,2002:int'"},
                {"a: !mine x\n", "line 1, column 4: 'x' is not of the type '!mine'"},
                {"a: !!seq {}\n", "line 1, column 4: tag 'tag:yaml.org,2002:seq' is not supported"},
                {"a: \"\\0\"\n", "line 1, column 4: a text holds the character U+0000"},
                {"a: [1, 2\nb: 3\n", NULL},
                {"a:\n\tb: 1\n", NULL},
                {"a: b: c\n", NULL},
                {"a: \"x\n", NULL},
                {"a: \xff\n", NULL},
                {"a: \x01\n", NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                char *got AUTO(mem_free) = shown(row[i].in, strlen(row[i].in));
                bool good = row[i].want ? strcmp(got, row[i].want) == 0
                                        : strncmp(got, "line ", 5) == 0 || strncmp(got, "byte ", 5) == 0;
                if (!good)
                        fail_msg("%s\ngave %s\nnot  %s", row[i].in, got, row[i].want ? row[i].want : "a place");
        }
        struct err err = {0};
        assert_null(yaml_read("a: 1\n---\n", 9, &err)); /* an empty second document is a second one */
        assert_int_equal(err.code, ERR_INVALID);
        assert_null(yaml_read("[", 1, NULL));
}

static void all_documents_of_a_stream(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
        } row[] = {
                {"", "[]"},
                {"# nothing\n", "[]"},
                {"a: 1\n", "[{\"a\":1}]"},
                {"---\na: 1\n---\n---\n- b\n...\n---\nnull\n---\n'c'\n", "[{\"a\":1},[\"b\"],\"c\"]"},
                {"a: &x 1\n---\nb: &x 2\nc: *x\n", "[{\"a\":1},{\"b\":2,\"c\":2}]"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                json_t *all AUTO(json_decref) = yaml_read_all(row[i].in, strlen(row[i].in), &err);
                char *got AUTO(mem_free) = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);
                if (!got || strcmp(got, row[i].want) != 0)
                        fail_msg("%s: %s %s", row[i].in, got ? got : "", err.text);
        }
        struct err err = {0};
        assert_null(yaml_read_all("a: &x 1\n---\nb: *x\n", 18, &err)); /* anchors end with their document */
        assert_string_equal(err.text, "line 3, column 4: alias 'x' has no anchor before it");
        assert_null(yaml_read_all("a: 1\n---\n[", 10, &err)); /* all or nothing */
}

/* Nine levels of ten aliases each would be a thousand million values. */
static void aliases_cannot_explode(void **state)
{
        (void)state;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, 4096);
        buf_add_text(&b, "a: &a [x,x,x,x,x,x,x,x,x,x]\n");
        for (char c = 'b'; c <= 'i'; c++) {
                buf_printf(&b, "%c: &%c [*%c", c, c, c - 1);
                for (int i = 0; i < 9; i++)
                        buf_printf(&b, ",*%c", c - 1);
                buf_add_text(&b, "]\n");
        }
        char *got AUTO(mem_free) = shown(b.data, b.len);
        assert_string_equal(got, "line 5, column 29: aliases make more than 100000 values");
}

static void depth_is_bounded(void **state)
{
        (void)state;
        for (int depth = 63; depth <= 65; depth++) {
                char text[200] = "";
                memset(text, '[', (size_t)depth);
                memset(text + depth, ']', (size_t)depth);
                struct err err = {0};
                json_t *value AUTO(json_decref) = yaml_read(text, strlen(text), &err);
                assert_int_equal(value != NULL, depth <= 64);
        }
        /* 40 levels by an alias that stands 20 or 30 deep */
        for (int depth = 20; depth <= 30; depth += 10) {
                struct buf b __attribute__((cleanup(buf_release_auto)));
                buf_init(&b, 4096);
                buf_printf(&b, "- &a %.*s%.*s\n- %.*s*a%.*s\n", 40, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 40,
                           "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", depth, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", depth,
                           "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
                struct err err = {0};
                json_t *value AUTO(json_decref) = yaml_read(b.data, b.len, &err);
                assert_int_equal(value != NULL, depth == 20);
        }
        enum { LEN = 1 << 20 };
        char *deep AUTO(mem_free) = mem_new(LEN + 1);
        memset(deep, '[', LEN);
        char *got AUTO(mem_free) = shown(deep, LEN);
        assert_string_equal(got, "line 1, column 65: values are nested more than 64 deep");
}

static void anchors_are_bounded(void **state)
{
        (void)state;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, 1 << 20);
        for (int i = 0; i <= 1000; i++)
                buf_printf(&b, "- &a%d x\n", i);
        char *got AUTO(mem_free) = shown(b.data, b.len);
        assert_string_equal(got, "line 1001, column 3: more than 1000 anchors");
        buf_drop(&b, strlen("- &a0 x\n"));
        buf_add_text(&b, "- &more {k: v}\n");
        char *also AUTO(mem_free) = shown(b.data, b.len);
        assert_string_equal(also, "line 1001, column 3: more than 1000 anchors");
}

static void a_copy_stands_alone(void **state)
{
        (void)state;
        const char text[] = "a: &x {k: 1}\nb: *x\n";
        json_t *value AUTO(json_decref) = yaml_read(text, sizeof text - 1, NULL);
        json_object_set_new(json_object_get(value, "a"), "k", json_integer(2));
        assert_int_equal(json_integer_value(json_object_get(json_object_get(value, "b"), "k")), 1);
}

static void large_texts_are_refused(void **state)
{
        (void)state;
        enum { LEN = 16 * 1024 * 1024 + 1 };
        char *text AUTO(mem_free) = mem_new(LEN);
        struct err err = {0};
        assert_null(yaml_read(text, LEN, &err));
        assert_int_equal(err.code, ERR_TOOBIG);
        assert_null(yaml_read_all(text, LEN, &err));
        assert_int_equal(err.code, ERR_TOOBIG);
}

static void files_are_read_whole(void **state)
{
        (void)state;
        char path[] = "/tmp/halflife-yaml-XXXXXX";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        char part[1000];
        memset(part, 'x', sizeof part);
        for (int i = 0; i < 50; i++)
                assert_int_equal(write(fd, part, sizeof part), sizeof part);
        close(fd);
        struct err err = {0};
        size_t len = 0;
        char *whole AUTO(mem_free) = file_read(path, 50000, &len, &err);
        assert_non_null(whole);
        assert_int_equal(len, 50000);
        assert_int_equal(strlen(whole), 50000);
        assert_null(file_read(path, 49999, &len, &err));
        assert_int_equal(err.code, ERR_TOOBIG);
        assert_int_equal(truncate(path, 0), 0);
        char *empty AUTO(mem_free) = file_read(path, 10, &len, &err);
        assert_string_equal(empty, "");
        assert_int_equal(len, 0);
        unlink(path);
        assert_null(file_read(path, 10, &len, &err));
        assert_int_equal(err.code, ERR_NOTFOUND);
        assert_non_null(strstr(err.text, path));
        assert_null(file_read("/tmp", 10, &len, &err));
        assert_int_equal(err.code, ERR_IO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(values_are_what_the_api_server_reads),
                cmocka_unit_test(errors_tell_the_place),
                cmocka_unit_test(all_documents_of_a_stream),
                cmocka_unit_test(aliases_cannot_explode),
                cmocka_unit_test(depth_is_bounded),
                cmocka_unit_test(anchors_are_bounded),
                cmocka_unit_test(a_copy_stands_alone),
                cmocka_unit_test(large_texts_are_refused),
                cmocka_unit_test(files_are_read_whole),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
