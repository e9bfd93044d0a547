/*
 * A growing run of bytes with the most it may ever hold, given at birth. Going over is an ordinary error (ERR_TOOBIG)
 * that leaves the buffer as it was. data is always NUL-terminated once something was added.
 */
#ifndef HALFLIFE_BASE_BUF_H
#define HALFLIFE_BASE_BUF_H

#include <stddef.h>

#include "base/text.h"

struct buf {
        char *data;
        size_t len, cap, max;
};

void buf_init(struct buf *b, size_t max); /* bytes, the NUL aside */
void buf_release(struct buf *b);          /* {0} is fine; may be init'ed again */
void buf_reset(struct buf *b);            /* empty, memory kept */
int buf_add(struct buf *b, const void *p, size_t len);
int buf_add_text(struct buf *b, const char *s);
char *buf_extend(struct buf *b, size_t len); /* by len bytes, for the caller to fill; NULL: over the bound */
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_drop(struct buf *b, size_t len); /* forget the first len bytes */
char *buf_steal(struct buf *b);           /* NUL-terminated, the caller's; b is empty after */
static inline struct text buf_text(const struct buf *b)
{
        return (struct text){b->data ? b->data : "", b->len};
}
static inline void buf_release_auto(struct buf *b)
{
        buf_release(b);
}

#endif
