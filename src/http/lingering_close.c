#include "lingering_close.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READS_AT_ONCE = 16 }; /* so often one socket is read before other sockets are served */

void lingering_close_take(struct lingering_close *d, int fd, struct mono now)
{
        int copy = d->count < LINGERING_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
        if (copy < 0)
                return;
        (void)shutdown(copy, SHUT_WR);
        d->fd[d->count] = (struct pollfd){copy, POLLIN, 0};
        d->until[d->count++] = (struct mono){now.ns + (int64_t)LINGERING_MS * 1000000};
}

/* Read and discard; false: the stream has ended. */
static bool lingering_swallow(int fd)
{
        char sink[64 << 10];
        for (int i = 0; i < READS_AT_ONCE; i++) {
                ssize_t n = recv(fd, sink, sizeof sink, MSG_DONTWAIT);
                if (n <= 0)
                        return n < 0 && (errno == EAGAIN || errno == EINTR);
        }
        return true;
}

void lingering_close_read(struct lingering_close *d, struct mono now)
{
        for (int i = d->count - 1; i >= 0; i--) {
                bool ended = d->fd[i].revents && !lingering_swallow(d->fd[i].fd);
                if (!ended && now.ns < d->until[i].ns)
                        continue;
                close(d->fd[i].fd);
                d->count--;
                d->fd[i] = d->fd[d->count];
                d->until[i] = d->until[d->count];
        }
}

void lingering_close_release(struct lingering_close *d)
{
        while (d->count > 0)
                close(d->fd[--d->count].fd);
}
