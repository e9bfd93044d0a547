/*
 * Who may ask the page server of `halflife ui`. It listens on loopback, where every user and every page in the browser
 * can connect, so a request must name a path that only its user knows, our own Host (a name that was bound again to
 * 127.0.0.1 has another), and no foreign origin.
 */
#ifndef HALFLIFE_CLI_PAGE_GUARD_H
#define HALFLIFE_CLI_PAGE_GUARD_H

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

struct page_guard {
        char host[2][32]; /* accepted values of Host: "127.0.0.1:41234", "localhost:41234" */
        char prefix[40];  /* secret begin of each path: "/" and 128 random bits in hexadecimal */
};
/* port: the port that the server is bound to; random: 16 random bytes for the secret path. */
void page_guard_init(struct page_guard *g, const char *port, const unsigned char random[static 16]);

/* The parts of an HTTP request that page_guard_judge looks at; a header's value is NULL if the request lacks the
 * header. */
struct page_question {
        struct text method, path;         /* path without the query, still percent-encoded */
        const char *host;                 /* the only Host; NULL where there is none, or several */
        const char *origin, *site, *mode; /* values of the headers Origin, Sec-Fetch-Site, Sec-Fetch-Mode */
};
/* Returns 0 if the request may be answered; then *ret is its path behind the prefix, such as /ui. Else returns the HTTP
 * status of the refusal, 403, 404 or 405, with a sentence in *ret_why. */
unsigned page_guard_judge(const struct page_guard *g, const struct page_question *q, struct text *ret,
                          const char **ret_why);

#endif
