#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"

enum { BUF_LEAST = 64 };

void buf_init(struct buf *b, size_t max)
{
        assert(max < SIZE_MAX / 2);
        *b = (struct buf){.max = max};
}

void buf_release(struct buf *b)
{
        mem_free(b->data);
        *b = (struct buf){.max = b->max};
}

void buf_wipe(struct buf *b)
{
        mem_wipe_n(STEAL(&b->data), b->cap);
        buf_release(b);
}

void buf_reset(struct buf *b)
{
        b->len = 0;
        if (b->data)
                b->data[0] = '\0';
}

/* Makes room for `more` further bytes and the NUL. */
static int buf_reserve(struct buf *b, size_t more)
{
        if (more > b->max - b->len)
                return ERR_TOOBIG;
        size_t want = b->len + more + 1;
        if (want <= b->cap)
                return 0;
        size_t cap = b->cap ? b->cap : BUF_LEAST;
        while (cap < want)
                cap = cap > b->max / 2 ? b->max + 1 : 2 * cap;
        b->data = mem_resize(b->data, cap, 1);
        b->cap = cap;
        return 0;
}

char *buf_extend(struct buf *b, size_t len)
{
        if (buf_reserve(b, len) < 0)
                return NULL;
        char *at = b->data + b->len;
        b->len += len;
        at[len] = '\0';
        return at;
}

int buf_add(struct buf *b, const void *p, size_t len)
{
        char *at = buf_extend(b, len);
        if (!at)
                return ERR_TOOBIG;
        if (len)
                memcpy(at, p, len);
        return 0;
}

int buf_add_text(struct buf *b, const char *s)
{
        return buf_add(b, s, strlen(s));
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
        va_list args, again;
        va_start(args, fmt);
        va_copy(again, args);
        int len = vsnprintf(NULL, 0, fmt, args);
        va_end(args);
        int rc = len < 0 ? ERR_INVALID : buf_reserve(b, (size_t)len);
        if (rc == 0) {
                vsnprintf(b->data + b->len, (size_t)len + 1, fmt, again);
                b->len += (size_t)len;
        }
        va_end(again);
        return rc;
}

void buf_drop(struct buf *b, size_t len)
{
        if (len >= b->len) {
                buf_reset(b);
                return;
        }
        memmove(b->data, b->data + len, b->len - len + 1);
        b->len -= len;
}

char *buf_steal(struct buf *b)
{
        char *data = b->data ? b->data : mem_string("");
        *b = (struct buf){.max = b->max};
        return data;
}
