/*
 * Reads the spec of a ClusterProfile or Profile from JSON and fills in every default. The CRD's schema has already
 * refused most invalid values. A remaining one is an error that names the field and the remedy. Whether a time zone
 * exists is checked later, when its window is evaluated.
 */
#ifndef HALFLIFE_OBJECTS_DECODE_PROFILE_H
#define HALFLIFE_OBJECTS_DECODE_PROFILE_H

#include <jansson.h>

#include "base/err.h"
#include "core/profile_spec.h"

/* Returns 0. On an error returns ERR_INVALID, or ERR_TOOBIG for too long a selector, and leaves *ret as it was. The
 * caller releases *ret with profile_spec_release. */
int profile_spec_read(const json_t *spec, struct profile_spec *ret, struct err *err);
void profile_spec_release(struct profile_spec *p);

/* A spec with a reference count: a snapshot keeps the spec of its time although the profile has got another since.
 * profile_spec_share takes over the contents of *spec. The last profile_spec_drop, on any thread, releases the spec;
 * `shared` NULL is fine. */
struct profile_spec *profile_spec_share(struct profile_spec *spec);
struct profile_spec *profile_spec_hold(struct profile_spec *shared);
void profile_spec_drop(struct profile_spec *shared);

#endif
