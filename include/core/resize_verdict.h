/*
 * Resizing a running pod in place: which of the wanted requests a resize may write, and how far the kubelet is with the
 * resize. Amounts are millicores or bytes.
 */
#ifndef HALFLIFE_CORE_RESIZE_VERDICT_H
#define HALFLIFE_CORE_RESIZE_VERDICT_H

#include "core/rules.h"

/* How far the kubelet is with the requests in a pod's spec, from done to hopeless. */
enum resize_progress {
        RESIZE_DONE,       /* the requests are in force: the pod has no condition about a resize */
        RESIZE_GOES_ON,    /* the kubelet is resizing, or has not seen the new requests yet */
        RESIZE_FAILS,      /* the kubelet's last try failed; it tries again */
        RESIZE_DEFERRED,   /* the node has no room now; the kubelet tries again */
        RESIZE_INFEASIBLE, /* the node can never hold the requests; the kubelet does not try again */
        RESIZE_PROGRESSES
};

struct resize_container {
        enum container_role role;
        struct amount request[RESOURCES], limit[RESOURCES]; /* in the pod's spec */
        struct amount want[RESOURCES];                      /* the request wanted; unset: the request stays as it is */
        struct amount to[RESOURCES];                        /* the answer: the amount to write; unset: none */
        bool restarts[RESOURCES];                           /* a change of this request would restart the container */
};

enum resize_verdict {
        RESIZE_STANDS,   /* nothing to write: the pod has the requests wanted, as far as a resize may set them */
        RESIZE_WRITES,   /* some request has to be written */
        RESIZE_QOS,      /* nothing to write: the resize would change the pod's QoS class, which Kubernetes refuses */
        RESIZE_RESTARTS, /* nothing to write: every request wanted would restart its container */
        RESIZE_VERDICTS
};

/*
 * Judge all n containers of a pod, and set the field `to` of each. A resize writes no request above the container's
 * limit, none into an init container that runs to completion, none where the container has no request, and none that
 * would restart the container.
 *
 * Where the wanted requests would make a Burstable pod Guaranteed, one request that is raised is written one step lower
 * (1m, 1Mi), so that the pod keeps its class.
 */
enum resize_verdict resize_judge(struct resize_container *c, size_t n);

#endif
