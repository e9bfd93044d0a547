/*
 * Amounts and times in the JSON that the store keeps.
 */
#ifndef HALFLIFE_CACHE_JSON_VALUES_H
#define HALFLIFE_CACHE_JSON_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/yaml.h"
#include "core/amount.h"

/* Put an amount into the JSON object `to` under a key. An unset amount adds nothing. */
void amount_put(json_t *to, const char *key, enum resource r, struct amount a);
/* The time under a key of the JSON object `o`, in wall ms, at most the end of the year 9999; 0: missing, or before
 * 1970. */
int64_t time_kept(const json_t *o, const char *key);

#endif
