/*
 * Begins a report of the ledger with the part that the loop has in memory: the periods still open, and the number of
 * workloads. The periods in the database are added later.
 */
#ifndef HALFLIFE_SERVING_LEDGER_REQUEST_H
#define HALFLIFE_SERVING_LEDGER_REQUEST_H

#include "cache/cache.h"
#include "ledger/ledger_report.h"

/* The cache must have bookkeeping. For a report of one workload, ask->since_ms is shortened to the workload's age.
 * `prices` are copied; NULL: there are none. The caller releases the report (ledger_report_free). */
struct ledger_report *ledger_request_begin(const struct cache *c, const struct prices *prices, struct ledger_ask *ask);

#endif
