/*
 * The halflife that learns, asked by one that only serves, in the name of whoever asks: histograms and their
 * explanations are nowhere else. On the loop's thread.
 */
#ifndef HALFLIFE_SERVING_UPSTREAM_H
#define HALFLIFE_SERVING_UPSTREAM_H

#include "http/server.h"
#include "net/http.h"

struct upstream;
/* url: "https://halflife.halflife.svc", or http on a loopback address, for tokens travel there. ERR_INVALID otherwise.
 * Strings are the caller's. */
int upstream_new(struct loop *l, const char *url, const char *user_agent, struct upstream **ret, struct err *err);
void upstream_free(struct upstream *l); /* those under way end without a call */
/* Who vouches for its certificate, from now on: PEM, copied. */
void upstream_set_ca(struct upstream *l, const char *ca_pem);

/* Ask; answered is called once, not from within, also where nobody can be asked (status 0). Copies token and path. */
struct upstream_call;
typedef void upstream_answered(void *arg, const struct server_relayed *r);
struct upstream_call *upstream_ask(struct upstream *l, const char *token, const char *path_query,
                                   upstream_answered *answered, void *arg);
void upstream_cancel(struct upstream_call *call);

#endif
