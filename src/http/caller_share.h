/*
 * The share of each caller in the memory for bodies and answers, so that one caller's requests never take all of it. A
 * caller is the namespace of a service account, because its tenants make accounts and tokens at will; else the subject
 * of its token; else the token; without an accepted token the address. For one thread; tokens are never kept.
 */
#ifndef HALFLIFE_HTTP_CALLER_SHARE_H
#define HALFLIFE_HTTP_CALLER_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct caller {
        uint8_t id[32]; /* digest of who it is */
        size_t held;    /* bytes, by all its requests */
        int requests;   /* that hold them */
};

struct caller_shares {
        struct map callers; /* id -> struct caller; only those that hold bytes */
        size_t most;        /* bytes a caller */
};

/* A digest of who the caller is, by a token or an address. */
void caller_id(struct text caller, uint8_t ret[static 32]);
/* Begin a request of the caller. Of tokens, only one that the API server accepted: only then its claims are true. */
struct caller *caller_take(struct caller_shares *s, struct text caller);
/* Whether its requests may hold so many bytes more. A first request always may. */
bool caller_may_hold(const struct caller_shares *s, const struct caller *c, size_t more);
/* End one request that holds so many bytes. */
void caller_give(struct caller_shares *s, struct caller *c, size_t held);
void caller_shares_release(struct caller_shares *s);

#endif
