/*
 * Keys, identities and digests that several parts of the cache share.
 */
#ifndef HALFLIFE_CACHE_KEYS_H
#define HALFLIFE_CACHE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "objects/decode.h"

struct cache;

/* A time as seconds since 1970; what lies before or beyond is as early or as late as can be. */
static inline uint32_t seconds_of(int64_t ms)
{
        return ms < 0 ? 0 : ms / SECOND_MS > UINT32_MAX ? UINT32_MAX : (uint32_t)(ms / SECOND_MS);
}

/* Small shared parts (cache.c). */
struct text key_of_object(struct cache *w, const struct object_view *view); /* "ns/name" in scratch */
static inline bool uid_none(const uint8_t uid[static UID_BYTES])
{
        static const uint8_t none[UID_BYTES];
        return memcmp(uid, none, UID_BYTES) == 0;
}

void key_split(struct text api_version, struct text *ret_group, struct text *ret_version);
uint64_t digest_bytes(uint64_t seed, const void *p, size_t len);

#endif
