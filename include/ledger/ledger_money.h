/*
 * What the sums of a report cost at the prices of now. The ledger books by pool of nodes, and not on which of them an
 * account of another axis ran. So pools and their total have a cost, and other accounts where all pools cost the same.
 */
#ifndef HALFLIFE_LEDGER_LEDGER_MONEY_H
#define HALFLIFE_LEDGER_LEDGER_MONEY_H

#include "ledger/ledger_report.h"

struct ledger_money {
        unsigned __int128 of[LEDGER_FLOWS]; /* billionths of the currency */
};

/* Whether what an account of the report booked has a cost. */
bool ledger_money_row(const struct ledger_report *r, const char *name, const struct ledger_sum *sum,
                      struct ledger_money *ret);
/* The cost of the whole report, without the pools that have no price: their sum is *ret_unpriced. Returns whether there
 * is one. */
bool ledger_money_total(const struct ledger_report *r, struct ledger_money *ret, struct ledger_sum *ret_unpriced);

#endif
