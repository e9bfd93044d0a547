/*
 * Plans as Recommendation objects.
 */
#ifndef HALFLIFE_APPLY_RECOMMENDATION_STATUS_H
#define HALFLIFE_APPLY_RECOMMENDATION_STATUS_H

#include <jansson.h>

#include "plan/plan.h"

/* The status of a plan, to the letter of the API. The caller's reference. */
json_t *publish_build_status(const struct plan *p);
/* The object without status: labels of the workload, spec. */
json_t *publish_build_head(const struct target *t);

/* A digest of what is written at once when it changes: states, conditions but for their times, applied, originals and
 * what runs; of a plan, and of a status as the server has it. */
uint64_t publish_plan_digest(const struct plan *p);
uint64_t publish_labels_digest(struct labels own);

enum publish_need { PUBLISH_NOTHING, PUBLISH_STATUS, PUBLISH_HEAD };
/* What has to be written now: the head (made, or labels or spec differ), the status (by the rule of the API), or
 * nothing. */
enum publish_need publish_needs(const struct plan *p, int64_t status_ms);

#endif
