#include "connect_proxy.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../fake/port.h"
#include "base/mem.h"

enum { TUNNELS_MAX = 256, HEAD_MAX = 16 << 10 };

struct tunnel {
        struct connect_proxy *proxy;
        int fd[2]; /* the client, the server; -1: none */
        pthread_t thread;
};

struct connect_proxy {
        uint16_t port, to;
        int held, listener;
        pthread_t thread;
        pthread_mutex_t lock;
        char heard[HEAD_MAX];
        struct tunnel tunnel[TUNNELS_MAX];
        _Atomic int count;
};

/* Read the head byte by byte, so that nothing of what comes after it is taken. */
static bool tunnel_read_head(struct tunnel *t, char head[static HEAD_MAX])
{
        size_t len = 0;
        while (len < HEAD_MAX - 1 && recv(t->fd[0], head + len, 1, 0) == 1) {
                head[++len] = '\0';
                if (len >= 4 && memcmp(head + len - 4, "\r\n\r\n", 4) == 0)
                        return strncmp(head, "CONNECT ", 8) == 0;
        }
        return false;
}

static int tunnel_connect(uint16_t port)
{
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
                return fd;
        close(fd);
        return -1;
}

/* Bytes that the kernel holds back would look like peers that wait, to test/pace. */
static void tunnel_send_at_once(int fd)
{
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static bool tunnel_pass(int from, int to)
{
        char bytes[16 << 10];
        ssize_t got = recv(from, bytes, sizeof bytes, 0);
        for (ssize_t put = 0, n; put < got; put += n)
                if ((n = send(to, bytes + put, (size_t)(got - put), MSG_NOSIGNAL)) <= 0)
                        return false;
        return got > 0;
}

static void tunnel_serve(struct tunnel *t)
{
        tunnel_send_at_once(t->fd[0]);
        tunnel_send_at_once(t->fd[1]);
        struct pollfd p[2] = {{.fd = t->fd[0], .events = POLLIN}, {.fd = t->fd[1], .events = POLLIN}};
        while (poll(p, 2, -1) > 0)
                for (int i = 0; i < 2; i++)
                        if (p[i].revents && !tunnel_pass(t->fd[i], t->fd[!i]))
                                return;
}

static void *tunnel_run(void *arg)
{
        static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";
        struct tunnel *t = arg;
        char head[HEAD_MAX] = "";
        bool good = tunnel_read_head(t, head);
        pthread_mutex_lock(&t->proxy->lock);
        memcpy(t->proxy->heard, head, sizeof head);
        pthread_mutex_unlock(&t->proxy->lock);
        int to = good ? tunnel_connect(t->proxy->to) : -1;
        if (to >= 0 && send(t->fd[0], yes, sizeof yes - 1, MSG_NOSIGNAL) == (ssize_t)sizeof yes - 1) {
                t->fd[1] = to;
                tunnel_serve(t);
        }
        shutdown(t->fd[0], SHUT_RDWR);
        if (to >= 0)
                shutdown(to, SHUT_RDWR);
        return NULL;
}

static void *connect_proxy_run(void *arg)
{
        struct connect_proxy *p = arg;
        int fd;
        while (p->count < TUNNELS_MAX && (fd = accept(p->listener, NULL, NULL)) >= 0) {
                struct tunnel *t = &p->tunnel[p->count];
                *t = (struct tunnel){.proxy = p, .fd = {fd, -1}};
                if (pthread_create(&t->thread, NULL, tunnel_run, t) != 0)
                        abort();
                p->count++;
        }
        return NULL;
}

struct connect_proxy *connect_proxy_start(uint16_t to_port)
{
        struct connect_proxy *p = MEM_NEW(struct connect_proxy);
        p->to = to_port;
        p->held = port_hold(&p->port);
        p->listener = port_listen(p->port);
        pthread_mutex_init(&p->lock, NULL);
        if (p->held < 0 || p->listener < 0 || pthread_create(&p->thread, NULL, connect_proxy_run, p) != 0)
                abort();
        return p;
}

void connect_proxy_stop(struct connect_proxy *p)
{
        shutdown(p->listener, SHUT_RDWR);
        pthread_join(p->thread, NULL);
        close(p->listener);
        close(p->held);
        for (int i = 0; i < p->count; i++) {
                struct tunnel *t = &p->tunnel[i];
                shutdown(t->fd[0], SHUT_RDWR); /* wakes the thread, which then ends the other side */
                pthread_join(t->thread, NULL);
                close(t->fd[0]);
                if (t->fd[1] >= 0)
                        close(t->fd[1]);
        }
        pthread_mutex_destroy(&p->lock);
        mem_free(p);
}

uint16_t connect_proxy_port(const struct connect_proxy *p)
{
        return p->port;
}

int connect_proxy_tunnels(const struct connect_proxy *p)
{
        return p->count;
}

char *connect_proxy_heard(struct connect_proxy *p)
{
        pthread_mutex_lock(&p->lock);
        char *heard = mem_string(p->heard);
        pthread_mutex_unlock(&p->lock);
        return heard;
}
