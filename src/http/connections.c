/*
 * Who is connected, and for how long he may be. A request has to be whole in time, counted from its first byte, however
 * slowly the bytes come: MHD's own time-out begins afresh with each byte. A new connection takes the place of the one
 * that was idle longest.
 */
#include "rest_listener_private.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/mem.h"

enum { CLOSE_WAIT = 8 };    /* tcpi_state, as the kernel counts them */
enum { SENDING_SHARE = 6 }; /* an answer may take so many times as long as a request */

/* --- the two lists --- */

static struct http_request_list *list_of(struct http_request *v)
{
        return v->busy ? &v->listener->busy : &v->listener->idle;
}

static void connection_leave(struct http_request *v)
{
        struct http_request_list *l = list_of(v);
        *(v->before ? &v->before->after : &l->first) = v->after;
        *(v->after ? &v->after->before : &l->last) = v->before;
}

static void connection_join(struct http_request *v, bool busy)
{
        v->busy = busy;
        struct http_request_list *l = list_of(v);
        v->before = l->last;
        v->after = NULL;
        *(l->last ? &l->last->after : &l->first) = v;
        l->last = v;
        v->since = v->listener->now.mono;
}

void connections_busy(struct http_request *v)
{
        if (v->busy)
                return; /* since its first byte */
        connection_leave(v);
        connection_join(v, true);
}

void connections_idle(struct http_request *v)
{
        connection_leave(v);
        connection_join(v, v->ended);
        v->bytes_known = false;
}

/* MHD finds the end of the stream, and closes. */
static void connection_end(struct http_request *v)
{
        (void)shutdown(v->fd, SHUT_RDWR);
        v->ended = true;
        connections_busy(v);
}

/* Bytes received; *ret_left: he will send no more. */
static uint64_t connection_received(const struct http_request *v, bool *ret_left)
{
        struct tcp_info i = {0};
        socklen_t len = sizeof i;
        *ret_left = false;
        if (getsockopt(v->fd, IPPROTO_TCP, TCP_INFO, &i, &len) < 0)
                return 0;
        *ret_left = i.tcpi_state == CLOSE_WAIT;
        return i.tcpi_bytes_received;
}

/* Whether a close may throw away what he still sends, and our answer with it. MHD refuses by itself what it cannot
 * read, and tells nobody; so of whoever has not left it is not known. */
static bool is_unread(const struct http_request *v)
{
        bool left;
        return v->unread || (connection_received(v, &left) > 0 && !left);
}

/* --- coming and going --- */

static void connection_make_room(struct rest_listener *d)
{
        if (d->connections <= d->o.connections_max || !d->idle.first)
                return;
        connection_end(d->idle.first);
        atomic_fetch_add(&d->shed, 1);
}

static void connection_come(struct rest_listener *d, struct MHD_Connection *c, void **socket_context)
{
        struct http_request *v = MEM_NEW(struct http_request);
        v->listener = d;
        v->connection = c;
        v->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        v->bytes_known = true; /* none */
        *socket_context = v;
        d->connections++;
        connection_make_room(d);
        connection_join(v, false);
}

void connections_notify(void *listener, struct MHD_Connection *c, void **socket_context,
                        enum MHD_ConnectionNotificationCode what)
{
        struct rest_listener *d = listener;
        if (what == MHD_CONNECTION_NOTIFY_STARTED) {
                connection_come(d, c, socket_context);
        } else if (*socket_context) {
                struct http_request *v = *socket_context;
                if (!v->ended && is_unread(v))
                        lingering_close_take(&d->drain, v->fd, d->now.mono);
                connection_leave(v);
                d->connections--;
                mem_free(v);
                *socket_context = NULL;
        }
        atomic_store(&d->shown_connections, d->connections);
}

/* --- time --- */

static int64_t age_ms(const struct http_request *v)
{
        return (v->listener->now.mono.ns - v->since.ns) / 1000000;
}

/* Whoever ends his side right behind a request is not seen to leave by MHD, which waits for an event that was. */
static void look_at_idle(struct http_request *v)
{
        bool left;
        uint64_t bytes = connection_received(v, &left);
        bool quiet = v->bytes_known && bytes == v->bytes;
        if (age_ms(v) >= v->listener->o.idle_ms || (left && quiet))
                connection_end(v);
        else if (v->bytes_known && !quiet)
                connections_busy(v);
        v->bytes = bytes;
        v->bytes_known = true;
}

static void look_at_busy(struct http_request *v)
{
        int64_t most_ms = v->listener->o.request_ms;
        if (http_request_wants_owner(v) && age_ms(v) >= OWNER_MS) {
                http_request_found_owner(v, NULL);
                return;
        }
        if (v->ended || age_ms(v) < most_ms)
                return;
        if (v->suspended) {
                http_request_give_up(v, PROBLEM_UNAVAILABLE, "it took too long to find the answer: try again");
        } else if (v->step != STEP_SENDING) {
                atomic_fetch_add(&v->listener->late, 1);
                http_request_late(v);
                connection_end(v);
        } else if (age_ms(v) >= SENDING_SHARE * most_ms) {
                connection_end(v);
        }
}

static void connection_each(struct http_request *first, void (*look)(struct http_request *v))
{
        for (struct http_request *v = first, *after; v; v = after) {
                after = v->after;
                look(v);
        }
}

void connections_sweep(struct rest_listener *d)
{
        connection_each(d->busy.first, look_at_busy);
        connection_each(d->idle.first, look_at_idle);
}
