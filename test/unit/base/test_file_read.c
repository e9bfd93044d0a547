/* Files that are read whole: what they may be, and how long. */
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

#include "base/file_read.h"
#include "base/mem.h"

static void only_files_are_files(void **state)
{
        (void)state;
        char dir[] = "/tmp/halflife-file-XXXXXX";
        assert_non_null(mkdtemp(dir));
        AUTO(mem_free) char *file = mem_printf("%s/file", dir);
        AUTO(mem_free) char *pipe_path = mem_printf("%s/pipe", dir);
        AUTO(mem_free) char *none = mem_printf("%s/none", dir);
        AUTO(mem_free) char *below = mem_printf("%s/file/below", dir);
        FILE *f = fopen(file, "w");
        assert_non_null(f);
        assert_true(fputs("12345", f) >= 0);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(mkfifo(pipe_path, 0600), 0);
        const struct {
                const char *path;
                size_t max;
                int code;
                const char *says;
        } row[] = {
                {file, 5, 0, ""},
                {file, 4, ERR_TOOBIG, "is longer than 4 bytes"},
                {pipe_path, 5, ERR_IO, "it is a pipe, not a file"},
                {dir, 5, ERR_IO, "it is a folder, not a file"},
                {"/dev/zero", 5, ERR_IO, "it is a device, not a file"},
                {none, 5, ERR_NOTFOUND, "No such file"},
                {below, 5, ERR_NOTFOUND, "Not a directory"},
        };
        (void)alarm(20); /* ends a test that would wait for ever */
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                size_t len = 0;
                AUTO(mem_free) char *text = file_read(row[i].path, row[i].max, &len, &err);
                if (err.code != row[i].code || !strstr(err.text, row[i].says) || (text != NULL) != (err.code == 0))
                        fail_msg("%s: %d '%s'", row[i].path, err.code, err.text);
                if (text) {
                        assert_string_equal(text, "12345");
                        assert_int_equal(len, 5);
                }
        }
        (void)alarm(0);
        struct err err = {0};
        size_t len;
        assert_null(file_read_input("/dev/zero", 1 << 20, &len, &err));
        assert_int_equal(err.code, ERR_TOOBIG);
        assert_int_equal(unlink(file), 0);
        assert_int_equal(unlink(pipe_path), 0);
        assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(only_files_are_files)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
