/*
 * Finds the top owner of a pod: the workload at the top of the chain of controllers. The cache answers where it can;
 * otherwise a few bounded requests to the API server follow the chain. Answers are kept for a minute, because the pods
 * of one rollout ask for the same owner at almost the same time. On the loop's thread.
 *
 * Any client of the listener may send reviews, so look-ups at the API server have two budgets:
 *   - an expected owner is named after a workload that the cache knows, as a ReplicaSet is after its Deployment;
 *   - any other owner may be made up by the client. The budget for these is smaller, and the API server's answer that
 *     there is no such owner is kept for 10 to 20 s.
 * lookup_budget.h says how clients share a budget. A look-up waits for its turn. Where informers watch the kind of the
 * owner, the wait also ends when the cache gets the owner, without a request to the API server.
 */
#ifndef HALFLIFE_SERVING_OWNER_LOOKUP_H
#define HALFLIFE_SERVING_OWNER_LOOKUP_H

#include "cache/cache.h"
#include "deploy/admission_review.h"
#include "kube/client.h"

struct owner_lookup;
struct owner_lookup *owner_lookup_new(struct client *c, const struct cache *w);
void owner_lookup_free(struct owner_lookup *k); /* look-ups under way end without a call of `found` */

/*
 * A look-up of the top of the chain that starts at a pod's controller. `found` is called once, perhaps before
 * owner_lookup_find returns, and takes ownership of `owner`, one block (mem_free). `owner` NULL: there is no such
 * object, or it was not found within 0.9 s.
 */
struct owner_lookup_call {
        const char *address;                        /* of the client that sent the review; copied */
        const char *ns, *api_version, *kind, *name; /* copied */
        void (*found)(void *arg, struct admission_owner *owner);
        void *arg;
};
void owner_lookup_find(struct owner_lookup *k, const struct owner_lookup_call *q);

/* How look-ups ended. */
enum owner_lookup_result {
        OWNER_LOOKUP_KNOWN,    /* the cache or a kept answer had the owner, without a request */
        OWNER_LOOKUP_FOUND,    /* the API server had the owner */
        OWNER_LOOKUP_ABSENT,   /* the API server has no such object */
        OWNER_LOOKUP_REPEATED, /* the owner was absent seconds ago, so the API server was not asked again */
        OWNER_LOOKUP_FAILED,   /* the API server failed, or took too long */
        OWNER_LOOKUP_CROWDED,  /* the look-up had no turn in time, because its budget was used up */
        OWNER_LOOKUP_RESULTS
};
const char *owner_lookup_result_name(enum owner_lookup_result r);                      /* "known", "found", … */
uint64_t owner_lookup_count(const struct owner_lookup *k, enum owner_lookup_result r); /* since the start */

#endif
