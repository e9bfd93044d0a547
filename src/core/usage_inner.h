/* What folding and loading agree on. */
#ifndef HALFLIFE_CORE_USAGE_INNER_H
#define HALFLIFE_CORE_USAGE_INNER_H

#include "core/policy.h"

/* More than this nobody uses: cores, bytes. */
static const double usage_absurd[RESOURCES] = {[CPU] = 1e5, [MEMORY] = 1e15};

/* What a CPU sample weighs of a container that asks for so many cores. */
double usage_cpu_weight(double cores);

#endif
