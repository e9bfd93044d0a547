/*
 * Cuts a stream of bytes into JSON objects. The stream may come in chunks that end anywhere, even within a character,
 * an escape or a number.
 *
 * What the callback gets depends on the shape of the stream:
 *   - STREAM_WATCH: each top-level object;
 *   - STREAM_LIST: each element of the top-level array "items";
 *   - STREAM_QUERY (Prometheus): each element of "result" in the top-level object "data".
 * The rest of a list or query, with that array empty, is kept as the envelope.
 *
 * The callback gets an object as a whole; the text is valid until it returns. An object over the bound ends the stream
 * with ERR_TOOBIG. This module checks only structure (strings, nesting); the decoder of an object checks the rest.
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
        struct buf value;        /* the current object's bytes so far, where the object spans chunks */
        struct buf envelope;     /* list, query: the document without the elements of its array */
        int64_t left;            /* bytes until total_max is reached */
        int state;               /* enum state in stream.c: where in the document the next byte is */
        int depth;               /* open brackets of the current value */
        bool in_string, escaped; /* in_string: within a string; escaped: right after its backslash */
        bool items_seen;
        bool in_data; /* query: now within the object "data" */
        int failed;   /* the error code that ended the stream; 0: none */
        char key[8];  /* the last key, cut to 8 bytes, to recognise "items", "data" and "result" */
        int key_len;
        int (*each)(void *arg, struct text value); /* a negative result ends the stream with that code */
        void *arg;
};

enum { STREAM_ITEM_MAX = 4 << 20, STREAM_ENVELOPE_MAX = 1 << 20 };
#define STREAM_LIST_MAX (INT64_C(2) << 30)

/* item_max: most bytes of one object. total_max: most bytes of the whole stream; 0: no bound, for a watch. */
void stream_init(struct stream *s, enum stream_shape shape, size_t item_max, int64_t total_max,
                 int (*each)(void *arg, struct text value), void *arg);
void stream_release(struct stream *s);
/* Feed the next chunk. Returns 0, ERR_INVALID (not the expected JSON), ERR_TOOBIG, or the negative result of `each`.
 * After a failure every further call fails with the same code. */
int stream_feed(struct stream *s, const char *p, size_t len, struct err *err);
/* Check the end of the body. Returns 0 when it ended between objects (watch) or after the document (list, query), and
 * ERR_RETRY for a cut body. A list or query without "items" or "result" is ERR_INVALID: the JSON of an error or a login
 * page would otherwise pass for an empty list. */
int stream_end(struct stream *s, struct err *err);
/* Call it after stream_end of a list or query. Returns the document with "items":[] or "result":[] empty, for decoding
 * the other members. */
struct text stream_envelope(const struct stream *s);

#endif
