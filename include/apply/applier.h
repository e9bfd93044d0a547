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
        const char *ownership_labels; /* keys of more labels that count as ownership labels (core/ownership_label.h);
                                         NULL: none */
        /* Returns why nothing may be applied: the error or name of a needed watch that cannot be read; NULL: all
         * watches are read. */
        const char *(*blind)(void *arg);
        void *arg;
};
struct applier *applier_new(const struct applier_options *o);
void applier_free(struct applier *applier); /* call it after the client is freed; NULL is allowed */

/* Decide about a target that has a workload, and ask the budgets. The plan stays valid until decide_end. */
void applier_decide(struct applier *applier, struct target *t, struct plan *ret);
void decide_end(struct applier *applier);

/* --- the queue of writes (write_queue.c) --- */

/* Queue a target for a write. Does nothing while the target waits for its back-off after a failed write. */
void work_add(struct applier *applier, struct target *t);
/* Queue the plan's target if the plan needs a write to the API server. */
void work_consider(struct applier *applier, const struct plan *p);
/* Whether the target's Recommendation must be deleted now. */
bool work_delete_due(const struct applier *applier, const struct target *t);
void work_pump(struct applier *applier);                     /* start queued writes, as many as may run at once */
void work_forget(struct applier *applier, struct target *t); /* call before t is freed: removes t from the queue */
size_t work_waiting(const struct applier *applier);          /* how many targets the queue of writes holds */

/* --- changes by halflife that this process did not make (external_apply.c) --- */

/* Take over requests of halflife's that the template's annotations record and the apply state does not know. They count
 * as a change made now. */
void external_apply_adopt(struct applier *applier, struct target *t);

/* --- pods (pod_resize.c) --- */

void resize_settle(struct applier *applier); /* ask whether the server can resize pods, if a profile needs that */

/* --- profiles (profile_status_write.c) --- */

void profile_status_publish(struct applier *applier); /* write the status of each profile whose status is due */
void profile_status_forget(struct applier *applier);  /* make every status due, as another leader may have written it */

struct applier_counts { /* writes by this process since it started */
        uint64_t applied, retuned, resizes, raises, resizes_refused;
};
const struct applier_counts *applier_counts(const struct applier *applier);

#endif
