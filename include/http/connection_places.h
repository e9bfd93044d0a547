/*
 * Places for the connections of a listener whose thread belongs to libmicrohttpd. With all places taken, a new
 * connection displaces one of the address that has the most, the oldest of them. So no number of clients keeps out one
 * that connects anew, such as the kubelet with its probe. For the listener's thread.
 */
#ifndef HALFLIFE_HTTP_CONNECTION_PLACES_H
#define HALFLIFE_HTTP_CONNECTION_PLACES_H

#include <microhttpd.h>

#include "base/list.h"
#include "base/map.h"

/* libmicrohttpd's own bound on connections must be higher by so many, for those that were displaced and not yet closed.
 */
enum { CONNECTION_PLACES_SPARE = 64 };

TAILQ_HEAD(placed_connections, placed_connection);

struct connection_places {
        int most, taken;
        struct placed_connections line; /* those that were not displaced, oldest first */
        struct map addresses;           /* text -> struct client_address */
};

void connection_places_init(struct connection_places *p, int most);
void connection_places_release(struct connection_places *p); /* once the daemon has stopped; {0} is fine */
/* For MHD_OPTION_NOTIFY_CONNECTION. */
void connection_places_notify(void *places, struct MHD_Connection *c, void **context,
                              enum MHD_ConnectionNotificationCode what);

#endif
