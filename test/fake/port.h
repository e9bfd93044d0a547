/*
 * A port of 127.0.0.1 that stays its server's while that is away. The kernel gives a port that is free to whoever asks
 * for any, so a server that came back would find a stranger there, and its client, meanwhile, an answer.
 */
#ifndef HALFLIFE_TEST_FAKE_PORT_H
#define HALFLIFE_TEST_FAKE_PORT_H

#include <stdint.h>

/* *port: 0 for any free one, then which. The socket that holds it, to be closed; nobody listens, so who asks is
 * refused. -1: errno tells why, EADDRINUSE that it is another's. */
int port_hold(uint16_t *port);

/* A socket that listens at a port that is held, the caller's to close; -1: errno tells why. */
int port_listen(uint16_t port);

#endif
