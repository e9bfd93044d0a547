#include "gzip.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* Judge one element of Accept-Encoding. Returns 2: the element names gzip, 1: it is "*" for every coding, 0: neither.
 * *ret_wanted is false for q=0. */
static int judge_word(struct text w, bool *ret_wanted)
{
        size_t name = 0;
        while (name < w.len && w.p[name] != ';' && w.p[name] != ' ' && w.p[name] != '\t')
                name++;
        const char *q = memmem(w.p, w.len, "q=", 2);
        *ret_wanted = true;
        for (; q && q < w.p + w.len; q++) { /* "q=0", "q=0.000" */
                if (*q >= '1' && *q <= '9')
                        break;
                *ret_wanted = q + 1 < w.p + w.len;
        }
        if ((name == 4 && strncasecmp(w.p, "gzip", 4) == 0) || (name == 6 && strncasecmp(w.p, "x-gzip", 6) == 0))
                return 2;
        return name == 1 && w.p[0] == '*';
}

bool accepts_gzip(const char *header)
{
        int best = 0;
        bool accepted = false;
        for (const char *p = header; p && *p;) {
                size_t len = strcspn(p, ",");
                struct text word = {p, len};
                while (word.len && (*word.p == ' ' || *word.p == '\t'))
                        word.p++, word.len--;
                bool wanted;
                int weight = judge_word(word, &wanted);
                if (weight > best) {
                        best = weight;
                        accepted = wanted;
                }
                p += len + (p[len] == ',');
        }
        return accepted;
}

void gzip_release(struct gzip *g)
{
        if (g->ready)
                deflateEnd(&g->z);
        *g = (struct gzip){0};
}

static bool gzip_begin(struct gzip *g)
{
        enum { GZIP_FORMAT = 16 }; /* added to the window bits, this makes zlib write the gzip format */
        if (g->ready)
                return deflateReset(&g->z) == Z_OK;
        g->ready =
                deflateInit2(&g->z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + GZIP_FORMAT, 8, Z_DEFAULT_STRATEGY) == Z_OK;
        return g->ready;
}

bool gzip_body(struct gzip *g, struct buf *body)
{
        if (body->len <= GZIP_LEAST || body->len > UINT32_MAX || !gzip_begin(g))
                return false;
        size_t room = body->len - 1; /* a result that is not shorter is not worth sending */
        char *small = mem_resize(NULL, room + 1, 1);
        g->z.next_in = (Bytef *)body->data;
        g->z.avail_in = (uInt)body->len;
        g->z.next_out = (Bytef *)small;
        g->z.avail_out = (uInt)room;
        if (deflate(&g->z, Z_FINISH) != Z_STREAM_END) {
                mem_free(small);
                return false;
        }
        size_t len = room - g->z.avail_out;
        small[len] = '\0';
        buf_reset(body);
        (void)buf_add(body, small, len); /* cannot fail: the result is shorter than the body was */
        mem_free(small);
        return true;
}
