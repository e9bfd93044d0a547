/*
 * Parses the numbers that an explanation may change (percentile, half-life, multiplier), and checks their bounds. GET
 * …/explain takes them as parameters, and halflife explain as options, so both refuse the same values. ERR_INVALID: err
 * has the given name of the parameter or option, and what is allowed.
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
