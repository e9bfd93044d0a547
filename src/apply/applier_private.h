#ifndef HALFLIFE_APPLY_APPLIER_PRIVATE_H
#define HALFLIFE_APPLY_APPLIER_PRIVATE_H

#include "apply/applier.h"
#include "base/log.h"
#include "base/queue.h"
#include "cache/bookkeeping.h"
#include "kube/patch.h"
#include "plan/autoscaler_plan.h"

enum { WRITES_AT_ONCE = 16, PROFILE_WRITES_AT_ONCE = 4 };

/* The profiles whose status has to be written or is being written; namespaces take turns (profile_status_write.c). */
struct profile_turns {
        struct map of;       /* "ns/name" -> struct profile_turn */
        struct queue *queue; /* the queue of these struct profile_turn */
};

struct applier {
        struct loop *loop;
        struct client *client;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct clock_skew *skew;
        struct leadership *leadership;
        struct notices *notices;
        struct safety *safety;
        struct applier_options options;
        struct arena plans; /* memory for deciding about one target and writing it, reset afterwards */
        struct queue *work;
        int writing; /* writes of the queue `work` that are under way */
        struct profile_turns statuses;
        bool resize_asking;       /* a request that asks whether the server can resize pods is under way */
        struct mono resize_asked; /* when halflife last asked that; 0: never */
        struct applier_counts count;
};

/* write_queue.c: call when a write to t has ended. After an error, t is written again after a back-off; but if the
 * object is gone (ERR_NOTFOUND), it is left alone. */
void work_done(struct applier *applier, struct target *t, const struct err *err, int64_t retry_after_ms);

/* Whether halflife's admission policy refused the write. If so, the target is left alone like a contested one, and an
 * Event reports that. */
bool work_contested(struct applier *applier, struct target *t, const struct err *err);

/* profile_status_write.c */
void profile_turns_init(struct profile_turns *turns);
void profile_turns_release(struct profile_turns *turns);

/* profile_degraded.c */
enum { PROFILE_DEGRADED_MAX = 512 };
/* What keeps a profile from working: returns the reason of its condition Degraded, and writes the message to `out`.
 * NULL: nothing does, and `out` is "". */
const char *profile_degraded(const struct applier *applier, const struct profile *p,
                             char out[static PROFILE_DEGRADED_MAX]);

/* recommendation_head.c */
/* Build the Recommendation without status: its spec and the workload's labels. The caller owns the reference. */
json_t *publish_build_head(const struct applier *applier, const struct target *t);
/* Digest of the workload's labels that halflife sets on a Recommendation. */
uint64_t publish_labels_digest(const struct applier *applier, const struct workload *wl);
/* Whether the head of the target's published Recommendation (its profile and labels) is up to date. Labels that others
 * set on the object do not count. */
bool publish_head_stands(const struct applier *applier, const struct target *t);

/* recommendation_write.c */
enum publish_need { PUBLISH_NOTHING, PUBLISH_STATUS, PUBLISH_HEAD };
/* What of the Recommendation must be written now. PUBLISH_HEAD: the object is missing, or its labels or spec differ.
 * PUBLISH_STATUS: the status changed. If only its target values changed, it counts from status_ms after the last write
 * on, and only if a value moved by more than one bucket. */
enum publish_need publish_needs(struct applier *applier, const struct plan *p);
/* Write the Recommendation's status, and before it the head where that is needed. The write ends in work_done. */
void publish_status(struct applier *applier, const struct plan *p);
void publish_delete(struct applier *applier, struct target *t);

/* template_write.c */
void apply_plan(struct applier *applier, const struct plan *p); /* patch the workload's template; ends in work_done */

/* autoscaler_write.c */
void retune_plan(struct applier *applier,
                 const struct plan *p); /* patch the first autoscaler that is due; ends in work_done */

/* pod_resize.c */
void resize_set(struct applier *applier, const struct plan *p); /* store the new requests for all pods; resizes none */
void resize_pod(struct applier *applier, const struct plan *p); /* resize the plan's next pod; ends in work_done */

#endif
