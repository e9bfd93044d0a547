/*
 * What the head of a request says, and whether it can be believed.
 */
#ifndef HALFLIFE_HTTP_HEADERS_H
#define HALFLIFE_HTTP_HEADERS_H

#include <microhttpd.h>
#include <stdbool.h>

#include "base/text.h"

const char *headers_get(struct MHD_Connection *c, const char *name); /* the first of that name; NULL: there is none */

/* b64token of RFC 6750: anything else is no token, and nobody is asked about it. The API server's proxy to services
 * takes Authorization for itself, so that who comes through it shows his token in a header of ours. */
bool headers_token(struct MHD_Connection *c, struct text *ret);

/* An id worth echoing; NULL is none. */
bool headers_is_sane_id(const char *id);
bool headers_is_json(struct text type);

/* "http://host/path" is how a proxy is asked; everybody has to understand it (RFC 9112). Returns path and query. */
struct text headers_origin_form(const char *uri);

/* Whether the end of the body is said twice, or in a way that is not known: whoever stands between us and the caller
 * may see it elsewhere, and the next request begin there. */
bool headers_end_ambiguous(struct MHD_Connection *c);

#endif
