/* Every row of the database, checked, to whoever starts from it. */
#ifndef HALFLIFE_STORE_LOAD_H
#define HALFLIFE_STORE_LOAD_H

#include "db.h"
#include "index.h"
#include "store/store.h"

/* Read everything to r and fill the index. *ret_suspect: something was unreadable or did not check out. */
int load_all(struct db *d, struct index *x, const struct store_reader *r, bool *ret_suspect, struct err *err);

#endif
