/*
 * Who may speak to an extension API server in the name of others: the API server's aggregator, known by a client
 * certificate that the request header CA signed. What it says in headers of who asks is believed then; what he may was
 * asked by the API server before it passed the request on, of the same path.
 */
#ifndef HALFLIFE_CUSTOM_METRICS_FRONT_PROXY_H
#define HALFLIFE_CUSTOM_METRICS_FRONT_PROXY_H

#include <gnutls/gnutls.h>
#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* As the ConfigMap kube-system/extension-apiserver-authentication tells. Immutable. */
struct front_proxy;

/* configmap: the object. ERR_INVALID says what is missing: without a CA, or without a user's header, nobody is let in.
 */
int front_proxy_read(const json_t *configmap, struct front_proxy **ret, struct err *err);
void front_proxy_free(struct front_proxy *f); /* NULL is fine */

/*
 * May the peer of this session speak for others, and for whom does he? chain: his certificates (DER), the first his
 * own; NULL: he showed none. header gives the first value of a header, or NULL. Returns 0, or the HTTP status to refuse
 * him with, and why: 401 where he proves not to be the front proxy, or names nobody; 403 where he is one of the CA's,
 * but not of the names allowed.
 */
unsigned front_proxy_judge(const struct front_proxy *f, const gnutls_datum_t *chain, unsigned count,
                           const char *(*header)(void *arg, const char *name), void *arg, struct err *ret_why);

#endif
