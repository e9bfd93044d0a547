/*
 * Label selectors as the API has them (matchLabels and matchExpressions), read once.
 */
#ifndef HALFLIFE_OBJECTS_LABEL_SELECTOR_H
#define HALFLIFE_OBJECTS_LABEL_SELECTOR_H

#include <jansson.h>

#include "base/err.h"
#include "core/selector.h"

/* json NULL or empty object: matches everything (*ret is NULL then). ERR_INVALID names the member. */
int selector_read(const json_t *json, struct selector **ret, struct err *err);
void selector_free(struct selector *s);

#endif
