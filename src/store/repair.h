/* Turn whatever is at a path into an open database: create it, open it, or replace a damaged file by one with its
 * readable rows. */
#ifndef HALFLIFE_STORE_REPAIR_H
#define HALFLIFE_STORE_REPAIR_H

#include "base/clock.h"
#include "db.h"

enum { MEND_NOTE = 512 };

/* Open a file, or create or replace it. If it was not closed cleanly, its structure is checked; `suspect` checks it in
 * any case, and thoroughly. `note` gets what was found and done; it stays unchanged if all was well. */
int repair_open(struct db *d, const char *path, bool suspect, struct wall now, char note[static MEND_NOTE],
                struct err *err);

/* Replace a file that was opened before, even if checks find it intact; `why` says what is wrong with it. */
int repair_replace(struct db *d, const char *path, const char *why, struct wall now, char note[static MEND_NOTE],
                   struct err *err);

/* Remove SQLite's files beside a database: they belong to a file that the path no longer leads to. */
void repair_remove_logs(const char *path);

#endif
