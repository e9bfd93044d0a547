/*
 * Who we are to a Prometheus and whom we take it for: PEM and secrets from files, read again as they change.
 */
#ifndef HALFLIFE_PROMETHEUS_CREDENTIALS_H
#define HALFLIFE_PROMETHEUS_CREDENTIALS_H

#include "prometheus/prometheus.h"

struct credentials {
        char *ca, *cert, *key; /* PEM */
        char *bearer;          /* token */
        char *basic;           /* "user:password" */
        struct http_peer peer; /* its strings are the above */
};

/* Only while no request uses the peer. 0, or ERR_NOTFOUND, ERR_DENIED, ERR_IO, ERR_TOOBIG, ERR_INVALID (an empty file)
 * naming the file: what was known before stands. */
int credentials_read(struct credentials *id, const struct prometheus_options *o, struct err *err);
void credentials_release(struct credentials *id);

#endif
