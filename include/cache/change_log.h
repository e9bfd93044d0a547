/*
 * The log of recent changes of requests, one by one: applied, raised, deployed, taken back by the guard, contested. At
 * most CHANGES_MOST changes are kept, for CHANGES_KEPT_MS. Only the halflife that decides and writes logs changes. Each
 * checkpoint adds the new changes to the database, so a halflife that is killed loses at most those since the last one.
 */
#ifndef HALFLIFE_CACHE_CHANGE_LOG_H
#define HALFLIFE_CACHE_CHANGE_LOG_H

#include "cache/cache.h"
#include "snapshot/change_table.h"

enum { CHANGES_MOST = 10000 };
#define CHANGES_KEPT_MS (INT64_C(35) * DAY_MS)

#define CHANGE_BY_HALFLIFE "halflife"
#define CHANGE_BY_DEPLOY   "deploy"
/* Log a change of a target's requests. Of `c` only the fields kind, container, resource, `from`, `to`, `by`, reason and
 * words are read, and copied; a text that is NULL counts as "". */
void change_log_add(struct cache *w, const struct target *t, struct wall at, const struct change *c);

/* The logged changes as a table, which callers share until the next change is logged; the caller owns a reference. */
struct change_table *change_log_table(struct cache *w, struct wall now);

/* --- the database --- */

void change_log_load(struct cache *w, int64_t id, struct wall at, struct text record);
/* Add to the batch the changes logged since the last call, and the deletion of those that are no longer kept. */
void change_log_write(struct cache *w, struct store_batch *to, struct wall now);
/* Have the next change_log_write add all kept changes, because the database lost some. */
void change_log_write_again(struct cache *w);

void change_log_release(struct cache *w);

#endif
