/*
 * What a container needs while it starts, as JSON. The store keeps this JSON in a target's record, under "starts",
 * apart from the packed history, so that the version of halflife before can read both.
 */
#ifndef HALFLIFE_CACHE_USAGE_STARTS_JSON_H
#define HALFLIFE_CACHE_USAGE_STARTS_JSON_H

#include "base/yaml.h"
#include "core/usage_starts.h"

json_t *usage_starts_print(
        const struct usage_starts *s); /* loses nothing if the JSON is dumped with 9 or more digits for reals */
/* Read what usage_starts_print made. Returns false where `printed` is missing or damaged; *ret is undefined then. */
bool usage_starts_read(const json_t *printed, struct usage_starts *ret);

#endif
