/*
 * Parses the query string of a URL strictly: the string is percent-decoded once, and a parameter that is unknown to the
 * endpoint, given twice, too long or not UTF-8 is an error.
 */
#ifndef HALFLIFE_SRC_REST_QUERY_PARAMETERS_H
#define HALFLIFE_SRC_REST_QUERY_PARAMETERS_H

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
        PARAM_NAMESPACE,
        PARAM_SORT,
        PARAM_OFFSET,
        PARAM_OUTPUT,
        PARAM_SEARCH,
        PARAM_CONDITION,
        PARAM_REASON,
        PARAM_PROFILE,
        PARAM_BY,
        PARAM_SINCE,
        PARAM_CHANGE,
        PARAMS
};

struct query {
        struct text value[PARAMS]; /* decoded, in the arena; p is NULL where the parameter was not given */
};
static inline bool query_has(const struct query *q, enum param p)
{
        return q->value[p].p != NULL;
}

/* Parse `raw`, the query without its '?', for the parameters of the route. Returns 0, or ERR_INVALID with the answer
 * made. */
int query_read(struct text raw, enum route_name route, struct arena *a, struct query *ret, struct answer *ret_answer);

/* Percent-decode one part of a URL. `plus`: also turn '+' into a space. Returns a NUL-terminated text in the arena, or
 * {NULL, 0} where the percent-encoding is wrong, or the result is not UTF-8 or holds U+0000. */
struct text url_decode(struct text raw, bool plus, struct arena *a);

#endif
