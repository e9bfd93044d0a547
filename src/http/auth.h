/*
 * Who may: verdicts of the API server on (token, verb, namespace, name), kept for a short while under a digest of the
 * four; a token itself is never kept. One thread's; time is an argument.
 *
 * A verdict counts 10 s, then it is asked for afresh, and whoever comes meanwhile waits for the answer: a question is
 * under way once. While the API server cannot be asked, who was allowed within the last 15 minutes still is, and who is
 * not known is told to come again: not knowing is never a refusal. Bounded: entries, questions under way, and questions
 * a second; what would go over is told to come again too, but for those who were allowed lately.
 */
#ifndef HALFLIFE_HTTP_AUTH_H
#define HALFLIFE_HTTP_AUTH_H

#include "base/clock.h"
#include "http/server.h"

enum {
        AUTH_FRESH_MS = 10 * SECOND_MS,
        AUTH_STALE_MS = 15 * MINUTE_MS,
        AUTH_PROBE_MS = 2 * SECOND_MS, /* while the API server is away, one question this often */
        AUTH_ENTRIES_MAX = 4096,
        AUTH_ASKED_MAX = 64, /* under way */
        AUTH_ASKED_NEW = 48, /* of them about those not known to be allowed */
        AUTH_RATE = 50,      /* questions a second */
        AUTH_BURST = 100,
        AUTH_BURST_RESERVE = 25, /* which those not known to be allowed do not get */
};

struct auth_key auth_key_of(struct text token, const char *verb, const char *ns, const char *name);

enum auth_say {
        AUTH_SAYS_ALLOWED,
        AUTH_SAYS_ALLOWED_LATELY, /* nobody can be asked now */
        AUTH_SAYS_WHO,            /* 401 */
        AUTH_SAYS_FORBIDDEN,      /* 403 */
        AUTH_SAYS_LATER,          /* 503 */
        AUTH_SAYS_WAIT,           /* for the answer: w is in line */
};

struct auth_waiter {
        struct auth_waiter *next;
};

struct auth;
struct auth *auth_new(void);
void auth_free(struct auth *a); /* forgets who waits */
/* *ret_ask: the caller is to ask the API server now, and to tell auth_settle, whatever is said. */
enum auth_say auth_look(struct auth *a, const struct auth_key *k, struct mono now, struct auth_waiter *w,
                        bool *ret_ask);
/* The API server's answer. Returns who waited for it, and what they are to be told; NULL: nobody. */
struct auth_waiter *auth_settle(struct auth *a, const struct auth_key *k, enum server_verdict v, struct mono now,
                                enum auth_say *ret_say);
/* After AUTH_SAYS_WAIT: the request ended, it waits no more. */
void auth_leave(struct auth *a, const struct auth_key *k, struct auth_waiter *w);
size_t auth_entries(const struct auth *a);

#endif
