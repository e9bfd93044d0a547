#include "serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

enum {
        IDLE_SECONDS = 30,
        ONE_ADDRESS_SHARE = 4,
        CONNECTION_BYTES = 16 << 10,
        LATE_INTERVALS = 3,
        LATE_LEAST_MS = 10 * SECOND_MS
};

struct server {
        struct MHD_Daemon *daemon;
        pthread_mutex_t lock; /* of view's pointer, held for a swap or a hold only */
        struct view *view;
        _Atomic int64_t turned_ns, interval_ms;
        char address[96];
};

/* --- views --- */

struct view *view_new(void)
{
        struct view *v = MEM_NEW(struct view);
        v->refs = 1;
        return v;
}

struct view *view_hold(struct view *v)
{
        __atomic_add_fetch(&v->refs, 1, __ATOMIC_RELAXED);
        return v;
}

void view_drop(struct view *v)
{
        if (!v || __atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) > 0)
                return;
        mem_free(v->waiting_for);
        mem_free(v->metrics);
        mem_free(v);
}

void server_publish(struct server *s, struct view *v)
{
        pthread_mutex_lock(&s->lock);
        struct view *old = s->view;
        s->view = v;
        pthread_mutex_unlock(&s->lock);
        view_drop(old);
}

static struct view *view_now(struct server *s)
{
        pthread_mutex_lock(&s->lock);
        struct view *v = s->view ? view_hold(s->view) : NULL;
        pthread_mutex_unlock(&s->lock);
        return v;
}

void server_turned(struct server *s, struct mono at)
{
        atomic_store(&s->turned_ns, at.ns);
}

void server_set_interval(struct server *s, int64_t interval_ms)
{
        atomic_store(&s->interval_ms, interval_ms);
}

/* --- answers --- */

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type, const char *body, size_t len)
{
        struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
        if (!r)
                return MHD_NO;
        MHD_add_response_header(r, "Content-Type", type);
        MHD_add_response_header(r, "Cache-Control", "no-store");
        if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
                MHD_add_response_header(r, "Allow", "GET, HEAD");
        enum MHD_Result rc = MHD_queue_response(c, status, r);
        MHD_destroy_response(r);
        return rc;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned status, const char *text)
{
        return answer(c, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum MHD_Result healthz(struct server *s, struct MHD_Connection *c)
{
        char text[96];
        int64_t turned = atomic_load(&s->turned_ns), late_ms = (mono_read().ns - turned) / 1000000;
        int64_t most_ms = LATE_INTERVALS * atomic_load(&s->interval_ms);
        if (most_ms < LATE_LEAST_MS)
                most_ms = LATE_LEAST_MS;
        if (turned && late_ms <= most_ms)
                return say(c, MHD_HTTP_OK, "ok\n");
        snprintf(text, sizeof text, "the loop has not turned for %lld s\n", (long long)(turned ? late_ms / 1000 : 0));
        return say(c, MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

static enum MHD_Result readyz(struct server *s, struct MHD_Connection *c)
{
        char text[320];
        struct view *v = view_now(s);
        bool ready = v && v->ready;
        snprintf(text, sizeof text, "waiting for: %s\n", v && v->waiting_for ? v->waiting_for : "the first cycle");
        view_drop(v);
        return ready ? say(c, MHD_HTTP_OK, "ok\n") : say(c, MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

static enum MHD_Result metrics(struct server *s, struct MHD_Connection *c)
{
        struct view *v = view_now(s);
        enum MHD_Result rc = v && v->metrics ? answer(c, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                                                      v->metrics, v->metrics_len)
                                             : say(c, MHD_HTTP_SERVICE_UNAVAILABLE, "no cycle yet\n");
        view_drop(v);
        return rc;
}

static const struct {
        const char *path;
        enum MHD_Result (*get)(struct server *s, struct MHD_Connection *c);
} routes[] = {{"/healthz", healthz}, {"/readyz", readyz}, {"/metrics", metrics}};

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state)
{
        static int seen;
        (void)version, (void)upload;
        if (*state == NULL || *upload_size > 0) { /* nobody looks at a body, but it ends before there is an answer */
                *state = &seen;
                *upload_size = 0;
                return MHD_YES;
        }
        for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
                if (strcmp(url, routes[i].path) != 0)
                        continue;
                if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
                        return say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
                return routes[i].get(arg, c);
        }
        return say(c, MHD_HTTP_NOT_FOUND, "there are /healthz, /readyz and /metrics\n");
}

/* --- the socket --- */

/* "host:port", ":port", "[v6]:port". */
static int parse_address(const char *text, struct sockaddr_storage *ret, socklen_t *ret_len, struct err *err)
{
        char host[64] = "";
        const char *colon = strrchr(text, ':');
        char *end = NULL;
        long port = colon ? strtol(colon + 1, &end, 10) : -1;
        if (!colon || end == colon + 1 || *end || port < 0 || port > 65535 || (size_t)(colon - text) >= sizeof host)
                return err_set(err, ERR_INVALID, "'%s' is no address: HOST:PORT, :PORT or [IPV6]:PORT", text);
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
        return err_set(err, ERR_INVALID, "'%s' is no numeric address (a name is not looked up)", host);
}

/* A socket of our own, because ":PORT" listens to both families where there is IPv6 and to IPv4 where there is none. */
static int open_socket(const char *listen_on, struct err *err)
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
                        err_set(err, ERR_CONFLICT, "another process listens there: give another port, or 0 for any");
                else
                        err_set(err, ERR_IO, "%m");
                close(fd);
                return err->code;
        }
        return fd;
}

static void describe(int fd, char *out, size_t size)
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

int server_start(const struct server_options *o, struct server **ret, struct err *err)
{
        int fd = open_socket(o->listen, err);
        if (fd < 0)
                return fd;
        struct server *s = MEM_NEW(struct server);
        pthread_mutex_init(&s->lock, NULL);
        atomic_store(&s->interval_ms, o->interval_ms);
        atomic_store(&s->turned_ns, mono_read().ns);
        describe(fd, s->address, sizeof s->address);
        unsigned most = (unsigned)o->connections_max, each = most < ONE_ADDRESS_SHARE ? 1 : most / ONE_ADDRESS_SHARE;
        s->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, handle, s,
                                     MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, most,
                                     MHD_OPTION_PER_IP_CONNECTION_LIMIT, each, MHD_OPTION_CONNECTION_TIMEOUT,
                                     (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                     (size_t)CONNECTION_BYTES, MHD_OPTION_END);
        if (!s->daemon) {
                err_set(err, ERR_IO, "the HTTP server does not start: %m");
                close(fd);
                server_stop(s);
                return err->code;
        }
        *ret = s;
        return 0;
}

const char *server_address(const struct server *s)
{
        return s->address;
}

void server_stop(struct server *s)
{
        if (!s)
                return;
        if (s->daemon)
                MHD_stop_daemon(s->daemon);
        view_drop(s->view);
        pthread_mutex_destroy(&s->lock);
        mem_free(s);
}
