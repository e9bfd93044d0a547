#include "lingering_close.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READS_AT_ONCE = 16 }; /* nobody else is to wait for long */

void drain_take(struct drain *d, int fd, struct mono now)
{
        int copy = d->count < DRAIN_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
        if (copy < 0)
                return;
        (void)shutdown(copy, SHUT_WR);
        d->fd[d->count] = (struct pollfd){copy, POLLIN, 0};
        d->until[d->count++] = (struct mono){now.ns + (int64_t)DRAIN_MS * 1000000};
}

/* false: it has ended. */
static bool swallow(int fd)
{
        char sink[64 << 10];
        for (int i = 0; i < READS_AT_ONCE; i++) {
                ssize_t n = recv(fd, sink, sizeof sink, MSG_DONTWAIT);
                if (n <= 0)
                        return n < 0 && (errno == EAGAIN || errno == EINTR);
        }
        return true;
}

void drain_read(struct drain *d, struct mono now)
{
        for (int i = d->count - 1; i >= 0; i--) {
                bool ended = d->fd[i].revents && !swallow(d->fd[i].fd);
                if (!ended && now.ns < d->until[i].ns)
                        continue;
                close(d->fd[i].fd);
                d->count--;
                d->fd[i] = d->fd[d->count];
                d->until[i] = d->until[d->count];
        }
}

void drain_release(struct drain *d)
{
        while (d->count > 0)
                close(d->fd[--d->count].fd);
}
