/*
 * What a list leaves out: by label selector, as kubectl writes it, and by fields.
 */
#ifndef HALFLIFE_SRC_SERVE_FILTER_H
#define HALFLIFE_SRC_SERVE_FILTER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "core/selector.h"

/*
 * "app=web,tier in (a,b),!canary,track!=beta,team": a selector in the arena. An empty text selects all. ERR_INVALID
 * says what is wrong and where.
 */
int selector_parse(struct text from, struct arena *a, struct selector **ret, struct err *err);

/* Dotted paths of what an item may have; a path keeps all that is below it. Elements of arrays are passed through. */
enum { FIELDS_MOST = 32 };
struct fields {
        struct text path[FIELDS_MOST];
        int count;
};
int fields_parse(struct text from, struct fields *ret, struct err *err);
/* Copy one JSON value, of ours, with only the fields named. */
void fields_copy(const struct fields *f, struct text json, struct buf *to);

#endif
