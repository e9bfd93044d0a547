/*
 * The cycle: settle what the watches brought, poll usage, fold it, decide about every target, let the writes flow,
 * checkpoint, show. A pass is the same without a poll, when something changed. Long walks go in slices, so that
 * watches, the Lease and signals are never kept waiting.
 */
#ifndef HALFLIFE_CONTROL_CYCLE_H
#define HALFLIFE_CONTROL_CYCLE_H

#include <stdbool.h>

struct parts;
struct cycle;
struct cycle *cycle_new(struct parts *parts);
void cycle_free(struct cycle *c); /* NULL: nothing */
void cycle_start(struct cycle *c);
void cycle_stop(struct cycle *c);
void cycle_polled(struct cycle *c);  /* usage has come, or will not */
void cycle_changed(struct cycle *c); /* a pass soon */
void cycle_turn(struct cycle *c);    /* now and then: after the Lease was lost and gained, was everything read again? */
bool cycle_is_idle(const struct cycle *c);

#endif
