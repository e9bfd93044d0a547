#include "serving/ledger_request.h"

#include <stdio.h>
#include <string.h>

#include "cache/bookkeeping.h"

/* Count, in the report's namespaces, the workloads that no other workload owns, and how many of them a profile
 * selects. */
static void ledger_request_count(const struct cache *c, struct ledger_report *r)
{
        const struct workload *w;
        for (size_t at = 0; (w = map_each(&c->workloads, &at));) {
                if (w->gone || w->owner || (r->ask.ns[0] && strcmp(w->ns, r->ask.ns) != 0))
                        continue;
                r->workloads++;
                r->managed += w->chosen != NULL;
        }
}

/* Leave out what was booked before the workload was made: that was another workload of the same name. */
static void ledger_request_since_birth(const struct cache *c, struct ledger_ask *ask, int64_t now_ms)
{
        const struct target *t = map_get(&c->targets, text_of(ask->workload));
        int64_t age_ms = t && t->workload && t->workload->created_ms > 0 ? now_ms - t->workload->created_ms : INT64_MAX;
        if (age_ms < ask->since_ms)
                ask->since_ms = age_ms > 0 ? age_ms : 0;
}

/* Add the prices, and sums by pool where pools have prices of their own: rows that are not pools are priced by these
 * sums. */
static void ledger_request_add_prices(const struct ledger *l, const struct prices *prices, struct ledger_report *r)
{
        struct ledger_ask pools = {.axis = LEDGER_POOL, .span = r->ask.span, .since_ms = r->ask.since_ms};
        r->prices = prices_copy(prices);
        if (r->ask.ns[0] || r->ask.axis == LEDGER_POOL || prices_only(prices))
                return;
        r->pools = ledger_report_new(&pools, r->until_ms);
        ledger_report_read(r->pools, l);
}

struct ledger_report *ledger_request_begin(const struct cache *c, const struct prices *prices, struct ledger_ask *ask)
{
        const struct bookkeeping *books = c->books.of;
        int64_t now_ms = bookkeeping_now_ms(books);
        bool one = ask->workload[0];
        if (one)
                ledger_request_since_birth(c, ask, now_ms);
        struct ledger_report *r = ledger_report_new(ask, now_ms);
        if (!one)
                ledger_request_count(c, r);
        snprintf(r->label, sizeof r->label, "%s", bookkeeping_label(books));
        ledger_report_read(r, bookkeeping_ledger(books));
        if (prices && !one)
                ledger_request_add_prices(bookkeeping_ledger(books), prices, r);
        return r;
}
