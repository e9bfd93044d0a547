/*
 * What a core-hour and a GiB-hour cost, by pool of nodes, and what booked sums cost at those prices. Prices are whole
 * billionths of a currency, and the cost of a sum is exact, but rounded down once for each resource.
 */
#ifndef HALFLIFE_LEDGER_PRICES_H
#define HALFLIFE_LEDGER_PRICES_H

#include <stddef.h>

#include "base/err.h"
#include "base/text.h"
#include "ledger/ledger_sum.h"

enum { PRICES_MOST = 1000, PRICE_POOL_MAX = 64, PRICES_MONEY_MAX = 48 };
#define PRICE_UNIT  INT64_C(1000000000) /* billionths in one of the currency */
#define PRICE_LIMIT INT64_C(1000000)    /* the highest price that is believed, in whole ones of the currency */
#define PRICE_OTHER "*"                 /* the pool of a price that counts for each pool without its own */

struct price {
        char pool[PRICE_POOL_MAX];
        int64_t of[RESOURCES]; /* billionths for a core-hour and for a GiB-hour */
};

struct prices {
        char currency[4];
        bool asked; /* "opencost": the prices have to be read from Prometheus, and count is 0 */
        size_t count;
        struct price *price;
};

/*
 * Read "EUR, spot=0.012/0.0015, *=0.034/0.0045": a currency, then pools with the price of a core-hour and of a
 * GiB-hour; or "USD, opencost". ret is released by prices_release. ERR_INVALID: err says what is wrong with which part.
 */
int prices_parse(const char *text, struct prices *ret, struct err *err);
void prices_release(struct prices *p); /* {0} is fine */
struct prices *prices_copy(const struct prices *p);
void prices_free(struct prices *p); /* frees what prices_copy returned; NULL: does nothing */

/* The price of a pool: its own, or that of PRICE_OTHER; NULL: neither exists. */
const struct price *prices_of(const struct prices *p, const char *pool);
/* The price of every pool, if PRICE_OTHER has the only price; else NULL, since pools may differ. */
const struct price *prices_only(const struct prices *p);

/* The cost of a flow of both resources, in billionths of the currency; at most the largest number that fits. */
unsigned __int128 price_cost(const struct price *p, const struct ledger_sum *sum, enum ledger_flow f);
/* Print billionths as a decimal number without trailing zeros; returns out. */
const char *price_print(unsigned __int128 billionths, char out[static PRICES_MONEY_MAX]);

#endif
