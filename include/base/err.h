/*
 * Errors: a code to act on, a text to read.
 *
 * Functions that can fail return 0 (or a documented value >= 0) or one of the negative codes below, and, where they
 * take a struct err, leave in it what failed and why. The struct is the caller's and of fixed size, so reporting cannot
 * itself fail. Texts start in lower case, quote their subject and tell the way out; each caller on the way up may wrap
 * them once.
 */
#ifndef HALFLIFE_BASE_ERR_H
#define HALFLIFE_BASE_ERR_H

enum {
        ERR_INVALID = -1,  /* never retry as it is: malformed, out of bounds */
        ERR_RETRY = -2,    /* busy or unreachable: the same again later may do */
        ERR_STALE = -3,    /* what was read has changed (409, 422 of a test): read again */
        ERR_GONE = -4,     /* a version or token has expired (410): list again */
        ERR_NOTFOUND = -5, /* no such object, file, resource */
        ERR_DENIED = -6,   /* may not (401, 403, EACCES): somebody has to grant it */
        ERR_CONFLICT = -7, /* someone else owns it (field manager, lock) */
        ERR_TOOBIG = -8,   /* over a bound set at birth */
        ERR_NOSPACE = -9,  /* no room: lent memory too small, disk full */
        ERR_IO = -10,      /* the system failed: errno's text is in err */
        ERR_DAMAGED = -11, /* stored bytes do not check out */
};

enum { ERR_TEXT_MAX = 512 };

struct err {
        int code;                /* 0 or a code above */
        char text[ERR_TEXT_MAX]; /* NUL-terminated, valid UTF-8, cut when too long */
};

/* Set code and text; returns code. err may be NULL (then only the code is returned). */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Put "what: " in front of the text; returns err->code (ERR_IO when err is NULL, so never call it without one). */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The name of a code for logs ("retry", "stale", …). */
const char *err_name(int code);

#endif
