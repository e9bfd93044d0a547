/*
 * Partial responses: the parameter `fields` of a list names the members that each item keeps.
 */
#ifndef HALFLIFE_REST_PARTIAL_RESPONSE_H
#define HALFLIFE_REST_PARTIAL_RESPONSE_H

#include "base/buf.h"
#include "base/err.h"

/* Dotted paths of members to keep, such as status.containers.cpu; a path keeps all members below it. Paths do not
 * mention arrays: a path applies to each element. The paths point into the text that fields_parse was given. */
enum { FIELDS_MOST = 32 };
struct fields {
        struct text path[FIELDS_MOST];
        int count;
};
/* Parse paths separated by commas. ERR_INVALID: too many paths, or a path that no item has. */
int fields_parse(struct text from, struct fields *ret, struct err *err);
/* Append a JSON value with only the named fields. `json` must be valid JSON, as halflife itself writes it
 * (asserted). */
void fields_copy(const struct fields *f, struct text json, struct buf *to);

#endif
