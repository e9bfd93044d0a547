/*
 * Exact sums of what pods asked for, had in force and used over time, in millicore-milliseconds and byte-milliseconds.
 * Sums only grow. They are 128 bits wide: a rate is below 2^63 and a time below 2^31 ms, so 2^34 of the largest
 * products fit.
 */
#ifndef HALFLIFE_LEDGER_LEDGER_SUM_H
#define HALFLIFE_LEDGER_LEDGER_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/policy.h"

/* ASKED: what the owner asked for. IN_FORCE: what the pod requests. ALLOCATABLE: what nodes have for pods. */
enum ledger_flow { LEDGER_ASKED, LEDGER_IN_FORCE, LEDGER_USED, LEDGER_ALLOCATABLE, LEDGER_FLOWS };
enum ledger_event { LEDGER_CHANGE, LEDGER_GUARD, LEDGER_KILL, LEDGER_EVENTS };

struct ledger_rates {
        int64_t pods;
        int64_t of[LEDGER_FLOWS][RESOURCES]; /* millicores, bytes */
};

struct ledger_sum {
        unsigned __int128 of[LEDGER_FLOWS][RESOURCES]; /* millicore-ms, byte-ms */
        uint64_t pod_ms;
        uint64_t unbooked_ms; /* time for which nothing was booked */
        uint64_t events[LEDGER_EVENTS];
};

/*
 * Add rates that lasted for `ms` milliseconds (below 2^31). A negative rate counts as 0. Where a pod has more in force
 * than its owner asks for, the amount in force counts as asked too: an owner who asks for less now asked for it when
 * the pod began. So no sum has more in force than asked, and the saving, asked - in force, is between 0 and asked.
 */
void ledger_sum_flow(struct ledger_sum *to, const struct ledger_rates *rates, int64_t ms);
void ledger_sum_add(struct ledger_sum *to, const struct ledger_sum *s);
bool ledger_sum_equal(const struct ledger_sum *a, const struct ledger_sum *b);
/* The sum of a flow of one resource, in core-seconds or GiB-seconds. */
double ledger_sum_seconds(const struct ledger_sum *s, enum ledger_flow f, enum resource r);

#endif
