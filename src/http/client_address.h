/*
 * The client addresses that have connections at a listener, and how many connections each has. A full listener
 * displaces a connection of the address that has most. For the listener's thread.
 */
#ifndef HALFLIFE_HTTP_CLIENT_ADDRESS_H
#define HALFLIFE_HTTP_CLIENT_ADDRESS_H

#include "base/map.h"
#include "http/listen_socket.h"

struct client_address {
        char text[SOCKET_ADDRESS_TEXT]; /* the key in the map */
        int connections;                /* all connections of the address */
        int open;                       /* connections that are neither ended nor displaced */
        size_t reviews_held;            /* bytes of reviews, for a listener that bounds them */
};

/* Count one more open connection of the address a. The map (text -> struct client_address) gets an entry for a new
 * address. */
struct client_address *client_address_come(struct map *addresses, const struct sockaddr *a);
/* Count one connection less; the caller has lowered `open` already. With its last connection, the address leaves the
 * map and is freed. */
void client_address_leave(struct map *addresses, struct client_address *from);

#endif
