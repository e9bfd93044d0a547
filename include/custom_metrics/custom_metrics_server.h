/*
 * Custom metrics served: the listener (custom_metrics/custom_metrics_listener.h), and whose the API group is in the
 * cluster (custom_metrics/api_registration.h). Everything may be called with NULL where they are not served.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_SERVER_H
#define HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_SERVER_H

#include <stdint.h>

#include "kube/client.h"

struct snapshot_ref;
struct custom_metrics_server_options {
        const char *listen;               /* "127.0.0.1:6443", ":6443" */
        const char *cert_file, *key_file; /* PEM, looked at each second; NULL: custom_metrics_server_set_certificate */
        const char *ns, *service;         /* whom the APIServices have to name */
};

struct custom_metrics_server;
/* Strings and views are the caller's, kept until custom_metrics_server_free. ERR_IO, ERR_INVALID: it cannot listen. */
int custom_metrics_server_new(struct client *c, const struct custom_metrics_server_options *o,
                              struct snapshot_ref *views, struct custom_metrics_server **ret, struct err *err);
void custom_metrics_server_free(struct custom_metrics_server *s);
const char *
custom_metrics_server_address(const struct custom_metrics_server *s); /* the port bound; "" where there is none */
int custom_metrics_server_set_certificate(struct custom_metrics_server *s, const char *cert_pem, const char *key_pem,
                                          struct err *err);
/* Who vouches for our certificate (PEM, copied): is written into the APIServices that are ours. */
void custom_metrics_server_vouched_by(struct custom_metrics_server *s, const char *roots_pem);
/* Answers since the start, by the first digit of the status. */
void custom_metrics_server_counts(const struct custom_metrics_server *s, uint64_t ret[static 6]);

#endif
