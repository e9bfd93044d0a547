/*
 * A port of 127.0.0.1 that stays reserved while its server is down. The kernel gives a free port to any program. A
 * restarted server could then find its port taken, and its client could meanwhile get answers from another program.
 */
#ifndef HALFLIFE_TEST_FAKE_PORT_H
#define HALFLIFE_TEST_FAKE_PORT_H

#include <stdint.h>

/* Reserve a port. *port: 0 for any free one; set to the port reserved. Returns the socket that reserves it, to be
 * closed by the caller; connections are refused, as nobody listens. -1: errno has the reason; EADDRINUSE: another
 * program uses it. */
int port_hold(uint16_t *port);

/* A socket that listens at a port that is held, the caller's to close; -1: errno tells why. */
int port_listen(uint16_t port);

#endif
