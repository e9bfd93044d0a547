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

/* Returns 0, or ERR_INVALID and leaves *ret as it was. The caller releases *ret with profile_spec_release. */
int profile_spec_read(const json_t *spec, struct profile_spec *ret, struct err *err);
void profile_spec_release(struct profile_spec *p);

/* A spec with a reference count: a snapshot keeps its spec although the profile has got another since.
 * profile_spec_share takes over the contents of *spec. The last profile_spec_drop, on any thread, releases it; it
 * accepts NULL. */
struct profile_spec *profile_spec_share(struct profile_spec *spec);
struct profile_spec *profile_spec_hold(struct profile_spec *shared);
void profile_spec_drop(struct profile_spec *shared);

#endif
