/*
 * The spec of a ClusterProfile or Profile, read from its JSON with every default filled in. The CRD's schema refuses
 * most of what is wrong before it comes here; what still is (an unknown zone's name is not: zones are looked up by the
 * windows) is an error that names the field and the cure.
 */
#ifndef HALFLIFE_OBJECTS_PROFILE_READ_H
#define HALFLIFE_OBJECTS_PROFILE_READ_H

#include <jansson.h>

#include "base/err.h"
#include "core/profile.h"

/* 0, or ERR_INVALID; *ret is untouched on failure. Release with profile_spec_release. */
int profile_spec_read(const json_t *spec, struct profile_spec *ret, struct err *err);
void profile_spec_release(struct profile_spec *p);

/* A spec that several hold: a view keeps the one it was made with while the profile goes on with another. Takes over
 * what *spec holds; the last drop, in whichever thread, releases it. NULL is fine to drop. */
struct profile_spec *profile_spec_share(struct profile_spec *spec);
struct profile_spec *profile_spec_hold(struct profile_spec *shared);
void profile_spec_drop(struct profile_spec *shared);

#endif
