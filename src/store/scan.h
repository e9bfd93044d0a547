/*
 * Scan a table's rows in the order of their ids, and skip unreadable rows. If a step fails, the scan tries the next
 * ids one by one until one can be read, and goes on from there.
 */
#ifndef HALFLIFE_STORE_SCAN_H
#define HALFLIFE_STORE_SCAN_H

#include "db.h"

struct scan {
        struct db *d;
        const struct db_columns *table;
        sqlite3_stmt *walk, *one; /* walk: rows in order; one: a single row by its id */
        sqlite3_stmt *row;        /* walk or one, whichever has the current row; NULL: no row */
        int64_t id;               /* id of the current row */
        int64_t rows;             /* rows so far, the current one included */
        bool ended;               /* the table ended, or nothing more of it is readable */
        bool damaged;             /* something was unreadable */
        bool past_io;             /* skip read errors (bad sectors) like damage; else they end the scan with err */
        struct err err;           /* the error that ended the scan; code 0: the table ended */
};
/* Start before the first row. A table that cannot be read at all is damaged and has no rows. */
void scan_start(struct scan *s, struct db *d, enum db_table table, bool past_io);
bool scan_next(struct scan *s);
void scan_end(struct scan *s);
/* At the end of a scan: did it meet as many rows as the table's index has? True for tables that are not `counted`. */
bool scan_met_all(const struct scan *s);

#endif
