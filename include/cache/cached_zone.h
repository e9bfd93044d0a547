/*
 * The time zones of maintenance windows, each read once for all windows that name it.
 */
#ifndef HALFLIFE_CACHE_CACHED_ZONE_H
#define HALFLIFE_CACHE_CACHED_ZONE_H

#include <stddef.h>

#include "base/time_zone.h"

struct cache;

struct cached_zone {
        char *name;
        struct zone *zone; /* the zone as read last with success; NULL: it could never be read */
        char *trouble;     /* why the last reading of the zone failed; NULL: it succeeded */
        size_t users;      /* maintenance windows that name the zone */
};

/* The time zone of that name. A zone that no window has taken so far is read now. The caller gives the zone back with
 * cached_zone_drop. An unknown zone is returned with `trouble` set, and is no error, as tzdata may be installed later.
 */
struct cached_zone *cached_zone_take(struct cache *w, const char *name);
void cached_zone_drop(struct cache *w, struct cached_zone *z); /* frees a zone without users; z NULL: does nothing */
/* Read all time zones again. A zone that can no longer be read stays as it was. */
void cached_zones_read(struct cache *w);

#endif
