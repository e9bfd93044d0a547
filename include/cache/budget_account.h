/*
 * What counts against one budget: a profile's, or the whole cluster's.
 *
 * Where several namespaces share a budget, one namespace has at most half of it, and counts for at most half, so that
 * it cannot keep the others waiting by rollouts that never end or by one huge workload.
 */
#ifndef HALFLIFE_CACHE_BUDGET_ACCOUNT_H
#define HALFLIFE_CACHE_BUDGET_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

enum budget_unit {
        BUDGET_CORES,     /* millicores of request, times replicas, that changed within the last hour */
        BUDGET_WORKLOADS, /* workloads in a rollout that halflife started */
        BUDGET_UNITS
};

struct budget_account {    /* {0}: an account for which nothing counts yet */
        struct map shares; /* struct budget_share by namespace */
        const char *first; /* a namespace with targets; interned; NULL: none was seen */
        bool shared;       /* several namespaces have targets */
        /* counted: the sum over all namespaces, of which each counts for at most `most`. Kept, because every change of
         * requests needs the sum. */
        int64_t counted[BUDGET_UNITS], most[BUDGET_UNITS];
};
void budget_account_release(struct budget_account *a); /* afterwards the account is {0} again */
/* Note that one of the targets that share the budget is in the namespace `ns` (interned). */
static inline void budget_account_see(struct budget_account *a, const char *ns)
{
        if (!a->first)
                a->first = ns;
        a->shared |= a->first != ns;
}
/* The most that one namespace may have of a budget with this limit: half, rounded up, if several share the budget. */
int64_t budget_account_most(const struct budget_account *a, int64_t limit);
/* Add an amount that a namespace has of the budget. `ns` "": the namespace is not known, so the amount counts in full.
 */
void budget_account_add(struct budget_account *a, const char *ns, enum budget_unit u, int64_t amount);
int64_t budget_account_of(const struct budget_account *a, const char *ns, enum budget_unit u);

enum budget_verdict {
        BUDGET_HAS_ROOM,
        BUDGET_SHARE_USED, /* the namespace has used up its share */
        BUDGET_ALL_USED,   /* all namespaces together have used up the budget */
};
/* Whether a further amount of a namespace fits in the budget. `limit` 0: the budget has no limit. An amount above the
 * namespace's whole share fits while nothing of the namespace counts and the other namespaces leave a share free,
 * because otherwise that amount could never pass. */
enum budget_verdict budget_account_ask(struct budget_account *a, const char *ns, enum budget_unit u, int64_t amount,
                                       int64_t limit);

#endif
