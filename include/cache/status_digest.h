/*
 * A digest of what is written at once when it changes. The same is taken of a plan (each cycle, for every target: no
 * JSON is built for it) and of a status as the server has it (once, when it comes): both feed the same texts in the
 * same order.
 */
#ifndef HALFLIFE_CACHE_STATUS_DIGEST_H
#define HALFLIFE_CACHE_STATUS_DIGEST_H

#include <jansson.h>
#include <stdint.h>

#include "core/amount.h"

uint64_t digest_feed(uint64_t digest, const char *s); /* NULL is a text of its own */
uint64_t digest_feed_amount(uint64_t digest, enum resource r, struct amount a);
uint64_t digest_condition(const char *type, const char *status, const char *reason, const char *message);
/* Lists are mixed by addition: the server may give them back in another order. */
uint64_t digest_feed_sum(uint64_t digest, uint64_t sum);

uint64_t publish_status_digest(const json_t *status);

#endif
