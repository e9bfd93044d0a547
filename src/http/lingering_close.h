/*
 * Lingering close: sockets of clients that got an answer before all their bytes were read. An immediate close would
 * reset the connection and lose the answer. Such a socket is read, and its bytes are discarded, until the client closes
 * or LINGERING_MS is over.
 */
#ifndef HALFLIFE_HTTP_LINGERING_CLOSE_H
#define HALFLIFE_HTTP_LINGERING_CLOSE_H

#include <poll.h>

#include "base/clock.h"

enum { LINGERING_MAX = 64, LINGERING_MS = 5 * SECOND_MS };

struct lingering_close {
        int count;
        struct mono until[LINGERING_MAX];
        struct pollfd *fd; /* array of LINGERING_MAX sockets, which the caller owns and polls */
};
/* Keep a duplicate of the descriptor fd. Without room, keep none: the connection is reset. */
void lingering_close_take(struct lingering_close *d, int fd, struct mono now);
/* Call it after a poll: it discards bytes that came, and closes the sockets whose time or stream is over. */
void lingering_close_read(struct lingering_close *d, struct mono now);
void lingering_close_release(struct lingering_close *d);

#endif
