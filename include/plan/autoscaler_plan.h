/*
 * The autoscalers' part of a plan: which of them hold a resource, and what their targets are to be. No I/O.
 */
#ifndef HALFLIFE_PLAN_AUTOSCALER_PLAN_H
#define HALFLIFE_PLAN_AUTOSCALER_PLAN_H

#include "core/autoscaler_target.h"
#include "plan/plan.h"

/* What keeps an autoscaler's targets from being moved; AUTOSCALER_FREE: nothing. */
enum autoscaler_hold {
        AUTOSCALER_FREE,
        AUTOSCALER_MODE,       /* the profile says Hold */
        AUTOSCALER_RESET,      /* somebody put a target back that we had moved */
        AUTOSCALER_OWNED,      /* what made it would put it back */
        AUTOSCALER_APPLIED,    /* another manager owns its metrics by server-side apply */
        AUTOSCALER_UNKNOWN,    /* a metric that we do not understand */
        AUTOSCALER_UNREADABLE, /* our own annotation on it */
        AUTOSCALER_FORBIDDEN,  /* the server says no */
        AUTOSCALER_ASKING      /* whether we may is to be asked first */
};
struct plan_autoscaler {
        struct autoscaler *of; /* the world's */
        enum autoscaler_hold hold;
        bool raised;   /* a target stands where we put it, and not where its owner did */
        bool due;      /* something is to be written into it now, or asked */
        int64_t *want; /* of each of its metrics, in per cent; that of one which does not move: as it is */
        bool *record;  /* of each: the owner's target is to be recorded beside it */
};

/* Which hold a resource; what their targets are to be, once it is decided what the
 * requests are to be; who holds, in words; and condition Retuned. */
void scaling_facts(struct plan *p, struct wall now, struct arena *a);
void scaling_targets(struct plan *p, const struct range_facts *range, const struct plan_facts *f, struct arena *a);
void scaling_say(const struct plan *p, char *ret, size_t size);
/* The first whose targets are to be written now; NULL: none. */
const struct plan_autoscaler *plan_retunes(const struct plan *p);
/* What keeps it, whatever workload it scales and whatever the profile says, as far as the object itself tells. */
enum autoscaler_hold autoscaler_hold(const struct autoscaler *s);
/* Does it go by the utilization of a resource, for all we know? */
bool autoscaler_concerns(const struct autoscaler *s, enum resource r);
/* Does a deploy get the owner's request, because an autoscaler would not go along with less? */
bool plan_deploys_original(const struct plan *p, enum resource r);
/* The owner's target of a metric that moves, and whose the present one is. */
struct retune_origin autoscaler_origin(const struct autoscaler_metric *m);

#endif
