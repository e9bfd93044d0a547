/*
 * Several traces beside several policies: a table a resource, a row a trace (and one more where requests are raised), a
 * column a policy, "slack overrun" in each cell; "-" where nothing was scored.
 */
#ifndef HALFLIFE_SRC_CLI_REPLAY_COMPARE_H
#define HALFLIFE_SRC_CLI_REPLAY_COMPARE_H

#include "replay/replay.h"
#include "table.h"

struct replay_compare {
        struct table of[RESOURCES]; /* {0}: no trace yet */
};
void replay_compare_release(struct replay_compare *c);
/* Every trace under the same policies. */
void replay_compare_add(struct replay_compare *c, const struct replay *r, const char *trace);
void replay_compare_print(const struct replay_compare *c);

#endif
