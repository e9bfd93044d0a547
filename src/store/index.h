/* What the database holds, by key: ids without a query. Filled by the load and as rows are written; emptied whenever
 * the database may hold something else (a transaction rolled back, a file replaced). */
#ifndef HALFLIFE_STORE_INDEX_H
#define HALFLIFE_STORE_INDEX_H

#include "base/map.h"
#include "base/mem.h"
#include "store/store.h"

struct known_history {
        int64_t id;
        int64_t generation; /* the newest: in usage0 or usage1 by its last bit; 0: none */
        int64_t written;    /* in which transaction: two rows of one make one generation */
};

struct index {
        struct map targets, histories;
        struct slab *slab;
};
void index_init(struct index *x);
void index_release(struct index *x);
void index_reset(struct index *x);

int64_t index_target(const struct index *x, const struct store_key *key); /* 0: not known */
/* What is known already stays: false, NULL. */
bool index_add_target(struct index *x, const struct store_key *key, int64_t id);
void index_drop_target(struct index *x, const struct store_key *key);
struct known_history *index_history(const struct index *x, int64_t target, struct text container);
struct known_history *index_add_history(struct index *x, int64_t target, struct text container, int64_t id);
/* container: as the file has it, of any length. */
void index_drop_history(struct index *x, int64_t target, struct text container);

#endif
