#include "port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in at(uint16_t port)
{
        return (struct sockaddr_in){
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int give_up(int fd)
{
        int why = errno;
        close(fd);
        errno = why;
        return -1;
}

/* With SO_REUSEADDR on both, two sockets may have one port as long as neither listens; socket(7). */
static int bound(uint16_t port)
{
        struct sockaddr_in where = at(port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -1;
        if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) < 0 ||
            bind(fd, (struct sockaddr *)&where, sizeof where) < 0)
                return give_up(fd);
        return fd;
}

int port_hold(uint16_t *port)
{
        struct sockaddr_in where;
        socklen_t len = sizeof where;
        int fd = bound(*port);
        if (fd < 0)
                return -1;
        if (getsockname(fd, (struct sockaddr *)&where, &len) < 0)
                return give_up(fd);
        *port = ntohs(where.sin_port);
        return fd;
}

int port_listen(uint16_t port)
{
        int fd = bound(port);
        if (fd < 0)
                return -1;
        return listen(fd, SOMAXCONN) < 0 ? give_up(fd) : fd;
}
