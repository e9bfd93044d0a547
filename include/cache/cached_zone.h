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
        struct zone *zone; /* NULL: it could never be read */
        char *trouble;     /* why it could not be read last; NULL: it could */
        size_t users;
};

/* The zone of that name, read where no window had it so far. The caller gives it back with cached_zone_drop. An unknown
 * zone has trouble instead of being an error, as tzdata may be installed later. */
struct cached_zone *cached_zone_take(struct cache *w, const char *name);
void cached_zone_drop(struct cache *w, struct cached_zone *z); /* accepts NULL */
/* Read all time zones again. A zone that can no longer be read stays as it was. */
void cached_zones_read(struct cache *w);

#endif
