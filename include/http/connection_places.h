/*
 * Places for the connections of a listener whose thread belongs to libmicrohttpd. With all places taken, a new
 * connection displaces the oldest connection of the client address that has most connections. So clients, however many,
 * never keep out a newcomer such as the kubelet with its probe. Only the listener's thread may call these functions.
 */
#ifndef HALFLIFE_HTTP_CONNECTION_PLACES_H
#define HALFLIFE_HTTP_CONNECTION_PLACES_H

#include <microhttpd.h>

#include "base/list.h"
#include "base/map.h"

/* libmicrohttpd's own bound on connections must be so much higher than `most`, because displaced connections count
 * there until they are closed. */
enum { CONNECTION_PLACES_SPARE = 64 };

TAILQ_HEAD(placed_connections, placed_connection);

struct connection_places {
        int most, taken;
        struct placed_connections line; /* connections that were not displaced, oldest first */
        struct map addresses;           /* text -> struct client_address */
};

void connection_places_init(struct connection_places *p, int most);
/* Call it after MHD's daemon has stopped. A zeroed struct is fine. */
void connection_places_release(struct connection_places *p);
/* The callback for MHD_OPTION_NOTIFY_CONNECTION; `places` is a struct connection_places. */
void connection_places_notify(void *places, struct MHD_Connection *c, void **context,
                              enum MHD_ConnectionNotificationCode what);

#endif
