/* What folding and loading agree on. */
#ifndef HALFLIFE_CORE_USAGE_INNER_H
#define HALFLIFE_CORE_USAGE_INNER_H

#include "core/policy.h"

/* More than this nobody uses: cores, bytes. */
static const double usage_absurd[RESOURCES] = {[CPU] = 1e5, [MEMORY] = 1e15};

#endif
