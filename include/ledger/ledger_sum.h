/*
 * What pods asked for, had in force and used over time, exact: in millicore-milliseconds and byte-milliseconds. Sums
 * only grow. They are 128 bits wide: a rate is below 2^63 and a stretch below 2^31 ms, so 2^34 of the largest fit.
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
        uint64_t unbooked_ms; /* time of which nothing was booked */
        uint64_t events[LEDGER_EVENTS];
};

/*
 * Add what flowed for so many milliseconds (below 2^31). A negative rate counts as 0. What is in force beyond what is
 * asked counts as asked as well: an owner who asks for less later still asked for it when the pod began. So no sum has
 * more in force than asked, and what was saved, asked - in force, is never below 0 and never above asked.
 */
void ledger_sum_flow(struct ledger_sum *to, const struct ledger_rates *rates, int64_t ms);
void ledger_sum_add(struct ledger_sum *to, const struct ledger_sum *s);
bool ledger_sum_equal(const struct ledger_sum *a, const struct ledger_sum *b);
/* Core-seconds or GiB-seconds. */
double ledger_sum_seconds(const struct ledger_sum *s, enum ledger_flow f, enum resource r);

#endif
