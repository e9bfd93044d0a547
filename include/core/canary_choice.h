/*
 * Which pods and workloads are canaries: halflife changes their requests first, and all others later. The rank of a pod
 * or workload is a hash of its name. A canary at one share is therefore a canary at every larger share, whatever else
 * comes or goes, and on every replica of halflife alike.
 */
#ifndef HALFLIFE_CORE_CANARY_CHOICE_H
#define HALFLIFE_CORE_CANARY_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* The rank of a pod: a hash of its namespace and name. */
uint32_t canary_rank(struct text ns, struct text name);
/* The rank of a workload: a hash of its namespace, kind and name. The API group does not count: a kind that moves to
 * another group keeps its rank. */
uint32_t canary_rank_of(struct text ns, struct text kind, struct text name);

/* Whether a workload of this rank is among the lowest `percent` per cent (1..100) of all ranks; 100 chooses every
 * workload. */
bool canary_chosen(uint32_t rank, int percent);
/* How many of n pods are canaries: `percent` of n, rounded down, but at least 1; 0 where n is 0. The caller takes the
 * pods with the lowest ranks. */
size_t canary_share(size_t n, int percent);

/*
 * Counts of a profile's canary workloads in one namespace. The gate opens for the namespace's other workloads once at
 * least one canary was changed, every changed canary has stood for its watch time, no guard holds a canary, and no
 * canary is due.
 */
struct canary_tally {
        int64_t workloads; /* number of canary workloads */
        int64_t changed;   /* canaries whose requests halflife has changed */
        int64_t passed;    /* changed canaries whose change has stood for the watch time */
        int64_t reverted;  /* canaries whose change a guard took back, and which the guard still holds */
        int64_t due; /* canaries whose requests halflife is about to lower: only a maintenance window or the budget may
                        still hold them */
};
bool canary_is_complete(const struct canary_tally *t);
void canary_tally_add(struct canary_tally *t, const struct canary_tally *more);

/* Whether a change of requests has stood for watch_ms, its watch time. since_ms is when the change was seen in force; 0
 * or less: the change is not in force yet. A since_ms after now_ms was written by a wrong clock, so the change has not
 * stood. */
bool canary_passed(int64_t since_ms, int64_t now_ms, int64_t watch_ms);

#endif
