/*
 * What the server's threads ask of the loop: who may, what was learned, who owns a pod's owner. They leave their calls
 * in a box; the loop empties it and answers, at once or when the API server has.
 */
#ifndef HALFLIFE_SERVING_LOOP_CALLS_H
#define HALFLIFE_SERVING_LOOP_CALLS_H

#include "cache/cache.h"
#include "http/server.h"
#include "kube/client.h"
#include "serving/upstream.h"

struct loop_calls;
struct loop_calls_options { /* all is the caller's and stays */
        struct loop *loop;
        struct client *client;
        struct cache *cache;
        struct upstream *upstream;  /* of a replica; NULL: none is known */
        const char *token_audience; /* of callers; NULL: the API server's own */
        bool replica;               /* what was learned is asked of upstream */
};
struct loop_calls *loop_calls_new(const struct loop_calls_options *o);
struct server_calls loop_calls_table(struct loop_calls *all);         /* for the server's options */
void loop_calls_begin(struct loop_calls *all, struct server *server); /* once the server is there; no call before */
uint64_t loop_calls_admitted(const struct loop_calls *all, enum admission_result r);
void loop_calls_free(struct loop_calls *all); /* after the server's end, before the client's; NULL: nothing */

#endif
