/*
 * How many owner look-ups may begin, and whose turn is next. A budget is a rate, a burst, and a number of look-ups at
 * once. Any client of the listener may send reviews, so client addresses share a budget: the address with the fewest
 * look-ups in the last seconds is next, and within an address the namespace with the fewest.
 */
#ifndef HALFLIFE_SERVING_LOOKUP_BUDGET_H
#define HALFLIFE_SERVING_LOOKUP_BUDGET_H

#include "base/rate_limit.h"
#include "base/recent_count.h"

struct lookup_budget {
        struct rate_limit rate;
        int running, most; /* look-ups under way */
        struct recent_count lately;
};

/* The client of a look-up, and the namespace that its review names. */
struct lookup_client {
        struct text address;
        struct text tenant; /* address and namespace */
};

/* `rate`: look-ups a second; `burst`: look-ups at once after a pause; `most`: look-ups under way. */
void lookup_budget_init(struct lookup_budget *b, double rate, double burst, int most, struct mono now);
void lookup_budget_release(struct lookup_budget *b);
bool lookup_budget_has(struct lookup_budget *b, struct mono now); /* whether a look-up may begin */
/* The rank of a client in the queue: the client with the lowest rank is next. */
uint64_t lookup_budget_rank(struct lookup_budget *b, const struct lookup_client *c, struct mono now);
/* Count a look-up that begins, which lookup_budget_has must have allowed (asserted), or one that ends. */
void lookup_budget_begin(struct lookup_budget *b, const struct lookup_client *c, struct mono now);
void lookup_budget_end(struct lookup_budget *b);

#endif
