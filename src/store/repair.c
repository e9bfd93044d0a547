#include "repair.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/noun.h"
#include "scan.h"

/* SQLite's files beside a database. SQLite would apply a log left beside a new file of the same name. */
static const char *const companion[] = {"-wal", "-journal", "-shm" /* last: only deleted, never set aside */};
enum { COMPANIONS = sizeof companion / sizeof companion[0] };

static int file_error(struct err *err, const char *what, const char *path)
{
        int why = errno;
        int code = why == EACCES || why == EPERM || why == EROFS ? ERR_DENIED : why == ENOSPC ? ERR_NOSPACE : ERR_IO;
        return err_set(err, code, "%s '%s': %s", what, path, strerror(why));
}

void repair_remove_logs(const char *path)
{
        for (int i = 0; i < COMPANIONS; i++) {
                char *name AUTO(mem_free) = mem_printf("%s%s", path, companion[i]);
                unlink(name);
        }
}

static void repair_remove_all(const char *path)
{
        unlink(path);
        repair_remove_logs(path);
}

static int sync_folder(const char *path, struct err *err)
{
        char *copy AUTO(mem_free) = mem_string(path);
        int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int rc = fd < 0 || (fsync(fd) < 0 && errno != EINVAL) ? file_error(err, "sync the folder of", path) : 0;
        if (fd >= 0)
                close(fd);
        return rc;
}

/* --- carrying over --- */

static bool row_refused(int step)
{
        return (step & 0xff) == SQLITE_CONSTRAINT || (step & 0xff) == SQLITE_MISMATCH;
}

/* Insert the current row of s. Skip it if the table refuses it: a duplicate name, a null, an id that is no number. */
static int carry_row(struct db *to, sqlite3_stmt *put, const struct scan *s, int64_t *carried, struct err *err)
{
        for (int i = 0; i < s->table->count; i++)
                sqlite3_bind_value(put, i + 1, sqlite3_column_value(s->row, i));
        int step = sqlite3_step(put);
        int rc = step == SQLITE_DONE || row_refused(step) ? 0 : db_error(to, err, "write to");
        *carried += step == SQLITE_DONE;
        sqlite3_reset(put);
        return rc;
}

static int carry_table(struct db *from, struct db *to, enum db_table table, int64_t *carried, struct err *err)
{
        const struct db_columns *t = &db_tables[table];
        struct scan s;
        sqlite3_stmt *put = NULL;
        static const char values[] = "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8";
        char *sql AUTO(mem_free) =
                mem_printf("INSERT INTO %s (%s) VALUES (%.*s)", t->name, t->columns, 4 * t->count - 2, values);
        if (sqlite3_prepare_v2(to->sql, sql, -1, &put, NULL) != SQLITE_OK)
                return db_error(to, err, "write to");
        int rc = 0;
        scan_start(&s, from, table, true);
        while (rc == 0 && scan_next(&s))
                rc = carry_row(to, put, &s, carried, err);
        scan_end(&s);
        sqlite3_finalize(put);
        return rc;
}

/* Copy the readable rows of all tables to the new file, in one transaction. */
static int carry_over(struct db *from, const char *to_path, int64_t *ret_carried, struct err *err)
{
        struct db to;
        bool clean;
        int rc = db_open(&to, to_path, true, &clean, err);
        if (rc < 0)
                return rc;
        rc = db_run(&to, SQL_BEGIN, err);
        db_hold(from);
        for (int t = 0; rc == 0 && t < TABLES; t++)
                rc = carry_table(from, &to, (enum db_table)t, ret_carried, err);
        db_let_go(from);
        if (rc == 0)
                rc = db_run(&to, SQL_COMMIT, err);
        if (rc == 0) /* empty the log, since the rename moves only the file */
                rc = db_exec(&to, "PRAGMA wal_checkpoint(TRUNCATE)", err);
        db_close(&to);
        return rc;
}

/* --- setting aside --- */

static char *name_aside(const char *path, struct wall now)
{
        char time[WALL_TEXT_MAX], *to = time;
        wall_print(now, time);
        for (const char *from = time; *from; from++)
                if (*from != '-' && *from != ':')
                        *to++ = *from;
        *to = '\0';
        char *name = mem_printf("%s.damaged-%s", path, time);
        for (int n = 2; access(name, F_OK) == 0; n++) {
                mem_free(name);
                name = mem_printf("%s.damaged-%s-%d", path, time, n);
        }
        return name;
}

/* Set the logs aside before the file. A damaged file loses little without its log, but a log left beside the new file
 * would damage the new file. */
static int repair_set_aside(const char *path, const char *aside, struct err *err)
{
        for (int i = 0; i < COMPANIONS - 1; i++) {
                char *from AUTO(mem_free) = mem_printf("%s%s", path, companion[i]);
                char *to AUTO(mem_free) = mem_printf("%s%s", aside, companion[i]);
                if (rename(from, to) < 0 && errno != ENOENT)
                        return file_error(err, "set aside", from);
        }
        char *shared AUTO(mem_free) = mem_printf("%s%s", path, companion[COMPANIONS - 1]);
        unlink(shared);
        /* A hard link, so that the path never lacks a file; on a file system without hard links, a rename. */
        if (link(path, aside) < 0 && rename(path, aside) < 0)
                return file_error(err, "set aside", path);
        return 0;
}

static int put_in_place(const char *fresh, const char *path, struct err *err)
{
        if (rename(fresh, path) < 0)
                return file_error(err, "rename to", path);
        return sync_folder(path, err);
}

static int repair_make(const char *path, struct err *err)
{
        char *fresh AUTO(mem_free) = mem_printf("%s.new", path);
        repair_remove_all(fresh);
        repair_remove_all(path); /* the file is missing or empty, but its old logs may remain */
        int rc = db_create(fresh, err);
        if (rc == 0)
                rc = put_in_place(fresh, path, err);
        if (rc < 0)
                repair_remove_all(fresh);
        return rc;
}

/* Replace a damaged file. `from` is the file if it could be opened, and is closed here; NULL if it could not. */
static int repair_file(struct db *from, const char *path, const char *why, struct wall now, char note[static MEND_NOTE],
                       struct err *err)
{
        char *fresh AUTO(mem_free) = mem_printf("%s.new", path);
        char *aside AUTO(mem_free) = name_aside(path, now);
        int64_t carried = 0;
        repair_remove_all(fresh);
        int rc = db_create(fresh, err);
        if (rc == 0 && from)
                rc = carry_over(from, fresh, &carried, err);
        if (from)
                db_close(from);
        if (rc == 0)
                rc = repair_set_aside(path, aside, err);
        if (rc == 0)
                rc = put_in_place(fresh, path, err);
        if (rc < 0) {
                repair_remove_all(fresh);
                return err_wrap(err, "'%s' is damaged and could not be replaced", path);
        }
        snprintf(note, MEND_NOTE, "'%s' was damaged (%.150s): set aside as '%s', %s carried over", path, why, aside,
                 NOUN_COUNT(carried, "readable row"));
        return 0;
}

/* --- opening --- */

static int open_checked(struct db *d, const char *path, bool suspect, char note[static MEND_NOTE], struct err *err)
{
        bool clean;
        int rc = db_open(d, path, true, &clean, err);
        if (rc < 0 || (clean && !suspect))
                return rc;
        rc = db_check(d, suspect, err);
        if (rc == 0 && !clean && !note[0])
                snprintf(note, MEND_NOTE, "'%s' was not closed cleanly: checked and found intact", path);
        return rc;
}

/* d holds the damaged file if db_open succeeded; afterwards it holds the new file. */
static int replace_with_readable(struct db *d, const char *path, enum db_file file, const char *why, struct wall now,
                                 char note[static MEND_NOTE], struct err *err)
{
        bool clean;
        if (!d->sql && file != DB_BROKEN)
                (void)db_open_damaged(d, path, &(struct err){0});
        int rc = repair_file(d->sql ? d : NULL, path, why, now, note, err);
        if (rc == 0)
                rc = db_open(d, path, true, &clean, err);
        d->checked = d->replaced = rc == 0;
        return rc;
}

int repair_replace(struct db *d, const char *path, const char *why, struct wall now, char note[static MEND_NOTE],
                   struct err *err)
{
        bool clean;
        enum db_file file;
        *d = (struct db){0};
        int rc = db_judge(path, &file, err);
        if (rc == 0 && file != DB_BROKEN)
                rc = db_open(d, path, true, &clean, err);
        if (rc < 0 && rc != ERR_DAMAGED)
                return rc;
        return replace_with_readable(d, path, file, why, now, note, err);
}

int repair_open(struct db *d, const char *path, bool suspect, struct wall now, char note[static MEND_NOTE],
                struct err *err)
{
        enum db_file file;
        struct err why = {.text = "its beginning is not readable"};
        *d = (struct db){0};
        int rc = db_judge(path, &file, err);
        if (rc == 0 && file == DB_MISSING)
                rc = repair_make(path, err);
        if (rc < 0)
                return rc;
        rc = file == DB_BROKEN ? ERR_DAMAGED : open_checked(d, path, suspect || file == DB_SHORT, note, &why);
        if (rc == ERR_DAMAGED)
                return replace_with_readable(d, path, file, why.text, now, note, err);
        if (rc < 0) {
                db_close(d);
                *err = why;
        }
        return rc;
}
