/*
 * The discovery cache of a client: which kinds the API server has. The client owns it.
 */
#ifndef HALFLIFE_SRC_KUBE_DISCOVER_H
#define HALFLIFE_SRC_KUBE_DISCOVER_H

#include "kube/client.h"

struct discovery;
struct discovery *discovery_new(struct client *c);
void discovery_free(struct discovery *d); /* callbacks that wait are not called */
struct discovery *client_discovery(const struct client *c);

#endif
