/*
 * A database under every fault: writes, syncs and opens that fail one after the other, kills at any moment, bytes
 * damaged, ends cut off, files that are not ours. What is in the file afterwards is the old state or the new one.
 */
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/fault_vfs.h"
#include "../support/slowed.h"
#include "../support/store_image.h"
#include "../support/tmp.h"
#include "base/file_read.h"
#include "base/mem.h"

enum { EVERY = UNLESS_SLOWED(1, 7) }; /* of the places where a fault can be */

static struct image before, after;

static int set_up(void **state)
{
        (void)state;
        if (access("/dev/shm", W_OK) == 0) /* thousands of syncs; the faults are ours, not a disk's */
                setenv("TMPDIR", "/dev/shm", 0);
        image_fill(&before, 12, 1);
        image_fill(&after, 12, 2);
        fault_install();
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        image_release(&before);
        image_release(&after);
        return 0;
}

static char *file_named(const char *name)
{
        char *path = tmp_path(name);
        image_remove(path);
        return path;
}

static bool is_before_or_after(const struct image *got)
{
        return !image_difference(got, &before) || !image_difference(got, &after);
}

static int open_quietly(const char *path, struct store **ret, struct err *err)
{
        struct store_options o = {.path = path, .told = image_note_result, .now = {1700000000000}};
        return store_open(&o, ret, image_note, err);
}

static void submit(struct store *s, const struct image *i)
{
        struct store_batch *b = store_batch_new();
        image_put(i, b);
        store_submit(s, b);
}

/* --- the nth operation fails --- */

static const struct {
        const char *what;
        enum fault_kind kind;
        int code; /* the result that SQLite gets */
} faults[] = {
        {"write: I/O error", FAULT_WRITE, SQLITE_IOERR_WRITE},
        {"write: disk full", FAULT_WRITE, SQLITE_FULL},
        {"write: half of it, then disk full", FAULT_SHORT_WRITE, SQLITE_FULL},
        {"write: half of it, then I/O error", FAULT_SHORT_WRITE, SQLITE_IOERR_WRITE},
        {"sync: I/O error", FAULT_SYNC, SQLITE_IOERR_FSYNC},
        {"open: cannot", FAULT_OPEN, SQLITE_CANTOPEN},
        {"truncate: I/O error", FAULT_TRUNCATE, SQLITE_IOERR_TRUNCATE},
        {"read: I/O error", FAULT_READ, SQLITE_IOERR_READ},
        {"shared memory: I/O error", FAULT_SHM, SQLITE_IOERR_SHMMAP},
};

/* Open, load, write after, close, with the nth fault; whether it fired. Nothing fails without one. */
static bool write_with_fault(const char *path, size_t which, unsigned nth, bool lasting)
{
        struct store *s = NULL;
        struct err err = {0};
        struct image loaded = {0};
        fault_arm(faults[which].kind, faults[which].code, nth, lasting);
        int rc = open_quietly(path, &s, &err);
        if (rc == 0) {
                rc = image_try_load(&loaded, s, &err);
                image_release(&loaded);
                submit(s, &after);
                struct err why = {0};
                int closed = store_close(s, &why);
                if (closed < 0)
                        err = why;
                rc = closed < 0 ? closed : rc;
        }
        bool fired = fault_disarm();
        if (rc < 0 && !fired)
                fail_msg("%s, number %u: failed without a fault: %s", faults[which].what, nth, err.text);
        return fired;
}

static void judge_fault(const char *path, size_t which, unsigned nth, bool fired, bool made_before)
{
        struct image got = {0};
        image_load(&got, path);
        bool empty = !made_before && got.usages == 0 && got.targets == 0;
        if (!empty && !is_before_or_after(&got))
                fail_msg("%s, number %u: %s; %s", faults[which].what, nth, image_difference(&got, &after), image_note);
        if (!fired)
                image_assert_equal(&got, &after);
        image_release(&got);
}

static void each_fault(const char *name, bool lasting, bool made_before)
{
        char *path AUTO(mem_free) = file_named(name);
        for (size_t which = 0; which < sizeof faults / sizeof faults[0]; which++) {
                bool fired = true;
                unsigned nth = 0;
                for (; fired; nth += EVERY) {
                        image_remove(path);
                        if (made_before)
                                image_save(&before, path);
                        fired = write_with_fault(path, which, nth, lasting);
                        judge_fault(path, which, nth, fired, made_before);
                        assert_true(nth < 2000);
                }
                print_message("%s: places up to %u\n", faults[which].what, nth);
        }
}

static void test_one_fault(void **state)
{
        (void)state;
        each_fault("fault.db", false, true);
}

static void test_fault_that_lasts(void **state)
{
        (void)state;
        each_fault("lasting.db", true, true);
}

static void test_fault_in_a_new_file(void **state)
{
        (void)state;
        each_fault("new.db", false, false);
}

/* What a load did not reach would be begun anew, and written over: so nothing is. */
static void test_unread_is_not_written_over(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("unread.db");
        unsigned failed = 0;
        bool fired = true;
        for (unsigned nth = 0; fired; nth++) {
                struct store *s = NULL;
                struct image part = {0}, got = {0};
                struct err err = {0};
                image_remove(path);
                image_save(&before, path);
                assert_int_equal(open_quietly(path, &s, &err), 0);
                fault_arm(FAULT_READ, SQLITE_IOERR_READ, nth, false);
                int rc = image_try_load(&part, s, &err);
                fired = fault_disarm();
                submit(s, &after);
                submit(s, &after);
                int closed = store_close(s, &err);
                assert_int_equal(closed, rc);
                image_load(&got, path);
                image_assert_equal(&got, rc < 0 ? &before : &after);
                failed += rc < 0;
                image_release(&part);
                image_release(&got);
        }
        assert_true(failed > 0);
}

/* --- a full disk: kept, told once, written with the next --- */

static void test_disk_full(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("full.db");
        struct image got = {0};
        image_save(&before, path);
        struct store *s = image_open(path);
        fault_arm(FAULT_WRITE, SQLITE_FULL, 0, true);
        submit(s, &before);
        image_wait(1);
        assert_int_equal(image_told.err.code, ERR_NOSPACE);
        assert_int_equal(image_told.batch, 1);
        print_message("%s\n", image_told.err.text);
        for (int i = 0; i < 5; i++)
                store_submit(s, store_batch_new());
        assert_true(fault_fired(5));          /* tried again, */
        assert_int_equal(image_results(), 1); /* not reported again */
        fault_disarm();
        submit(s, &after);
        image_close(s);
        assert_int_equal(image_told.err.code, 0);
        assert_int_equal(image_told.batch, 7);
        image_load(&got, path);
        image_assert_equal(&got, &after);
        image_release(&got);
}

/* A file that is opened again after an error, and is whole, is no damaged one. */
static void test_error_is_no_damage(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("error.db");
        struct image got = {0};
        struct store *s = image_open(path);
        submit(s, &before);
        image_wait(1);
        fault_arm(FAULT_WRITE, SQLITE_IOERR_WRITE, 0, true);
        submit(s, &before);
        image_wait(2);
        assert_int_equal(image_told.err.code, ERR_IO);
        fault_disarm();
        submit(s, &after);
        image_close(s);
        assert_int_equal(image_results(), 3);
        assert_int_equal(image_told.err.code, 0);
        assert_int_equal(image_told.batch, 3);
        image_load(&got, path);
        image_assert_equal(&got, &after);
        image_release(&got);
}

/* What waits for a disk that is full for long stays as large as what differs. */
static void test_disk_full_for_long(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("long.db");
        struct image big = {0}, got = {0};
        image_fill(&big, 400, 3);
        struct store *s = image_open(path);
        fault_arm(FAULT_WRITE, SQLITE_FULL, 0, true);
        for (int i = 0; i < 100; i++)
                submit(s, &big);
        assert_true(fault_fired(5));
        fault_disarm();
        store_submit(s, store_batch_new());
        image_close(s);
        size_t rows = big.usages + big.targets + big.kills + 1;
        assert_int_equal(image_told.err.code, 0);
        print_message("%lld rows of %zu\n", (long long)image_most_rows, rows);
        assert_true(image_most_rows > 0 && (size_t)image_most_rows <= 3 * rows);
        image_load(&got, path);
        image_assert_equal(&got, &big);
        image_release(&got);
        image_release(&big);
}

/* --- kill -9 --- */

enum { KILLS = 40, LIFE_US = 60000, TURNS = 1000000 };

static _Noreturn void write_for_ever(const char *path)
{
        struct store *s = NULL;
        struct err err;
        if (open_quietly(path, &s, &err) < 0)
                _exit(1);
        int told = image_results();
        for (int turn = 1; turn < TURNS; turn++) {
                submit(s, turn % 2 ? &before : &after);
                image_wait(told + turn);
        }
        _exit(0);
}

static void test_kill_at_any_moment(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("kill.db");
        unsigned seed = 12345, written = 0;
        for (int n = 0; n < KILLS || (written == 0 && n < 9 * KILLS); n++) { /* where the machine is slow: later */
                struct image got = {0};
                int status, life_us = LIFE_US * (1 + n / KILLS);
                pid_t child = fork();
                if (child == 0)
                        write_for_ever(path);
                usleep((useconds_t)(rand_r(&seed) % life_us)); /* the moment; nothing waits for it */
                kill(child, SIGKILL);
                waitpid(child, &status, 0);
                assert_true(WIFSIGNALED(status));
                image_load(&got, path);
                if (got.refused || ((got.usages || got.targets) && !is_before_or_after(&got)))
                        fail_msg("kill %d: %s; %s", n, image_difference(&got, &after), image_note);
                written += got.usages > 0;
                image_release(&got);
        }
        print_message("%u of %d found a whole batch\n", written, KILLS);
        assert_true(written > 0);
}

/* --- damage --- */

/* Files set aside, their logs not counted. */
static size_t aside_count(const char *path)
{
        char *pattern AUTO(mem_free) = mem_printf("%s.damaged-*[Z0-9]", path);
        glob_t found;
        size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
        globfree(&found);
        return count;
}

/* Every history that is loaded was saved so: its newest generation, or the one before. */
static void assert_only_saved(const struct image *got, const char *what)
{
        for (size_t n = 0; n < got->usages; n++) {
                const struct image_usage *u = &got->usage[n];
                const struct image_usage *x = image_find(&before, &u->key), *y = image_find(&after, &u->key);
                if (!x || !y || (!image_usage_equal(u, x) && !image_usage_equal(u, y)))
                        fail_msg("%s: history %s/%s was never saved so", what, u->key.part[3], u->key.part[4]);
        }
}

struct outcome {
        unsigned whole, refused, aside, left;
};

static void assert_writable(const char *path, const char *what)
{
        struct image got = {0};
        image_save(&after, path);
        image_load(&got, path);
        for (size_t n = 0; n < after.usages; n++) {
                const struct image_usage *u = image_find(&got, &after.usage[n].key);
                if (!u || !image_usage_equal(u, &after.usage[n]))
                        fail_msg("%s: history %zu was written again, and is not there", what, n);
        }
        image_release(&got);
}

/* Open what was damaged: a file that is ours opens, whatever is wrong with it, and can be written to. */
static void judge(const char *path, const char *what, struct outcome *o)
{
        struct store *s = NULL;
        struct err err = {0};
        struct image got = {0};
        int rc = open_quietly(path, &s, &err);
        if (rc == ERR_INVALID) { /* the damage hit what tells that it is ours */
                o->left++;
                return;
        }
        if (rc < 0)
                fail_msg("%s: %s", what, err.text);
        if (image_try_load(&got, s, &err) < 0)
                fail_msg("%s: load: %s", what, err.text);
        image_close(s);
        assert_only_saved(&got, what);
        bool whole = !image_difference(&got, &after), aside = aside_count(path) > 0;
        if (!whole && !got.refused && !aside)
                fail_msg("%s: lost without a word: %s", what, image_difference(&got, &after));
        o->whole += whole;
        o->refused += !whole && !aside;
        o->aside += aside;
        image_release(&got);
        assert_writable(path, what);
}

static char *saved_twice(const char *path, size_t *ret_len)
{
        struct err err;
        image_remove(path);
        image_save(&before, path);
        image_save(&after, path);
        char *bytes = file_read(path, 64u << 20, ret_len, &err);
        assert_non_null(bytes);
        return bytes;
}

static void write_file(const char *path, const void *bytes, size_t len)
{
        image_remove(path);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        assert_int_equal(write(fd, bytes, len), len);
        close(fd);
}

static void test_damaged_bytes(void **state)
{
        (void)state;
        enum { CASES = 150 / EVERY, LONGEST = 5000 };
        char *path AUTO(mem_free) = file_named("bytes.db");
        struct outcome o = {0};
        unsigned seed = 777;
        size_t len;
        char *good AUTO(mem_free) = saved_twice(path, &len);
        for (int n = 0; n < CASES; n++) {
                char what[64];
                char *bad AUTO(mem_free) = mem_new(len);
                size_t from = (size_t)rand_r(&seed) % len, run = n % 3 ? 1 : 1 + (size_t)rand_r(&seed) % LONGEST;
                memcpy(bad, good, len);
                for (size_t i = from; i < len && i < from + run; i++)
                        bad[i] = (char)(bad[i] ^ (1 + rand_r(&seed) % 255));
                snprintf(what, sizeof what, "case %d, %zu bytes from %zu", n, run, from);
                write_file(path, bad, len);
                judge(path, what, &o);
        }
        print_message("whole %u, rows refused %u, set aside %u, left alone %u\n", o.whole, o.refused, o.aside, o.left);
        assert_true(o.whole > 0 && o.refused > 0 && o.aside > 0);
}

static void test_truncated(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("short.db");
        struct outcome o = {0};
        size_t len;
        char *good AUTO(mem_free) = saved_twice(path, &len);
        for (size_t cut = 1; cut < len; cut = cut < 8192 ? cut * 2 : (cut / 8192 + 1) * 8192) {
                char what[64];
                snprintf(what, sizeof what, "cut to %zu of %zu bytes", cut, len);
                write_file(path, good, cut);
                judge(path, what, &o);
        }
        print_message("set aside %u, left alone %u\n", o.aside, o.left);
        assert_int_equal(o.left, 0);
}

/* A file set aside is reported, with the number of rows carried over. The rows then loaded are those of the new
 * file. */
static void test_carried_over(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("carry.db");
        struct image big = {0}, got = {0}, again = {0};
        struct err err;
        size_t len;
        image_fill(&big, 400, 1);
        image_save(&big, path);
        char *bytes AUTO(mem_free) = file_read(path, 64u << 20, &len, &err);
        memset(bytes + len / 8192 / 2 * 8192, 0xa5, 8192); /* one page in the middle */
        write_file(path, bytes, len);
        image_load(&got, path);
        print_message("%zu of %zu histories; %s\n", got.usages, big.usages, got.refusal);
        assert_int_equal(aside_count(path), 1);
        assert_non_null(strstr(got.refusal, "rows carried over"));
        assert_true(got.usages > big.usages * 8 / 10);
        image_load(&again, path);
        image_assert_equal(&again, &got);
        image_release(&again);
        image_release(&got);
        image_release(&big);
}

/* A file that lost its end keeps what stands before it. */
static void test_cut_off_carried_over(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("cut.db");
        struct image big = {0}, got = {0};
        struct err err;
        size_t len;
        image_fill(&big, 400, 1);
        image_save(&big, path);
        char *bytes AUTO(mem_free) = file_read(path, 64u << 20, &len, &err);
        write_file(path, bytes, len / 8192 * 3 / 4 * 8192);
        image_load(&got, path);
        print_message("%zu of %zu histories; %s\n", got.usages, big.usages, got.refusal);
        assert_int_equal(aside_count(path), 1);
        assert_true(got.usages > big.usages / 3);
        image_release(&got);
        image_release(&big);
}

/* Damage found while running: the file is replaced, that is reported, and the batch is in the new file. */
static void test_damaged_while_running(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("running.db");
        struct image got = {0};
        image_save(&before, path);
        struct store *s = image_open(path);
        int fd = open(path, O_WRONLY);
        for (off_t page = 2; page < 20; page++)
                assert_int_equal(pwrite(fd, "garbage garbage garbage", 23, page * 8192), 23);
        close(fd);
        submit(s, &after);
        image_wait(2);
        image_close(s);
        if (image_told.err.code)
                fail_msg("%s", image_told.err.text);
        assert_int_equal(aside_count(path), 1);
        image_load(&got, path);
        image_assert_equal(&got, &after);
        image_release(&got);
}

/* The file is removed while running, or another halflife's is put in its place: that is reported, and what is written
 * is in the file that the path leads to. */
static void test_taken_away_while_running(void **state)
{
        (void)state;
        for (int replaced = 0; replaced < 2; replaced++) {
                char *path AUTO(mem_free) = file_named(replaced ? "other.db" : "removed.db");
                char *beside AUTO(mem_free) = file_named(replaced ? "beside-other.db" : "beside-removed.db");
                struct image got = {0};
                image_save(&before, path);
                image_save(&before, beside);
                struct store *s = image_open(path);
                submit(s, &after); /* its log now holds pages */
                image_wait(1);
                assert_int_equal(replaced ? rename(beside, path) : unlink(path), 0);
                submit(s, &after);
                image_wait(2);
                image_close(s);
                if (image_told.err.code)
                        fail_msg("%s", image_told.err.text);
                assert_int_equal(aside_count(path), 0);
                image_load(&got, path);
                image_assert_equal(&got, &after);
                image_release(&got);
        }
}

/* Whose head stands at this page's start: rows of a table, in the order of their ids. */
static bool is_leaf_of_table(const char *page)
{
        return page[0] == 13 && page[4] != 0;
}

static char *last_row_of(char *page)
{
        size_t rows = (size_t)(uint8_t)page[3] << 8 | (uint8_t)page[4];
        const uint8_t *at = (const uint8_t *)page + 8 + 2 * (rows - 1);
        return page + (at[0] << 8 | at[1]);
}

/* The id that a row goes by: behind its length, a number of seven bits a byte like itself. */
static char *id_of(char *row)
{
        while (*row & 0x80)
                row++;
        return row + 1;
}

/*
 * One row of a page has an id out of order. All other rows are readable and valid, so a load finds no fault. A row
 * written beside it could not be found again, so the file is replaced before a write, and that is reported.
 */
static void test_damage_that_reads_well(void **state)
{
        (void)state;
        enum { PAGE = 8192, WRONG = 20, MORE = 5 };
        char *path AUTO(mem_free) = file_named("order.db");
        struct image more = {0};
        unsigned replaced = 0, at_write = 0;
        size_t len;
        char *good AUTO(mem_free) = saved_twice(path, &len);
        image_fill(&more, 12 + MORE, 3);
        for (size_t at = PAGE; at < len; at += PAGE) {
                struct image loaded = {0}, got = {0};
                char *bad AUTO(mem_free) = memcpy(mem_new(len), good, len);
                if (!is_leaf_of_table(bad + at))
                        continue;
                *id_of(last_row_of(bad + at)) += WRONG;
                write_file(path, bad, len);
                struct store *s = image_open(path);
                image_load_from(&loaded, s);
                size_t before_write = aside_count(path);
                submit(s, &more);
                image_close(s);
                at_write += aside_count(path) > before_write;
                image_load(&got, path);
                replaced += aside_count(path) > 0;
                if (image_difference(&got, &more))
                        fail_msg("page %zu: %s", at / PAGE + 1, image_difference(&got, &more));
                image_release(&loaded);
                image_release(&got);
        }
        print_message("%u replaced, %u of them at the first write\n", replaced, at_write);
        assert_true(at_write > 0);
        image_release(&more);
}

static void run_sql(const char *path, const char *sql)
{
        sqlite3 *db;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
}

/* What the schema says of a table. */
static size_t of_table(const char *path, const char *table, const char *what)
{
        char *sql AUTO(mem_free) = mem_printf("SELECT %s FROM sqlite_schema WHERE name = '%s'", what, table);
        sqlite3 *db;
        sqlite3_stmt *s;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(s), SQLITE_ROW);
        int64_t number = sqlite3_column_int64(s, 0);
        sqlite3_finalize(s);
        sqlite3_close(db);
        return (size_t)number;
}

/* A table whose page says in good order that it holds nothing: nothing that is there is wrong, only its index tells
 * what is not. */
static void test_emptied_table(void **state)
{
        (void)state;
        enum { PAGE = 8192 };
        static const char *const table[] = {"target", "history", "usage0", "usage1", "kill", "note"};
        static const char empty[8] = {13, 0, 0, 0, 0, 0x20, 0, 0};
        char *path AUTO(mem_free) = file_named("emptied.db");
        size_t len;
        char *good AUTO(mem_free) = saved_twice(path, &len);
        for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
                char *bad AUTO(mem_free) = memcpy(mem_new(len), good, len);
                struct image got = {0};
                struct outcome o = {0};
                write_file(path, good, len);
                char *page = bad + (of_table(path, table[i], "rootpage") - 1) * PAGE;
                if (!is_leaf_of_table(page))
                        continue;
                memcpy(page, empty, sizeof empty);
                write_file(path, bad, len);
                judge(path, table[i], &o);
                assert_int_equal(o.whole, 0);
                image_load(&got, path);
                if (got.refused || image_difference(&got, &after))
                        fail_msg("%s: written again, %s", table[i], image_difference(&got, &after));
                image_release(&got);
        }
}

/* The number of cells on a root page is one too small. The last row is not found, or is no longer there. */
static void test_hidden_row(void **state)
{
        (void)state;
        enum { PAGE = 8192, CELLS = 4 };
        static const char *const tree[] = {"ledger", "sqlite_autoindex_ledger_1", "change"};
        char *path AUTO(mem_free) = file_named("hidden.db");
        size_t len;
        char *good AUTO(mem_free) = saved_twice(path, &len);
        for (size_t i = 0; i < sizeof tree / sizeof tree[0]; i++) {
                char *bad AUTO(mem_free) = memcpy(mem_new(len), good, len);
                struct outcome o = {0};
                write_file(path, good, len);
                char *page = bad + (of_table(path, tree[i], "rootpage") - 1) * PAGE;
                assert_true(page[CELLS] > 0);
                page[CELLS]--;
                write_file(path, bad, len);
                judge(path, tree[i], &o);
                assert_int_equal(o.aside, 1);
        }
}

static void assert_set_aside(const char *path, const char *bytes, size_t len)
{
        char *pattern AUTO(mem_free) = mem_printf("%s.damaged-*Z", path);
        glob_t found;
        size_t len_now;
        struct err err;
        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        assert_int_equal(found.gl_pathc, 1);
        char *now AUTO(mem_free) = file_read(found.gl_pathv[0], 64u << 20, &len_now, &err);
        globfree(&found);
        assert_int_equal(len, len_now);
        assert_memory_equal(bytes, now, len);
}

/* One bit is flipped. No row is lost, and the damage is reported; the file itself stays as it was. */
static void judge_schema(const char *path, const char *good, size_t len, size_t at, unsigned bit)
{
        struct image got = {0}, again = {0};
        struct err err = {0};
        struct store *s = NULL;
        struct store_facts facts;
        char *bad AUTO(mem_free) = memcpy(mem_new(len), good, len);
        bad[at] = (char)(bad[at] ^ 1 << bit);
        write_file(path, bad, len);
        if (store_open_reader(path, &s, &err) != ERR_DAMAGED || store_inspect(path, &facts, &err) != ERR_DAMAGED)
                fail_msg("byte %zu ('%.20s'), bit %u: a reader sees nothing", at, good + at, bit);
        if (open_quietly(path, &s, &err) < 0 || image_try_load(&got, s, &err) < 0)
                fail_msg("byte %zu ('%.20s'), bit %u: %s", at, good + at, bit, err.text);
        bool told = strstr(image_note, "rows carried over") != NULL;
        image_close(s);
        if (!told || aside_count(path) != 1 || got.refused || image_difference(&got, &after))
                fail_msg("byte %zu ('%.20s'), bit %u: %s; %s", at, good + at, bit, image_difference(&got, &after),
                         image_note);
        image_save(&before, path);
        image_load(&again, path);
        image_assert_equal(&again, &before);
        assert_set_aside(path, bad, len);
        image_release(&again);
        image_release(&got);
}

static size_t place_of(const char *bytes, size_t len, const char *text)
{
        const char *at = memmem(bytes, len, text, strlen(text));
        assert_non_null(at);
        return (size_t)(at - bytes);
}

/*
 * The texts that make the tables, and the names that they go by: none of SQLite's own looks reads them for what they
 * should be. Before a text lie "table", the name twice and the page of its root.
 */
static void test_schema_damaged(void **state)
{
        (void)state;
        enum { STEP = 13 * EVERY, ROOT = 1 };
        static const char *const table[] = {"target", "history", "usage0", "usage1", "kill", "note", "mark"};
        char *path AUTO(mem_free) = file_named("schema.db");
        unsigned cases = 0;
        size_t len;
        char *good AUTO(mem_free) = saved_twice(path, &len);
        for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
                char *begin AUTO(mem_free) = mem_printf("CREATE TABLE %s (", table[i]);
                size_t text = place_of(good, len, begin), from = text - ROOT - 5 - 2 * strlen(table[i]);
                write_file(path, good, len);
                size_t end = text + of_table(path, table[i], "length(sql)");
                for (size_t at = from; at < end; at += at < text ? 1 : STEP)
                        if (at != text - ROOT)
                                judge_schema(path, good, len, at, cases++ % 8);
                const char *crc = memmem(good + text, end - text, "crc", 3);
                if (crc)
                        judge_schema(path, good, len, (size_t)(crc - good), 0);
        }
        judge_schema(path, good, len, place_of(good, len, "autoindex_kill_1"), 0);
        print_message("%u places\n", cases);
}

/* Tables of statistics are somebody else's, and no damage. */
static void test_schema_with_more(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("more.db");
        struct image got = {0};
        image_save(&after, path);
        run_sql(path, "ANALYZE");
        image_load(&got, path);
        image_assert_equal(&got, &after);
        assert_string_equal(image_note, "");
        assert_int_equal(aside_count(path), 0);
        image_release(&got);
}

/* Whole by every look, and nothing can be written to it: it is replaced, once. */
static void test_whole_and_not_writable(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("whole.db");
        struct image got = {0};
        image_save(&before, path);
        run_sql(path, "CREATE TRIGGER no BEFORE INSERT ON usage0 BEGIN SELECT RAISE(ABORT, 'no'); END;"
                      "CREATE TRIGGER never BEFORE INSERT ON usage1 BEGIN SELECT RAISE(ABORT, 'never'); END");
        struct store *s = image_open(path);
        image_load_from(&got, s);
        image_assert_equal(&got, &before);
        image_release(&got);
        submit(s, &after);
        image_close(s);
        assert_int_equal(image_told.err.code, 0);
        assert_int_equal(aside_count(path), 1);
        image_load(&got, path);
        image_assert_equal(&got, &after);
        assert_string_equal(image_note, "");
        image_release(&got);
}

/* A row that says to be longer than SQLite lets any be: damage, and no reason to leave the rest unread. */
static void test_row_too_long(void **state)
{
        (void)state;
        enum { PAGE = 8192 };
        char *path AUTO(mem_free) = file_named("long.db");
        struct outcome o = {0};
        size_t len;
        char *good AUTO(mem_free) = saved_twice(path, &len);
        for (size_t at = PAGE; at < len; at += PAGE) {
                char what[32];
                char *bad AUTO(mem_free) = memcpy(mem_new(len), good, len);
                if (!is_leaf_of_table(bad + at))
                        continue;
                char *row = last_row_of(bad + at), id = *id_of(row);
                /* two gigabytes; the id; the length of the columns' types, the first of them nothing, the second one a
                 * gigabyte of text */
                const char head[] = "\x87\xff\xff\xff\x7f?\x20\x00\x87\xff\xff\xff\x7f";
                if (row + sizeof head > bad + at + PAGE)
                        continue;
                memcpy(row, head, sizeof head - 1);
                row[5] = id;
                snprintf(what, sizeof what, "page %zu", at / PAGE + 1);
                write_file(path, bad, len);
                judge(path, what, &o);
        }
        print_message("whole %u, rows refused %u, set aside %u\n", o.whole, o.refused, o.aside);
        assert_true(o.aside > 0);
}

/* --- files that are not ours --- */

static void assert_left_alone(const char *path, const char *what, int code)
{
        struct store *s = NULL;
        struct err err = {0};
        struct stat was, is;
        size_t len, len_now;
        char *bytes AUTO(mem_free) = file_read(path, 64u << 20, &len, &err);
        stat(path, &was);
        int rc = open_quietly(path, &s, &err);
        print_message("%s: %s\n", what, err.text);
        assert_int_equal(rc, code);
        assert_null(s);
        stat(path, &is);
        char *now AUTO(mem_free) = file_read(path, 64u << 20, &len_now, &err);
        assert_int_equal(len, len_now);
        assert_memory_equal(bytes, now, len);
        assert_int_equal(was.st_ino, is.st_ino);
        assert_int_equal(aside_count(path), 0);
}

/* A name in the file that no row of ours can have: its target can be forgotten like any other, and it goes along. */
static void test_name_damaged(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = tmp_path("name.db");
        struct image got = {0};
        image_remove(path);
        image_save(&before, path);
        run_sql(path, "UPDATE history SET container = hex(zeroblob(1000)) WHERE id = 1");
        struct store *s = image_open(path);
        image_load_from(&got, s);
        assert_int_equal(got.refused, 1);
        assert_int_equal(got.usages, before.usages - 1);
        struct store_batch *b = store_batch_new();
        struct store_key key = image_key(&before.usage[0].key);
        store_batch_forget(b, &key);
        store_submit(s, b);
        image_close(s);
        image_release(&got);
        image_load(&got, path);
        assert_int_equal(got.refused, 0);
        assert_int_equal(got.usages, before.usages - IMAGE_CONTAINERS);
        image_release(&got);
}

/* A number under the id that the next history will have, which nobody wrote: nothing is counted on from it. */
static void test_stray_generation(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("stray.db");
        struct image more = {0}, later = {0}, got = {0};
        image_fill(&more, 13, 1);
        image_fill(&later, 13, 2);
        image_save(&before, path);
        run_sql(path, "INSERT INTO usage0 SELECT max(id) + 1, 9223372036854775806, 0, x'', x'' FROM history");
        image_save(&more, path);
        image_save(&later, path);
        image_load(&got, path);
        image_assert_equal(&got, &later);
        image_release(&got);
        image_release(&later);
        image_release(&more);
}

static void test_foreign(void **state)
{
        (void)state;
        static const struct {
                const char *what, *bytes, *sql;
                bool ours;
        } row[] = {
                {"a text", "hello, this is somebody's file\n", NULL, false},
                {"a longer text",
                 "It is longer than the head of a database, which is a hundred bytes, so that it is read to its end, "
                 "and told to be a text after all.",
                 NULL, false},
                {"another program's database", NULL, "CREATE TABLE x (y); PRAGMA application_id = 77", false},
                {"nobody's database", NULL, "CREATE TABLE usage0 (y)", false},
                {"a newer schema", NULL, "PRAGMA user_version = 1000", true},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char *path AUTO(mem_free) = file_named("foreign.db");
                if (row[i].bytes)
                        write_file(path, row[i].bytes, strlen(row[i].bytes));
                if (row[i].ours)
                        image_save(&before, path);
                if (row[i].sql)
                        run_sql(path, row[i].sql);
                assert_left_alone(path, row[i].what, ERR_INVALID);
        }
}

/* As a user other than root. */
static void assert_denied(const char *path)
{
        int status;
        pid_t child = fork();
        if (child == 0) {
                struct store *s = NULL;
                struct err err = {0};
                if (getuid() == 0 && setuid(65534) < 0)
                        _exit(2);
                int rc = open_quietly(path, &s, &err);
                fprintf(stderr, "# %s\n", err.text);
                _exit(rc == ERR_DENIED ? 0 : 1);
        }
        waitpid(child, &status, 0);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_read_only(void **state)
{
        (void)state;
        char *folder AUTO(mem_free) = tmp_path("folder");
        char *path AUTO(mem_free) = tmp_path("folder/read.db");
        char *missing AUTO(mem_free) = tmp_path("nowhere/read.db");
        struct store *s = NULL;
        struct err err;
        chmod(tmp_dir(), 0755);
        mkdir(folder, 0755);
        image_save(&before, path);
        char *lock AUTO(mem_free) = mem_printf("%s.lock", path);
        chmod(path, 0444);
        chmod(folder, 0555);
        assert_denied(path);
        chmod(folder, 0777); /* the folder may be written to, the file not */
        unlink(lock);
        assert_denied(path);
        assert_int_equal(open_quietly(missing, &s, &err), ERR_IO);
        print_message("%s\n", err.text);
}

static void test_second_process(void **state)
{
        (void)state;
        char *path AUTO(mem_free) = file_named("held.db");
        struct store *s = NULL;
        struct err err;
        char want[64], byte;
        int ready[2];
        assert_int_equal(pipe(ready), 0);
        pid_t child = fork();
        if (child == 0) {
                if (open_quietly(path, &s, &err) < 0 || write(ready[1], "x", 1) != 1)
                        _exit(1);
                pause();
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        int rc = open_quietly(path, &s, &err);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(ready[0]);
        close(ready[1]);
        snprintf(want, sizeof want, "process %ld", (long)child);
        assert_int_equal(rc, ERR_CONFLICT);
        assert_non_null(strstr(err.text, want));
        image_close(image_open(path)); /* its death let go of it */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_fault),
                cmocka_unit_test(test_fault_that_lasts),
                cmocka_unit_test(test_fault_in_a_new_file),
                cmocka_unit_test(test_unread_is_not_written_over),
                cmocka_unit_test(test_disk_full),
                cmocka_unit_test(test_error_is_no_damage),
                cmocka_unit_test(test_disk_full_for_long),
                cmocka_unit_test(test_kill_at_any_moment),
                cmocka_unit_test(test_damaged_bytes),
                cmocka_unit_test(test_truncated),
                cmocka_unit_test(test_cut_off_carried_over),
                cmocka_unit_test(test_carried_over),
                cmocka_unit_test(test_damaged_while_running),
                cmocka_unit_test(test_taken_away_while_running),
                cmocka_unit_test(test_damage_that_reads_well),
                cmocka_unit_test(test_emptied_table),
                cmocka_unit_test(test_hidden_row),
                cmocka_unit_test(test_schema_damaged),
                cmocka_unit_test(test_schema_with_more),
                cmocka_unit_test(test_whole_and_not_writable),
                cmocka_unit_test(test_row_too_long),
                cmocka_unit_test(test_stray_generation),
                cmocka_unit_test(test_name_damaged),
                cmocka_unit_test(test_foreign),
                cmocka_unit_test(test_read_only),
                cmocka_unit_test(test_second_process),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
