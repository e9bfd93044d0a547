#include "http/listen_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Parse "host:port", ":port" or "[v6]:port". */
static int parse_address(const char *text, struct sockaddr_storage *ret, socklen_t *ret_len, struct err *err)
{
        char host[64] = "";
        const char *colon = strrchr(text, ':');
        char *end = NULL;
        long port = colon ? strtol(colon + 1, &end, 10) : -1;
        if (!colon || end == colon + 1 || *end || port < 0 || port > 65535 || (size_t)(colon - text) >= sizeof host)
                return err_set(err, ERR_INVALID, "'%s' is not an address: HOST:PORT, :PORT or [IPV6]:PORT", text);
        memcpy(host, text, (size_t)(colon - text));
        size_t len = strlen(host);
        bool bracketed = len > 2 && host[0] == '[' && host[len - 1] == ']';
        if (bracketed) {
                memmove(host, host + 1, len - 2);
                host[len - 2] = '\0';
        }
        struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
        *ret = (struct sockaddr_storage){0};
        if (bracketed || !*host) {
                v6->sin6_family = AF_INET6;
                v6->sin6_port = htons((uint16_t)port);
                *ret_len = sizeof *v6;
                if (!*host || inet_pton(AF_INET6, host, &v6->sin6_addr) == 1)
                        return 0;
        } else {
                v4->sin_family = AF_INET;
                v4->sin_port = htons((uint16_t)port);
                *ret_len = sizeof *v4;
                if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4->sin_addr) == 1)
                        return 0;
        }
        return err_set(err, ERR_INVALID, "'%s' is not a numeric address (names are not resolved)", host);
}

/* halflife opens the socket itself rather than MHD: ":PORT" needs both families, or IPv4 alone without IPv6. */
int socket_listen(const char *listen_on, struct err *err)
{
        struct sockaddr_storage at;
        socklen_t len = 0;
        int rc = parse_address(listen_on, &at, &len, err);
        if (rc < 0)
                return rc;
        int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 && errno == EAFNOSUPPORT && listen_on[0] == ':') {
                in_port_t port = ((struct sockaddr_in6 *)&at)->sin6_port;
                *(struct sockaddr_in *)&at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
                len = sizeof(struct sockaddr_in);
                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        }
        if (fd < 0)
                return err_set(err, ERR_IO, "socket: %m");
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
        if (at.ss_family == AF_INET6)
                (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){listen_on[0] != ':'}, sizeof(int));
        if (bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, SOMAXCONN) < 0) {
                if (errno == EADDRINUSE)
                        err_set(err, ERR_CONFLICT,
                                "another process listens on this port: give another port, or 0 for any");
                else
                        err_set(err, ERR_IO, "%m");
                close(fd);
                return err->code;
        }
        return fd;
}

int socket_is_loopback(const char *listen_on, bool *ret, struct err *err)
{
        struct sockaddr_storage at;
        socklen_t len;
        int rc = parse_address(listen_on, &at, &len, err);
        if (rc < 0)
                return rc;
        const struct sockaddr_in *v4 = (struct sockaddr_in *)&at;
        const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&at;
        *ret = at.ss_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)
                                        : ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
        return 0;
}

void socket_print_address(const struct sockaddr *a, char out[static SOCKET_ADDRESS_TEXT])
{
        out[0] = '\0';
        if (a->sa_family == AF_INET6)
                (void)inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)a)->sin6_addr, out, SOCKET_ADDRESS_TEXT);
        else if (a->sa_family == AF_INET)
                (void)inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, out, SOCKET_ADDRESS_TEXT);
}

void socket_describe(int fd, char *out, size_t size)
{
        struct sockaddr_storage at = {0};
        socklen_t len = sizeof at;
        char host[INET6_ADDRSTRLEN] = "";
        if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
                return;
        if (at.ss_family == AF_INET6) {
                const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&at;
                inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
                snprintf(out, size, "[%s]:%u", host, ntohs(v6->sin6_port));
        } else {
                const struct sockaddr_in *v4 = (struct sockaddr_in *)&at;
                inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
                snprintf(out, size, "%s:%u", host, ntohs(v4->sin_port));
        }
}
