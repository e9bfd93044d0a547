/*
 * The kinds in one answer of aggregated discovery (APIGroupDiscoveryList), with the versions that serve them.
 */
#ifndef HALFLIFE_SRC_KUBE_DISCOVERY_INDEX_H
#define HALFLIFE_SRC_KUBE_DISCOVERY_INDEX_H

#include "base/err.h"
#include "base/map.h"
#include "kube/client.h"

struct discovery_index {
        struct map kinds; /* "group/Kind" -> struct served_kind, the version that the server prefers first */
        struct map stale; /* "group/" -> struct served_kind: groups with an API server that does not answer */
};

/* {0} is an empty index. Returns 0, or ERR_INVALID with *ret as it was: the body is no such list. */
int discovery_index_read(struct discovery_index *ret, struct text body, struct err *err);
void discovery_index_release(struct discovery_index *x);
/* Fills in plural and version where the group has the kind. group and kind are at most as long as api_resource's.
 * versions as in client_discover_version; NULL: the version that the server prefers. */
bool discovery_index_find(const struct discovery_index *x, const char *group, const char *kind,
                          const char *const *versions, struct api_resource *ret);
/* Whether a version of the group may lack kinds, because its API server does not answer. */
bool discovery_index_is_stale(const struct discovery_index *x, const char *group);

#endif
