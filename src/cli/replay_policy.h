/*
 * The policies that a replay scores: those of the given profiles or of the defaults, and others for comparison.
 */
#ifndef HALFLIFE_SRC_CLI_REPLAY_POLICY_H
#define HALFLIFE_SRC_CLI_REPLAY_POLICY_H

#include "cli/options.h"
#include "replay/replay.h"

/* Read the policies from files with Profiles and ClusterProfiles; without files, take the defaults. A percentile may
 * have tenths, which a profile in a cluster may not. Returns 0, or ERR_INVALID. */
int replay_policies_read(struct replay *r, const struct option_given *files, struct err *err);

/*
 * Add policies to compare the first one with: the first with weeklyPeak; P95 and P99 of all samples without decay, with
 * the margins of a default profile; and VPA. All of these but weeklyPeak ignore the first policy's minimum, history and
 * mode. Returns 0, or ERR_TOOBIG: there is no room.
 */
int replay_policies_compare(struct replay *r);

#endif
