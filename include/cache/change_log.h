/*
 * The changes of requests lately, one by one: applied, raised, deployed, taken back by the guard, contested. At most
 * CHANGES_MOST of them are kept, for CHANGES_KEPT_MS. Only the halflife that decides and writes logs changes. The
 * database gets those that are new with each checkpoint, so a kill loses at most those since the last one.
 */
#ifndef HALFLIFE_CACHE_CHANGE_LOG_H
#define HALFLIFE_CACHE_CHANGE_LOG_H

#include "cache/cache.h"
#include "snapshot/change_table.h"

enum { CHANGES_MOST = 10000 };
#define CHANGES_KEPT_MS (INT64_C(35) * DAY_MS)

#define CHANGE_BY_HALFLIFE "halflife"
#define CHANGE_BY_DEPLOY   "deploy"
/* Log a change of a target. Only kind, container, resource, from, to, by, reason and words are read of c; a text that
 * is NULL is as "". */
void change_log_add(struct cache *w, const struct target *t, struct wall at, const struct change *c);

/* The changes as a table that is shared until the next one is logged; the caller owns a reference. */
struct change_table *change_log_table(struct cache *w, struct wall now);

/* --- the database --- */

void change_log_load(struct cache *w, int64_t id, struct wall at, struct text record);
/* Add to a batch what was logged since the last call, and forget there what is no longer kept. */
void change_log_write(struct cache *w, struct store_batch *to, struct wall now);
void change_log_write_again(struct cache *w); /* all of it with the next call, since the database lost some */

void change_log_release(struct cache *w);

#endif
