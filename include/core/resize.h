/*
 * A running pod and the requests that it is to have: what a resize of it may write, and what the kubelet makes of it.
 * Amounts are millicores or bytes.
 */
#ifndef HALFLIFE_CORE_RESIZE_H
#define HALFLIFE_CORE_RESIZE_H

#include "core/rules.h"

/* The kubelet's word on the requests in a pod's spec. The later ones stand more in the way. */
enum resize_progress {
        RESIZE_DONE,       /* it has nothing to say: they are in force */
        RESIZE_GOES_ON,    /* it is at it, or has not seen them yet */
        RESIZE_FAILS,      /* it is at it, and the last try failed; it tries again */
        RESIZE_DEFERRED,   /* no room on the node now; it tries again */
        RESIZE_INFEASIBLE, /* never on this node; it does not try again */
        RESIZE_PROGRESSES
};

struct resize_container {
        enum container_role role;
        struct amount request[RESOURCES], limit[RESOURCES]; /* of the pod */
        struct amount want[RESOURCES];                      /* unset: the request stays as it is */
        struct amount to[RESOURCES];                        /* the answer: what to write; unset: nothing */
        bool restarts[RESOURCES];                           /* a change would restart the container */
};

enum resize_verdict {
        RESIZE_STANDS,   /* it has what it is to have */
        RESIZE_WRITES,   /* some request is to be written */
        RESIZE_QOS,      /* it would take the pod out of its QoS class, which no resize may */
        RESIZE_RESTARTS, /* all that is to be written would restart its container */
        RESIZE_VERDICTS
};

/*
 * Judge the n containers of a pod, all of them, into their to. Nothing is written above a limit, into init containers
 * that run to completion, where the pod asks for nothing, or where it would restart the container. A pod that is
 * Burstable though its originals are Guaranteed gets them less one step (1m, 1Mi): all of them would change its class.
 */
enum resize_verdict resize_judge(struct resize_container *c, size_t n);

#endif
