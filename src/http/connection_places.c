#include "http/connection_places.h"

#include <assert.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "client_address.h"

struct placed_connection {
        TAILQ_ENTRY(placed_connection) link; /* in `line`, unless displaced */
        struct client_address *from;
        int fd;
        bool displaced;
};

void connection_places_init(struct connection_places *p, int most)
{
        assert(most > 0);
        *p = (struct connection_places){.most = most};
        TAILQ_INIT(&p->line);
}

void connection_places_release(struct connection_places *p)
{
        assert(p->addresses.count == 0);
        map_release(&p->addresses);
}

static void placed_connection_leave(struct connection_places *p, struct placed_connection *c)
{
        TAILQ_REMOVE(&p->line, c, link);
        p->taken--;
        c->from->open--;
        c->displaced = true;
}

/* If all places are taken, shut down the oldest connection of the address that has most. MHD reads the stream's end and
 * closes the connection. */
static void connection_places_make_room(struct connection_places *p)
{
        struct placed_connection *c, *chosen = NULL;
        if (p->taken < p->most)
                return;
        TAILQ_FOREACH (c, &p->line, link)
                if (!chosen || c->from->open > chosen->from->open)
                        chosen = c;
        (void)shutdown(chosen->fd, SHUT_RDWR);
        placed_connection_leave(p, chosen);
}

static struct placed_connection *connection_places_take(struct connection_places *p, struct MHD_Connection *c)
{
        struct placed_connection *come = MEM_NEW(struct placed_connection);
        /* Count the new connection before room is made: of two addresses with equally many, the newcomer's then loses
         * one. */
        come->from = client_address_come(&p->addresses,
                                         MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
        come->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        connection_places_make_room(p);
        TAILQ_INSERT_TAIL(&p->line, come, link);
        p->taken++;
        return come;
}

void connection_places_notify(void *places, struct MHD_Connection *c, void **context,
                              enum MHD_ConnectionNotificationCode what)
{
        struct connection_places *p = places;
        if (what == MHD_CONNECTION_NOTIFY_STARTED) {
                *context = connection_places_take(p, c);
        } else if (*context) {
                struct placed_connection *gone = *context;
                if (!gone->displaced)
                        placed_connection_leave(p, gone);
                client_address_leave(&p->addresses, gone->from);
                mem_free(gone);
                *context = NULL;
        }
}
