/*
 * Authorization of callers: a cache of the API server's verdicts on (token, resource, verb, namespace, name). The key
 * is a digest of the five; a token itself is never kept. For one thread; time is an argument.
 *
 * A verdict is valid for 10 s. After that the API server is asked again, once, and requests with the same key wait for
 * the answer. While the API server cannot be asked, a caller who was allowed within the last 15 minutes still is; other
 * callers get 503, because a missing verdict is never a refusal. Entries, questions under way and questions a second
 * are bounded. A caller beyond a bound gets 503 too, unless that caller was allowed lately; so does one whose question
 * waited too long to be sent, which says nothing about the API server.
 *
 * Tokens can be made up at will. So an address has a share of the questions about callers who were not allowed lately:
 * as many as it leaves to others. Where no place is left, one that has none gets the newest of the one that has most.
 *
 * Where no place for a verdict is left, the oldest refusal goes of who has most of them: a caller, or an address for
 * tokens that the API server does not know. With few refusals left, or where a caller is allowed by more verdicts than
 * its share, the oldest goes of the caller who is allowed by most. So callers who hold all places together lose their
 * own. caller_share.h says who is one caller.
 */
#ifndef HALFLIFE_HTTP_AUTH_H
#define HALFLIFE_HTTP_AUTH_H

#include "base/clock.h"
#include "http/server.h"

enum {
        AUTH_FRESH_MS = 10 * SECOND_MS,
        AUTH_STALE_MS = 15 * MINUTE_MS,
        AUTH_PROBE_MS = 2 * SECOND_MS, /* while the API server is away, one question per so much time */
        AUTH_ENTRIES_MAX = 4096,
        AUTH_ALLOWED_SHARE = AUTH_ENTRIES_MAX / 2, /* of them, verdicts that allow one caller */
        AUTH_REFUSED_LEFT = AUTH_ENTRIES_MAX / 8,  /* verdicts that refuse, which those that allow leave room for */
        AUTH_ASKED_MAX = 64,                       /* questions under way */
        AUTH_ASKED_NEW = 48,                       /* of these, questions about callers who were not allowed lately */
        AUTH_RATE = 50,                            /* questions a second */
        AUTH_BURST = 100,
        AUTH_BURST_RESERVE = 25, /* part of AUTH_BURST kept for callers who were allowed lately */
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
void auth_free(struct auth *a); /* drops waiters without a call */
struct auth_asker {
        struct text address, token; /* token: the one in the key; it is not kept */
};
/* Look up the verdict for k, which somebody wants. *ret_ask true: ask the API server now and pass its
 * answer to auth_settle, whatever this function returns. */
enum auth_say auth_look(struct auth *a, const struct auth_key *k, struct auth_asker by, struct mono now,
                        struct auth_waiter *w, bool *ret_ask);
/* After AUTH_SAYS_SHARE_USED: where no place is left and the address has none, withdraw a question of the address that
 * has most, if that is more than one. Returns whether auth_look may find a place now: *ret_key need not be answered any
 * more, and *ret_waiting are its waiters, who get AUTH_SAYS_SHARE_USED. */
bool auth_withdraw(struct auth *a, struct text address, struct mono now, struct auth_key *ret_key,
                   struct auth_waiter **ret_waiting);
/* Record the API server's answer. Returns the list of waiters, and their verdict in *ret_say; NULL: no waiters. */
struct auth_waiter *auth_settle(struct auth *a, const struct auth_key *k, enum server_verdict v, struct mono now,
                                enum auth_say *ret_say);
/* Remove a waiter after AUTH_SAYS_WAIT, because its request ended. */
void auth_leave(struct auth *a, const struct auth_key *k, struct auth_waiter *w);
size_t auth_entries(const struct auth *a);

#endif
