/*
 * Counts by name that are forgotten after a while: how often did something happen lately? Memory is bounded, however
 * many names come: a count lives at least one lifetime and at most two, and less where more than `most` names come
 * within a lifetime. Not thread-safe.
 */
#ifndef HALFLIFE_BASE_RECENT_COUNT_H
#define HALFLIFE_BASE_RECENT_COUNT_H

#include "base/clock.h"
#include "base/map.h"

struct recent_count {
        struct map young, old; /* name -> struct recent_name; old: the names of the lifetime before */
        struct mono began;     /* when the present lifetime, that of young, began */
        int64_t lifetime_ms;
        size_t most; /* the most names in each of the two maps */
};

/* most: at least 1. The caller passes the time `now` to this and the functions below; it must never go back. */
void recent_count_init(struct recent_count *r, int64_t lifetime_ms, size_t most, struct mono now);
void recent_count_release(struct recent_count *r);
/* Add `amount` to the count of a name; the name is copied. */
void recent_count_add(struct recent_count *r, struct text name, uint64_t amount, struct mono now);
uint64_t recent_count_get(struct recent_count *r, struct text name, struct mono now);

#endif
