#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

int wire_open_from(const char *address, unsigned from)
{
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, us = to;
        to.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
        us.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xffffu) + from);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && bind(fd, (struct sockaddr *)&us, sizeof us) == 0 &&
            connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
                return fd;
        fprintf(stderr, "connect to %s: %s\n", address, strerror(errno));
        abort();
}

int wire_open(const char *address)
{
        return wire_open_from(address, 1);
}

bool wire_send(int fd, const char *bytes, size_t len)
{
        while (len) {
                ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
                if (n < 0)
                        return false;
                bytes += n;
                len -= (size_t)n;
        }
        return true;
}

bool wire_say(int fd, const char *text)
{
        return wire_send(fd, text, strlen(text));
}

char *wire_hear(int fd, const char *text, int64_t timeout_ms, bool *ret_ended)
{
        struct buf b;
        char part[4096];
        int64_t end_ns = mono_read().ns + timeout_ms * 1000000;
        buf_init(&b, 64 << 20);
        buf_add(&b, "", 0);
        *ret_ended = false;
        while (!*ret_ended && !(text && strstr(b.data, text))) {
                int64_t left_ms = (end_ns - mono_read().ns) / 1000000;
                struct pollfd p = {fd, POLLIN, 0};
                if (left_ms <= 0 || poll(&p, 1, (int)left_ms) <= 0)
                        break;
                ssize_t n = recv(fd, part, sizeof part, 0);
                *ret_ended = n <= 0;
                if (n > 0)
                        buf_add(&b, part, (size_t)n);
        }
        return buf_steal(&b);
}

size_t wire_count(const char *text, const char *part)
{
        size_t n = 0;
        for (; (text = strstr(text, part)); text += strlen(part))
                n++;
        return n;
}
