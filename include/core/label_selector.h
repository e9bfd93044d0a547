/*
 * Kubernetes label selectors, decoded by the caller and matched here against an object's labels.
 */
#ifndef HALFLIFE_CORE_LABEL_SELECTOR_H
#define HALFLIFE_CORE_LABEL_SELECTOR_H

#include <stdbool.h>

#include "base/text.h"

struct label_pair {
        struct text key, value;
};

enum relation { OP_IN, OP_NOT_IN, OP_EXISTS, OP_DOES_NOT_EXIST, RELATIONS };

struct requirement {
        char *key;
        enum relation op;
        char **value; /* the values of In and NotIn; unused for Exists and DoesNotExist */
        size_t values;
};

/* A label selector: all its requirements have to hold. Lists and strings belong to the caller that made the
 * selector. */
struct selector {
        struct requirement *of;
        size_t count;
};

/* Whether the labels, in any order, meet the selector; s NULL matches everything. Where a key occurs twice among the
 * labels, the first counts. */
bool selector_match(const struct selector *s, const struct label_pair *label, size_t labels);
/* Whether an object may match the selector, if only these of its labels are known. Any other key may have any value, or
 * be absent. */
bool selector_may_match(const struct selector *s, const struct label_pair *label, size_t labels);
/* Whether the selector names this key with this value, by operator In or by matchLabels. System namespaces are selected
 * only where they are named so, on purpose. */
bool selector_names(const struct selector *s, struct text key, struct text value);

#endif
