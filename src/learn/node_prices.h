/*
 * What a core-hour and a GiB-hour cost, for reports: as the setting says, or as OpenCost tells Prometheus of each node.
 * Then the price of a pool is the mean over its nodes of now, by what they have for pods, and it is asked once an hour.
 */
#ifndef HALFLIFE_LEARN_NODE_PRICES_H
#define HALFLIFE_LEARN_NODE_PRICES_H

#include "learner_private.h"

struct node_prices;
/* ERR_INVALID: the setting cannot be read, or Prometheus is to be asked and there is none. */
int node_prices_new(struct learner *learner, const char *setting, struct node_prices **ret, struct err *err);
void node_prices_free(struct node_prices *n);                  /* NULL: does nothing */
void node_prices_stop(struct node_prices *n);                  /* end the query under way */
void node_prices_tick(struct node_prices *n, struct mono now); /* once a cycle: ask where it is time */
void node_prices_take(struct node_prices *n, const struct prometheus_answer *a);
const struct prices *node_prices_now(const struct node_prices *n); /* NULL: none are known */

#endif
