/*
 * Usage from metrics-server (metrics.k8s.io), of pods or of nodes: one streamed list, parsed item by item as the bytes
 * arrive. halflife reads the API in version v1 where discovery names v1, else in v1beta1; both have the same fields.
 */
#ifndef HALFLIFE_KUBE_POD_METRICS_H
#define HALFLIFE_KUBE_POD_METRICS_H

#include "kube/client.h"
#include "objects/decode.h"

struct metrics_result {
        int64_t pods;        /* number of pods, or of nodes, read */
        int64_t refused;     /* number of unreadable items, which were skipped */
        bool whole;          /* the list is complete */
        struct wall date;    /* the response's Date header */
        bool absent;         /* the cluster has no metrics API: 404, and discovery does not name it */
        struct err err;      /* code 0: the list is complete */
        const char *version; /* API version read: "v1", "v1beta1"; NULL: another usage source */
};

/* Read the usage of all pods once. `ns` NULL: all namespaces; the text is copied. `deadline_ms` covers the whole poll
 * with its retries; the pods that arrived by then count. Without an answer of discovery in half that time, v1beta1 is
 * read. `each` is called in the server's order (namespace, name) while the response arrives; `date` is the response's
 * Date header. `done` is called once. The handle is valid until then, or until metrics_cancel, after which `done` is
 * not called. */
struct metrics_poll;
struct metrics_poll *metrics_poll(struct client *c, const char *ns, int64_t deadline_ms,
                                  void (*each)(void *arg, const struct pod_metrics_view *m, struct wall date),
                                  void (*done)(void *arg, const struct metrics_result *r), void *arg);
/* As metrics_poll, for the usage of nodes. */
struct metrics_poll *metrics_poll_nodes(struct client *c, int64_t deadline_ms,
                                        void (*each)(void *arg, const struct node_metrics_view *m, struct wall date),
                                        void (*done)(void *arg, const struct metrics_result *r), void *arg);
void metrics_cancel(struct metrics_poll *p);

/* For commands: turn the loop until it is known which version a poll would read, "v1" or "v1beta1". */
const char *metrics_version_wait(struct client *c);

#endif
