#ifndef HALFLIFE_APPLY_APPLIER_PRIVATE_H
#define HALFLIFE_APPLY_APPLIER_PRIVATE_H

#include "apply/applier.h"
#include "base/log.h"
#include "base/queue.h"
#include "cache/bookkeeping.h"
#include "kube/patch.h"
#include "plan/autoscaler_plan.h"

enum { WRITES_AT_ONCE = 16, PROFILE_WRITES_AT_ONCE = 4 };

/* The profiles whose status is due or under way; namespaces take turns (profile_status_write.c). */
struct profile_turns {
        struct map of;       /* "ns/name" -> struct profile_turn */
        struct queue *queue; /* of the same */
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
        struct arena plans; /* memory for the decision and write of one target, reset after it */
        struct queue *work;
        int writing; /* of the queue, under way */
        struct profile_turns statuses;
        bool resize_asking;       /* the question whether the server can resize pods is under way */
        struct mono resize_asked; /* when it was last asked; 0: never */
        struct applier_counts count;
};

/* write_queue.c: a write has ended. On an error it is tried again after a back-off; an object that is gone is left. */
void work_done(struct applier *applier, struct target *t, const struct err *err, int64_t retry_after_ms);

/* Whether halflife's policy refused the write. If so, the target is left alone like a contested one, and an Event
 * reports it. */
bool work_contested(struct applier *applier, struct target *t, const struct err *err);

/* profile_status_write.c */
void profile_turns_init(struct profile_turns *turns);
void profile_turns_release(struct profile_turns *turns);

/* profile_degraded.c */
enum { PROFILE_DEGRADED_MAX = 512 };
/* What keeps a profile from working: the reason of its condition Degraded, and a message in out. NULL: nothing does. */
const char *profile_degraded(const struct applier *applier, const struct profile *p,
                             char out[static PROFILE_DEGRADED_MAX]);

/* recommendation_head.c */
/* Build the Recommendation without status: its spec and the workload's labels. The caller owns the reference. */
json_t *publish_build_head(const struct applier *applier, const struct target *t);
/* Digest of the labels that halflife sets. */
uint64_t publish_labels_digest(const struct applier *applier, const struct workload *wl);
/* Whether the published head is up to date. Labels that others set on the object are ignored. */
bool publish_head_stands(const struct applier *applier, const struct target *t);

/* recommendation_write.c */
enum publish_need { PUBLISH_NOTHING, PUBLISH_STATUS, PUBLISH_HEAD };
/* What must be written now. PUBLISH_HEAD: the object is missing, or its labels or spec differ. PUBLISH_STATUS: the
 * status changed, or only its target values did, by more than one bucket since the last write status_ms ago. */
enum publish_need publish_needs(struct applier *applier, const struct plan *p);
/* Write the status, and before it the head where that is needed; ends in work_done. */
void publish_status(struct applier *applier, const struct plan *p);
void publish_delete(struct applier *applier, struct target *t);

/* template_write.c */
void apply_plan(struct applier *applier, const struct plan *p); /* ends in work_done */

/* autoscaler_write.c */
void retune_plan(struct applier *applier, const struct plan *p); /* patch the first due autoscaler; ends in work_done */

/* pod_resize.c */
void resize_set(struct applier *applier, const struct plan *p); /* store the new requests that all pods are to get */
void resize_pod(struct applier *applier, const struct plan *p); /* resize the plan's next pod; ends in work_done */

#endif
