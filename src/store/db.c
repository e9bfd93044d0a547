#include "db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { BUSY_MS = 5000 };

const struct db_columns db_tables[TABLES] = {
        [TABLE_TARGET] = {"target", "id, ns, api_group, kind, name, record, gone_ms, crc", 8, false},
        [TABLE_HISTORY] = {"history", "id, target, container, crc", 4, false},
        [TABLE_USAGE0] = {"usage0", "id, generation, crc, packed, doors", 5, false},
        [TABLE_USAGE1] = {"usage1", "id, generation, crc, packed, doors", 5, false},
        [TABLE_KILL] = {"kill", "id, target, container, uid, restarts, at_ms, bytes, crc", 8, true},
        [TABLE_NOTE] = {"note", "id, name, value, crc", 4, true},
        [TABLE_LEDGER] = {"ledger", "id, span, axis, start_ms, number, packed, crc", 7, false},
        [TABLE_CHANGE] = {"change", "id, at_ms, record, crc", 4, false},
};

/* Entry n - 1 turns schema n - 1 into schema n. There is no way back, and a released entry never changes. */
static const char *const migration[DB_SCHEMA] = {
        "CREATE TABLE target (id INTEGER PRIMARY KEY, ns TEXT NOT NULL, api_group TEXT NOT NULL, kind TEXT NOT NULL,"
        "  name TEXT NOT NULL, record TEXT, gone_ms INTEGER NOT NULL, crc INTEGER NOT NULL,"
        "  UNIQUE (ns, name, kind, api_group));"
        "CREATE TABLE history (id INTEGER PRIMARY KEY, target INTEGER NOT NULL, container TEXT NOT NULL,"
        "  crc INTEGER NOT NULL, UNIQUE (target, container));"
        "CREATE TABLE usage0 (id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, crc INTEGER NOT NULL,"
        "  packed BLOB NOT NULL, doors BLOB NOT NULL);"
        "CREATE TABLE usage1 (id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, crc INTEGER NOT NULL,"
        "  packed BLOB NOT NULL, doors BLOB NOT NULL);"
        "CREATE TABLE kill (id INTEGER PRIMARY KEY, target INTEGER NOT NULL, container TEXT NOT NULL,"
        "  uid BLOB NOT NULL, restarts INTEGER NOT NULL, at_ms INTEGER NOT NULL, bytes REAL NOT NULL,"
        "  crc INTEGER NOT NULL, UNIQUE (target, container, uid, restarts));"
        "CREATE TABLE note (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value TEXT NOT NULL,"
        "  crc INTEGER NOT NULL);"
        "CREATE TABLE mark (id INTEGER PRIMARY KEY CHECK (id = 1), clean INTEGER NOT NULL);"
        "INSERT INTO mark VALUES (1, 1);",
};

/* These tables do not raise the schema's number, so older versions of halflife still open the file, and leave them
 * alone. */
static const struct {
        const char *sql, *exists;
} later[LATER_TABLES] = {
        [LATER_LEDGER] = {"CREATE TABLE IF NOT EXISTS ledger (id INTEGER PRIMARY KEY, span INTEGER NOT NULL, axis "
                          "INTEGER NOT NULL,"
                          "  start_ms INTEGER NOT NULL, number INTEGER NOT NULL, packed BLOB NOT NULL, crc INTEGER "
                          "NOT NULL,"
                          "  UNIQUE (span, axis, start_ms, number));",
                          "SELECT count(*) FROM sqlite_schema WHERE tbl_name = 'ledger'"},
        [LATER_CHANGE] = {"CREATE TABLE IF NOT EXISTS change (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL,"
                          " record TEXT NOT NULL, crc INTEGER NOT NULL);",
                          "SELECT count(*) FROM sqlite_schema WHERE tbl_name = 'change'"},
};

/* --- errors --- */

static bool disk_full(int system)
{
        return system == ENOSPC || system == EDQUOT || system == EFBIG;
}

static int db_code_of(sqlite3 *sql)
{
        int system = sqlite3_system_errno(sql), rc = sqlite3_extended_errcode(sql);
        switch (rc & 0xff) {
        case SQLITE_OK:
        case SQLITE_ROW:
        case SQLITE_DONE:
                return 0;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return ERR_RETRY;
        case SQLITE_FULL:
                return ERR_NOSPACE;
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH:
                return ERR_DENIED;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_CONSTRAINT: /* halflife breaks no constraint, so an index differs from its table */
        case SQLITE_ERROR:      /* halflife's statements fit its schema, so the schema was changed */
        case SQLITE_SCHEMA:
        case SQLITE_MISMATCH:
        case SQLITE_TOOBIG: /* halflife binds no large values, so a row claims a wrong size */
                return ERR_DAMAGED;
        case SQLITE_CANTOPEN:
        case SQLITE_IOERR:
                if (system == EACCES || system == EPERM || system == EROFS)
                        return ERR_DENIED;
                return disk_full(system) ? ERR_NOSPACE : ERR_IO;
        default:
                return ERR_IO;
        }
}

static const char *way_out(int code)
{
        switch (code) {
        case ERR_RETRY:
                return "; another program holds it";
        case ERR_NOSPACE:
                return "; free space on its disk";
        case ERR_DENIED:
                return "; the file and its folder must be writable";
        default:
                return "";
        }
}

int db_error(struct db *d, struct err *err, const char *fmt, ...)
{
        char what[ERR_TEXT_MAX];
        int code = db_code_of(d->sql), system = sqlite3_system_errno(d->sql);
        va_list args;
        va_start(args, fmt);
        vsnprintf(what, sizeof what, fmt, args);
        va_end(args);
        bool tell = system && (code == ERR_IO || code == ERR_DENIED || code == ERR_NOSPACE);
        return err_set(err, code ? code : ERR_IO, "%s '%s': %s%s%s%s", what, d->path, sqlite3_errmsg(d->sql),
                       tell ? ": " : "", tell ? strerror(system) : "", way_out(code));
}

/* --- statements --- */

sqlite3_stmt *db_statement(struct db *d, enum statement which, struct err *err)
{
        sqlite3_stmt **s = &d->statement[which];
        if (!*s && sqlite3_prepare_v3(d->sql, db_statements[which], -1, SQLITE_PREPARE_PERSISTENT, s, NULL))
                db_error(d, err, "use");
        return *s;
}

int db_run(struct db *d, enum statement which, struct err *err)
{
        sqlite3_stmt *s = db_statement(d, which, err);
        if (!s)
                return err->code;
        int step, rc = 0;
        while ((step = sqlite3_step(s)) == SQLITE_ROW)
                ;
        if (step != SQLITE_DONE)
                rc = db_error(d, err, which == SQL_COMMIT ? "commit to" : "write to");
        sqlite3_reset(s);
        return rc;
}

int db_exec(struct db *d, const char *sql, struct err *err)
{
        return sqlite3_exec(d->sql, sql, NULL, NULL, NULL) ? db_error(d, err, "set up") : 0;
}

void db_hold(struct db *d)
{
        (void)sqlite3_exec(d->sql, "BEGIN", NULL, NULL, NULL);
}

void db_let_go(struct db *d)
{
        (void)sqlite3_exec(d->sql, "ROLLBACK", NULL, NULL, NULL);
}

int64_t db_number(struct db *d, const char *sql)
{
        sqlite3_stmt *s = NULL;
        int64_t n = -1;
        if (sqlite3_prepare_v2(d->sql, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
                n = sqlite3_column_int64(s, 0);
        sqlite3_finalize(s);
        return n;
}

int64_t db_bytes(const struct db *d)
{
        struct stat st;
        char *wal AUTO(mem_free) = mem_printf("%s-wal", d->path);
        int64_t bytes = stat(d->path, &st) == 0 ? st.st_size : 0;
        return bytes + (stat(wal, &st) == 0 ? st.st_size : 0);
}

/* --- what a file is --- */

enum { HEADER = 100, MAGIC = 16, AT_PAGE_SIZE = 16, AT_PAGES = 28, AT_SCHEMA = 60, AT_APPLICATION = 68 };
static const char magic[MAGIC] = "SQLite format 3";

static int64_t big_endian(const uint8_t *p, int bytes)
{
        int64_t n = 0;
        for (int i = 0; i < bytes; i++)
                n = n << 8 | p[i];
        return n;
}

static int db_header_read(const char *path, uint8_t head[static HEADER], ssize_t *ret_len, int64_t *ret_size,
                          struct err *err)
{
        struct stat st = {0};
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        *ret_len = *ret_size = 0;
        if (fd < 0 && errno == ENOENT)
                return 0;
        *ret_len = fd < 0 || fstat(fd, &st) < 0 ? -1 : S_ISREG(st.st_mode) ? pread(fd, head, HEADER, 0) : 0;
        int why = errno;
        if (fd >= 0)
                close(fd);
        *ret_size = st.st_size;
        if (*ret_len < 0)
                return err_set(err, why == EACCES || why == EPERM ? ERR_DENIED : ERR_IO, "read '%s': %s", path,
                               strerror(why));
        if (fd >= 0 && !S_ISREG(st.st_mode))
                return err_set(err, ERR_INVALID, "'%s' is not a file: give the database a path of its own", path);
        return 0;
}

static bool db_all_zero(const uint8_t *p, size_t len)
{
        while (len > 0 && p[len - 1] == 0)
                len--;
        return len == 0;
}

int db_judge(const char *path, enum db_file *ret, struct err *err)
{
        uint8_t head[HEADER] = {0};
        ssize_t len;
        int64_t size;
        int rc = db_header_read(path, head, &len, &size, err);
        if (rc < 0)
                return rc;
        *ret = DB_MISSING;
        if (len == 0)
                return 0;
        bool named = memcmp(head, magic, len < MAGIC ? (size_t)len : MAGIC) == 0;
        bool ours = big_endian(head + AT_APPLICATION, 4) == DB_APPLICATION;
        int64_t schema = big_endian(head + AT_SCHEMA, 4), page = big_endian(head + AT_PAGE_SIZE, 2);
        *ret = DB_BROKEN;
        if ((named && len < HEADER) || (!named && (ours || db_all_zero(head, (size_t)len))))
                return 0;
        if (!ours)
                return err_set(err, ERR_INVALID,
                               "'%s' is not a database of halflife, and is left as it is: give another path", path);
        if (schema > DB_SCHEMA)
                return err_set(err, ERR_INVALID,
                               "'%s' has schema %lld of a newer halflife, this one knows %d: run the newer one, or "
                               "give another path and import what the newer one writes by halflife export --all "
                               "--database %s",
                               path, (long long)schema, DB_SCHEMA, path);
        *ret = size < big_endian(head + AT_PAGES, 4) * (page == 1 ? 65536 : page) ? DB_SHORT : DB_OURS;
        return 0;
}

/* --- connect, close, make --- */

/* All are set here, since distributions change SQLite's defaults: some switch on secure_delete, which overwrites every
 * freed page. */
static const char settings[] = "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY;"
                               "PRAGMA cache_size = -16384; PRAGMA journal_size_limit = 67108864;"
                               "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;";

/* damaged_too: accept a file shorter than its header says, or with a schema that is partly unreadable. SQLite reads
 * such files only with a writable schema. */
static int connect_to(struct db *d, const char *path, int flags, bool damaged_too, struct err *err)
{
        *d = (struct db){.path = mem_string(path)};
        int rc = sqlite3_open_v2(path, &d->sql, flags | SQLITE_OPEN_NOMUTEX, NULL);
        if (!d->sql)
                return err_set(err, ERR_IO, "open '%s': out of memory", path);
        sqlite3_extended_result_codes(d->sql, 1);
        sqlite3_busy_timeout(d->sql, BUSY_MS);
        if (rc != SQLITE_OK)
                return db_error(d, err, "open");
        sqlite3_db_config(d->sql, SQLITE_DBCONFIG_DEFENSIVE, !damaged_too, NULL);
        sqlite3_db_config(d->sql, SQLITE_DBCONFIG_WRITABLE_SCHEMA, damaged_too, NULL);
        sqlite3_db_config(d->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* leave a refused file untouched */
        return db_exec(d, settings, err);
}

void db_close(struct db *d)
{
        for (int i = 0; i < STATEMENTS; i++)
                sqlite3_finalize(d->statement[i]);
        sqlite3_close(d->sql);
        mem_free(d->path);
        *d = (struct db){0};
}

/* Run all migrations in one transaction. */
static int db_migrate(struct db *d, int64_t from, struct err *err)
{
        int rc = db_run(d, SQL_BEGIN, err);
        for (int64_t i = from; rc == 0 && i < DB_SCHEMA; i++)
                rc = db_exec(d, migration[i], err);
        char *version AUTO(mem_free) = mem_printf("PRAGMA user_version = %d", DB_SCHEMA);
        if (rc == 0)
                rc = db_exec(d, version, err);
        if (rc == 0)
                rc = db_run(d, SQL_COMMIT, err);
        if (rc < 0 && !sqlite3_get_autocommit(d->sql))
                db_run(d, SQL_ROLLBACK, &(struct err){0});
        return rc;
}

static const bool every_later[LATER_TABLES] = {[LATER_LEDGER] = true, [LATER_CHANGE] = true};

static int db_make_later(struct db *d, const bool which[static LATER_TABLES], struct err *err)
{
        int rc = 0;
        for (int i = 0; rc == 0 && i < LATER_TABLES; i++)
                if (which[i])
                        rc = db_exec(d, later[i].sql, err);
        return rc;
}

int db_create(const char *path, struct err *err)
{
        struct db d;
        char *first AUTO(mem_free) = mem_printf("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL;"
                                                "PRAGMA application_id = %d",
                                                DB_APPLICATION);
        int rc = connect_to(&d, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, false, err);
        if (rc == 0)
                rc = db_exec(&d, first, err);
        if (rc == 0)
                rc = db_migrate(&d, 0, err);
        if (rc == 0)
                rc = db_make_later(&d, every_later, err);
        if (rc == 0)
                rc = db_exec(&d, "PRAGMA journal_mode = WAL", err);
        db_close(&d);
        return rc;
}

/* --- the schema as it should be --- */

/* Make halflife's own schema in memory: its rows in sqlite_schema equal those of an intact file. */
static int own_schema(struct db *ret, const bool has_later[static LATER_TABLES], struct err *err)
{
        int rc = connect_to(ret, ":memory:", SQLITE_OPEN_READWRITE, false, err);
        if (rc == 0)
                rc = db_migrate(ret, 0, err);
        return rc == 0 ? db_make_later(ret, has_later, err) : rc;
}

/* The query `each` runs on `own`. For each of its rows, run `sql` on d with the row's columns bound. `must`: d is
 * damaged if `sql` gives no row. */
static int each_own(struct db *d, struct db *own, const char *each, const char *sql, bool must, struct err *err)
{
        sqlite3_stmt *of = NULL, *s = NULL;
        int rc = 0;
        if (sqlite3_prepare_v2(own->sql, each, -1, &of, NULL))
                rc = db_error(own, err, "read");
        else if (sqlite3_prepare_v2(d->sql, sql, -1, &s, NULL))
                rc = db_error(d, err, "read the schema of");
        while (rc == 0 && sqlite3_step(of) == SQLITE_ROW) {
                for (int i = 0; i < sqlite3_column_count(of); i++)
                        sqlite3_bind_value(s, i + 1, sqlite3_column_value(of, i));
                int step = sqlite3_step(s);
                if (step != SQLITE_ROW && step != SQLITE_DONE)
                        rc = db_error(d, err, "read the schema of");
                else if (must && step == SQLITE_DONE)
                        rc = err_set(err, ERR_DAMAGED, "in '%s' the schema of '%s' was changed", d->path,
                                     (const char *)sqlite3_column_text(of, 0));
                sqlite3_reset(s);
        }
        sqlite3_finalize(of);
        sqlite3_finalize(s);
        return rc;
}

/*
 * Compare the file's schema with halflife's own. A wrong bit in the schema passes all of SQLite's own checks, and then
 * every statement on that table fails. SQLite keeps the texts as they were given and migrations never change, so the
 * texts are compared byte by byte. Tables that others added (such as statistics) do not matter.
 */
static int schema_check(struct db *d, struct err *err)
{
        struct db own;
        int rc = own_schema(&own, d->later, err);
        if (rc == 0)
                rc = each_own(d, &own, "SELECT name, type, tbl_name, sql FROM sqlite_schema",
                              "SELECT 1 FROM sqlite_schema WHERE name = ?1 AND type = ?2 AND tbl_name = ?3"
                              " AND sql IS ?4",
                              true, err);
        db_close(&own);
        return rc;
}

/* Overwrite the schema texts of the tables by halflife's own. The transaction is never committed, so the file stays
 * untouched. */
static int schema_restore(struct db *d, struct err *err)
{
        struct db own;
        int rc = own_schema(&own, every_later, err);
        if (rc == 0)
                rc = db_exec(d, "BEGIN IMMEDIATE", err);
        if (rc == 0)
                rc = each_own(d, &own, "SELECT name, sql FROM sqlite_schema WHERE type = 'table'",
                              "UPDATE sqlite_schema SET type = 'table', name = ?1, tbl_name = ?1, sql = ?2"
                              " WHERE name = ?1 OR (type = 'table' AND tbl_name = ?1)",
                              false, err);
        if (rc == 0)
                rc = db_exec(d, "PRAGMA writable_schema = RESET", err);      /* read the schema again */
        sqlite3_db_config(d->sql, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL); /* RESET switched this off */
        db_close(&own);
        return rc;
}

/* --- an existing file --- */

static int db_settle(struct db *d, bool writable, bool *ret_clean, struct err *err)
{
        if (writable && sqlite3_db_readonly(d->sql, "main"))
                return err_set(err, ERR_DENIED, "'%s' is read-only: the file and its folder must be writable", d->path);
        sqlite3_stmt *s = NULL;
        if (sqlite3_prepare_v2(d->sql, "PRAGMA user_version", -1, &s, NULL) || sqlite3_step(s) != SQLITE_ROW) {
                int rc = db_error(d, err, "open");
                sqlite3_finalize(s);
                return rc;
        }
        int64_t schema = sqlite3_column_int64(s, 0);
        sqlite3_finalize(s);
        if (schema > DB_SCHEMA || (schema < DB_SCHEMA && !writable))
                return err_set(err, ERR_INVALID,
                               "'%s' has schema %lld, this halflife reads %d: use the one that wrote it", d->path,
                               (long long)schema, DB_SCHEMA);
        if (schema <= 0) /* halflife has always set a schema number */
                return err_set(err, ERR_DAMAGED, "'%s' has schema %lld", d->path, (long long)schema);
        int rc = schema < DB_SCHEMA ? db_migrate(d, schema, err) : 0;
        if (rc == 0 && writable)
                rc = db_make_later(d, every_later, err);
        for (int i = 0; i < LATER_TABLES; i++)
                d->later[i] = db_number(d, later[i].exists) > 0;
        if (rc == 0)
                rc = schema_check(d, err);
        if (rc < 0 || !(s = db_statement(d, SQL_IS_CLEAN, err)))
                return err->code;
        int step = sqlite3_step(s);
        *ret_clean = step == SQLITE_ROW && sqlite3_column_int(s, 0) == 1;
        if (step != SQLITE_ROW && step != SQLITE_DONE && (rc = db_error(d, err, "read")) == ERR_DAMAGED)
                rc = 0; /* not clean: so the structure is checked, and readable rows can be carried over */
        sqlite3_reset(s);
        return rc;
}

int db_open(struct db *d, const char *path, bool writable, bool *ret_clean, struct err *err)
{
        int rc = connect_to(d, path, writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, false, err);
        if (rc == 0)
                rc = db_settle(d, writable, ret_clean, err);
        if (rc < 0)
                db_close(d);
        else
                d->writing = !*ret_clean;
        return rc;
}

int db_open_damaged(struct db *d, const char *path, struct err *err)
{
        int rc = connect_to(d, path, SQLITE_OPEN_READWRITE, true, err);
        if (rc < 0)
                db_close(d);
        else if (schema_check(d, &(struct err){0}) < 0)
                (void)schema_restore(d, &(struct err){0}); /* if that fails, the file's own schema has to do */
        return rc;
}

/* Turn the first finding of SQLite's check into an error: one line, without SQLite's heading. */
static int db_finding(struct db *d, const char *text, struct err *err)
{
        const char *line = strchr(text, '\n');
        if (strcmp(text, "ok") == 0)
                return 0;
        line = line ? line + 1 : text;
        return err_set(err, ERR_DAMAGED, "check '%s': %.*s", d->path, (int)strcspn(line, "\n"), line);
}

int db_check(struct db *d, bool thorough, struct err *err)
{
        const char *sql = thorough ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)";
        sqlite3_stmt *s = NULL;
        int rc;
        if (sqlite3_prepare_v2(d->sql, sql, -1, &s, NULL) || sqlite3_step(s) != SQLITE_ROW)
                rc = db_error(d, err, "check");
        else
                rc = db_finding(d, (const char *)sqlite3_column_text(s, 0), err);
        sqlite3_finalize(s);
        d->checked |= rc == 0;
        return rc;
}
