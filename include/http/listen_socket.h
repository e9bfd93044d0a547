/* Listening TCP sockets. Addresses are numeric; host names are not resolved, except "localhost". */
#ifndef HALFLIFE_HTTP_LISTEN_SOCKET_H
#define HALFLIFE_HTTP_LISTEN_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/err.h"

/* Listen on "host:port", "[v6]:port" or ":port" (IPv4 and IPv6, or IPv4 alone where the machine has no IPv6). Returns
 * the descriptor, or an error code; ERR_CONFLICT: another process listens on the port. */
int socket_listen(const char *at, struct err *err);
/* Whether only this machine reaches the address. ERR_INVALID: `at` is not an address. */
int socket_is_loopback(const char *at, bool *ret, struct err *err);
/* Write an address without its port, as inet_ntop prints it; "" for an address that is neither IPv4 nor IPv6. */
enum { SOCKET_ADDRESS_TEXT = 46 };
void socket_print_address(const struct sockaddr *a, char out[static SOCKET_ADDRESS_TEXT]);
/* Write the address that a socket is bound to, such as "127.0.0.1:41234". */
void socket_describe(int fd, char *out, size_t size);

#endif
