/*
 * Applying writes the decision about a target to the API server: to the workload's template, its pods, its autoscalers
 * and its Recommendation. It also writes the status of profiles. A few targets are written at a time. Just before a
 * write, the object is read and the target decided again, so that a change by somebody else is not overwritten.
 */
#ifndef HALFLIFE_APPLY_APPLIER_H
#define HALFLIFE_APPLY_APPLIER_H

#include "cache/checkpointer.h"
#include "kube/client.h"
#include "notices/notices.h"
#include "plan/plan.h"
#include "safety/safety.h"

struct applier;
struct applier_options { /* everything belongs to the caller and must stay valid until applier_free */
        struct loop *loop;
        struct client *client;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct clock_skew *skew;
        struct leadership *leadership;
        struct notices *notices;
        struct safety *safety;
        const char *ownership_labels; /* further keys of core/ownership_label.h; NULL: none */
        /* Why nothing may be applied: the error or name of a needed watch that cannot be read; NULL: all are read. */
        const char *(*blind)(void *arg);
        void *arg;
};
struct applier *applier_new(const struct applier_options *o);
void applier_free(struct applier *applier); /* after the client is freed; NULL: does nothing */

/* Decide about a target that has a workload, including the budget. The plan stays valid until decide_end. */
void applier_decide(struct applier *applier, struct target *t, struct plan *ret);
void decide_end(struct applier *applier);

/* --- the queue of writes (write_queue.c) --- */

/* Queue a target for a write; does nothing while its last write failed and its back-off runs. */
void work_add(struct applier *applier, struct target *t);
/* Queue the plan's target if the plan needs a write. */
void work_consider(struct applier *applier, const struct plan *p);
/* Whether the target's Recommendation must be deleted now. */
bool work_delete_due(const struct applier *applier, const struct target *t);
void work_pump(struct applier *applier);                     /* start queued writes, as many as may run at once */
void work_forget(struct applier *applier, struct target *t); /* the target is about to be freed: remove it */
size_t work_waiting(const struct applier *applier);          /* targets in the queue */

/* --- changes by halflife that this process did not make (external_apply.c) --- */

/* Take over requests of halflife's that the template records and the apply state does not know, as a change made now.
 */
void external_apply_adopt(struct applier *applier, struct target *t);

/* --- pods (pod_resize.c) --- */

void resize_settle(struct applier *applier); /* ask whether the server can resize pods, if a profile needs to know */

/* --- profiles (profile_status_write.c) --- */

void profile_status_publish(struct applier *applier); /* write the status of each profile for which it is due */
void profile_status_forget(struct applier *applier);  /* make every status due: another leader may have written them */

struct applier_counts { /* since the start */
        uint64_t applied, retuned, resizes, raises, resizes_refused;
};
const struct applier_counts *applier_counts(const struct applier *applier);

#endif
