/*
 * Authorization of callers: a cache of the API server's verdicts on (token, resource, verb, namespace, name). The key
 * is a digest of the five; a token itself is never kept. For one thread; time is an argument.
 *
 * A verdict is valid for 10 s. After that the API server is asked again, once, and all HTTP requests with the same key
 * wait for the answer. While the API server cannot be asked, a caller who was allowed within the last 15 minutes stays
 * allowed; other callers get 503, because a missing verdict is never a refusal. Entries, questions under way and
 * questions a second are bounded. A caller beyond a bound gets 503 too, unless that caller was allowed lately. A caller
 * whose question waited too long to be sent also gets 503; the API server does not count as away for that.
 *
 * Tokens can be made up at will. So each address has a share of the questions about callers who were not allowed
 * lately: it may ask while it has fewer questions than it leaves places free. Where no place is left, an address
 * without a question gets the place of the newest question of the address that has most.
 *
 * Where no place for a verdict is left, the holder with most refusals loses its oldest refusal. A holder is a caller,
 * or an address for tokens that the API server does not know. But where few refusals are left, or one caller has more
 * permissions than its share, the caller with most permissions loses its oldest permission. So callers who fill all
 * places lose verdicts of their own. caller_share.h says who is one caller.
 */
#ifndef HALFLIFE_HTTP_AUTH_H
#define HALFLIFE_HTTP_AUTH_H

#include "base/clock.h"
#include "http/server.h"

enum {
        AUTH_FRESH_MS = 10 * SECOND_MS,
        AUTH_STALE_MS = 15 * MINUTE_MS,
        AUTH_PROBE_MS = 2 * SECOND_MS, /* while the API server is away, halflife asks it once in this time */
        AUTH_ENTRIES_MAX = 4096,
        AUTH_ALLOWED_SHARE = AUTH_ENTRIES_MAX / 2, /* a caller allowed by more verdicts loses one for a new one */
        AUTH_REFUSED_LEFT = AUTH_ENTRIES_MAX / 8,  /* with so few refusals, allowing verdicts are dropped */
        AUTH_ASKED_MAX = 64,                       /* questions under way */
        AUTH_ASKED_NEW = 48,                       /* part of AUTH_ASKED_MAX for callers who were not allowed lately */
        AUTH_RATE = 50,                            /* questions a second */
        AUTH_BURST = 100,
        AUTH_BURST_RESERVE = 25, /* part of AUTH_BURST that only callers who were allowed lately use */
};

struct auth_key auth_key_of(struct text token, const char *resource, const char *verb, const char *ns,
                            const char *name);

enum auth_say {
        AUTH_SAYS_ALLOWED,
        AUTH_SAYS_ALLOWED_LATELY, /* allowed by an old verdict, because the API server cannot be asked now */
        AUTH_SAYS_WHO,            /* 401: the API server does not accept the token */
        AUTH_SAYS_FORBIDDEN,      /* 403 */
        AUTH_SAYS_LATER,          /* 503: no verdict can be had now */
        AUTH_SAYS_BUSY,           /* 503: the question waited too long to be sent */
        AUTH_SAYS_SHARE_USED,     /* 503: the address has no question about a new caller left now */
        AUTH_SAYS_WAIT,           /* a question is under way: the waiter w was queued */
};

struct auth_waiter {
        struct auth_waiter *next;
};

struct auth;
struct auth *auth_new(void);
void auth_free(struct auth *a); /* waiters are forgotten, and get no answer */
struct auth_asker {
        struct text address, token; /* `token`: the one that the key was made of; it is not kept */
};
/* Look up the verdict for the key k, for the asker `by`. *ret_ask true: the caller must ask the API server now and pass
 * its answer to auth_settle, whatever this function returns. */
enum auth_say auth_look(struct auth *a, const struct auth_key *k, struct auth_asker by, struct mono now,
                        struct auth_waiter *w, bool *ret_ask);
/* Call it after AUTH_SAYS_SHARE_USED. Where no place is left and `address` has no question, withdraw the newest
 * question of the address that has most, if that has more than one. true: call auth_look again, which may find a place;
 * *ret_key is the withdrawn question, and the waiters *ret_waiting get AUTH_SAYS_SHARE_USED. */
bool auth_withdraw(struct auth *a, struct text address, struct mono now, struct auth_key *ret_key,
                   struct auth_waiter **ret_waiting);
/* Record the API server's answer. Returns the list of requests that waited for it, and their verdict in *ret_say; NULL:
 * no request waited. */
struct auth_waiter *auth_settle(struct auth *a, const struct auth_key *k, enum server_verdict v, struct mono now,
                                enum auth_say *ret_say);
/* Remove the waiter w, which got AUTH_SAYS_WAIT, because the HTTP request that waits has ended. */
void auth_leave(struct auth *a, const struct auth_key *k, struct auth_waiter *w);
size_t auth_entries(const struct auth *a);

#endif
