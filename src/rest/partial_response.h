/*
 * What a list leaves out by fields: a partial response.
 */
#ifndef HALFLIFE_REST_PARTIAL_RESPONSE_H
#define HALFLIFE_REST_PARTIAL_RESPONSE_H

#include "base/buf.h"
#include "base/err.h"

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
