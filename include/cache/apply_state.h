/*
 * What halflife did to a target and saw others do to it. The store keeps this apply state beside the target as JSON;
 * docs/internals/store-format.md lists the keys.
 */
#ifndef HALFLIFE_CACHE_APPLY_STATE_H
#define HALFLIFE_CACHE_APPLY_STATE_H

#include "cache/cache.h"

/* Returns the target's record as JSON; the caller frees it. `starts`: also print what containers need while they start.
 */
char *apply_state_print(const struct target *t, bool starts);
/* Read into `t` what apply_state_print wrote. A part that cannot be read counts as absent. */
void apply_state_read(struct cache *w, struct target *t, struct text record);

/* The length of the wait after a conflict, in ms, as read from a database or object, brought within 0 and a week. */
int64_t apply_state_step_bound(int64_t ms);

/* --- events that change the apply state (target_state.c) --- */

/* Note that halflife changed the target's requests; `digest`: fingerprint of the changed template. */
void apply_state_changed(struct target *t, struct wall at, uint64_t digest);
/* Set since when the canaries' change is in force, wall ms; -1: not yet; 0: the target is no canary. */
void apply_state_passed(struct target *t, int64_t since_ms);
/* Note when halflife began to write the canary pods' requests to the other pods. */
void apply_state_followed(struct target *t, struct wall at);
/* Note a conflict: halflife leaves the target alone for a day, twice as long at each next conflict, up to a week. Takes
 * over `what`, the text about the conflict. */
void apply_state_contest(struct target *t, struct wall now, char *what);
/* Note that somebody restored an original request. `counts`: this reset joins those in a row that may become a
 * conflict; otherwise all resets so far are forgotten, and so is the length of the wait after a conflict. */
void apply_state_reset(struct target *t, struct wall at, bool counts);

#endif
