/*
 * Reads the headers of a request, and checks them strictly.
 */
#ifndef HALFLIFE_HTTP_HEADERS_H
#define HALFLIFE_HTTP_HEADERS_H

#include <microhttpd.h>
#include <stdbool.h>

#include "base/text.h"

const char *headers_get(struct MHD_Connection *c, const char *name); /* the first header of that name; NULL: none */

/* Read the bearer token: a b64token of RFC 6750. false: there is no such token, so halflife refuses the caller without
 * a question to the API server. The API server's proxy to services does not forward Authorization; callers through it
 * use X-Halflife-Authorization. */
bool headers_token(struct MHD_Connection *c, struct text *ret);

/* Whether a request id is safe to echo: short, and of harmless characters. id may be NULL: false. */
bool headers_is_sane_id(const char *id);
bool headers_is_json(struct text type);

/* Path and query of a request target. Servers must accept the form "http://host/path" as well (RFC 9112 3.2.2). */
struct text headers_origin_form(const char *uri);

/* What is wrong with the headers as a whole, or NULL: a name that is not a token (as in "Content-Length : 5"), a Host
 * that is missing from HTTP/1.1 or stands twice, credentials that stand twice. A proxy before halflife could read such
 * a request in another way. The text ends a sentence for the caller and is static. */
const char *headers_malformed(struct MHD_Connection *c, const char *version);

/* Whether the headers state the end of the body twice, or in an unknown way. A proxy before halflife could then find
 * another end, and a request could be smuggled in behind it. */
bool headers_end_ambiguous(struct MHD_Connection *c);

#endif
