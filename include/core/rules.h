/*
 * The correction rules: an ordered list of pure functions that turn a model into a target. Each rule names its reason,
 * and their order is the policy. All arithmetic is in int64: millicores or bytes.
 */
#ifndef HALFLIFE_CORE_RULES_H
#define HALFLIFE_CORE_RULES_H

#include "core/amount.h"
#include "core/reasons.h"
#include "core/recommend.h"

/* ROLE_INIT: an init container that runs to completion. ROLE_INJECTED: only pods have the container, not the template.
 * ROLE_WHOLE: no container, but all containers of a pod counted together (CONTAINER_WHOLE). */
enum container_role { ROLE_MAIN, ROLE_SIDECAR, ROLE_INIT, ROLE_INJECTED, ROLE_WHOLE };

/*
 * What the rules judge: one resource of one container. In order:
 *
 * 1. The target is ceil(model * multiplier / 1000), rounded up to round_to, then clamped to [min, max].
 *    - Ready and Held take the model; a hold is a matter of the gates.
 *    - Stale, Learning, NoData and a resource without an estimate take last_good (`Stale`, `Learning`), clamped as
 *      well. Without last_good they take the original as it is.
 *    - Learning with an early request (core/early_request.h), without last_good and with an original, takes the early
 *      request (`Early`). decide_requests drops the early request of a held workload.
 *    - Where no profile selects the workload any more (unasked), last_good stands, whatever was learned since.
 *    - Where the profile overcommits statically, the target is ceil(original * static_factor / 1000), rounded up to
 *      round_to and clamped (`Static`). StaticThenDynamic does so only where neither model nor early
 *      request counts and last_good is unset.
 * 2. A target below the original stands (`Lowered`).
 * 3. Any other target becomes the original (`AtOriginal`).
 *    under_provisioned says that model * multiplier alone is above the original.
 * 4. Where the profile manages nothing, the original stands: an init container (`Init`), an ignored container
 *    (`ContainerIgnored`), a resource turned off (`MemoryOff`, `CPUOff`).
 * 5. The target is raised to the LimitRange's min and to limit / ratio, at most to the original (`LimitRange`, even
 *    where the target stays below the original): admission would refuse the pod otherwise. Where admission would refuse
 *    the pod as a whole (pod_refused), the target is raised to the original.
 * 6. The target of memory is raised to the heap that the container's runtime begins with (-Xms), at most to the
 *    original (`HeapStart`): that heap is or will be in use, whatever the usage was so far.
 * 7. Without an original there is nothing to lower (`NoOriginal`). The target then tells what the container needs; it
 *    is set only where the model or last_good tells that.
 * 8. In a Guaranteed pod, keep_guaranteed turns a lowered target into the original (`QoS`). Without keep_guaranteed,
 *    qos_changes is set.
 * 9. A target above the limit becomes the limit (`LimitBound`).
 * 10. In a container that only pods have, a lowered target gets the reason `NotInTemplate`.
 *
 * Rules 3, 5, 6, 8 and 9 keep the reasons `Stale`, `Learning`, `Static` and `Early`, because the gates depend on them.
 */
struct correct_facts {
        enum resource resource;
        const struct resource_policy *policy;
        enum overcommit overcommit;
        enum container_role role;
        bool ignored; /* the profile's containers[].mode is Ignore */
        enum state state;
        struct estimate estimate;
        struct amount original; /* the effective original: request, else limit, else the LimitRange's defaultRequest */
        struct amount limit;
        struct amount range_min;   /* the LimitRange's min */
        struct amount range_ratio; /* the LimitRange's maxLimitRequestRatio, in thousandths */
        struct amount heap_start;  /* memory: the heap that the runtime begins with; unset: none is given, or the
                                      profile ignores runtimes */
        bool pod_refused;          /* a LimitRange of type Pod refuses the pod below the sum of its originals */
        struct amount last_good;   /* the target published last, if it was below the original of that time: an owner who
                                      raised the request since is not held to that target. Used where samples
                                      stopped or the database was lost. Unset where the history is here and merely too
                                      young for the profile */
        bool unasked;              /* no profile selects the workload any more */
        bool guaranteed;           /* by its originals the pod is of QoS class Guaranteed */
        bool keep_guaranteed;
};

/* The rules, in the order in which they run. */
enum rule {
        RULE_STATIC,
        RULE_MODEL,
        RULE_LAST_GOOD,
        RULE_CLAMP,
        RULE_ORIGINAL,
        RULE_UNDER_PROVISIONED,
        RULE_UNMANAGED,
        RULE_RANGE,
        RULE_HEAP,
        RULE_NO_ORIGINAL,
        RULE_QOS,
        RULE_LIMIT,
        RULE_INJECTED,
        RULES
};

struct correction {
        struct amount target;   /* unset: there is neither an original nor a model */
        enum reason reason;     /* the reason of the rule that set the target */
        bool under_provisioned; /* the model wants more than the original */
        bool qos_changes;       /* the target takes the pod out of QoS class Guaranteed */
        enum rule raised_by;    /* the last rule that raised the target; RULE_STATIC: none did */
};
void correct(const struct correct_facts *f, struct correction *ret);

const char *rule_name(enum rule r); /* the rule's name: "Static", "Model", "LastGood", … */
/* Run the rules as correct does; ret gets the correction after each rule. A rule has changed something where its
 * element differs from the element before it; the first rule, where its element differs from {0}. */
void correct_steps(const struct correct_facts *f, struct correction ret[static RULES]);

/* The smallest request that admission accepts: the largest of the LimitRange's min, limit / ratio, and, with
 * pod_refused, the original. 0: admission accepts any request. */
int64_t correct_floor(const struct correct_facts *f);

/* ceil(value * thousandths / 1000), rounded up to a multiple of step (>= 1). Saturates at INT64_MAX. value and
 * thousandths are >= 0. */
int64_t correct_scale(int64_t value, int thousandths, int64_t step);

#endif
