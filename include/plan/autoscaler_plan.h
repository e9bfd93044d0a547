/*
 * The autoscalers' part of a plan: which autoscalers hold back a resource, and which utilization targets they get. No
 * I/O.
 */
#ifndef HALFLIFE_PLAN_AUTOSCALER_PLAN_H
#define HALFLIFE_PLAN_AUTOSCALER_PLAN_H

#include "core/autoscaler_target.h"
#include "plan/plan.h"

/* Why halflife may not change an autoscaler's targets; AUTOSCALER_FREE: it may. */
enum autoscaler_hold {
        AUTOSCALER_FREE,
        AUTOSCALER_MODE,       /* the profile's apply.hpa is Hold or LimitBasis */
        AUTOSCALER_RESET,      /* somebody restored a utilization target that halflife had changed */
        AUTOSCALER_OWNED,      /* the autoscaler's controller owner would restore the targets */
        AUTOSCALER_APPLIED,    /* another field manager owns the autoscaler's metrics by server-side apply */
        AUTOSCALER_UNKNOWN,    /* halflife does not understand one of the autoscaler's metrics */
        AUTOSCALER_UNREADABLE, /* halflife cannot read its own annotation on the autoscaler */
        AUTOSCALER_SHARED,     /* the autoscaler counts pods of other workloads too: no target is right for all */
        AUTOSCALER_FORBIDDEN,  /* the API server refused halflife's last write to the autoscaler */
        AUTOSCALER_ASKING,     /* halflife must first ask, by a dry run, whether it may write the autoscaler */
        AUTOSCALER_SIZED       /* for one resource: a VerticalPodAutoscaler sets requests that the metric counts */
};
struct plan_autoscaler {
        struct autoscaler *of; /* the autoscaler; the cache owns it */
        enum autoscaler_hold hold;
        bool raised;   /* some utilization target was written by halflife, and differs from the owner's */
        bool due;      /* halflife has to write the autoscaler now, or to ask whether it may */
        int64_t *want; /* the utilization target that each metric has to get, in per cent; its present one where it
                          stays */
        bool *record;  /* for each metric: record the owner's target in the annotation */
};

/* Find the workload's autoscalers, and which resources they hold back. Call before the requests are decided. */
void autoscaler_plan_facts(struct plan *p, struct wall now, struct arena *a);
/* Compute the utilization targets, and set condition Retuned. Call after the requests are decided. */
void autoscaler_plan_targets(struct plan *p, const struct range_facts *range, const struct plan_facts *f,
                             struct arena *a);
/* Print to `ret` which autoscalers hold back changes, and what the user can do; "" where none does. */
void autoscaler_plan_say(const struct plan *p, char *ret, size_t size);
/* The first autoscaler that is due for a write or a permission request; NULL: none. */
const struct plan_autoscaler *plan_retunes(const struct plan *p);
/* Why the autoscaler's targets may not change, by the autoscaler object alone, whatever its workload and the
 * profile. */
enum autoscaler_hold autoscaler_hold(const struct autoscaler *s);
/* Must a deploy keep the owner's request, because an autoscaler's utilization target cannot follow a lower request? */
bool plan_deploys_original(const struct plan *p, enum resource r);
/* The owner's target of a utilization metric, and whether the present target is the owner's or halflife's. */
struct retune_origin autoscaler_origin(const struct autoscaler_metric *m);

#endif
