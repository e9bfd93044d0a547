/*
 * Cutting a stream of bytes into JSON values, wherever the chunks fall (within a rune, an escape, a number).
 *
 * A list gives the members of its top-level array "items" one by one, and the rest of the document (kind, metadata)
 * with items left empty; the answer to a query of Prometheus those of "result" in its top-level "data"; a watch gives
 * each top-level value. Values are objects. A value is handed over whole and lives
 * until the call returns; longer than the bound ends the stream with ERR_TOOBIG. Only structure is judged here
 * (strings, nesting); the reader of a value checks the rest.
 */
#ifndef HALFLIFE_NET_STREAM_H
#define HALFLIFE_NET_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum stream_shape { STREAM_WATCH, STREAM_LIST, STREAM_QUERY };

struct stream {
        enum stream_shape shape;
        struct buf value;        /* the value under way, when it spans chunks */
        struct buf envelope;     /* list, query: the document without its items */
        int64_t left;            /* bytes that may still come */
        int state;               /* where in the document the next byte stands */
        int depth;               /* of the value under way */
        bool in_string, escaped; /* within that value; escaped: the byte before was a live backslash */
        bool items_seen;
        bool in_data; /* query: within its "data" */
        int failed;   /* the code that ended the stream */
        char key[8];  /* the key read last, to recognise "items", "data" and "result"; longer ones are cut */
        int key_len;
        int (*each)(void *arg, struct text value); /* < 0 ends the stream with that code */
        void *arg;
};

enum { STREAM_ITEM_MAX = 4 << 20, STREAM_ENVELOPE_MAX = 1 << 20 };
#define STREAM_LIST_MAX (INT64_C(2) << 30)

/* item_max: bytes of one value; total_max: bytes of the whole stream, 0: no bound (a watch). */
void stream_init(struct stream *s, enum stream_shape shape, size_t item_max, int64_t total_max,
                 int (*each)(void *arg, struct text value), void *arg);
void stream_release(struct stream *s);
/* Feed bytes. 0, ERR_INVALID (not JSON), ERR_TOOBIG, or what each returned. After a failure the stream takes nothing
 * more. */
int stream_feed(struct stream *s, const char *p, size_t len, struct err *err);
/* At the end of the body: 0 when it ended between values (watch) or after the whole document (list, query: a body cut
 * in its middle is ERR_RETRY; a document without "items" or "result", as an error or a login page's JSON, is
 * ERR_INVALID, for it would pass for an empty list). */
int stream_end(struct stream *s, struct err *err);
/* List and query, after stream_end: the document with "items":[] or "result":[] for reading the rest. */
struct text stream_envelope(const struct stream *s);

#endif
