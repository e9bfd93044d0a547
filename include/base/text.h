/*
 * A borrowed run of bytes: not NUL-terminated; p is never NULL when len > 0.
 */
#ifndef HALFLIFE_BASE_TEXT_H
#define HALFLIFE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text {
        const char *p;
        size_t len;
};

#define TEXT(literal) ((struct text){"" literal, sizeof(literal) - 1})
/* The two arguments for "%.*s" of printf: printf("%.*s", TEXT_ARG(t)) */
#define TEXT_ARG(t) (int)(t).len, (t).p

static inline struct text text_of(const char *s)
{
        return (struct text){s, s ? strlen(s) : 0};
}

static inline bool text_equal(struct text a, struct text b)
{
        return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

static inline bool text_is(struct text a, const char *s)
{
        return text_equal(a, text_of(s));
}

/* Compare byte by byte; a prefix sorts first. The API server orders names so. */
static inline int text_compare(struct text a, struct text b)
{
        size_t shorter = a.len < b.len ? a.len : b.len;
        int way = shorter ? memcmp(a.p, b.p, shorter) : 0;
        return way ? way : (a.len > b.len) - (a.len < b.len);
}

#endif
