/*
 * The custom metrics server: the listener (custom_metrics/custom_metrics_listener.h) together with the registration of
 * the API group (custom_metrics/api_registration.h). Where custom metrics are switched off, s is NULL, which all
 * functions accept.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_SERVER_H
#define HALFLIFE_CUSTOM_METRICS_CUSTOM_METRICS_SERVER_H

#include <stdint.h>

#include "kube/client.h"

struct snapshot_ref;
struct custom_metrics_server_options {
        const char *listen;               /* "127.0.0.1:6443", ":6443" */
        const char *cert_file, *key_file; /* PEM, checked each second; NULL: set by the function below */
        const char *ns, *service;         /* the Service that the APIServices have to name */
};

struct custom_metrics_server;
/* The caller keeps strings and views until custom_metrics_server_free. ERR_IO, ERR_INVALID: listening failed. */
int custom_metrics_server_new(struct client *c, const struct custom_metrics_server_options *o,
                              struct snapshot_ref *views, struct custom_metrics_server **ret, struct err *err);
void custom_metrics_server_free(struct custom_metrics_server *s);
const char *
custom_metrics_server_address(const struct custom_metrics_server *s); /* "127.0.0.1:41234", the bound port; or "" */
int custom_metrics_server_set_certificate(struct custom_metrics_server *s, const char *cert_pem, const char *key_pem,
                                          struct err *err);
/* Answers since the start, by the first digit of the status. */
void custom_metrics_server_counts(const struct custom_metrics_server *s, uint64_t ret[static 6]);

#endif
