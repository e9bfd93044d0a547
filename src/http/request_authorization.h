/*
 * What a caller may do: the API server is asked about its token, and the answer is kept for a while (auth.h).
 * Afterwards the request has its answer, may have its body, or waits in STEP_VERDICT.
 */
#ifndef HALFLIFE_HTTP_REQUEST_AUTHORIZATION_H
#define HALFLIFE_HTTP_REQUEST_AUTHORIZATION_H

#include "rest_listener_private.h"

/* Ask first about every Recommendation of the namespace: one verdict then serves all requests of a pipeline. Of nodes
 * the first question is whether the caller may list them, the second whether their workloads may be named. */
void http_request_authorize(struct http_request *v);
void http_request_take_verdict(struct http_request *v, enum auth_say say);
void http_requests_judged(struct auth_waiter *w, enum auth_say say); /* all of the list, after AUTH_SAYS_WAIT */
/* The request is allowed, so its body may come. */
void http_request_allow(struct http_request *v);

#endif
