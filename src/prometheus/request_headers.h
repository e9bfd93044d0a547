/*
 * Request headers that a gateway before Prometheus wants, such as Mimir's X-Scope-OrgID. They come from a file with one
 * "Name: value" a line; empty lines are skipped.
 */
#ifndef HALFLIFE_SRC_PROMETHEUS_REQUEST_HEADERS_H
#define HALFLIFE_SRC_PROMETHEUS_REQUEST_HEADERS_H

#include <stdbool.h>

#include "base/err.h"

enum { HEADERS_BYTES_MOST = 8 << 10, HEADERS_MOST = 32 };

/*
 * Read the file into lines for http_request.headers, which the caller wipes and frees. `authorized`: the request
 * already has an Authorization header, so that the file may not name one.
 * On failure *ret stays untouched: ERR_NOTFOUND, ERR_DENIED, ERR_IO, ERR_TOOBIG (more than HEADERS_BYTES_MOST bytes),
 * or ERR_INVALID with the number of the line. err never shows a value, because values are secrets.
 */
int request_headers_read(const char *path, bool authorized, char **ret, struct err *err);

#endif
