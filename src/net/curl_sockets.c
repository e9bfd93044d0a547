#include "curl_sockets.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

struct curl_socket {
        LIST_ENTRY(curl_socket) link;
        struct curl_sockets *all;
        curl_socket_t fd; /* libcurl's descriptor */
        int copy;         /* halflife's copy of fd; -1: none */
};

static void on_ready(void *arg, int copy, uint32_t events)
{
        const struct curl_socket *s = arg;
        int bits = 0;
        (void)copy;
        if (events & EPOLLIN)
                bits |= CURL_CSELECT_IN;
        if (events & EPOLLOUT)
                bits |= CURL_CSELECT_OUT;
        if (events & (EPOLLERR | EPOLLHUP))
                bits |= CURL_CSELECT_ERR;
        s->all->act(s->all->arg, s->fd, bits);
}

static void socket_unwatch(struct curl_socket *s)
{
        if (s->copy < 0)
                return;
        (void)loop_watch(s->all->loop, s->copy, 0, NULL, NULL);
        close(s->copy);
        s->copy = -1;
}

static void socket_drop(struct curl_socket *s)
{
        socket_unwatch(s);
        LIST_REMOVE(s, link);
        mem_free(s);
}

/* Whether the copy still is the same socket as libcurl's descriptor: libcurl may have closed that, and its number may
 * be another socket now. */
static bool is_copied(const struct curl_socket *s)
{
        struct stat now, copied;
        return s->copy >= 0 && fstat(s->fd, &now) == 0 && fstat(s->copy, &copied) == 0 && now.st_ino == copied.st_ino &&
               now.st_dev == copied.st_dev;
}

/* Watch the socket by a new copy of its descriptor; if no descriptor is free, by the old copy. Returns 0, or an error:
 * the socket is not watched. */
static int socket_watch(struct curl_socket *s, uint32_t events)
{
        int copy = events ? fcntl(s->fd, F_DUPFD_CLOEXEC, 0) : -1;
        if (copy >= 0 || !events || !is_copied(s)) {
                socket_unwatch(s);
                s->copy = copy;
        }
        if (!events)
                return 0;
        return s->copy < 0 ? ERR_RETRY : loop_watch(s->all->loop, s->copy, events, on_ready, s);
}

static struct curl_socket *socket_new(struct curl_sockets *all, curl_socket_t fd)
{
        struct curl_socket *s = MEM_NEW(struct curl_socket);
        *s = (struct curl_socket){.all = all, .fd = fd, .copy = -1};
        LIST_INSERT_HEAD(&all->of, s, link);
        CURLMcode rc = curl_multi_assign(all->multi, fd, s);
        assert(rc == CURLM_OK);
        return s;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
        struct curl_sockets *all = arg;
        struct curl_socket *s = socket_arg;
        uint32_t events = 0; /* CURL_POLL_NONE */
        if (what == CURL_POLL_REMOVE) {
                if (s)
                        socket_drop(s);
                return 0;
        }
        if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
                events |= EPOLLIN;
        if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
                events |= EPOLLOUT;
        if (socket_watch(s ? s : socket_new(all, fd), events) < 0)
                all->unwatched(all->arg, easy);
        return 0; /* returning an error would end every request of the multi handle */
}

void curl_sockets_init(struct curl_sockets *s, struct loop *l, CURLM *multi,
                       void (*act)(void *arg, curl_socket_t fd, int events), void (*unwatched)(void *arg, CURL *easy),
                       void *arg)
{
        *s = (struct curl_sockets){.loop = l, .multi = multi, .act = act, .unwatched = unwatched, .arg = arg};
        LIST_INIT(&s->of);
        curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, s);
}

void curl_sockets_release(struct curl_sockets *s)
{
        while (!LIST_EMPTY(&s->of))
                socket_drop(LIST_FIRST(&s->of));
}
