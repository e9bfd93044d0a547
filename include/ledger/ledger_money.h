/*
 * What the sums of a report cost at present prices. The ledger has accounts of pools of nodes, but does not tell on
 * which pool the pods of another account ran. So pools and the total of all pools have a cost; an account of another
 * axis has a cost only if all pools have the same price.
 */
#ifndef HALFLIFE_LEDGER_LEDGER_MONEY_H
#define HALFLIFE_LEDGER_LEDGER_MONEY_H

#include "ledger/ledger_report.h"

struct ledger_money {
        unsigned __int128 of[LEDGER_FLOWS]; /* billionths of the currency */
};

/* The cost of an account's sum in a report. Returns false, with *ret zero, if its price is not known. */
bool ledger_money_row(const struct ledger_report *r, const char *name, const struct ledger_sum *sum,
                      struct ledger_money *ret);
/* The cost of the whole report, without the pools that have no price: *ret_unpriced is the sum of those. Returns false
 * if no pool has a price. */
bool ledger_money_total(const struct ledger_report *r, struct ledger_money *ret, struct ledger_sum *ret_unpriced);

#endif
