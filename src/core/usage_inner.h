/* Bounds that adding, loading and importing samples share. */
#ifndef HALFLIFE_CORE_USAGE_INNER_H
#define HALFLIFE_CORE_USAGE_INNER_H

#include "core/usage.h"

/* Samples above this are refused as absurd, of a container [0] or a sum [1], in cores or bytes. A sum's last bucket
 * ends just above the sum's bound. */
static const double usage_absurd[2][RESOURCES] = {{[CPU] = 1e5, [MEMORY] = 1e15}, {[CPU] = 5.7e6, [MEMORY] = 5.7e15}};
static inline double usage_absurd_of(const struct usage *u, enum resource r)
{
        return usage_absurd[u->of[r].sum][r];
}

/* The weight of a CPU sample of a container that requests so many cores, clamped to 0.1 .. 1e5; NaN gives 0.1. */
double usage_cpu_weight(double cores);

#endif
