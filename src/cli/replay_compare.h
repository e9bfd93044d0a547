/*
 * Compares policies over several traces: one table per resource, one row per trace (two where requests are raised), one
 * column per policy. A cell has "slack overrun", or "-" where nothing was scored.
 */
#ifndef HALFLIFE_SRC_CLI_REPLAY_COMPARE_H
#define HALFLIFE_SRC_CLI_REPLAY_COMPARE_H

#include "replay/replay.h"
#include "table.h"

struct replay_compare {
        struct table of[RESOURCES]; /* one table for each resource; {0}: no trace was added yet */
};
void replay_compare_release(struct replay_compare *c);
/* Add the scores of one trace. All traces must have the same policies. */
void replay_compare_add(struct replay_compare *c, const struct replay *r, const char *trace);
void replay_compare_print(const struct replay_compare *c);

#endif
