/* Functions that routes.c and kind_argument.c share to match a request to its endpoint. */
#ifndef HALFLIFE_REST_ROUTES_PRIVATE_H
#define HALFLIFE_REST_ROUTES_PRIVATE_H

#include "rest/routes.h"

/* Whether t is a name that Kubernetes takes: 1 to `most` lower-case letters, digits and, inside, '-' (if `dots`: also
 * '.'). */
bool route_is_dns(struct text t, size_t most, bool dots);

/* Read the segment {kind} of the path into ret->group and ret->kind; ret->ns and ret->workload must be set before.
 * Returns 0, or ERR_INVALID with the answer made. */
int route_read_kind(struct text raw, const struct snapshot *v, struct arena *a, struct route *ret,
                    struct answer *ret_answer);

#endif
