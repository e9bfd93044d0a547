/*
 * The policies that a replay scores: those of profiles, else the defaults, and what they are compared with.
 */
#ifndef HALFLIFE_SRC_CLI_REPLAY_POLICY_H
#define HALFLIFE_SRC_CLI_REPLAY_POLICY_H

#include "cli/options.h"
#include "replay/replay.h"

/* Those of files with Profiles and ClusterProfiles; without any, the defaults. ERR_INVALID with the reason. */
int replay_policies_read(struct replay *r, const struct option_given *files, struct err *err);

/*
 * What the first policy is compared with: itself with weeklyPeak, P95 and P99 of all that was ever seen (no decay) with
 * its own margin, and what the Vertical Pod Autoscaler does by default: P90 x 1.15 of CPU, and of memory's peaks of
 * each day. ERR_TOOBIG: no room for them.
 */
int replay_policies_compare(struct replay *r);

#endif
