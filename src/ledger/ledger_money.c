#include "ledger/ledger_money.h"

#include <string.h>

static void money_add(struct ledger_money *to, const struct price *p, const struct ledger_sum *sum)
{
        for (enum ledger_flow f = 0; f < LEDGER_FLOWS; f++)
                to->of[f] += price_cost(p, sum, f);
}

/* The price of an account; NULL: not known. The pools booked together as LEDGER_OTHERS may have any price. */
static const struct price *money_price(const struct prices *p, enum ledger_axis axis, const char *name)
{
        const struct price *only = prices_only(p);
        if (only || axis != LEDGER_POOL || strcmp(name, LEDGER_OTHERS) == 0)
                return only;
        return prices_of(p, name);
}

bool ledger_money_row(const struct ledger_report *r, const char *name, const struct ledger_sum *sum,
                      struct ledger_money *ret)
{
        const struct price *p = r->prices ? money_price(r->prices, r->ask.axis, name) : NULL;
        *ret = (struct ledger_money){0};
        if (p)
                money_add(ret, p, sum);
        return p != NULL;
}

static bool money_of_pools(const struct ledger_report *pools, const struct prices *prices, struct ledger_money *ret,
                           struct ledger_sum *ret_unpriced)
{
        bool some = false;
        for (size_t i = 0; i < pools->rows; i++) {
                const struct ledger_report_row *row = pools->row[i];
                const struct price *p = money_price(prices, LEDGER_POOL, row->name);
                if (p)
                        money_add(ret, p, &row->sum);
                else
                        ledger_sum_add(ret_unpriced, &row->sum);
                some |= p != NULL;
        }
        return some;
}

bool ledger_money_total(const struct ledger_report *r, struct ledger_money *ret, struct ledger_sum *ret_unpriced)
{
        const struct ledger_report *pools = r->ask.axis == LEDGER_POOL ? r : r->pools;
        struct ledger_sum total = ledger_report_total(r);
        const struct price *only = r->prices ? prices_only(r->prices) : NULL;
        *ret = (struct ledger_money){0};
        *ret_unpriced = (struct ledger_sum){0};
        if (only)
                money_add(ret, only, &total);
        return only || (r->prices && pools && money_of_pools(pools, r->prices, ret, ret_unpriced));
}
