/*
 * The containers under other percentiles, made from the cache when a server's thread asks for them.
 */
#ifndef HALFLIFE_SERVING_PERCENTILE_ROWS_H
#define HALFLIFE_SERVING_PERCENTILE_ROWS_H

#include "cache/cache.h"
#include "snapshot/percentile_table.h"

/* The histories of targets that a profile selects. The caller owns the table's one reference. */
struct percentile_table *percentile_rows_make(const struct cache *w, struct wall now);

#endif
