/*
 * Values as the store keeps them in JSON.
 */
#ifndef HALFLIFE_CACHE_JSON_VALUES_H
#define HALFLIFE_CACHE_JSON_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/yaml.h"
#include "core/amount.h"

/* Put it into an object under a key, where there is one. */
void amount_put(json_t *to, const char *key, enum resource r, struct amount a);
/* A time as the store keeps it in JSON, wall ms; 0: there is none, or one before 1970. At most the year 9999. */
int64_t time_kept(const json_t *o, const char *key);

#endif
