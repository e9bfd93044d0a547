/*
 * The specs of all profiles. Profiles with equal specs share one, such as Profiles that a tool writes into many
 * namespaces.
 */
#ifndef HALFLIFE_CACHE_PROFILE_SPECS_H
#define HALFLIFE_CACHE_PROFILE_SPECS_H

#include <jansson.h>

#include "base/err.h"
#include "objects/decode_profile.h"

struct cache;

struct shared_profile_spec {
        uint8_t digest[32]; /* SHA-256 of the spec's JSON with its keys in order */
        struct profile_spec *spec;
        size_t users; /* how many profiles have the spec */
};

/* Find the spec that was read from equal JSON, or read it. The caller gives the spec back with profile_specs_drop.
 * Returns NULL and sets `err` where the spec cannot be read. */
struct shared_profile_spec *profile_specs_take(struct cache *w, const json_t *json, struct err *err);
void profile_specs_drop(struct cache *w, struct shared_profile_spec *s); /* s NULL: does nothing */

#endif
