#include "client_address.h"

#include "base/mem.h"

struct client_address *client_address_come(struct map *addresses, const struct sockaddr *a)
{
        struct client_address fresh = {0}, *known;
        socket_print_address(a, fresh.text);
        known = map_get(addresses, text_of(fresh.text));
        if (!known) {
                known = MEM_NEW(struct client_address);
                *known = fresh;
                map_put(addresses, text_of(known->text), known);
        }
        known->connections++;
        known->open++;
        return known;
}

void client_address_leave(struct map *addresses, struct client_address *from)
{
        if (--from->connections > 0)
                return;
        map_drop(addresses, text_of(from->text));
        mem_free(from);
}
