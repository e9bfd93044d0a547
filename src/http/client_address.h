/*
 * The client addresses that have connections at a listener, and how many each has: a listener that is full displaces a
 * connection of the address that has the most. For the listener's thread.
 */
#ifndef HALFLIFE_HTTP_CLIENT_ADDRESS_H
#define HALFLIFE_HTTP_CLIENT_ADDRESS_H

#include "base/map.h"
#include "http/listen_socket.h"

struct client_address {
        char text[SOCKET_ADDRESS_TEXT]; /* the key in the map */
        int connections;                /* all */
        int open;                       /* those that are neither ended nor displaced */
        size_t reviews_held;            /* bytes of reviews, for a listener that bounds them */
};

/* Count one more connection, which is open, of the address; the map (text -> struct client_address) gets it where it is
 * new. */
struct client_address *client_address_come(struct map *addresses, const struct sockaddr *a);
/* A connection is gone that is not counted as open any more. The last one removes and frees the address. */
void client_address_leave(struct map *addresses, struct client_address *from);

#endif
