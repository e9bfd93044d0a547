/* From whatever lies at a path to an open database: made new, opened, or set aside with what is readable carried over.
 */
#ifndef HALFLIFE_STORE_REPAIR_H
#define HALFLIFE_STORE_REPAIR_H

#include "base/clock.h"
#include "db.h"

enum { MEND_NOTE = 512 };

/* After an unclean stop the structure is looked at; suspect: whatever the stop was, and thoroughly. note: what was
 * found and done, as it was when there was nothing. */
int mend_open(struct db *d, const char *path, bool suspect, struct wall now, char note[static MEND_NOTE],
              struct err *err);

/* Set aside and carried over whatever a look says. Of a file that was opened before. */
int mend_replace(struct db *d, const char *path, const char *why, struct wall now, char note[static MEND_NOTE],
                 struct err *err);

#endif
