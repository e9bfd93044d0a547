/* What halflife check says of the database, whatever the file is, and of former names of settings. There is no
 * cluster: that line fails. */
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
#include "base/file_read.h"
#include "base/mem.h"
#include "cli/check_database.h"
#include "cli/commands.h"

static int capture_begin(int stream)
{
        AUTO(mem_free) char *out = tmp_path("out");
        fflush(NULL);
        int kept = dup(stream), fd = open(out, O_CREAT | O_TRUNC | O_WRONLY, 0600);
        dup2(fd, stream);
        close(fd);
        return kept;
}

/* What was said since, as one text (mem_free). */
static char *capture_end(int stream, int kept)
{
        AUTO(mem_free) char *out = tmp_path("out");
        struct err err = {0};
        size_t len;
        fflush(NULL);
        dup2(kept, stream);
        close(kept);
        char *text = file_read(out, 1 << 16, &len, &err);
        assert_non_null(text);
        return text;
}

/* What a command says on stdout or stderr, as one text (mem_free). It has to exit so. */
static char *said(const struct command *command, int stream, char **argv, int exit_code)
{
        int argc = 0;
        while (argv[argc])
                argc++;
        int kept = capture_begin(stream), code = command_call(command, argc, argv);
        char *text = capture_end(stream, kept);
        assert_int_equal(code, exit_code);
        return text;
}

static char *check(const char *database)
{
        AUTO(mem_free) char *file = mem_string(database);
        char command[] = "check", kubeconfig[] = "--kubeconfig=/nonexistent", option[] = "--database";
        char *argv[] = {command, kubeconfig, option, file, NULL};
        return said(&command_check, STDOUT_FILENO, argv, EXIT_FAILED);
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
        {"missing", false, NULL, NULL, 0, "ok", "does not exist yet"},
        {"good", true, NULL, NULL, 0, "ok", "schema 1, 3 targets, 6 histories, "},
        {"with a day more", true, NULL,
         "INSERT INTO ledger (span, axis, start_ms, number, packed, crc) VALUES (1, 3, 86400000, 0, zeroblob(1000), 0)",
         0, "ok", " MiB once the ledger, now of 2 days, is full"},
        {"without a ledger", true, NULL, "DELETE FROM ledger", 0, "ok", " MiB, more with the ledger"},
        {"unclean", true, NULL, "UPDATE mark SET clean = 0", 0, "ok", "not closed cleanly"},
        {"a text", false, "somebody's file\n", NULL, 0, "FAIL", "is not a database of halflife"},
        {"another's database", false, NULL, "CREATE TABLE x (y); PRAGMA application_id = 77", 0, "FAIL",
         "is not a database of halflife"},
        {"newer", true, NULL, "PRAGMA user_version = 1000", 0, "FAIL",
         "run the newer one, or give another path and import what the newer one writes by halflife export --all "
         "--database "},
        {"cut short", true, NULL, NULL, 20000, "warn", "its end is missing"},
        {"rows damaged", true, NULL, "UPDATE usage0 SET packed = x'00'; UPDATE usage1 SET packed = x'00'", 0, "warn",
         "6 damaged rows"},
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

static int times(const char *text, const char *part)
{
        int count = 0;
        for (const char *at = text; (at = strstr(at, part)); at++)
                count++;
        return count;
}

static void test_room(void **state)
{
        static const struct {
                int64_t bytes, later, left;
                const char *line, *way_out; /* NULL: nothing is said */
        } room[] = {
                {10 << 20, 10 << 20, 0, NULL, NULL},
                {10 << 20, 20 << 20, 10 << 20, NULL, NULL},
                {10 << 20, (20 << 20) + 1, 10 << 20, "has 10.0 MiB free, and the database will need 10.0 more",
                 "enlarge the volume by 1 MiB at least"},
                {1 << 20, 301 << 20, 50 << 20, "has 50.0 MiB free, and the database will need 300.0 more",
                 "enlarge the volume by 250 MiB at least"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof room / sizeof room[0]; i++) {
                struct checking c = {0};
                int kept = capture_begin(STDOUT_FILENO);
                check_database_room(&c, "/data/h.db", room[i].bytes, room[i].later, room[i].left);
                AUTO(mem_free) char *text = capture_end(STDOUT_FILENO, kept);
                if (room[i].line ? !strstr(text, room[i].line) || !strstr(text, room[i].way_out) || c.warned != 1
                                 : *text || c.warned)
                        fail_msg("row %zu: %s", i, text);
                assert_int_equal(c.failed, 0);
        }
}

/* A setting by its former name: check warns and says the new name; run and serve log it, once. */
static void test_former_names(void **state)
{
        (void)state;
        char command[] = "x", kubeconfig[] = "--kubeconfig=/nonexistent", url[] = "--learner-url=https://a",
             database[] = "--database=";
        char *argv[] = {command, kubeconfig, url, database, NULL}, *now[] = {command, kubeconfig, database, NULL};
        setenv("HALFLIFE_LEARNER_CA", "/nonexistent", 1);
        AUTO(mem_free) char *checked = said(&command_check, STDOUT_FILENO, argv, EXIT_FAILED);
        AUTO(mem_free) char *ran = said(&command_run, STDERR_FILENO, argv, EXIT_FAILED);
        AUTO(mem_free) char *served = said(&command_serve, STDERR_FILENO, argv, EXIT_FAILED);
        unsetenv("HALFLIFE_LEARNER_CA");
        AUTO(mem_free) char *silent = said(&command_check, STDOUT_FILENO, now, EXIT_FAILED);
        static const char *const wanted[] = {
                "warn  setting 'learner-url' is 'upstream-url' now\n      set upstream-url",
                "warn  setting 'learner-ca' is 'upstream-ca' now\n      set upstream-ca"};
        for (int i = 0; i < 2; i++)
                if (times(checked, wanted[i]) != 1)
                        fail_msg("check does not say once '%s':\n%s", wanted[i], checked);
        static const char *const logged[] = {"former=learner-url now=upstream-url",
                                             "former=learner-ca now=upstream-ca"};
        for (int i = 0; i < 2; i++) {
                if (times(ran, logged[i]) != 1)
                        fail_msg("run does not log once '%s':\n%s", logged[i], ran);
                if (times(served, logged[i]) != 1)
                        fail_msg("serve does not log once '%s':\n%s", logged[i], served);
        }
        assert_null(strstr(silent, "setting '"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_held),
                cmocka_unit_test(test_room),
                cmocka_unit_test(test_former_names),
        };
        return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
