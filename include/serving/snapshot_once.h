/*
 * Reads the cluster once through the API server, and makes the snapshot that a command such as render answers from.
 */
#ifndef HALFLIFE_SERVING_SNAPSHOT_ONCE_H
#define HALFLIFE_SERVING_SNAPSHOT_ONCE_H

#include "kube/client.h"
#include "snapshot/snapshot.h"

enum { GLANCE_NAMESPACES = 16 };

struct snapshot_once_options {
        const char *own_ns;    /* halflife's namespace: only profiles that name it select there; NULL: none */
        const char *const *ns; /* the namespaces to list objects in; a user may have permissions in these only */
        size_t namespaces;     /* the number of `ns`; above GLANCE_NAMESPACES, one list covers the whole cluster */
};

/*
 * List Recommendations, Profiles, ClusterProfiles, LimitRanges and HorizontalPodAutoscalers, and, where their CRDs are
 * installed, VerticalPodAutoscalers and ScaledObjects. Namespaces are read one after the other; a missing namespace is
 * no error. The call runs the client's loop until it is done. *ret is one reference. *ret_unread counts the objects
 * that could not be decoded; *ret_why is the error of the last of them. Returns 0, or the client's error, which names
 * the failed request.
 */
int snapshot_once(struct client *c, const struct snapshot_once_options *o, struct snapshot **ret, size_t *ret_unread,
                  struct err *ret_why, struct err *err);

/*
 * Make a snapshot of what a person may see: the Recommendations of the namespace `ns`, or of all with NULL, and the
 * profiles that the API server lets the person list. Where the API server refuses a kind of profile, `unlisted` of the
 * snapshot says why. Nothing else is listed, so the snapshot is for showing workloads, not for deploying any. *ret is
 * one reference. Returns 0, or the error of listing the Recommendations.
 */
int snapshot_shown(struct client *c, const char *ns, struct snapshot **ret, struct err *err);

#endif
