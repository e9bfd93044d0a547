/* From whatever lies at a path to an open database: made new, opened, or set aside with what is readable carried over.
 */
#ifndef HALFLIFE_STORE_MEND_H
#define HALFLIFE_STORE_MEND_H

#include "base/clock.h"
#include "db.h"

enum { MEND_NOTE = 512 };

/* check: look at the structure even after a clean stop. What was done is added to note. */
int mend_open(struct db *d, const char *path, bool check, struct wall now, char note[static MEND_NOTE],
              struct err *err);

#endif
