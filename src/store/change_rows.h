/* The rows of the table `change`, one for each change that halflife made: write, delete and load them. */
#ifndef HALFLIFE_STORE_CHANGE_ROWS_H
#define HALFLIFE_STORE_CHANGE_ROWS_H

#include "base/clock.h"
#include "base/text.h"
#include "db.h"

int change_rows_put(struct db *d, int64_t id, struct wall at, struct text record, struct err *err);
/* Delete the changes whose id is at most `id`, and those made before the time `before`. */
int change_rows_forget(struct db *d, int64_t id, struct wall before, struct err *err);
/* Give `each` every row whose CRC is right, in the order of ids. *ret_refused: damaged rows, and gaps in the ids. */
int change_rows_load(struct db *d, void (*each)(void *arg, int64_t id, struct wall at, struct text record), void *arg,
                     int *ret_refused, struct err *err);

#endif
