/*
 * The share of each caller in the memory for bodies and answers, so that one caller's requests never take all of it.
 * The tenants of a namespace make service accounts and tokens at will, so all service accounts of a namespace are one
 * caller. Any other caller is the subject of its token, or the token if that names no subject; without an accepted
 * token, the client address. For one thread; tokens are never kept.
 */
#ifndef HALFLIFE_HTTP_CALLER_SHARE_H
#define HALFLIFE_HTTP_CALLER_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct caller {
        uint8_t id[32]; /* made by caller_id */
        size_t held;    /* bytes, by all HTTP requests of the caller */
        int requests;   /* requests of the caller under way */
};

struct caller_shares {
        struct map callers; /* id -> struct caller; only those that hold bytes */
        size_t most;        /* the most bytes that one caller may hold */
};

/* Write a digest of who the caller is. `caller` is a token or a client address. */
void caller_id(struct text caller, uint8_t ret[static 32]);
/* Begin an HTTP request of the caller. `caller` is a token only where the API server accepted it, because only then its
 * claims are true; else it is the client address. */
struct caller *caller_take(struct caller_shares *s, struct text caller);
/* Whether the requests of c may hold `more` bytes more. A caller's only request always may. */
bool caller_may_hold(const struct caller_shares *s, const struct caller *c, size_t more);
/* End a request of c that holds `held` bytes. c may be NULL: nothing is done. */
void caller_give(struct caller_shares *s, struct caller *c, size_t held);
void caller_shares_release(struct caller_shares *s);

#endif
