/*
 * Label selectors, read once: as objects have them (matchLabels and matchExpressions), and as kubectl writes them.
 */
#ifndef HALFLIFE_OBJECTS_LABEL_SELECTOR_H
#define HALFLIFE_OBJECTS_LABEL_SELECTOR_H

#include <jansson.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/label_selector.h"

/* json NULL or empty object: matches everything (*ret is NULL then). ERR_INVALID names the member. */
int selector_read(const json_t *json, struct selector **ret, struct err *err);
void selector_free(struct selector *s);

/*
 * "app=web,tier in (a,b),!canary,track!=beta,team": a selector in the arena. An empty text selects all. ERR_INVALID
 * says what is wrong and where.
 */
int selector_parse(struct text from, struct arena *a, struct selector **ret, struct err *err);

#endif
