/* Load all rows of the database, each checked, when halflife starts. */
#ifndef HALFLIFE_STORE_LOAD_H
#define HALFLIFE_STORE_LOAD_H

#include "db.h"
#include "index.h"
#include "store/store.h"

/* Pass every row but those of the ledger and of changes to the callbacks of `r`, and fill the index. *ret_suspect: some
 * row was unreadable, missing or bad. */
int load_all(struct db *d, struct index *x, const struct store_reader *r, bool *ret_suspect, struct err *err);
/* Are the tables of the ledger and of changes whole? Each page of the ledger must be found by its key, and the table of
 * changes must pass SQLite's check. A start does not read these tables wholly, and no other table reveals a missing
 * row. Returns false also if a check cannot run. */
bool load_later_whole(struct db *d);
/* Give `each` the pages of the newest period of each axis and span, checked, in the order of their numbers. */
int load_ledger(struct db *d, void (*each)(void *arg, const struct ledger_page_key *key, struct text packed), void *arg,
                int *ret_refused, struct err *err);
/* Give `each` the pages of a report's axis, span and stretch of time, checked, in the order of starts. A report of one
 * account gets only the pages that have it. */
int load_ledger_stretch(struct db *d, const struct ledger_report *of,
                        void (*each)(void *arg, const struct ledger_page_key *key, struct text packed), void *arg,
                        int *ret_refused, struct err *err);

#endif
