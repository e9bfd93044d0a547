/*
 * A query string, taken apart strictly: percent-decoded once, every parameter known to the door, none twice, all
 * bounded, all UTF-8.
 */
#ifndef HALFLIFE_REST_QUERY_H
#define HALFLIFE_REST_QUERY_H

#include "rest/routes.h"

enum param {
        PARAM_CONTAINER,
        PARAM_ORIGINAL,
        PARAM_LABELS,
        PARAM_LABEL_SELECTOR,
        PARAM_STATE,
        PARAM_LIMIT,
        PARAM_CONTINUE,
        PARAM_FIELDS,
        PARAM_RESOURCE,
        PARAM_PERCENTILE,
        PARAM_HALF_LIFE,
        PARAM_MULTIPLIER,
        PARAM_DRY_RUN,
        PARAMS
};

struct query {
        struct text value[PARAMS]; /* decoded, in the arena; p is NULL where it was not given */
};
static inline bool query_has(const struct query *q, enum param p)
{
        return q->value[p].p != NULL;
}

/* 0, or ERR_INVALID with the answer made. */
int query_read(struct text raw, enum route_name door, struct arena *a, struct query *ret, struct answer *ret_answer);

/* One part of a URL; plus: '+' is a space. NUL-terminated in the arena, or {NULL, 0} for what is no percent-encoding,
 * no UTF-8, or holds U+0000. */
struct text url_decode(struct text raw, bool plus, struct arena *a);

#endif
