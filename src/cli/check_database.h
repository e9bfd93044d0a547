/*
 * What halflife check finds of the database: whether the database can be used, how large it is and will become, and
 * whether its volume is large enough for that.
 */
#ifndef HALFLIFE_CLI_CHECK_DATABASE_H
#define HALFLIFE_CLI_CHECK_DATABASE_H

#include <stdint.h>

#include "checking.h"

void check_database(struct checking *c);
/* Print a warning if free_bytes of the volume do not suffice for the database to grow from `bytes` to bytes_later; else
 * print nothing. */
void check_database_room(struct checking *c, const char *file, int64_t bytes, int64_t bytes_later, int64_t free_bytes);

#endif
