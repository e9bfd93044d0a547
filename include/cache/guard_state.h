/*
 * The guard's state of a target whose last change is watched or was taken back (safety/guard_revert.c): its pods before
 * the change, and how long halflife leaves it alone. Times are wall ms, 0: never.
 */
#ifndef HALFLIFE_CACHE_GUARD_STATE_H
#define HALFLIFE_CACHE_GUARD_STATE_H

#include "cache/cache.h"

enum { GUARD_PODS_MAX = 256 };

struct guard_state {
        /* The next fields, up to `released`, are about the change that the guard watches now. */
        int64_t change_ms;        /* guard_state_set_ms of the watched change; 0: no change is watched */
        struct guard_pods before; /* the pods that ran before the change */
        struct guard_restarts {
                uint32_t pod; /* digest of the pod's UID */
                uint16_t restarts;
        } * had;                /* pods that had restarted before the change, at most GUARD_PODS_MAX rows */
        int hads;               /* how many pods had restarted; may exceed the number of rows */
        int64_t by_limit;       /* restarts since the change that a memory limit caused */
        int64_t released_ms;    /* when the owner deployed together with the change */
        int64_t below_ms;       /* since when fewer pods are ready than before; not stored */
        struct guard_kill kill; /* the newest out-of-memory kill since the change */
        bool released;          /* that kill came soon after the owner deployed */
        /* The next fields are about the change that the guard took back last. */
        enum guard_cause cause;              /* GUARD_NONE: no change was taken back, or the guard has forgotten it */
        char *why;                           /* why the change was taken back, for people, with figures */
        int64_t fired_ms, until_ms, step_ms; /* when it was taken back; end of the hold; length of the hold, ms */
};

/* When halflife last changed the requests that the target's pods are to have: by the last change, or by giving the
 * canary pods' requests to the other pods as well. */
static inline int64_t guard_state_set_ms(const struct target *t)
{
        const struct apply_state *d = &t->apply_state;
        return d->followed_ms > d->changed_ms ? d->followed_ms : d->changed_ms;
}

struct guard_state *target_guard_state(struct target *t); /* a target without guard state gets an empty one */
void target_drop_guard_state(struct target *t);
void guard_state_free(struct guard_state *g);
/* Survey the target's running pods before a change: how many are ready, and their restarts. The caller owns the result
 * until guard_state_begin takes it over. */
struct guard_state *guard_state_survey(const struct target *t);
/* Watch the last change from now on. Takes over `seen`, the survey from before the change. */
void guard_state_begin(struct target *t, struct guard_state *seen);
/* Stop watching the change, but keep the record of the change taken back before. */
void guard_state_end(struct target *t);
/* Note that the owner deployed together with the change. */
void guard_state_released(struct target *t, struct wall at);
/* Note that a pod with requests set by halflife was killed for lack of memory. `released`: the kill came soon after the
 * owner deployed. */
void guard_state_killed(struct target *t, const struct guard_kill *kill, bool released);
/* Set since when fewer pods are ready than before the change, wall ms; 0: as many are ready. */
void guard_state_set_below(struct guard_state *g, int64_t since_ms);
/* The watched change did harm and is taken back. The target is held from now on, longer than the last time. Takes over
 * the text `why`. */
void guard_state_fired(struct guard_state *g, enum guard_cause cause, char *why, struct wall at);
/* Stop watching the change, and forget the change taken back before. */
void guard_state_forget(struct target *t);
/* Count restarts since the change in running pods with requests set by halflife. Restarts that a memory limit caused do
 * not count. Pods with kills whose cause is not yet known are left out. */
int64_t guard_state_restarts(const struct target *t);
/* Add to by_limit a restart of the pod `p` that a memory limit caused, and up to `untold` unreported restarts before
 * it, as far as they came after the change. */
void guard_state_add_by_limit(struct guard_state *g, const struct pod *p, int64_t untold);
/* Count a pod's restarts as from before the change if its last process ended before the change, although the restart
 * was reported after it. */
void guard_state_hear(struct target *t);
/* Count the running pods with requests set by halflife, and how many of these are ready. Leaves out pods on nodes whose
 * kubelet is away, and unready pods created after created_before_ms. *ret_turned_ms: since when all unready pods have
 * been unready, wall ms, if all unready pods were created after the change; else 0. */
struct guard_pods guard_state_pods(const struct target *t, int64_t created_before_ms, int64_t *ret_turned_ms);
json_t *guard_state_print(const struct guard_state *g);
void guard_state_read(struct target *t, const json_t *from); /* `from` NULL: the target gets no guard state */

#endif
