/*
 * The bounds on the bodies and answers of requests: bytes of one request, bytes of all requests of one caller or
 * address, and bytes of all requests together. A caller that reaches a bound gets an answer that names the bound.
 */
#ifndef HALFLIFE_HTTP_REQUEST_BOUNDS_H
#define HALFLIFE_HTTP_REQUEST_BOUNDS_H

#include "rest_listener_private.h"

/* The caller's name for caller_id: the token that the API server accepted. Admission and routes open to everybody check
 * no token, so a token there could claim to be anybody's; for these the name is the client address. */
struct text http_request_caller(const struct http_request *v);
/* Read the announced length of the body. Refuse the request if halflife cannot tell the length, or if it is longer than
 * the path takes. */
void http_request_check_body(struct http_request *v);
/* Make room for a body that has grown to `bytes` bytes. false: there is none, and the request was refused. */
bool http_request_reserve(struct http_request *v, size_t bytes);
/* An answer occupies memory until the client has read it, so large answers count against the bound. Answers to
 * admission never count, so that no deploy fails for lack of room. */
void http_request_count_answer(struct http_request *v);

#endif
