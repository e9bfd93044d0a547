/*
 * Reads the headers of an answer that halflife uses, such as Retry-After.
 */
#ifndef HALFLIFE_SRC_NET_HTTP_HEADERS_H
#define HALFLIFE_SRC_NET_HTTP_HEADERS_H

#include "http_call.h"

/* Read one header line, which may end in CRLF, into the reply of the call. A status line begins the reply anew. `now`:
 * when the line came, for a Retry-After that is a date. */
void http_headers_read(struct http_call *c, struct text line, struct wall now);

#endif
