/* The SQLite file: create, open and check it; its prepared statements; SQLite's results as error codes. */
#ifndef HALFLIFE_STORE_DB_H
#define HALFLIFE_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { DB_SCHEMA = 1, DB_APPLICATION = 0x48616c66 /* "Half" */ };

/*
 * Every table has an integer id as its key, so the readable rows of a damaged file can be fetched one by one.
 *
 * The last two generations of a history live in two tables: generation g in usage0 if g is even, in usage1 if odd. A
 * checkpoint thus writes one row for each history and never touches the generation before.
 */
enum db_table {
        TABLE_TARGET,
        TABLE_HISTORY,
        TABLE_USAGE0,
        TABLE_USAGE1,
        TABLE_KILL,
        TABLE_NOTE,
        TABLE_LEDGER,
        TABLE_CHANGE,
        TABLES
};
/* Tables that came after schema 1 but did not raise its number: older versions of halflife leave them alone. */
enum { LATER_LEDGER, LATER_CHANGE, LATER_TABLES };
struct db_columns {
        const char *name, *columns; /* columns: the names of all columns, id first */
        int count;
        bool counted; /* no other table reveals a missing row, so the rows are counted by the table's index */
};
extern const struct db_columns db_tables[TABLES];

enum statement {
        SQL_BEGIN,
        SQL_COMMIT,
        SQL_ROLLBACK,
        SQL_IS_CLEAN,
        SQL_SET_CLEAN,
        SQL_TARGET_ID,
        SQL_TARGET_PUT,
        SQL_HISTORY_ID,
        SQL_HISTORY_FIND,
        SQL_USAGE_GET,
        SQL_USAGE0_PUT,
        SQL_USAGE1_PUT,
        SQL_KILL_GET,
        SQL_KILL_PUT,
        SQL_NOTE_PUT,
        SQL_TARGET_FIND,
        SQL_FORGET_USAGE0,
        SQL_FORGET_USAGE1,
        SQL_FORGET_KILL,
        SQL_FORGET_HISTORY,
        SQL_FORGET_TARGET,
        SQL_FORGET_KILLS,
        SQL_LEDGER_PUT,
        SQL_LEDGER_NEWEST,
        SQL_LEDGER_STRETCH,
        SQL_LEDGER_PAGE,
        SQL_LEDGER_LAST,
        SQL_LEDGER_FORGET,
        SQL_CHANGE_PUT,
        SQL_CHANGE_FORGET,
        STATEMENTS
};

extern const char *const db_statements[STATEMENTS]; /* the SQL of each statement (db_statements.c) */

struct db {
        sqlite3 *sql; /* NULL: closed */
        char *path;
        sqlite3_stmt *statement[STATEMENTS];
        bool later[LATER_TABLES]; /* the file has this table, which older versions of halflife did not make */
        bool writing;             /* the file is marked as not closed cleanly */
        bool checked;             /* SQLite's check passed since the file was opened, or this process made the file */
        bool replaced; /* opening found a damaged file, and put this one with its readable rows in its place */
};

/* What a file's header says, read before SQLite touches the file. */
enum db_file { DB_MISSING, DB_OURS, DB_SHORT /* ours, but its end is missing */, DB_BROKEN };
/* Judge a file by its header. ERR_INVALID: another program's file, or a newer schema; ERR_DENIED, ERR_IO. */
int db_judge(const char *path, enum db_file *ret, struct err *err);

/* Create an empty database, which the caller then renames into place. */
int db_create(const char *path, struct err *err);
/* Open an existing file; `writable` also brings its schema up to date. *ret_clean: the file was closed cleanly. Returns
 * ERR_DAMAGED also if the file's schema differs from halflife's. */
int db_open(struct db *d, const char *path, bool writable, bool *ret_clean, struct err *err);
/* Open a file that db_open calls damaged, only to read its remaining rows one by one. If the file's schema is damaged,
 * halflife's own takes its place until db_let_go. */
int db_open_damaged(struct db *d, const char *path, struct err *err);
/* Let SQLite check the structure (quick_check); `thorough` also compares each index with its table (integrity_check).
 * Returns 0, ERR_DAMAGED, or the error that prevented the check. */
int db_check(struct db *d, bool thorough, struct err *err);
/* Close the file and release d; {0} is fine. */
void db_close(struct db *d);

/* Set err from SQLite's last error: a code that says what the caller can do, and the text. Returns the code. */
int db_error(struct db *d, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The prepared statement `which`, whose parameters the caller then binds; NULL on an error. */
sqlite3_stmt *db_statement(struct db *d, enum statement which, struct err *err);
/* Run a bound statement, ignore any rows, and reset it. */
int db_run(struct db *d, enum statement which, struct err *err);
int db_exec(struct db *d, const char *sql, struct err *err);
/* Make many reads one transaction, so that the file is locked once instead of for each read. An error may end the
 * transaction early, which does no harm. Write nothing until db_let_go, which rolls back. */
void db_hold(struct db *d);
void db_let_go(struct db *d);
int64_t db_number(struct db *d, const char *sql); /* first column of the first row; -1: there is none */
/* Bytes on disk of the file and its WAL. */
int64_t db_bytes(const struct db *d);

#endif
