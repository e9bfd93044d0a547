/*
 * Asks Prometheus which containers are throttled by their CPU limits: one query for the whole cluster per status
 * interval. Used only if Prometheus is the usage source.
 */
#ifndef HALFLIFE_LEARN_THROTTLING_H
#define HALFLIFE_LEARN_THROTTLING_H

#include "learner_private.h"

struct throttling;
struct throttling *throttling_new(struct learner *learner);
void throttling_free(struct throttling *t); /* throttling_free(NULL) does nothing */
void throttling_stop(struct throttling *t); /* ends the query under way; NULL is allowed */
/* Call once a cycle: asks Prometheus, if the query is due. */
void throttling_tick(struct throttling *t, struct mono now);

#endif
