/*
 * The table of what containers would be given by other percentiles, made from the cache when a server's thread asks for
 * it.
 */
#ifndef HALFLIFE_SERVING_PERCENTILE_ROWS_H
#define HALFLIFE_SERVING_PERCENTILE_ROWS_H

#include "cache/cache.h"
#include "snapshot/percentile_table.h"

/* Make a row for each history of a target that a profile selects. The caller owns the table's one reference. */
struct percentile_table *percentile_rows_make(const struct cache *w, struct wall now);

#endif
