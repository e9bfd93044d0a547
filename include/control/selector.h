/*
 * Label selectors (matchLabels and matchExpressions), parsed once, matched against sorted or unsorted labels.
 */
#ifndef HALFLIFE_CONTROL_SELECTOR_H
#define HALFLIFE_CONTROL_SELECTOR_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

struct label_pair {
        struct text key, value;
};

struct selector;
/* json NULL or empty object: matches everything (*ret is NULL then). ERR_INVALID names the member. */
int selector_read(const json_t *json, struct selector **ret, struct err *err);
void selector_free(struct selector *s);
bool selector_match(const struct selector *s, const struct label_pair *label, size_t labels);
/* Does it name this key with operator In or by matchLabels? (namespaces named on purpose) */
bool selector_names(const struct selector *s, struct text key, struct text value);

#endif
