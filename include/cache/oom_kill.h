/*
 * A container that was killed for lack of memory, as it is counted.
 */
#ifndef HALFLIFE_CACHE_OOM_KILL_H
#define HALFLIFE_CACHE_OOM_KILL_H

#include <stdint.h>

#include "base/clock.h"
#include "core/guard.h"

struct oom_kill {
        const char *container; /* interned */
        struct wall at;
        enum kill_cause cause; /* one that is believed */
        int64_t untold;        /* ends of the container before it that nobody told of, put down to the same */
        double limit;          /* bytes, where the limit was the cause; else 0 */
};

#endif
