/*
 * Keys and identities of objects, shared by several parts of the cache.
 */
#ifndef HALFLIFE_CACHE_OBJECT_KEYS_H
#define HALFLIFE_CACHE_OBJECT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "objects/decode.h"

struct cache;

struct text key_of_object(struct cache *w, const struct object_view *view); /* "ns/name", in cache.scratch */
static inline bool uid_none(const uint8_t uid[static UID_BYTES])
{
        static const uint8_t none[UID_BYTES];
        return memcmp(uid, none, UID_BYTES) == 0;
}

/* Split an apiVersion such as "apps/v1" into group and version, which point into it; the group of "v1" is "". */
void key_split(struct text api_version, struct text *ret_group, struct text *ret_version);

#endif
