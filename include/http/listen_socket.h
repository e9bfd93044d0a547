/* Sockets that listen. Names are not looked up. */
#ifndef HALFLIFE_HTTP_LISTEN_SOCKET_H
#define HALFLIFE_HTTP_LISTEN_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* "host:port", ":port" (both families, or IPv4 where there is no IPv6), "[v6]:port". Returns the descriptor, or a code;
 * ERR_CONFLICT: the port is taken. */
int socket_listen(const char *at, struct err *err);
/* Is it an address that only this machine reaches? ERR_INVALID: it is none. */
int socket_is_loopback(const char *at, bool *ret, struct err *err);
/* "127.0.0.1:41234" */
void socket_describe(int fd, char *out, size_t size);

#endif
