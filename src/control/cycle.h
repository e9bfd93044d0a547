/*
 * A cycle polls usage, adds it to the histories and decides about every target. Then it writes a checkpoint if one is
 * due, publishes the snapshot and starts the writes to the API server. A pass without a poll runs when something
 * changed: it decides, publishes and writes, but reads no usage and writes no checkpoint. Decisions and checkpoints run
 * in slices, so that watches, the Lease and signals are never kept waiting.
 */
#ifndef HALFLIFE_CONTROL_CYCLE_H
#define HALFLIFE_CONTROL_CYCLE_H

#include <stdbool.h>

struct parts;
struct cycle;
struct cycle *cycle_new(struct parts *parts);
void cycle_free(struct cycle *c); /* NULL: does nothing */
void cycle_start(struct cycle *c);
void cycle_stop(struct cycle *c);
void cycle_polled(struct cycle *c);  /* the usage poll has ended, with usage or with an error */
void cycle_changed(struct cycle *c); /* run a pass within half a second, or after the cycle under way */
void cycle_turn(struct cycle *c);    /* each second: once everything is read after a lost Lease, writes resume */
bool cycle_is_idle(const struct cycle *c);

#endif
