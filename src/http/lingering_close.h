/*
 * Sockets of those who were answered before all they send was read: a close at once would reset the connection, and the
 * answer be lost on the way. They are read, and forgotten, until they end or their time is over.
 */
#ifndef HALFLIFE_HTTP_LINGERING_CLOSE_H
#define HALFLIFE_HTTP_LINGERING_CLOSE_H

#include <poll.h>

#include "base/clock.h"

enum { DRAIN_MAX = 64, DRAIN_MS = 5 * SECOND_MS };

struct drain {
        int count;
        struct mono until[DRAIN_MAX];
        struct pollfd *fd; /* DRAIN_MAX of them, polled by their owner */
};
/* A copy of the descriptor is kept; where there is no room, nothing is. */
void drain_take(struct drain *d, int fd, struct mono now);
void drain_read(struct drain *d, struct mono now); /* after a poll */
void drain_release(struct drain *d);

#endif
