/*
 * The numbers under which an explanation is asked for again, with their bounds: parameters of GET …/explain, and
 * options of halflife explain, which so refuses the same values before anybody is asked. ERR_INVALID: err says what is
 * allowed, of the parameter or option by the name given.
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
