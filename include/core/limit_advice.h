/*
 * Which limit a container should have, where its own limit does harm. halflife only advises limits: it never writes
 * one. CPU is in millicores, memory in bytes.
 *
 * Memory: a container that its limit killed needs at least its kill sample (core/usage.h). The advice is that sample
 * with the margin of targets, rounded as targets are, and above the limit that killed. The advice stands for oomHold
 * after the kill, and ends earlier once the limit is as high as the advice.
 *
 * CPU: the limit throttles a container in a share of its periods. The advice is the limit, raised by that share. Where
 * the model with the margin of targets is more, that is the advice. The advice is at most twice the limit. Once the
 * limit is higher than the one under which the share was measured, nothing is advised until the share is measured
 * again.
 */
#ifndef HALFLIFE_CORE_LIMIT_ADVICE_H
#define HALFLIFE_CORE_LIMIT_ADVICE_H

#include "base/clock.h"
#include "core/amount.h"

enum limit_reason { LIMIT_FINE, LIMIT_KILLED, LIMIT_THROTTLED, LIMIT_REASONS };
const char *limit_reason_name(enum limit_reason r);    /* "KilledAtLimit", "Throttled"; "" for LIMIT_FINE */
enum limit_reason limit_reason_find(const char *name); /* LIMIT_FINE: no reason has that name */

/* The newest kill of a container by its memory limit. */
struct limit_kill {
        int64_t at_ms; /* time of the kill; 0: there was none */
        int64_t limit; /* the limit that killed the container, in bytes; 0: not known */
};

struct limit_memory_facts {
        struct wall now;
        const struct resource_policy *policy; /* the policy for memory */
        struct amount limit;                  /* the container's present limit */
        struct limit_kill kill;
        double held; /* the largest kill sample within oomHold, in bytes (usage_kill_hold); 0: none */
};

struct limit_advice {
        enum limit_reason reason; /* LIMIT_FINE: nothing is advised, and the other fields are 0 */
        int64_t advised;          /* the limit to set, above the present one */
        int64_t needed; /* LIMIT_KILLED: the bytes that the kill asks for, in whole Mi, without margin; else 0 */
};

struct limit_advice limit_advise_memory(const struct limit_memory_facts *f);

struct limit_cpu_facts {
        const struct resource_policy *policy; /* the policy for CPU */
        struct amount limit;                  /* the container's present limit */
        struct amount model;
        int throttled_percent;   /* share of throttled periods, from limit_throttle_next; 0: not throttled */
        int64_t throttled_limit; /* the limit, in millicores, under which that share was measured */
};

struct limit_advice limit_advise_cpu(const struct limit_cpu_facts *f); /* the answer's field needed is 0 */

/*
 * The share of throttled periods that counts, in steps of 10 percentage points, so that few statuses are written anew.
 * was_percent is the share that counted before (0: not throttled), now_percent the share measured now; NaN counts as 0.
 * Throttling begins to count at LIMIT_THROTTLE_BEGINS, and ends below half of that. The result is was_percent while
 * now_percent is less than half a step outside of the old step.
 */
enum { LIMIT_THROTTLE_BEGINS = 25, LIMIT_THROTTLE_STEP = 10 };
int limit_throttle_next(int was_percent, double now_percent);

#endif
