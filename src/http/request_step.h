/* Moves an HTTP request from step to step: the request waits, goes on, or is refused. */
#ifndef HALFLIFE_HTTP_REQUEST_STEP_H
#define HALFLIFE_HTTP_REQUEST_STEP_H

#include "rest_listener_private.h"

/* Make the problem p, with the reason `why`, the answer to the request. */
void http_request_refuse(struct http_request *v, enum problem p, const char *why);
void http_request_overloaded(struct http_request *v, const char *why); /* answers 503, and counts it in `shed` */
/* Answer 503 because the listener is stopping, so that the request starts no work on another thread. */
void http_request_refuse_at_the_end(struct http_request *v);
/* Answer a suspended request with the problem p, without waiting any longer, and resume it. */
void http_request_give_up(struct http_request *v, enum problem p, const char *why);

void http_request_suspend(struct http_request *v, enum http_request_step step);
void http_request_resume(struct http_request *v);

#endif
