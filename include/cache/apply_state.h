/*
 * What the controller did to a target and saw done to it, as the store keeps it beside the target: JSON, whose keys are
 * listed in docs/internals/store-format.md.
 */
#ifndef HALFLIFE_CACHE_APPLY_STATE_H
#define HALFLIFE_CACHE_APPLY_STATE_H

#include "cache/cache.h"

char *apply_state_print(const struct target *t); /* the caller's, by free */
/* What cannot be read of it is as good as absent. */
void apply_state_read(struct cache *w, struct target *t, struct text record);

/* How long a conflict can have been waited for that is read from elsewhere: a week at most. */
int64_t apply_state_step_bound(int64_t ms);

#endif
