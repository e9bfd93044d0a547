/* Load all rows of the database, each checked, when halflife starts. */
#ifndef HALFLIFE_STORE_LOAD_H
#define HALFLIFE_STORE_LOAD_H

#include "db.h"
#include "index.h"
#include "store/store.h"

/* Pass every row to r's callbacks and fill the index. *ret_suspect: some row was unreadable, missing or bad. */
int load_all(struct db *d, struct index *x, const struct store_reader *r, bool *ret_suspect, struct err *err);

#endif
