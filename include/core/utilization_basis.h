/*
 * What a pod uses as a share of its limits, or of the requests that its owner asked for: what an autoscaler can go by
 * while halflife lowers requests, for neither of the two changes then.
 */
#ifndef HALFLIFE_CORE_UTILIZATION_BASIS_H
#define HALFLIFE_CORE_UTILIZATION_BASIS_H

#include "core/rules.h"

enum basis { BASIS_IS_LIMIT, BASIS_IS_ORIGINAL };

/* As the annotation halflife.dev/utilization-basis has it: "limit", "request" (the original one). Any other text, and
 * none: the limit. */
enum basis basis_read(struct text annotation);

/* One container of a pod. */
struct basis_container {
        enum container_role role;
        bool sampled[RESOURCES];
        int64_t used[RESOURCES];           /* nanocores, bytes; >= 0 */
        struct amount limit[RESOURCES];    /* millicores, bytes */
        struct amount original[RESOURCES]; /* effective: the owner's request, else the limit */
};

/*
 * The sum of what is used over the sum of what it is measured by, in thousandths, rounded up as a Quantity's MilliValue
 * is: the least t with t * measure >= 1000 * used. Counted are the containers that run beside each other, sidecars and
 * injected ones included; an init container is not. Unset where no container counts, or where one that does was not
 * sampled or has nothing to be measured by (a zero is nothing): as for the autoscaler's own utilization, a part of a
 * pod tells nothing of it. Saturates at INT64_MAX.
 */
struct amount basis_utilization(const struct basis_container *c, size_t containers, enum resource r, enum basis b);

/* As which a pod's utilization of its basis is told, as series and as custom metric. */
const char *custom_metric_name(enum resource r);

#endif
