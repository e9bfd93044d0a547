/* Files of request headers: what is taken, and what is refused by the number of its line, without showing a value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../support/tmp.h"
#include "base/buf.h"
#include "base/mem.h"
#include "prometheus/request_headers.h"

static void lines_are_taken_as_headers(void **state)
{
        (void)state;
        static const struct {
                const char *file, *want;
        } row[] = {
                {"X-Scope-OrgID: shop", "X-Scope-OrgID: shop\n"},
                {"X-Scope-OrgID:shop\r\n", "X-Scope-OrgID: shop\n"},
                {"\n A: b\t \n\n\tC:\td: e\n", "A: b\nC: d: e\n"},
                {"Ab: c\nA: b\n", "Ab: c\nA: b\n"}, /* a name that begins as another does is another */
                {"#!$%&'*+-.^_`|~9: \xc3\xa4", "#!$%&'*+-.^_`|~9: \xc3\xa4\n"},
                {"Authorization: Basic YTpi", "Authorization: Basic YTpi\n"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char *path = tmp_file("headers", row[i].file), *lines = NULL;
                struct err err = {0};
                if (request_headers_read(path, false, &lines, &err) < 0)
                        print_error("row %zu: %s\n", i, err.text);
                assert_string_equal(lines, row[i].want);
                mem_free(lines);
                mem_free(path);
        }
}

static void bad_lines_are_named_without_their_values(void **state)
{
        (void)state;
        static const struct {
                const char *file, *says;
        } row[] = {
                {"", "is empty"},
                {"\n \r\n", "is empty"},
                {"A: b\nsecret\n", "line 2 is not of the form 'Name: value'"},
                {": secret", "line 1 holds bytes before its colon"},
                {"A B: secret", "line 1 holds bytes before its colon"},
                {"A : secret", "line 1 holds bytes before its colon"},
                {"\xc3\xa4: secret", "line 1 holds bytes before its colon"},
                {"A:", "line 1 has no value"},
                {"\n\nA: \t\n", "line 3 has no value"},
                {"A: secret\rB: c", "line 1 holds control characters"},
                {"A: secret\x7f", "line 1 holds control characters"},
                {"A: secret\nB: c\na: secret", "line 3 names a header of an earlier line"},
                {"host: secret", "line 1 names a header that halflife sets itself"},
                {"Content-Length: 3", "line 1 names a header that halflife sets itself"},
                {"AUTHORIZATION: secret", "line 1 names Authorization"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char *path = tmp_file("headers", row[i].file), *lines = NULL;
                struct err err = {0};
                assert_int_equal(request_headers_read(path, true, &lines, &err), ERR_INVALID);
                assert_null(lines);
                if (!strstr(err.text, row[i].says))
                        print_error("row %zu: %s\n", i, err.text);
                assert_non_null(strstr(err.text, row[i].says));
                assert_non_null(strstr(err.text, path));
                assert_null(strstr(err.text, "secret"));
                mem_free(path);
        }
}

static void a_nul_byte_is_no_end(void **state)
{
        (void)state;
        char *path = tmp_path("headers"), *lines = NULL;
        struct err err = {0};
        FILE *f = fopen(path, "w");
        assert_int_equal(fwrite("A: b\0c\n", 1, 7, f), 7);
        fclose(f);
        assert_int_equal(request_headers_read(path, false, &lines, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "line 1 holds control characters"));
        mem_free(path);
}

/* As many headers as are allowed, and as many bytes; then one more. */
static void their_number_and_length_are_bounded(void **state)
{
        (void)state;
        struct buf file;
        buf_init(&file, HEADERS_BYTES_MOST + 1);
        char *lines = NULL, *path = NULL;
        struct err err = {0};
        for (int i = 0; i < HEADERS_MOST; i++)
                (void)buf_printf(&file, "A%d:b\n", i);
        mem_free(tmp_file("headers", file.data));
        path = tmp_path("headers");
        assert_int_equal(request_headers_read(path, false, &lines, &err), 0);
        mem_free(lines);
        (void)buf_add_text(&file, "one-more: b\n");
        mem_free(tmp_file("headers", file.data));
        assert_int_equal(request_headers_read(path, false, &lines, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "line 33 is beyond the 32 headers allowed"));

        buf_reset(&file);
        for (int i = 0; i < HEADERS_MOST - 1; i++)
                (void)buf_printf(&file, "A%d:b\n", i);
        (void)buf_add_text(&file, "long:");
        while (file.len < HEADERS_BYTES_MOST)
                (void)buf_add_text(&file, "v");
        mem_free(tmp_file("headers", file.data));
        assert_int_equal(request_headers_read(path, false, &lines, &err), 0);
        assert_int_equal(strlen(lines), HEADERS_BYTES_MOST + HEADERS_MOST + 1);
        mem_free(lines);
        (void)buf_add_text(&file, "v");
        mem_free(tmp_file("headers", file.data));
        assert_int_equal(request_headers_read(path, false, &lines, &err), ERR_TOOBIG);
        mem_free(path);
        buf_release(&file);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(lines_are_taken_as_headers),
                cmocka_unit_test(bad_lines_are_named_without_their_values),
                cmocka_unit_test(a_nul_byte_is_no_end),
                cmocka_unit_test(their_number_and_length_are_bounded),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
