/*
 * Sockets of those who were answered before all they send was read: a close at once would reset the connection, and the
 * answer be lost on the way. They are read, and forgotten, until they end or their time is over.
 */
#ifndef HALFLIFE_HTTP_LINGERING_CLOSE_H
#define HALFLIFE_HTTP_LINGERING_CLOSE_H

#include <poll.h>

#include "base/clock.h"

enum { LINGERING_MAX = 64, LINGERING_MS = 5 * SECOND_MS };

struct lingering_close {
        int count;
        struct mono until[LINGERING_MAX];
        struct pollfd *fd; /* LINGERING_MAX of them, polled by their owner */
};
/* A copy of the descriptor is kept; where there is no room, nothing is. */
void lingering_close_take(struct lingering_close *d, int fd, struct mono now);
void lingering_close_read(struct lingering_close *d, struct mono now); /* after a poll */
void lingering_close_release(struct lingering_close *d);

#endif
