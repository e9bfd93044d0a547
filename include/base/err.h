/*
 * Errors: a code for the caller to act on, and a text for people.
 *
 * A function that can fail returns 0 (or a documented value >= 0), or one of the negative codes below. A function that
 * takes a struct err also writes there what failed and why. The struct is the caller's and has a fixed size, so that
 * reporting an error cannot itself fail. A text starts in lower case, quotes its subject and names the remedy. Each
 * caller on the way up may put its own context in front once (err_wrap).
 */
#ifndef HALFLIFE_BASE_ERR_H
#define HALFLIFE_BASE_ERR_H

enum {
        ERR_INVALID = -1,  /* malformed or out of bounds: the same call will fail again */
        ERR_RETRY = -2,    /* busy or unreachable: the same call may succeed later */
        ERR_STALE = -3,    /* the object changed since it was read (409, or 422 of a JSON Patch test): read it again */
        ERR_GONE = -4,     /* a resourceVersion or continue token has expired (410): list again */
        ERR_NOTFOUND = -5, /* no such object, file or resource */
        ERR_DENIED = -6,   /* permission is missing (401, 403, EACCES): an administrator has to grant it */
        ERR_CONFLICT = -7, /* another owner holds the field (a field manager) or the lock */
        ERR_TOOBIG = -8,   /* over a fixed bound */
        ERR_NOSPACE = -9,  /* no room: the caller's memory is too small, or the disk is full */
        ERR_IO = -10,      /* a system call failed; err holds errno's text */
        ERR_DAMAGED = -11, /* stored bytes are corrupt (wrong checksum or format) */
};

enum { ERR_TEXT_MAX = 512 };

struct err {
        int code;        /* 0 or a code above */
        int http_status; /* HTTP status of the answer that refused halflife's request; 0: another error, or no answer */
        char text[ERR_TEXT_MAX]; /* NUL-terminated, valid UTF-8; a longer text is cut */
};

/* Set err's code and text. Returns code. err may be NULL: the text is then lost. */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like err_set, and keep the HTTP status of the answer. */
int err_set_http(struct err *err, int code, int http_status, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

/* Copy code, HTTP status and text of `from` to err. Returns the code. err may be NULL. */
int err_copy(struct err *err, const struct err *from);

/* Put the formatted context and ": " in front of err's text. Returns err->code; with err NULL it can only return
 * ERR_IO, so pass an err. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The name of a code for logs ("retry", "stale", …). */
const char *err_name(int code);

#endif
