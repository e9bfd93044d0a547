/*
 * What a core-hour and a GiB-hour cost, for reports. Either the setting prices gives the prices, or OpenCost gives
 * those of each node through Prometheus, which halflife then asks once an hour. The price of a pool is the mean over
 * its present nodes, weighted by what each node has for pods.
 */
#ifndef HALFLIFE_LEARN_NODE_PRICES_H
#define HALFLIFE_LEARN_NODE_PRICES_H

#include "learner_private.h"

struct node_prices;
/* ERR_INVALID: the setting cannot be read, or Prometheus is to be asked and there is none. */
int node_prices_new(struct learner *learner, const char *setting, struct node_prices **ret, struct err *err);
void node_prices_free(struct node_prices *n);                  /* node_prices_free(NULL) does nothing */
void node_prices_stop(struct node_prices *n);                  /* ends the query under way; NULL is allowed */
void node_prices_tick(struct node_prices *n, struct mono now); /* call once a cycle: asks Prometheus, if that is due */
void node_prices_take(struct node_prices *n, const struct prometheus_answer *a);
const struct prices *node_prices_now(const struct node_prices *n); /* the prices of now; NULL: no price is known */

#endif
