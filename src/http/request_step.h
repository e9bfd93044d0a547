/* How a request goes from step to step: it waits, goes on, or is refused. */
#ifndef HALFLIFE_HTTP_REQUEST_STEP_H
#define HALFLIFE_HTTP_REQUEST_STEP_H

#include "rest_listener_private.h"

/* The answer is this problem. */
void http_request_refuse(struct http_request *v, enum problem p, const char *why);
void http_request_overloaded(struct http_request *v, const char *why); /* 503, counted */
/* The listener stops, so a request no longer starts work on another thread. */
void http_request_refuse_at_the_end(struct http_request *v);
void http_request_give_up(struct http_request *v, enum problem p, const char *why); /* the request must be suspended */

void http_request_suspend(struct http_request *v, enum http_request_step step);
void http_request_resume(struct http_request *v);

#endif
