/*
 * The halflife that learns, asked by one that only serves, in the name of whoever asks: histograms and their
 * explanations are nowhere else. On the loop's thread.
 */
#ifndef HALFLIFE_SERVING_UPSTREAM_H
#define HALFLIFE_SERVING_UPSTREAM_H

#include "http/server.h"
#include "net/http.h"

struct learner;
/* url: "https://halflife.halflife.svc", or http on a loopback address, for tokens travel there. ERR_INVALID otherwise.
 * Strings are the caller's. */
int learner_new(struct loop *l, const char *url, const char *user_agent, struct learner **ret, struct err *err);
void learner_free(struct learner *l); /* those under way end without a call */
/* Who vouches for its certificate, from now on: PEM, copied. */
void learner_set_ca(struct learner *l, const char *ca_pem);

/* Ask; answered is called once, not from within, also where nobody can be asked (status 0). Copies token and path. */
struct learner_call;
typedef void learner_answered(void *arg, const struct server_relayed *r);
struct learner_call *learner_ask(struct learner *l, const char *token, const char *path_query,
                                 learner_answered *answered, void *arg);
void learner_cancel(struct learner_call *call);

#endif
