/*
 * What halflife check finds of the database: whether it can be used, how large it is and becomes, and whether its
 * volume is large enough for that.
 */
#ifndef HALFLIFE_CLI_CHECK_DATABASE_H
#define HALFLIFE_CLI_CHECK_DATABASE_H

#include <stdint.h>

#include "checking.h"

void check_database(struct checking *c);
/* Print whether a volume with so many free bytes holds the database as it becomes; nothing where it does. */
void check_database_room(struct checking *c, const char *file, int64_t bytes, int64_t bytes_later, int64_t free_bytes);

#endif
