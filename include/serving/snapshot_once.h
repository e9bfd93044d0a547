/*
 * A look at the cluster, once, for a command that answers from it: what render and others need to know, through the
 * API server alone.
 */
#ifndef HALFLIFE_SERVING_SNAPSHOT_ONCE_H
#define HALFLIFE_SERVING_SNAPSHOT_ONCE_H

#include "kube/client.h"
#include "snapshot/snapshot.h"

enum { GLANCE_NAMESPACES = 16 };

struct snapshot_once_options {
        const char *own_ns;    /* halflife's own namespace: reached only by name; NULL: none */
        const char *const *ns; /* those that matter: what is in them is asked for, by whoever may ask there only */
        size_t namespaces;     /* more than GLANCE_NAMESPACES: all of the cluster is asked for at once */
};

/*
 * Lists Recommendations, Profiles, ClusterProfiles, LimitRanges, HorizontalPodAutoscalers and, where their CRDs are
 * installed, VerticalPodAutoscalers and ScaledObjects, and reads Namespaces, one after the other; turns the client's
 * loop meanwhile. A namespace that is not there yet is none. *ret_unread objects could not be read, and *ret_why says
 * why the last of them. The view has one reference. < 0: what the client says, with what was asked for.
 */
int snapshot_once(struct client *c, const struct snapshot_once_options *o, struct snapshot **ret, size_t *ret_unread,
                  struct err *ret_why, struct err *err);

#endif
