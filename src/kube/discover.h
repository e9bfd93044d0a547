/*
 * Which kinds the API server has: kept within a client, which owns it.
 */
#ifndef HALFLIFE_SRC_KUBE_DISCOVER_H
#define HALFLIFE_SRC_KUBE_DISCOVER_H

#include "kube/client.h"

struct discovery;
struct discovery *discovery_new(struct client *c);
void discovery_free(struct discovery *d); /* those who wait are not told */
struct discovery *client_discovery(const struct client *c);

#endif
