/*
 * Credentials for a Prometheus, and the CA that its certificate has to be from: PEM and secrets, read from files.
 */
#ifndef HALFLIFE_PROMETHEUS_CREDENTIALS_H
#define HALFLIFE_PROMETHEUS_CREDENTIALS_H

#include "prometheus/prometheus.h"

struct credentials {
        char *ca, *cert, *key; /* PEM */
        char *bearer;          /* token */
        char *basic;           /* "user:password" */
        char *headers;         /* further header lines */
        struct http_peer peer; /* points to the strings above */
};

/* Read the files again; only while no request uses the peer. Returns 0. On ERR_NOTFOUND, ERR_DENIED, ERR_IO, ERR_TOOBIG
 * or ERR_INVALID (an empty file, a bad header line) *id stays unchanged, and err names the file. */
int credentials_read(struct credentials *id, const struct prometheus_options *o, struct err *err);
void credentials_release(struct credentials *id);

#endif
