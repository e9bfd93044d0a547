/*
 * A listener without TLS, open to every caller, whose paths take only GET and HEAD: for probes, metrics and the load of
 * nodes. Its thread belongs to libmicrohttpd. Request line and headers have at most 16 KiB, a body is ignored, and a
 * connection idle for 30 s is closed.
 */
#ifndef HALFLIFE_HTTP_PLAIN_LISTENER_H
#define HALFLIFE_HTTP_PLAIN_LISTENER_H

#include "base/err.h"
#include "http/connection_places.h"

/* The functions `get` and `say` receive plain_answers.arg and send the answer. They run on the listener's thread. */
struct plain_route {
        const char *path;
        enum MHD_Result (*get)(void *arg, struct MHD_Connection *c);
};
struct plain_answers {
        const struct plain_route *route;
        size_t routes;
        const char *not_found; /* the text of a 404 */
        enum MHD_Result (*say)(void *arg, struct MHD_Connection *c, unsigned status, const char *text);
        void *arg;
};

struct plain_listener {
        struct MHD_Daemon *daemon; /* NULL: not listening */
        struct connection_places places;
        struct plain_answers answers;
        char address[96];
};

int plain_listener_start(struct plain_listener *l, const char *listen, int connections_max,
                         const struct plain_answers *answers, struct err *err);
void plain_listener_stop(struct plain_listener *l); /* {0} is fine */

#endif
