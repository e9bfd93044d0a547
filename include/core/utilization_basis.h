/*
 * A pod's usage as a share of its limits, or of the requests that its owner asked for. An autoscaler can scale by this
 * share while halflife lowers requests, because halflife changes neither limits nor originals.
 */
#ifndef HALFLIFE_CORE_UTILIZATION_BASIS_H
#define HALFLIFE_CORE_UTILIZATION_BASIS_H

#include "core/rules.h"

enum basis { BASIS_IS_LIMIT, BASIS_IS_ORIGINAL };

/* Read the annotation halflife.dev/utilization-basis. "request" means the original request; "limit", any other text and
 * no text mean the limit. */
enum basis basis_read(struct text annotation);

/* One container of a pod. */
struct basis_container {
        enum container_role role;
        bool sampled[RESOURCES];
        int64_t used[RESOURCES];           /* usage in nanocores or bytes; >= 0 */
        struct amount limit[RESOURCES];    /* the limits in millicores or bytes */
        struct amount original[RESOURCES]; /* the effective original: the owner's request, else the limit */
};

/*
 * The sum of usage divided by the sum of limits or originals, in thousandths, rounded up as a Quantity's MilliValue is:
 * the least t with t * measure >= 1000 * used. Saturates at INT64_MAX.
 *
 * All containers that run beside each other count, sidecars and injected ones included; init containers do not. The
 * result is unset where no container counts. It is also unset where one of them was not sampled, or its limit or
 * original is absent or 0: part of a pod tells nothing about the whole, as in the autoscaler's own utilization.
 */
struct amount basis_utilization(const struct basis_container *c, size_t containers, enum resource r, enum basis b);

/* The name of a pod's utilization of its basis, as a Prometheus series and as a custom metric. */
const char *custom_metric_name(enum resource r);

#endif
