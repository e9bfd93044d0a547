/*
 * Which containers their CPU limits throttle, by Prometheus: one query for the whole cluster per status interval. Only
 * where Prometheus is the usage source.
 */
#ifndef HALFLIFE_LEARN_THROTTLING_H
#define HALFLIFE_LEARN_THROTTLING_H

#include "learner_private.h"

struct throttling;
struct throttling *throttling_new(struct learner *learner);
void throttling_free(struct throttling *t); /* NULL: does nothing */
void throttling_stop(struct throttling *t); /* end the query under way */
/* Once a cycle: ask where it is time. */
void throttling_tick(struct throttling *t, struct mono now);

#endif
