/*
 * A growing byte buffer with an upper bound, set by buf_init. An addition beyond the bound fails with ERR_TOOBIG and
 * leaves the buffer as it was. data is NUL-terminated once something was added.
 */
#ifndef HALFLIFE_BASE_BUF_H
#define HALFLIFE_BASE_BUF_H

#include <stddef.h>

#include "base/text.h"

struct buf {
        char *data;
        size_t len, cap, max;
};

void buf_init(struct buf *b, size_t max); /* max: bytes the buffer may hold, without the NUL */
void buf_release(struct buf *b);          /* frees the memory; accepts {0}; buf_init may follow */
void buf_wipe(struct buf *b);             /* overwrites the bytes in memory, for secrets, then does as buf_release */
void buf_reset(struct buf *b);            /* empties the buffer and keeps its memory */
int buf_add(struct buf *b, const void *p, size_t len);
int buf_add_text(struct buf *b, const char *s);
char *buf_extend(struct buf *b, size_t len); /* adds len bytes for the caller to fill; NULL: over the bound */
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_drop(struct buf *b, size_t len); /* removes the first len bytes */
char *buf_steal(struct buf *b);           /* gives the NUL-terminated bytes to the caller; b is empty afterwards */
static inline struct text buf_text(const struct buf *b)
{
        return (struct text){b->data ? b->data : "", b->len};
}
static inline void buf_release_auto(struct buf *b)
{
        buf_release(b);
}

#endif
