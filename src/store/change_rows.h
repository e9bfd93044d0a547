/* The rows of the table of changes. */
#ifndef HALFLIFE_STORE_CHANGE_ROWS_H
#define HALFLIFE_STORE_CHANGE_ROWS_H

#include "base/clock.h"
#include "base/text.h"
#include "db.h"

int change_rows_put(struct db *d, int64_t id, struct wall at, struct text record, struct err *err);
/* Delete those up to an id, and those made before a time. */
int change_rows_forget(struct db *d, int64_t id, struct wall before, struct err *err);
/* Pass each row, checked, in the order of their ids. *ret_refused: how many are damaged, and left out. */
int change_rows_load(struct db *d, void (*each)(void *arg, int64_t id, struct wall at, struct text record), void *arg,
                     int *ret_refused, struct err *err);

#endif
