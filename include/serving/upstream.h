/*
 * A replica's client of its upstream, the halflife that learns: only upstream has histograms and explanations. Each
 * request carries the caller's own token. On the loop's thread.
 */
#ifndef HALFLIFE_SERVING_UPSTREAM_H
#define HALFLIFE_SERVING_UPSTREAM_H

#include "http/server.h"
#include "net/http.h"

struct upstream;
/* `url` is such as "https://halflife.halflife.svc"; http:// is for loopback addresses only, because the requests carry
 * tokens. ERR_INVALID: another url. Strings are borrowed until upstream_free. */
int upstream_new(struct loop *l, const char *url, const char *user_agent, struct upstream **ret, struct err *err);
void upstream_free(struct upstream *l); /* requests under way end without a call of `answered` */
/* Set the CA that verifies upstream's certificate from now on: PEM, copied. */
void upstream_set_ca(struct upstream *l, const char *ca_pem);

/* Forward an HTTP request to upstream. `answered` is called once, after upstream_ask has returned; status 0 there:
 * upstream did not answer. Token and path are copied. */
struct upstream_call;
typedef void upstream_answered(void *arg, const struct server_relayed *r);
struct upstream_call *upstream_ask(struct upstream *l, const char *token, const char *path_query,
                                   upstream_answered *answered, void *arg);
void upstream_cancel(struct upstream_call *call);

#endif
