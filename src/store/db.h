/* The SQLite file: made, opened, judged, its statements. What SQLite answers becomes a code to act on here. */
#ifndef HALFLIFE_STORE_DB_H
#define HALFLIFE_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { DB_SCHEMA = 1, DB_APPLICATION = 0x48616c66 /* "Half" */ };

/*
 * Every table is keyed by an integer id, so that what is readable of a damaged file can be asked for row by row.
 *
 * A history's two generations live in two tables, the one of number g in usage0 or usage1 by its last bit: a checkpoint
 * writes one row a history and leaves the generation before it alone.
 */
enum db_table { TABLE_TARGET, TABLE_HISTORY, TABLE_USAGE0, TABLE_USAGE1, TABLE_KILL, TABLE_NOTE, TABLES };
struct db_columns {
        const char *name, *columns; /* all of them, id first */
        int count;
        bool counted; /* no other table tells that a row of it is missing: its index is asked */
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
        STATEMENTS
};

struct db {
        sqlite3 *sql; /* NULL: closed */
        char *path;
        sqlite3_stmt *statement[STATEMENTS];
        bool writing; /* the file no longer says that it was stopped cleanly */
        bool checked; /* its structure was looked at since it was opened, or is this process' own work */
        bool mended;  /* made of what was readable of another, as it was opened */
};

/* What a file is before SQLite touches it. */
enum db_file { DB_MISSING, DB_OURS, DB_SHORT /* ours, but its end is missing */, DB_BROKEN };
/* ERR_INVALID: not ours, or of a newer schema; ERR_DENIED, ERR_IO. */
int db_judge(const char *path, enum db_file *ret, struct err *err);

/* A new empty file, ready to be renamed to where it belongs. */
int db_create(const char *path, struct err *err);
/* Open an existing one; writable: bring its schema up to date. *ret_clean: it was stopped cleanly. ERR_DAMAGED also
 * where its schema is not ours. */
int db_open(struct db *d, const char *path, bool writable, bool *ret_clean, struct err *err);
/* Open one that db_open calls damaged, for no more than reading what is left of it, row by row: its tables go by our
 * own schema until db_let_go. */
int db_open_damaged(struct db *d, const char *path, struct err *err);
/* SQLite's own look at the structure, thorough: and whether each index says what its table says. 0 or ERR_DAMAGED. */
int db_check(struct db *d, bool thorough, struct err *err);
/* Leaves the files as they are but for what SQLite tidies; {0} is fine. */
void db_close(struct db *d);

/* The error of the last call, as a code to act on. */
int db_error(struct db *d, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A prepared statement, ready to be bound; NULL and err. */
sqlite3_stmt *db_statement(struct db *d, enum statement which, struct err *err);
/* Step one that gives no row, and reset it. */
int db_run(struct db *d, enum statement which, struct err *err);
int db_exec(struct db *d, const char *sql, struct err *err);
/* Many reads as one transaction: the file is locked once and not for each. An error may end it early: no harm. Nothing
 * is to be written meanwhile: it would be undone. */
void db_hold(struct db *d);
void db_let_go(struct db *d);
int64_t db_number(struct db *d, const char *sql); /* -1: no answer */
/* Bytes on disk: the file and its log. */
int64_t db_bytes(const struct db *d);

#endif
