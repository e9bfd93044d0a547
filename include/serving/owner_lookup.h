/*
 * Who a pod's owner is, and who owns that: from what the watches brought, else by a few bounded requests upwards, whose
 * answers are kept for a minute: the pods of one rollout come together. On the loop's thread.
 */
#ifndef HALFLIFE_SERVING_OWNER_LOOKUP_H
#define HALFLIFE_SERVING_OWNER_LOOKUP_H

#include "cache/cache.h"
#include "deploy/admission.h"
#include "kube/client.h"

struct owner_lookup;
struct owner_lookup *owner_lookup_new(struct client *c, struct cache *w);
void owner_lookup_free(struct owner_lookup *k); /* look-ups under way end without a call */

/* The top of the chain that starts at a pod's controller. found is called once, perhaps from within; owner is one block
 * (mem_free), the callee's; NULL: it was not found in 0.9 s, or too many are looked for, at once or a second. */
struct owner_lookup_call {
        const char *ns, *api_version, *kind, *name; /* copied */
        void (*found)(void *arg, struct admission_owner *owner);
        void *arg;
};
void owner_lookup_find(struct owner_lookup *k, const struct owner_lookup_call *q);

#endif
