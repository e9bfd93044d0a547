/*
 * Time zones from the system's tzdata (RFC 8536 files), for maintenance windows.
 */
#ifndef HALFLIFE_BASE_TIME_ZONE_H
#define HALFLIFE_BASE_TIME_ZONE_H

#include <stdint.h>

#include "base/err.h"

struct zone; /* immutable once read */

/*
 * Read an IANA zone ("Europe/Berlin", "UTC") from dir (NULL: $TZDIR, else /usr/share/zoneinfo). Returns 0, ERR_INVALID
 * (no name of a zone; one that leaves dir is none), ERR_NOTFOUND, ERR_DENIED, ERR_IO, ERR_TOOBIG, or ERR_DAMAGED (also
 * files of version 1 and such that count leap seconds).
 */
int zone_read(const char *dir, const char *name, struct zone **ret, struct err *err);
void zone_free(struct zone *z);

/* Seconds east of UTC at an instant (seconds since 1970), by the table, and by the file's rule behind its end. */
int32_t zone_offset(const struct zone *z, int64_t at_s);

/*
 * The instants at which the clock on the wall shows local (seconds since 1970 as if the zone were UTC): two where the
 * hour is repeated, one as a rule, none where it is skipped; then ret[0] is the first instant after the gap. Returns 0,
 * 1 or 2.
 */
int zone_instants(const struct zone *z, int64_t local_s, int64_t ret[static 2]);

#endif
