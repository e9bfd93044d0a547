/*
 * Who is changed first. A name's rank is a hash of it, so that who is a canary at one share stays one at every larger
 * share, whoever else comes or goes, and on every replica alike.
 */
#ifndef HALFLIFE_CORE_CANARY_H
#define HALFLIFE_CORE_CANARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Of a pod. */
uint32_t canary_rank(struct text ns, struct text name);
/* Of a workload: its group does not count, for a kind that moves to another one is the same workload. */
uint32_t canary_rank_of(struct text ns, struct text kind, struct text name);

/* percent: 1..100; 100 chooses everybody. */
bool canary_chosen(uint32_t rank, int percent);
/* So many of n pods go first, those with the lowest ranks: the share rounded down, at least one (of none: none). */
size_t canary_share(size_t n, int percent);

/*
 * The canaries among the workloads of a profile. The rest is open once at least one was changed, each that was has
 * stood for its watch time, none was taken back, and none is to be lowered further just now.
 */
struct canary_tally {
        int64_t workloads;  /* canaries */
        int64_t changed;    /* of them, by now */
        int64_t stood;      /* of those, for their watch time */
        int64_t taken_back; /* by a guard, and not to be tried again yet */
        int64_t due;        /* for a change that we start, and that waits for nothing of their own */
};
bool canary_opens(const struct canary_tally *t);

/* Has a change stood? since_ms: when it was seen in force, 0 or less: it is not. A time ahead of now was written by a
 * wrong clock, and says nothing. */
bool canary_stood(int64_t since_ms, int64_t now_ms, int64_t watch_ms);

#endif
