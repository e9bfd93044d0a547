/* Write a batch in one transaction; look up an earlier generation. */
#ifndef HALFLIFE_STORE_CHECKPOINT_H
#define HALFLIFE_STORE_CHECKPOINT_H

#include "batch.h"
#include "db.h"
#include "index.h"

struct checkpoint { /* what the store's thread writes with */
        struct db db;
        struct index index;
        int64_t transaction; /* their count: see known_history.written */
        uint8_t *watermarks; /* packed, grown as needed */
        size_t watermarks_cap;
};
void checkpoint_release(struct checkpoint *c);

/* 0: the rows are on disk, all of them; else none, and err. */
int checkpoint_write(struct checkpoint *c, const struct store_batch *b, struct err *err);
/* Say in the file that it was stopped cleanly. */
int checkpoint_finish(struct checkpoint *c, struct err *err);
/* The generation before the newest of the key of a recall; *ret_len 0: there is none. */
int checkpoint_recall(struct checkpoint *c, const struct store_batch *recall, uint8_t out[static USAGE_PACK_MAX],
                      size_t *ret_len, struct err *err);

#endif
