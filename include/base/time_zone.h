/*
 * Time zones from the system's tzdata (RFC 8536 files), for maintenance windows.
 */
#ifndef HALFLIFE_BASE_TIME_ZONE_H
#define HALFLIFE_BASE_TIME_ZONE_H

#include <stdint.h>

#include "base/err.h"

struct zone; /* a time zone; immutable */

/*
 * Read an IANA zone ("Europe/Berlin", "UTC") from dir (NULL: $TZDIR, else /usr/share/zoneinfo). Returns 0,
 * ERR_NOTFOUND, ERR_DENIED, ERR_IO, ERR_TOOBIG, ERR_INVALID (not a zone's name, or a name that leads out of dir), or
 * ERR_DAMAGED. ERR_DAMAGED also means a file of version 1 or a file that counts leap seconds.
 */
int zone_read(const char *dir, const char *name, struct zone **ret, struct err *err);
void zone_free(struct zone *z);

/* The offset in seconds east of UTC at an instant (seconds since 1970). After the last change in the file's table, the
 * file's POSIX rule applies. */
int32_t zone_offset(const struct zone *z, int64_t at_s);

/*
 * The instants at which local clocks show the time local_s (seconds since 1970 as if the zone were UTC). There is
 * normally one; two where a change repeats the hour; none where a change skips it. In the last case ret[0] is the first
 * instant after the gap. Returns 0, 1 or 2.
 */
int zone_instants(const struct zone *z, int64_t local_s, int64_t ret[static 2]);

#endif
