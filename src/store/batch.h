/*
 * A batch holds copies of rows, one after the other in a few large chunks. On the caller's thread, which fills it, a
 * row costs no more than a copy; packing is left to the store's thread.
 *
 * A row consists of struct row as its head, a body that depends on its kind, its identity, and data (a record, a
 * value). Of several rows with the same identity the last one counts.
 */
#ifndef HALFLIFE_STORE_BATCH_H
#define HALFLIFE_STORE_BATCH_H

#include "base/mailbox.h"
#include "store/store.h"

enum row_kind {
        ROW_USAGE,      /* body: struct usage, then its weights, then the watermarks */
        ROW_USAGE_KEEP, /* body: struct usage, then its weights; the database keeps its watermarks */
        ROW_TARGET,     /* data: the record */
        ROW_KILL,       /* body: struct store_kill */
        ROW_NOTE,       /* key.ns: the note's name; data: its value */
        ROW_FORGET,     /* delete the target */
        ROW_FORGET_KILLS,
        ROW_LEDGER, /* body: struct ledger_page_key; key.ns: that key as text; data: the page */
        ROW_FORGET_LEDGER,
        ROW_CHANGE, /* body: int64_t, the id; key.ns: the id as text; data: the record; ms: when the change was made */
        ROW_FORGET_CHANGES, /* body: int64_t, the greatest id to delete; ms: delete changes made earlier too */
};

struct row {
        uint32_t bytes;                /* length of the whole row, a multiple of 8 */
        uint32_t body, identity, data; /* lengths of the parts, in bytes */
        uint32_t watermarks;           /* number of watermarks at the end of the body */
        int64_t ms; /* a time: see enum row_kind; ROW_TARGET: when it vanished; ROW_FORGET_…: delete older ones */
        uint8_t at[];
};

struct store_batch {
        struct mailbox_item item; /* the batch's link in the mailbox of the store's thread */
        struct chunk *chunk, *last;
        size_t rows;
        size_t distinct; /* rows left by the last batch_compact */
        uint64_t number;
        bool recall; /* the batch writes nothing: its only row's key names the history to read (store_recall) */
        const void *tag;
        struct ledger_report *report; /* the batch writes nothing: the ledger's pages go into this; NULL: no report */
        void *report_tag;
};

/* Walk through the rows in order: for (struct row *r = batch_first(b, &at); r; r = batch_next(&at)) */
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
const struct ledger_page_key *row_ledger(const struct row *r);
int64_t row_change_id(const struct row *r);
/* Pack the usage of a ROW_USAGE or ROW_USAGE_KEEP. */
size_t row_pack(struct row *r, uint8_t out[static USAGE_PACK_MAX]);
const struct store_watermark *row_watermarks(const struct row *r);

/* Append the rows of `src` to `dst`, which takes the number of `src`; `src` is freed. Superseded rows are removed
 * now and then, so a batch holds at most 1024 rows, or twice the number of distinct rows, after any number of joins. */
void batch_join(struct store_batch *dst, struct store_batch *src);

void batch_add_recall(struct store_batch *b, const struct store_key *key, const void *tag);

#endif
