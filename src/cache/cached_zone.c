#include "cache/cached_zone.h"

#include "cache/cache.h"

static void cached_zone_read(struct cached_zone *z)
{
        struct err err = {0};
        struct zone *fresh = NULL;
        mem_free(z->trouble);
        z->trouble = NULL;
        if (zone_read(NULL, z->name, &fresh, &err) == 0) {
                zone_free(z->zone);
                z->zone = fresh;
        } else {
                z->trouble = mem_string(err.text);
        }
}

struct cached_zone *cached_zone_take(struct cache *w, const char *name)
{
        struct cached_zone *z = map_get(&w->zones.by_name, text_of(name));
        if (!z) {
                z = MEM_NEW(struct cached_zone);
                z->name = mem_string(name);
                map_put(&w->zones.by_name, text_of(z->name), z);
                cached_zone_read(z);
        }
        z->users++;
        return z;
}

void cached_zone_drop(struct cache *w, struct cached_zone *z)
{
        if (!z || --z->users > 0)
                return;
        map_drop(&w->zones.by_name, text_of(z->name));
        if (w->zones.by_name.count == 0)
                map_release(&w->zones.by_name);
        zone_free(z->zone);
        mem_free(z->trouble);
        mem_free(z->name);
        mem_free(z);
}

void cached_zones_read(struct cache *w)
{
        struct cached_zone *z;
        for (size_t at = 0; (z = map_each(&w->zones.by_name, &at));)
                cached_zone_read(z);
}
