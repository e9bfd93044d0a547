/*
 * Parses label selectors from their two forms: JSON with matchLabels and matchExpressions, and kubectl's text.
 */
#ifndef HALFLIFE_OBJECTS_LABEL_SELECTOR_H
#define HALFLIFE_OBJECTS_LABEL_SELECTOR_H

#include <jansson.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/label_selector.h"

/* The longest selectors that halflife reads. A profile's bounds are those of its CRD. Selectors in other objects and in
 * texts have wider bounds, beyond any selector in use. */
struct selector_bounds {
        size_t labels, expressions, values; /* matchLabels; matchExpressions; values of one expression */
};
extern const struct selector_bounds selector_of_profile, selector_of_others;

/* Reads a selector from JSON. NULL or an empty object selects everything, and *ret is then NULL. Returns 0, or
 * ERR_INVALID or, beyond the bounds, ERR_TOOBIG with the member's name in err. The caller frees *ret. */
int selector_read(const json_t *json, const struct selector_bounds *most, struct selector **ret, struct err *err);
void selector_free(struct selector *s);

/*
 * Parses "app=web,tier in (a,b),!canary,track!=beta,team" into a selector in the arena. An empty text selects
 * everything, and *ret is then NULL. Returns 0, or ERR_INVALID or ERR_TOOBIG with the error and its place in err.
 * Bounds: selector_of_others.
 */
int selector_parse(struct text from, struct arena *a, struct selector **ret, struct err *err);

#endif
