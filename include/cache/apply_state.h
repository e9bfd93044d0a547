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

/* --- what happens (target_state.c) --- */

void apply_state_changed(struct target *t, struct wall at, uint64_t digest); /* by us; of the template it was in */
void apply_state_stood(struct target *t, int64_t since_ms);                  /* -1: not yet; 0: nothing is tried */
void apply_state_followed(struct target *t, struct wall at);
/* Left alone for a day, and twice as long each time, up to a week. what: the words for it, taken over. */
void apply_state_contest(struct target *t, struct wall now, char *what);
/* A request of ours is back at its original. counts: it is a fight; else all of them before are forgotten. */
void apply_state_reset(struct target *t, struct wall at, bool counts);

#endif
