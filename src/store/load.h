/* Load all rows of the database, each checked, when halflife starts. */
#ifndef HALFLIFE_STORE_LOAD_H
#define HALFLIFE_STORE_LOAD_H

#include "db.h"
#include "index.h"
#include "store/store.h"

/* Pass every row to r's callbacks and fill the index. *ret_suspect: some row was unreadable, missing or bad. */
int load_all(struct db *d, struct index *x, const struct store_reader *r, bool *ret_suspect, struct err *err);
/* Whether each page of the ledger is found by its key, and the rows of changes are in good order: neither table is read
 * wholly at a start, and no other reveals a missing row. False also where that cannot be told. */
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
