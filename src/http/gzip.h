/* Compression of answers for callers that accept gzip. */
#ifndef HALFLIFE_HTTP_GZIP_H
#define HALFLIFE_HTTP_GZIP_H

#include <stdbool.h>
#include <zlib.h>

#include "base/buf.h"

enum { GZIP_LEAST = 1024 }; /* bytes; only longer bodies are compressed */

/* Whether an Accept-Encoding header allows gzip (RFC 9110 12.5.3). `header` NULL: the request has no such header, so
 * gzip is not allowed. */
bool accepts_gzip(const char *header);

/* A compressor, for one thread. A zeroed struct is ready for use; its memory is kept from one body to the next. */
struct gzip {
        z_stream z;
        bool ready;
};
void gzip_release(struct gzip *g);
/* Compress the body in place. false: the body is unchanged, because it is short or would not shrink. */
bool gzip_body(struct gzip *g, struct buf *body);

#endif
