/* Sends the answer of a request, with the headers that every answer has. */
#ifndef HALFLIFE_HTTP_REQUEST_ANSWER_H
#define HALFLIFE_HTTP_REQUEST_ANSWER_H

#include "rest_listener_private.h"

enum MHD_Result http_request_send_answer(struct http_request *v);
void http_request_late(struct http_request *v); /* answers 408, if nothing was sent yet */

#endif
