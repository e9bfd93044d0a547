/* Write a batch in one transaction; look up an earlier generation. */
#ifndef HALFLIFE_SRC_STORE_BATCH_WRITE_H
#define HALFLIFE_SRC_STORE_BATCH_WRITE_H

#include "batch.h"
#include "db.h"
#include "index.h"

struct checkpoint { /* the open database of the store's thread */
        struct db db;
        struct index index;
        int64_t transaction; /* number of the current transaction: see known_history.written */
        uint8_t *watermarks; /* room for one history's packed watermarks, grown as needed */
        size_t watermarks_cap;
};
void checkpoint_release(struct checkpoint *c);

/* Write all rows of a batch. Returns 0 if all of them are on disk; on an error none is. */
int checkpoint_write(struct checkpoint *c, const struct store_batch *b, struct err *err);
/* Mark the file as closed cleanly. */
int checkpoint_finish(struct checkpoint *c, struct err *err);
/* Read the last generation but one of the history that `recall` names; *ret_len is its bytes, 0 if there is none. */
int checkpoint_recall(struct checkpoint *c, const struct store_batch *recall, uint8_t out[static USAGE_PACK_MAX],
                      size_t *ret_len, struct err *err);

#endif
