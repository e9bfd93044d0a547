/*
 * Whether a change that halflife made did harm, judged by what happened to the workload's pods within the watch time
 * after the change.
 *
 * An eviction for memory, and an out-of-memory kill that the limit did not surely cause, are blamed on the pod's
 * request, no matter who rolled it out. Restarts and lost readiness are blamed on the request only if halflife started
 * the change and nobody has written the template since. Otherwise the owner's own release may be the cause. Harm that a
 * limit causes (throttling, a kill at the limit) is never blamed on a request.
 */
#ifndef HALFLIFE_CORE_GUARD_VERDICT_H
#define HALFLIFE_CORE_GUARD_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "core/kill_cause.h"
#include "core/policy.h"

enum guard_cause { GUARD_NONE, GUARD_EVICTED, GUARD_OUT_OF_MEMORY, GUARD_RESTARTS, GUARD_NOT_READY, GUARD_CAUSES };
const char *guard_cause_name(enum guard_cause c);    /* "Evicted", "OutOfMemory", "Restarts", "NotReady"; "" for none */
enum guard_cause guard_cause_find(const char *name); /* GUARD_NONE: no cause has that name */

struct guard_pods {
        int64_t count, ready;
};

/* An eviction for memory, or a kill that a lack of room may have caused, of a pod that had requests set by halflife. */
struct guard_kill {
        struct wall at;        /* the time of the kill; ms 0: there was none */
        struct wall since;     /* the change from which the watch time counts; ms 0: no change is known */
        enum kill_cause cause; /* a cause for which kill_tells_of_request is true */
};

struct guard_facts {
        const struct guard_policy *policy;
        struct wall now;
        struct guard_kill kill; /* the newest kill of the workload's pods */

        struct wall changed; /* when halflife changed the workload; ms 0: restarts and readiness do not count */
        int64_t restarts;    /* restarts of the pods' containers since the change, except those that a limit caused */
        struct guard_pods before, pods; /* the pods before the change (count 0: not known), and the pods now */
        struct wall below; /* since when a smaller share of pods is ready than before the change; ms 0: the share is not
                              smaller */
};

/*
 * The first cause of harm that applies, in the order of the enum; GUARD_NONE: no harm, or the guard is off.
 *
 * A kill counts where its own time is within the watch time, however late halflife learns about it. Restarts and
 * readiness count only while the watch time runs. Restarts are harm from the policy's number on (0: restarts never
 * count). Lost readiness is harm once the share of ready pods has been below the share before the change for
 * guard_patience_ms.
 */
enum guard_cause guard_judge(const struct guard_facts *f);

/* Whether `at` is within the policy's watch time after a change; false where the change's ms is 0. */
bool guard_watches(const struct guard_policy *p, struct wall change, struct wall at);

/* Whether a smaller share of the pods is ready than before the change. False where there are no pods now, or none were
 * before. */
bool guard_below(struct guard_pods before, struct guard_pods pods);

/* A quarter of the watch time: how long a smaller share of ready pods has to last to count as harm, and how long a pod
 * may take to start. */
int64_t guard_patience_ms(const struct guard_policy *p);

/* How many ms a guard holds a workload, if the guard before held it for before_ms (0: this is the first): twice as
 * long, at least a day, at most a week. */
int64_t guard_step_ms(int64_t before_ms);
/* A guard's hold time in ms, read from outside the process, clamped to 0 .. a week. */
int64_t guard_step_bound(int64_t ms);

#endif
