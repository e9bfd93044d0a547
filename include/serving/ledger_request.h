/*
 * A report of the ledger as far as the loop can make it: the periods that are open, and how many workloads there are.
 */
#ifndef HALFLIFE_SERVING_LEDGER_REQUEST_H
#define HALFLIFE_SERVING_LEDGER_REQUEST_H

#include "cache/cache.h"
#include "ledger/ledger_report.h"

/* The cache has bookkeeping. Of one workload the stretch begins when it was made, by *ask too. prices: NULL for none;
 * they are copied. The caller releases what it returns. */
struct ledger_report *ledger_request_begin(const struct cache *c, const struct prices *prices, struct ledger_ask *ask);

#endif
