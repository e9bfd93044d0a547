/*
 * Connections and their time limits. A request must be complete within a time that starts at its first byte; MHD's own
 * time-out restarts with each byte, so a slow client could stay forever.
 *
 * Beyond the limit of connections, a new connection displaces one of the client address that has most: its longest idle
 * one, else its longest busy one. So each address keeps its share, and a client that opens many connections, idle or
 * busy, displaces its own. API servers show no certificate, so an address is all that tells them from strangers.
 */
#include "rest_listener_private.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "request_answer.h"
#include "request_step.h"
#include "request_work.h"

enum { CLOSE_WAIT = 8 }; /* the kernel's value of tcpi_state */
/* Sending an answer, or a thread's work on it, may take so many times the limit for reading a request (request_ms). The
 * time is long, because the size of the body bounds the work, and giving up work that has begun would waste it. */
enum { SENDING_SHARE = 6, WORKING_SHARE = 6 };

/* --- the two lists --- */

static struct http_request_list *list_of(struct http_request *v)
{
        return v->busy ? &v->listener->busy : &v->listener->idle;
}

static void connection_leave(struct http_request *v)
{
        TAILQ_REMOVE(list_of(v), v, link);
}

static void connection_join(struct http_request *v, bool busy)
{
        v->busy = busy;
        TAILQ_INSERT_TAIL(list_of(v), v, link);
        v->since = v->listener->now.mono;
}

void connections_busy(struct http_request *v)
{
        if (v->busy)
                return; /* v->since stays the time of the first byte */
        connection_leave(v);
        connection_join(v, true);
}

void connections_idle(struct http_request *v)
{
        connection_leave(v);
        connection_join(v, v->ended);
        v->bytes_known = false;
}

static bool connection_is_open(const struct http_request *v)
{
        return !v->ended && !v->displaced;
}

/* Shut the socket down; MHD then reads the end of the stream and closes the connection. */
static void connection_end(struct http_request *v)
{
        (void)shutdown(v->fd, SHUT_RDWR);
        v->from->open -= connection_is_open(v);
        v->ended = true;
        connections_busy(v);
}

/* Returns the bytes that the socket has received so far. *ret_left: the client has closed its side and sends no
 * more. */
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

/* Whether the client may still be sending, so that a close would reset the connection and lose the answer. MHD answers
 * bytes that it cannot parse without a callback; a client that has not closed its side may therefore be sending. */
static bool is_unread(const struct http_request *v)
{
        bool left;
        return v->unread || (connection_received(v, &left) > 0 && !left);
}

/* --- coming and going --- */

/* Choose from the list, longest first, the first connection of the address with most open connections, if those are
 * more than *most. *most becomes their number. */
static void connection_choose(const struct http_request_list *l, struct http_request **chosen, int *most)
{
        struct http_request *v;
        TAILQ_FOREACH (v, l, link)
                if (connection_is_open(v) && v->from->open > *most) {
                        *chosen = v;
                        *most = v->from->open;
                }
}

/* Displace a connection. MHD cannot close a suspended one, so a request that waits for another thread gets its answer
 * now. */
static void connection_displace(struct http_request *v)
{
        atomic_fetch_add(&v->listener->shed, 1);
        if (!v->suspended) {
                connection_end(v);
                return;
        }
        v->from->open--;
        v->displaced = true;
        if (http_request_wants_owner(v))
                http_request_found_owner(v, NULL);
        else
                http_request_give_up(v, PROBLEM_OVERLOADED, "too many connections: try again");
}

static void connection_make_room(struct rest_listener *d)
{
        struct http_request *chosen = NULL;
        int most = 0;
        if (d->connections <= d->o.connections_max)
                return;
        connection_choose(&d->idle, &chosen, &most);
        connection_choose(&d->busy, &chosen, &most);
        if (chosen)
                connection_displace(chosen);
}

bool connections_full(const struct rest_listener *d)
{
        return d->connections >= d->o.connections_max + CONNECTIONS_SPARE;
}

static void connection_come(struct rest_listener *d, struct MHD_Connection *c, void **socket_context)
{
        struct http_request *v = MEM_NEW(struct http_request);
        v->listener = d;
        v->connection = c;
        v->from = client_address_come(&d->addresses,
                                      MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
        v->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        v->bytes_known = true; /* 0 bytes so far */
        *socket_context = v;
        d->connections++;
        d->full |= connections_full(d);
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
                v->from->open -= connection_is_open(v);
                client_address_leave(&d->addresses, v->from);
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

/* Close an idle connection whose time is over or whose client has left. MHD misses a client that closes right after a
 * request, because the socket's event came too early. */
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
        if (v->ended || age_ms(v) < (v->lent ? WORKING_SHARE * most_ms : most_ms))
                return;
        if (v->suspended) {
                http_request_give_up(v, PROBLEM_UNAVAILABLE, "the answer was not ready in time: try again");
        } else if (v->step != STEP_SENDING) {
                atomic_fetch_add(&v->listener->late, 1);
                http_request_late(v);
                connection_end(v);
        } else if (age_ms(v) >= SENDING_SHARE * most_ms) {
                connection_end(v);
        }
}

void connections_sweep(struct rest_listener *d)
{
        struct http_request *v, *next;
        TAILQ_FOREACH_SAFE (v, &d->busy, link, next)
                look_at_busy(v);
        TAILQ_FOREACH_SAFE (v, &d->idle, link, next)
                look_at_idle(v);
}
