/*
 * Whether a change of ours did harm: judged by what happened to the workload's pods within the watch time after it.
 *
 * An eviction for memory, and an out-of-memory kill that the limit did not cause for sure, are put down to what the pod
 * asks for, whoever rolled it out. Restarts and readiness are, only where we started the change and nobody wrote the
 * template since: a bad release is its owner's. What a limit causes (throttling, a kill at the limit) is no request's.
 */
#ifndef HALFLIFE_CORE_GUARD_H
#define HALFLIFE_CORE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "core/kill_cause.h"
#include "core/policy.h"

enum guard_cause { GUARD_NONE, GUARD_EVICTED, GUARD_OUT_OF_MEMORY, GUARD_RESTARTS, GUARD_NOT_READY, GUARD_CAUSES };
const char *guard_cause_name(enum guard_cause c);    /* "Evicted", "OutOfMemory", "Restarts", "NotReady"; "" for none */
enum guard_cause guard_cause_find(const char *name); /* GUARD_NONE: there is none of that name */

struct guard_pods {
        int64_t count, ready;
};

/* An eviction for memory, or a kill that may be for lack of room, of a pod that came or ran with requests of ours. */
struct guard_kill {
        struct wall at;        /* ms 0: there was none */
        struct wall since;     /* the change it is measured from; ms 0: none is known */
        enum kill_cause cause; /* one that tells of the request (kill_tells_of_request) */
};

struct guard_facts {
        const struct guard_policy *policy;
        struct wall now;
        struct guard_kill kill; /* the newest */

        struct wall changed;            /* our change; ms 0: restarts and readiness are not ours to judge */
        int64_t restarts;               /* of its containers since then, but for those that a limit caused */
        struct guard_pods before, pods; /* as they were before it, count 0: not known; and as they are */
        struct wall below;              /* since when fewer of them are ready than before; ms 0: they are not */
};

/* The first cause that holds, in the order of the enum. A kill counts by its own time, whenever it is heard of;
 * restarts and readiness within the watch time. Fires at the policy's number of restarts (0: they do not count), and
 * where readiness was below what it was for a quarter of the watch time. */
enum guard_cause guard_judge(const struct guard_facts *f);

/* Is this time within the watch time of that change? */
bool guard_watches(const struct guard_policy *p, struct wall change, struct wall at);

/* Is the share of ready pods below what it was? Not known where either has none. */
bool guard_below(struct guard_pods before, struct guard_pods pods);

/* How long readiness has to be below, and a pod may take to begin with, before it counts. */
int64_t guard_patience_ms(const struct guard_policy *p);

/* How long the next guard holds, after one that held so long (0: the first): a day, doubled up to a week. */
int64_t guard_step_ms(int64_t before_ms);
/* How long one can have held that is read from elsewhere: at most a week. */
int64_t guard_step_bound(int64_t ms);

#endif
