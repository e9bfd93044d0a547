#include "http/plain_listener.h"

#include <string.h>
#include <unistd.h>

#include "http/listen_socket.h"

enum { IDLE_SECONDS = 30, CONNECTION_BYTES = 16 << 10 };

static enum MHD_Result plain_listener_answer(const struct plain_answers *a, struct MHD_Connection *c, const char *url,
                                             const char *method)
{
        for (size_t i = 0; i < a->routes; i++) {
                if (strcmp(url, a->route[i].path) != 0)
                        continue;
                if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
                        return a->say(a->arg, c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
                return a->route[i].get(a->arg, c);
        }
        return a->say(a->arg, c, MHD_HTTP_NOT_FOUND, a->not_found);
}

static enum MHD_Result plain_listener_handle(void *arg, struct MHD_Connection *c, const char *url, const char *method,
                                             const char *version, const char *upload, size_t *upload_size, void **state)
{
        static int seen;
        const struct plain_listener *l = arg;
        (void)version, (void)upload;
        if (*state == NULL || *upload_size > 0) { /* a body is ignored, but must end before the answer */
                *state = &seen;
                *upload_size = 0;
                return MHD_YES;
        }
        return plain_listener_answer(&l->answers, c, url, method);
}

int plain_listener_start(struct plain_listener *l, const char *listen, int connections_max,
                         const struct plain_answers *answers, struct err *err)
{
        int fd = socket_listen(listen, err);
        if (fd < 0)
                return err_wrap(err, "listen on '%s'", listen);
        l->answers = *answers;
        socket_describe(fd, l->address, sizeof l->address);
        connection_places_init(&l->places, connections_max);
        l->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, plain_listener_handle,
                                     l, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                                     (unsigned)(connections_max + CONNECTION_PLACES_SPARE),
                                     MHD_OPTION_NOTIFY_CONNECTION, connection_places_notify, &l->places,
                                     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
                                     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
        if (l->daemon)
                return 0;
        err_set(err, ERR_IO, "the HTTP server cannot start: %m");
        close(fd);
        return err->code;
}

void plain_listener_stop(struct plain_listener *l)
{
        if (l->daemon)
                MHD_stop_daemon(l->daemon);
        connection_places_release(&l->places);
}
