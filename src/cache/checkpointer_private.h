#ifndef HALFLIFE_CACHE_CHECKPOINTER_PRIVATE_H
#define HALFLIFE_CACHE_CHECKPOINTER_PRIVATE_H

#include "cache/checkpointer.h"

/* how many histories one call of checkpointer_pack packs */
enum { CHECKPOINT_SLICE = 2048 };
struct checkpointer {
        struct loop *loop;
        struct cache *cache;
        const struct clock_skew *skew;
        const struct live_settings *live;
        const char *database; /* NULL: memory only */
        struct checkpointer_callbacks callbacks;
        struct store *store;   /* NULL: memory only */
        char store_error[256]; /* why there is no store, or why the last checkpoint failed; "": neither */
        struct store_batch *packing;
        size_t pack_at;
        struct counted {
                struct store_batch *batch; /* the rows of these kills; NULL: none yet */
                struct history **history;  /* the histories that counted these kills */
                size_t histories, cap;
        } counted;   /* kills counted in this pass, and not stored yet */
        int reports; /* how many reports the store's thread adds to now */
        uint64_t batch_sent, batch_done, errors, displaced;
        struct metric_seconds seconds;
        int64_t file_bytes;
};

#endif
