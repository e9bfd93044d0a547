/*
 * Which profiles' maintenance windows are open.
 */
#include "cache/cache.h"
#include "cache/cached_zone.h"

enum { ZONES_MS = HOUR_MS };

static int32_t zone_offset_of(const void *zone, int64_t at_s)
{
        return zone_offset(zone, at_s);
}

static int zone_instants_of(const void *zone, int64_t local_s, int64_t ret[static 2])
{
        return zone_instants(zone, local_s, ret);
}

void windows_forget_zones(struct cache *w, struct mono now)
{
        w->zones.read.ns = now.ns - (int64_t)ZONES_MS * 1000000;
}

/* Read all time zones once an hour: tzdata may be installed later, and governments change time zones. */
static void zones_settle(struct cache *w, struct mono now)
{
        if (now.ns - w->zones.read.ns < (int64_t)ZONES_MS * 1000000)
                return;
        w->zones.read = now;
        profiles_read_zones(w);
}

void windows_settle(struct cache *w, struct now now)
{
        struct profile *p;
        zones_settle(w, now.mono);
        for (size_t at = 0; (p = map_each(&w->profiles, &at));) {
                p->window_open = p->spec->windows == 0;
                for (int i = 0; i < p->spec->windows && !p->window_open; i++) {
                        const struct zone *zone = p->zone[i]->zone;
                        struct window_clock clock = {zone, zone_offset_of, zone_instants_of};
                        p->window_open = zone && window_open(&p->spec->window[i].window, &clock, now.wall, NULL);
                }
        }
}
