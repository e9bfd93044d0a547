/*
 * The request of a history that is younger than minHistory (apply.early). Such a history is short, so the request has a
 * margin beside the usual multiplier. The margin falls in a straight line: the profile's factor after the first hours,
 * 1 once minHistory is over. The request is then the usual one.
 */
#ifndef HALFLIFE_CORE_EARLY_REQUEST_H
#define HALFLIFE_CORE_EARLY_REQUEST_H

#include "core/policy.h"

/* The margin in thousandths, rounded up, for a history of learned_ms. 0: there is no early request, because the profile
 * has none or too little was learned. */
int early_margin(const struct early_policy *p, int64_t learned_ms, int64_t min_history_ms);

/* ceil(model * multiplier * margin), rounded up to roundTo; saturates at INT64_MAX. With a margin of 1000 the result is
 * the target that the usual rule gives. model and margin are >= 0. */
int64_t early_request(int64_t model, const struct resource_policy *p, int margin);

#endif
