/*
 * The table of nodes for GET nodes, made from the cache when a server's thread asks for it.
 */
#ifndef HALFLIFE_SERVING_NODE_ROWS_H
#define HALFLIFE_SERVING_NODE_ROWS_H

#include "cache/cache.h"
#include "cache/live_settings.h"
#include "snapshot/node_table.h"

/* Make a row for each node of which the cache keeps facts, with sums over the node's pods. A pod's usage counts if it
 * was measured at most fresh_ms before `now`. The caller owns the table's one reference. */
struct node_table *node_rows_make(const struct cache *w, int hot_percent, struct wall now, int64_t fresh_ms);

#endif
