/*
 * All rows of a table in the order of their ids, past what cannot be read: where a step fails, the ids that follow are
 * asked for one by one until one answers, and the walk goes on from there.
 */
#ifndef HALFLIFE_STORE_SCAN_H
#define HALFLIFE_STORE_SCAN_H

#include "db.h"

struct scan {
        struct db *d;
        const struct db_columns *table;
        sqlite3_stmt *walk, *one;
        sqlite3_stmt *row; /* where it stands; NULL: at the end */
        int64_t id;        /* of the row */
        int64_t rows;      /* passed so far, this one included */
        bool ended;        /* it came to the table's end, or found nothing more that can be read */
        bool damaged;      /* something was unreadable */
        bool past_io;      /* bad sectors are passed like damage; else they end the scan with err */
        struct err err;    /* what ended it; code 0: the table's end */
};
/* Stands before the first row. A table that cannot be read at all is one without rows, and damaged. */
void scan_start(struct scan *s, struct db *d, enum db_table table, bool past_io);
bool scan_next(struct scan *s);
void scan_end(struct scan *s);
/* At the end: whether the table's index, where it has to be asked, knows of as many rows. */
bool scan_met_all(const struct scan *s);

#endif
