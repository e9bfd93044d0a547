/* Bodies made smaller for those who take them so. */
#ifndef HALFLIFE_HTTP_GZIP_H
#define HALFLIFE_HTTP_GZIP_H

#include <stdbool.h>
#include <zlib.h>

#include "base/buf.h"

enum { GZIP_LEAST = 1024 }; /* bytes; what is shorter travels as it is */

/* What an Accept-Encoding header says of gzip (RFC 9110 12.5.3). NULL: there is none. */
bool accepts_gzip(const char *header);

/* {0} to begin with; memory is kept from one body to the next. One thread's. */
struct gzip {
        z_stream z;
        bool ready;
};
void gzip_release(struct gzip *g);
/* Replaces the body. false: it is as it was, because it is short or does not shrink. */
bool gzip_body(struct gzip *g, struct buf *body);

#endif
