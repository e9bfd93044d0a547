/*
 * Parses the numbers that an explanation may change (percentile, half-life, multiplier), and checks their bounds. GET
 * …/explain takes these numbers as parameters, and the command `halflife explain` as options; both use these functions,
 * so both refuse the same values. ERR_INVALID: err says `name`, the parameter's or option's name, and what is allowed.
 */
#ifndef HALFLIFE_REST_EXPLAIN_CHANGE_H
#define HALFLIFE_REST_EXPLAIN_CHANGE_H

#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

int explain_change_percentile(const char *name, struct text t, int *ret, struct err *err); /* tenths of a per cent */
int explain_change_multiplier(const char *name, struct text t, int *ret, struct err *err); /* thousandths */
int explain_change_half_life(const char *name, struct text t, int64_t *ret_ms, struct err *err);

#endif
