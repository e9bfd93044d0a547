/*
 * What is kept of a target whose last change is watched, or was taken back (guard.c): how its pods were before the
 * change, and how long it is left alone. Times are wall ms, 0: never.
 */
#ifndef HALFLIFE_CACHE_GUARD_STATE_H
#define HALFLIFE_CACHE_GUARD_STATE_H

#include "cache/cache.h"

enum { GUARD_PODS_MAX = 256 };

struct guard_state {
        /* of the change that is watched */
        int64_t change_ms;        /* guard_state_set_ms; 0: none is, or it was not we alone who made it */
        struct guard_pods before; /* the pods that ran then */
        struct guard_restarts {
                uint32_t pod; /* digest of its UID */
                uint16_t restarts;
        } * had; /* of pods that had restarted by then; more than GUARD_PODS_MAX: those beyond are unknown */
        int hads;
        int64_t by_limit;    /* restarts since, that a limit caused */
        int64_t released_ms; /* when a deploy of the owner's came with it */
        int64_t below_ms;    /* since when fewer pods are ready than before; not stored */
        struct guard_kill kill;
        bool released; /* the kill came soon after a release of the owner's */
        /* of what was taken back */
        enum guard_cause cause;              /* of the last time; GUARD_NONE: never, or that is forgotten */
        char *why;                           /* with its numbers */
        int64_t fired_ms, until_ms, step_ms; /* held until then; how long that was */
};

/* When we last changed what its pods are to have: our last change, or the rest of a trial that followed it. */
static inline int64_t guard_state_set_ms(const struct target *t)
{
        const struct apply_state *d = &t->apply_state;
        return d->followed_ms > d->changed_ms ? d->followed_ms : d->changed_ms;
}

struct guard_state *target_guard_state(struct target *t); /* made when there is none */
void target_drop_guard_state(struct target *t);
void guard_state_free(struct guard_state *g);
/* How its pods are before a change. */
struct guard_state *guard_state_survey(const struct target *t);
/* The last change is watched from now on; seen: before it, taken over. */
void guard_state_begin(struct target *t, struct guard_state *seen);
/* The change is no longer watched; what was taken back before stays. */
void guard_state_end(struct target *t);
/* Of running pods with requests of ours, the restarts whose processes ended since the change, but for those that a
 * limit caused. Pods with kills that are not judged yet are left out until they are. */
int64_t guard_state_restarts(const struct target *t);
/* A restart of p that a limit caused, and as many before it, of which nobody told, as came since the change. */
void guard_state_add_by_limit(struct guard_state *g, const struct pod *p, int64_t untold);
/* Restarts that were heard of since, of processes that ended before the change, are put with those before it. */
void guard_state_hear(struct target *t);
/* The same pods, but for those on nodes whose kubelet is away, and those that are not ready and younger than that.
 * *ret_turned_ms: since when none of those that are not ready was, where all of them came after the change; else 0. */
struct guard_pods guard_state_pods(const struct target *t, int64_t created_before_ms, int64_t *ret_turned_ms);
json_t *guard_state_print(const struct guard_state *g);
void guard_state_read(struct target *t, const json_t *from); /* NULL: nothing */

#endif
