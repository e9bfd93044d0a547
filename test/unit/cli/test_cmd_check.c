/* What halflife check says of the database, whatever the file is. There is no cluster: that line fails. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "../../support/store_image.h"
#include "../../support/tmp.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/cmd.h"

/* Its answer, as one text (mem_free). */
static char *check(const char *database)
{
        AUTO(mem_free) char *out = tmp_path("out");
        AUTO(mem_free) char *file = mem_string(database);
        char command[] = "check", kubeconfig[] = "--kubeconfig=/nonexistent", option[] = "--database";
        char *argv[] = {command, kubeconfig, option, file, NULL};
        struct err err = {0};
        size_t len;
        fflush(stdout);
        int kept = dup(STDOUT_FILENO), fd = open(out, O_CREAT | O_TRUNC | O_WRONLY, 0600);
        dup2(fd, STDOUT_FILENO);
        close(fd);
        assert_int_equal(cmd_check(4, argv), EXIT_FAILED);
        fflush(stdout);
        dup2(kept, STDOUT_FILENO);
        close(kept);
        char *text = file_read(out, 1 << 16, &len, &err);
        assert_non_null(text);
        return text;
}

static void expect(const char *what, const char *path, const char *verdict, const char *part)
{
        AUTO(mem_free) char *text = check(path);
        const char *line = strstr(text, "database");
        if (!line || line - text < 6 || strncmp(line - 6, verdict, strlen(verdict)) != 0 || !strstr(line, part))
                fail_msg("%s: not %s with '%s':\n%s", what, verdict, part, text);
}

static void run_sql(const char *path, const char *sql)
{
        sqlite3 *db;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
}

static const struct {
        const char *what;
        bool ours;
        const char *bytes, *sql; /* the whole file; what is done to one of ours */
        long cut;                /* to so many bytes */
        const char *verdict, *part;
} row[] = {
        {"missing", false, NULL, NULL, 0, "ok", "is made by the first halflife run"},
        {"good", true, NULL, NULL, 0, "ok", "schema 1, 3 targets, 6 histories, "},
        {"unclean", true, NULL, "UPDATE mark SET clean = 0", 0, "ok", "not closed cleanly"},
        {"a text", false, "somebody's file\n", NULL, 0, "FAIL", "is not a database of halflife"},
        {"another's database", false, NULL, "CREATE TABLE x (y); PRAGMA application_id = 77", 0, "FAIL",
         "is not a database of halflife"},
        {"newer", true, NULL, "PRAGMA user_version = 1000", 0, "FAIL", "schema 1000 of a newer halflife"},
        {"cut short", true, NULL, NULL, 20000, "warn", "its end is missing"},
        {"rows damaged", true, NULL, "UPDATE usage0 SET packed = x'00'; UPDATE usage1 SET packed = x'00'", 0, "warn",
         "6 rows that do not check out"},
};

static void test_files(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *path = tmp_path("file.db");
                struct image image = {0};
                image_remove(path);
                image_fill(&image, 3, 1);
                if (row[i].ours)
                        image_save(&image, path);
                if (row[i].bytes)
                        mem_free(tmp_file("file.db", row[i].bytes));
                if (row[i].sql)
                        run_sql(path, row[i].sql);
                if (row[i].cut)
                        assert_int_equal(truncate(path, row[i].cut), 0);
                expect(row[i].what, path, row[i].verdict, row[i].part);
                image_release(&image);
        }
}

/* Looked at while it runs: nothing of it is disturbed. */
static void test_held(void **state)
{
        (void)state;
        AUTO(mem_free) char *path = tmp_path("held.db");
        AUTO(mem_free) char *pid = mem_printf("held by process %ld", (long)getpid());
        image_remove(path);
        struct store *s = image_open(path);
        struct image image = {0}, got = {0};
        image_fill(&image, 3, 1);
        struct store_batch *b = store_batch_new();
        image_put(&image, b);
        store_submit(s, b);
        image_wait(1);
        expect("held", path, "warn", pid);
        expect("held", path, "warn", "3 targets, 6 histories");
        image_close(s);
        image_load(&got, path);
        image_assert_equal(&image, &got);
        image_release(&image);
        image_release(&got);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_held),
        };
        return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
