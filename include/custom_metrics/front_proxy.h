/*
 * Authenticates the front proxy: the API server's aggregator, which passes clients' requests on to extension API
 * servers. The front proxy is known by a client certificate that the request header CA signed. halflife then believes
 * the headers in which the front proxy names the user. The API server has authorized the user for the same path before
 * it passes a request on.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_FRONT_PROXY_H
#define HALFLIFE_CUSTOM_METRICS_FRONT_PROXY_H

#include <gnutls/gnutls.h>
#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* The front proxy's identity, from the ConfigMap kube-system/extension-apiserver-authentication. Immutable. */
struct front_proxy;

/* Read the ConfigMap object. ERR_INVALID: the ConfigMap lacks the CA or the header that names the user, so nobody can
 * be authenticated; the message says which. */
int front_proxy_read(const json_t *configmap, struct front_proxy **ret, struct err *err);
void front_proxy_free(struct front_proxy *f); /* NULL is fine */

/*
 * Judge whether the peer is the front proxy and names a user. `chain` has the peer's certificates (DER), the peer's own
 * first; NULL: the peer sent none. `header` returns the first value of a header, or NULL. Returns 0, or the HTTP status
 * of the refusal with the reason in *ret_why. 401: the peer is not the front proxy, or names no user. 403: the CA
 * signed the peer's certificate, but the name in it is not an allowed one.
 */
unsigned front_proxy_judge(const struct front_proxy *f, const gnutls_datum_t *chain, unsigned count,
                           const char *(*header)(void *arg, const char *name), void *arg, struct err *ret_why);

#endif
