/*
 * An out-of-memory kill of a container, as halflife counts it.
 */
#ifndef HALFLIFE_CACHE_OOM_KILL_H
#define HALFLIFE_CACHE_OOM_KILL_H

#include <stdint.h>

#include "base/clock.h"
#include "core/guard_verdict.h"

struct oom_kill {
        const char *container; /* interned */
        struct wall at;        /* when the process was killed */
        enum kill_cause cause; /* the cause as halflife judges it */
        int64_t untold;        /* unreported earlier ends of the container, which count as the same kind of kill */
        double limit;          /* the container's memory limit in bytes, where it was the cause; else 0 */
};

#endif
