/*
 * Decides whether the caller of an HTTP request may make it: asks the API server about the caller's token, and keeps
 * the answer for a while (auth.h). Afterwards the request is answered (STEP_ANSWER), may send its body (STEP_BODY), or
 * waits for the verdict (STEP_VERDICT).
 */
#ifndef HALFLIFE_HTTP_REQUEST_AUTHORIZATION_H
#define HALFLIFE_HTTP_REQUEST_AUTHORIZATION_H

#include "rest_listener_private.h"

/* Ask first about every Recommendation of the namespace: one verdict then serves all requests of a pipeline. For a list
 * of nodes, the first question is whether the caller may list nodes, the second whether the answer may name their
 * workloads. */
void http_request_authorize(struct http_request *v);
void http_request_take_verdict(struct http_request *v, enum auth_say say);
/* Pass the verdict `say` to all requests of the list w, which waited after AUTH_SAYS_WAIT. */
void http_requests_judged(struct auth_waiter *w, enum auth_say say);
/* Let the request go on after its caller was allowed: the body may come. */
void http_request_allow(struct http_request *v);

#endif
