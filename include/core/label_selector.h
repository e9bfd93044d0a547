/*
 * Label selectors: values that were read before, matched against labels in any order.
 */
#ifndef HALFLIFE_CORE_LABEL_SELECTOR_H
#define HALFLIFE_CORE_LABEL_SELECTOR_H

#include <stdbool.h>

#include "base/text.h"

enum { SELECTOR_LABELS = 16, SELECTOR_EXPRESSIONS = 16, SELECTOR_VALUES = 64 };

struct label_pair {
        struct text key, value;
};

enum relation { OP_IN, OP_NOT_IN, OP_EXISTS, OP_DOES_NOT_EXIST, RELATIONS };

struct requirement {
        char *key;
        enum relation op;
        char *value[SELECTOR_VALUES]; /* none for Exists and DoesNotExist */
        size_t values;
};

/* Strings belong to whoever made it. */
struct selector {
        struct requirement of[SELECTOR_LABELS + SELECTOR_EXPRESSIONS];
        size_t count;
};

/* NULL matches everything. Of a key that occurs twice among the labels the first counts. */
bool selector_match(const struct selector *s, const struct label_pair *label, size_t labels);
/* Does it name this key with this value, by operator In or by matchLabels? (namespaces named on purpose) */
bool selector_names(const struct selector *s, struct text key, struct text value);

#endif
