/*
 * Authenticates the front proxy: the API server's aggregator, which passes clients' requests on to extension API
 * servers. It is known by a client certificate that the request header CA signed. Its headers that name the user are
 * then believed. The API server has authorized the user for the same path before it passed the request on.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_FRONT_PROXY_H
#define HALFLIFE_CUSTOM_METRICS_FRONT_PROXY_H

#include <gnutls/gnutls.h>
#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* The settings from the ConfigMap kube-system/extension-apiserver-authentication. Immutable. */
struct front_proxy;

/* Read the ConfigMap object. ERR_INVALID says what is missing: without a CA and a header for the user nobody can be
 * authenticated. */
int front_proxy_read(const json_t *configmap, struct front_proxy **ret, struct err *err);
void front_proxy_free(struct front_proxy *f); /* NULL is fine */

/*
 * Is the peer the front proxy, and does it name a user? chain holds the peer's certificates (DER), its own first; NULL:
 * it sent none. header returns the first value of a header, or NULL. Returns 0, or the HTTP status of the refusal, with
 * the reason. 401: the peer is not the front proxy, or names no user. 403: the CA signed its certificate, but its name
 * is not among the allowed ones.
 */
unsigned front_proxy_judge(const struct front_proxy *f, const gnutls_datum_t *chain, unsigned count,
                           const char *(*header)(void *arg, const char *name), void *arg, struct err *ret_why);

#endif
