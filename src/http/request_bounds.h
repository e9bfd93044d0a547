/*
 * The bounds on the bodies and answers of requests: what one request may have, what a caller or an address may have of
 * it, and all of them together. A caller that reaches a bound gets an answer that names the bound.
 */
#ifndef HALFLIFE_HTTP_REQUEST_BOUNDS_H
#define HALFLIFE_HTTP_REQUEST_BOUNDS_H

#include "rest_listener_private.h"

/* Who the caller is, for caller_id: the token that the API server accepted. Admission and routes open to everybody look
 * at none, so that it could claim to be anybody's: there it is the address. */
struct text http_request_caller(const struct http_request *v);
/* Read the announced length of the body, and refuse what cannot be read or is longer than the path takes. */
void http_request_check_body(struct http_request *v);
/* Make room for a body that has grown to so many bytes; false: the request was refused. */
bool http_request_reserve(struct http_request *v, size_t bytes);
/* An answer occupies memory until the client has read it, so large ones count against the bound. Answers to admission
 * never do: no deploy fails for lack of room. */
void http_request_count_answer(struct http_request *v);

#endif
