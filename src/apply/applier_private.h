#ifndef HALFLIFE_APPLY_APPLIER_PRIVATE_H
#define HALFLIFE_APPLY_APPLIER_PRIVATE_H

#include "apply/applier.h"
#include "base/log.h"
#include "base/queue.h"
#include "kube/patch.h"
#include "plan/autoscaler_plan.h"
#include "recommendation_status.h"

enum { WRITES_AT_ONCE = 16 };

struct applier {
        struct loop *loop;
        struct client *client;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct clock_skew *skew;
        struct leadership *leadership;
        struct report *report;
        struct safety *safety;
        struct applier_options options;
        struct arena plans; /* of the target at hand */
        struct queue *work;
        bool resize_asking; /* whether the server can resize pods */
        struct mono resize_asked;
        struct applier_counts count;
};

/* write_queue.c */
void work_done(struct applier *applier, struct target *t, const struct err *err, int64_t retry_after_ms);

/* recommendation_write.c */
/* The head first where it has to be; ends in work_done. */
void publish_status(struct applier *applier, const struct plan *p);
void publish_delete(struct applier *applier, struct target *t);

/* template_patch.c */
void apply_plan(struct applier *applier, const struct plan *p); /* ends in work_done */

/* autoscaler_patch.c */
void retune_plan(struct applier *applier, const struct plan *p); /* the first that is due; ends in work_done */

/* pod_resize.c */
void resize_set(struct applier *applier, const struct plan *p); /* what the gates let pass is set from now on */
void resize_pod(struct applier *applier, const struct plan *p); /* the next pod that differs; ends in work_done */

#endif
