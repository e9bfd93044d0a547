/*
 * A batch: rows by value, one after the other in a few large chunks. Made on the caller's thread, where a row costs a
 * copy and nothing else (packing is the store's work), then handed to the store's thread.
 *
 * A row is this head, a body by kind, its identity (rows of the same identity say the same thing, the later one newer)
 * and data (a record, a value).
 */
#ifndef HALFLIFE_STORE_BATCH_H
#define HALFLIFE_STORE_BATCH_H

#include "store/store.h"

enum row_kind {
        ROW_USAGE,      /* body: struct usage, its weights, its watermarks */
        ROW_USAGE_KEEP, /* likewise, without watermarks: those stored before stay */
        ROW_TARGET,     /* data: record */
        ROW_KILL,       /* body: struct store_kill */
        ROW_NOTE,       /* ns: its name; data: value */
        ROW_FORGET,
        ROW_FORGET_KILLS,
};

struct row {
        uint32_t bytes; /* of the whole row, a multiple of 8 */
        uint32_t body, identity, data;
        uint32_t watermarks;
        int64_t ms; /* gone since, or kills before */
        uint8_t at[];
};

struct store_batch {
        struct chunk *chunk, *last;
        size_t rows;
        size_t distinct; /* rows left by the last batch_compact */
        uint64_t number;
        struct store_batch *next;
        bool recall; /* not rows to write, but the one key to look up */
        const void *tag;
};

/* Rows in order: for (struct row *r = batch_first(b, &at); r; r = batch_next(&at)) */
struct batch_at {
        struct chunk *chunk;
        size_t used;
};
struct row *batch_first(const struct store_batch *b, struct batch_at *at);
struct row *batch_next(struct batch_at *at);

enum row_kind row_kind(const struct row *r);
struct store_key row_key(const struct row *r);
struct text row_data(const struct row *r);
const struct store_kill *row_kill(const struct row *r);
/* Pack the usage of a ROW_USAGE or ROW_USAGE_KEEP. */
size_t row_pack(struct row *r, uint8_t out[static USAGE_PACK_MAX]);
const struct store_watermark *row_watermarks(const struct row *r);

/* Append src's rows to dst; src is freed, dst takes its number. What a later row makes void is left out now and then,
 * so that a batch joined for ever holds at most twice the rows that differ. */
void batch_join(struct store_batch *dst, struct store_batch *src);

void batch_add_recall(struct store_batch *b, const struct store_key *key, const void *tag);

#endif
