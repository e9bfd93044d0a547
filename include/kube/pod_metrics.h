/*
 * Usage from metrics-server (metrics.k8s.io/v1beta1): one streamed list, read pod by pod as the bytes come.
 */
#ifndef HALFLIFE_KUBE_POD_METRICS_H
#define HALFLIFE_KUBE_POD_METRICS_H

#include "kube/client.h"
#include "objects/decode.h"

struct metrics_result {
        int64_t pods;     /* read */
        int64_t refused;  /* items that could not be read (counted, skipped) */
        bool whole;       /* the list came to its end */
        struct wall date; /* the answer's Date header */
        bool absent;      /* the metrics API is not there (404 of the group) */
        struct err err;   /* code 0: all was read */
};

/* Poll once. ns NULL: all namespaces. deadline_ms: of the whole, tries again included; at its end what came counts.
 * each is called in the server's order (namespace, name) while the answer arrives; date is the answer's Date header.
 * done once; the handle is valid until then, or until metrics_cancel (which calls nobody). */
struct metrics_poll;
struct metrics_poll *metrics_poll(struct client *c, const char *ns, int64_t deadline_ms,
                                  void (*each)(void *arg, const struct pod_metrics_view *m, struct wall date),
                                  void (*done)(void *arg, const struct metrics_result *r), void *arg);
void metrics_cancel(struct metrics_poll *p);

#endif
