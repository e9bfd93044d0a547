/* Owners of pods that were looked up, by key, kept for a minute: the pods of one rollout come together. */
#ifndef HALFLIFE_SERVING_KEPT_OWNERS_H
#define HALFLIFE_SERVING_KEPT_OWNERS_H

#include "base/clock.h"
#include "base/map.h"
#include "deploy/admission_review.h"

struct kept_owners {
        struct map by_key; /* {0}: none */
};

void kept_owners_put(struct kept_owners *k, const char *key, const struct admission_owner *owner,
                     struct mono now); /* copies both */
/* Valid until the next call of kept_owners_put; NULL: none is kept. */
const struct admission_owner *kept_owners_find(const struct kept_owners *k, const char *key, struct mono now);
void kept_owners_clear(struct kept_owners *k);

/* A copy in one block (mem_free) with all that it points to. */
struct admission_owner *owner_copy(const struct admission_owner *o);

#endif
