/* The owners of pods found by look-ups, kept for a minute by a key, because the pods of one rollout ask for the same
 * owner within seconds. */
#ifndef HALFLIFE_SERVING_KEPT_OWNERS_H
#define HALFLIFE_SERVING_KEPT_OWNERS_H

#include "base/clock.h"
#include "base/map.h"
#include "deploy/admission_review.h"

struct kept_owners {
        struct map by_key; /* {0}: no owner is kept */
};

void kept_owners_put(struct kept_owners *k, const char *key, const struct admission_owner *owner,
                     struct mono now); /* copies key and owner */
/* The result is valid until the next call of kept_owners_put. NULL: no owner is kept under the key. */
const struct admission_owner *kept_owners_find(const struct kept_owners *k, const char *key, struct mono now);
void kept_owners_clear(struct kept_owners *k);

/* Copy an owner and all that it points to into one block, which the caller frees (mem_free). */
struct admission_owner *owner_copy(const struct admission_owner *o);

#endif
