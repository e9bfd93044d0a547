/*
 * Questions from the server's threads to the loop: a caller's permissions, learned histories, the nodes, the ledger,
 * the owner above a pod's controller. A thread posts a call to a mailbox. The loop answers at once, or after the API
 * server or upstream (the halflife that learns) has answered.
 */
#ifndef HALFLIFE_SERVING_LOOP_CALLS_H
#define HALFLIFE_SERVING_LOOP_CALLS_H

#include "cache/cache.h"
#include "cache/checkpointer.h"
#include "cache/live_settings.h"
#include "http/server.h"
#include "kube/client.h"
#include "learn/learner.h"
#include "serving/owner_lookup.h"
#include "serving/upstream.h"

struct loop_calls;
struct loop_calls_options { /* borrowed until loop_calls_free */
        struct loop *loop;
        struct client *client;
        const struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer; /* has the database of the ledger; NULL: none */
        const struct learner *learner;     /* has the prices; NULL: none */
        struct upstream *upstream;         /* replica only: the halflife that learns; NULL: not configured */
        const char *token_audience;        /* the audience of callers' tokens; NULL: the API server's own */
        bool replica;                      /* requests about learned data are forwarded to upstream */
};
struct loop_calls *loop_calls_new(const struct loop_calls_options *o);
struct server_calls loop_calls_table(struct loop_calls *all); /* the functions for the server's options */
void loop_calls_begin(struct loop_calls *all,
                      struct server *server); /* call it after the server is made, before its threads ask */
/* How many AdmissionReviews were answered with this result. */
uint64_t loop_calls_admitted(const struct loop_calls *all, enum admission_result r);
/* How many owner look-ups ended with result r. On the loop's thread. */
uint64_t loop_calls_owner_lookups(const struct loop_calls *all, enum owner_lookup_result r);
void loop_calls_free(struct loop_calls *all); /* after server_stop and before client_free; all may be NULL */

#endif
