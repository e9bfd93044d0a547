/* Parts of matching. */
#ifndef HALFLIFE_REST_ROUTES_PRIVATE_H
#define HALFLIFE_REST_ROUTES_PRIVATE_H

#include "rest/routes.h"

/* A name of at most so many lower-case letters, digits and, inside, '-' (and '.'). */
bool route_is_dns(struct text t, size_t most, bool dots);

/* Group and kind of what the path says, ns and workload of ret being known. 0, or ERR_INVALID with the answer made. */
int route_read_kind(struct text raw, const struct snapshot *v, struct arena *a, struct route *ret,
                    struct answer *ret_answer);

#endif
