/* An index in memory of the ids of targets and histories in the database, by key, which saves a query for each row.
 * Loading and writing fill the index. It is emptied whenever the database may differ from it: after a rollback, or when
 * the file is replaced. */
#ifndef HALFLIFE_STORE_INDEX_H
#define HALFLIFE_STORE_INDEX_H

#include "base/map.h"
#include "base/mem.h"
#include "store/store.h"

struct known_history {
        int64_t id;
        int64_t generation; /* the newest generation, stored in usage0 if even, usage1 if odd; 0: none */
        int64_t written;    /* transaction that wrote that generation; a second row in it overwrites the generation */
};

struct index {
        struct map targets, histories;
        struct slab *slab;
};
void index_init(struct index *x);
void index_release(struct index *x);
void index_reset(struct index *x);

int64_t index_target(const struct index *x, const struct store_key *key); /* 0: not in the index */
/* The functions index_add_… change nothing, and return false or NULL, if the key is there already. */
bool index_add_target(struct index *x, const struct store_key *key, int64_t id);
void index_drop_target(struct index *x, const struct store_key *key);
struct known_history *index_history(const struct index *x, int64_t target, struct text container);
struct known_history *index_add_history(struct index *x, int64_t target, struct text container, int64_t id);
/* `container` comes from the file, which may be damaged, so the name may have any length. */
void index_drop_history(struct index *x, int64_t target, struct text container);

#endif
