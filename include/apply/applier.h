/*
 * Applying: what was decided about a target is written, a few targets at a time: its template, its pods, its
 * autoscalers, its Recommendation; and the profiles' status. Each is decided afresh on what was read for the write.
 */
#ifndef HALFLIFE_APPLY_APPLIER_H
#define HALFLIFE_APPLY_APPLIER_H

#include "cache/checkpointer.h"
#include "kube/client.h"
#include "plan/plan.h"
#include "report/report.h"
#include "safety/safety.h"

struct applier;
struct applier_options { /* all is the caller's and stays */
        struct loop *loop;
        struct client *client;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct clock_skew *skew;
        struct leadership *leadership;
        struct report *report;
        struct safety *safety;
        /* What is needed to apply and cannot be seen; NULL: all can. */
        const char *(*blind)(void *arg);
        void *arg;
};
struct applier *applier_new(const struct applier_options *o);
void applier_free(struct applier *applier); /* after the client; NULL: nothing */

/* The plan of a target that has a workload, the budget's word included; good until decide_end. */
void decide(struct applier *applier, struct target *t, struct plan *ret);
void decide_end(struct applier *applier);

/* --- the queue of writes (write_queue.c) --- */

void work_add(struct applier *applier, struct target *t);
void work_consider(struct applier *applier,
                   const struct plan *p); /* adds its target where something is to be written */
bool work_delete_due(const struct applier *applier, const struct target *t); /* its Recommendation goes now */
void work_pump(struct applier *applier);
void work_forget(struct applier *applier, struct target *t); /* it is about to be freed */
size_t work_waiting(const struct applier *applier);

/* --- what others wrote of ours (external_apply.c) --- */

/* What the template tells of and we do not remember. */
void external_apply_adopt(struct applier *applier, struct target *t);

/* --- pods (pod_resize.c) --- */

void resize_settle(struct applier *applier); /* asks the server whether it can resize pods, if any wants it */

/* --- profiles (profile_status.c) --- */

void profile_status_publish(struct applier *applier);
void profile_status_forget(struct applier *applier); /* another may have written since: all are due */

struct applier_counts { /* since the start */
        uint64_t applied, retuned, resizes, raises, resizes_refused;
};
const struct applier_counts *applier_counts(const struct applier *applier);

#endif
