/*
 * The correction rules: an ordered list of pure functions from model to target, each naming its reason; and the gates,
 * an ordered list of holds on changes that halflife starts. Order is the policy. Everything is int64: millicores or
 * bytes.
 */
#ifndef HALFLIFE_CORE_RULES_H
#define HALFLIFE_CORE_RULES_H

#include "core/amount.h"
#include "core/recommend.h"

/* The closed list of reasons (documented beside the CRD). */
enum reason {
        REASON_NONE,
        REASON_LOWERED,
        REASON_RAISED,
        REASON_STATIC,
        REASON_AT_ORIGINAL,
        REASON_MEMORY_OFF,
        REASON_CPU_OFF,
        REASON_CONTAINER_IGNORED,
        REASON_INIT,
        REASON_NOT_IN_TEMPLATE,
        REASON_NO_ORIGINAL,
        REASON_LEARNING,
        REASON_STALE,
        REASON_RECOMMEND_ONLY,
        REASON_OPTED_OUT,
        REASON_PAUSED,
        REASON_HPA_HOLD,
        REASON_LIMIT_RANGE,
        REASON_LIMIT_BOUND,
        REASON_QOS,
        REASON_BELOW_MIN_CHANGE,
        REASON_COOLDOWN,
        REASON_OUTSIDE_WINDOW,
        REASON_BUDGET,
        REASON_ROLLOUT_BLOCKED,
        REASON_GUARD,
        REASON_CONTESTED,
        REASON_MANAGED,
        REASON_IMMUTABLE,
        REASON_ORPHANED,
        REASON_FUSE,
        REASON_STEP_LIMITED,
        REASON_QUOTA,
        REASON_OTHER_AUTOSCALER,
        REASON_CANARY,
        REASONS
};
const char *reason_name(enum reason r); /* "Lowered", …; "" for REASON_NONE */

/* WHOLE: no container, but all of a pod together, beside them (CONTAINER_WHOLE). */
enum container_role { ROLE_MAIN, ROLE_SIDECAR, ROLE_INIT, ROLE_INJECTED, ROLE_WHOLE };

/*
 * What the rules judge: one container, one resource. In order:
 *
 * 1. target = ceil(model * multiplier / 1000), up to round_to, then clamped to [min, max]. Ready and Held take the
 *    model (a hold is a matter of the gates); Stale, Learning, NoData and a resource without an estimate stand on
 *    last_good (`Stale`, `Learning`), clamped as well; without one on the original, as it is. Where nobody asks for
 *    anything any more (unasked), last_good stands whatever was learned since. Where the profile overcommits
 *    statically, always or until something is learned (no model counts and no last_good is known), it is
 *    ceil(original * static_factor / 1000), up to round_to and clamped (`Static`).
 * 2. below the original: target (`Lowered`).
 * 3. else the original (`AtOriginal`); under_provisioned tells where model * multiplier alone is above it.
 * 4. what the profile does not manage stands at its original: an init container (`Init`), an ignored container
 *    (`ContainerIgnored`), a resource turned off (`MemoryOff`, `CPUOff`).
 * 5. raised to the LimitRange's min and to limit / ratio, at most to the original (`LimitRange`, also where it stays
 *    below the original): admission would refuse the pod otherwise. Where it would refuse the pod as a whole
 *    (pod_refused), to the original.
 * 6. no original: nothing to lower (`NoOriginal`); the target is then what the container needs, set only where the
 *    model or last_good tells it.
 * 7. a Guaranteed pod: with keep_guaranteed the original (`QoS`), else qos_changes.
 * 8. never above the limit (`LimitBound`).
 * 9. containers that only pods have: judged as all others, but a lowered target says `NotInTemplate`.
 *
 * Rules 3, 5, 7 and 8 keep the reasons `Stale`, `Learning` and `Static`: the gates go by them.
 */
struct correct_facts {
        enum resource resource;
        const struct resource_policy *policy;
        enum overcommit overcommit;
        enum container_role role;
        bool ignored; /* containers[].mode Ignore */
        enum state state;
        struct estimate estimate;
        struct amount original; /* effective: request, else limit, else the LimitRange's defaultRequest */
        struct amount limit;
        struct amount range_min;   /* LimitRange min */
        struct amount range_ratio; /* LimitRange maxLimitRequestRatio, thousandths */
        bool pod_refused;          /* less than the originals of all containers together: a LimitRange of type Pod */
        struct amount last_good;   /* target published before that was below its original then (an owner who raised his
                                      request since is not held to the old one); for Stale and a lost database, not for a
                                      history that is merely too young for the profile by now */
        bool unasked;              /* no profile selects the workload any more */
        bool guaranteed;           /* the pod's QoS class by its originals */
        bool keep_guaranteed;
};

struct correction {
        struct amount target;   /* unset: nothing to say (no original and no model) */
        enum reason reason;     /* of the rule that set the target */
        bool under_provisioned; /* the model wants more than the original */
        bool qos_changes;       /* the target takes the pod out of Guaranteed */
};
void correct(const struct correct_facts *f, struct correction *ret);

/* The same rule by rule: what stands after each, in their order. A rule has spoken where its element differs from the
 * one before (the first: from {0}). */
enum rule {
        RULE_STATIC,
        RULE_MODEL,
        RULE_LAST_GOOD,
        RULE_CLAMP,
        RULE_ORIGINAL,
        RULE_UNDER_PROVISIONED,
        RULE_UNMANAGED,
        RULE_RANGE,
        RULE_NO_ORIGINAL,
        RULE_QOS,
        RULE_LIMIT,
        RULE_INJECTED,
        RULES
};
const char *rule_name(enum rule r); /* "Static", "Model", "LastGood", "Clamp", … */
void correct_steps(const struct correct_facts *f, struct correction ret[static RULES]);

/* The least request that admission lets through: the LimitRange's min, limit / ratio, and the original where the pod as
 * a whole would be refused; 0: any. */
int64_t correct_floor(const struct correct_facts *f);

/* ceil(value * thousandths / 1000), up to a multiple of step (>= 1); saturates at INT64_MAX. value, thousandths >= 0.
 */
int64_t correct_scale(int64_t value, int thousandths, int64_t step);

/*
 * What the gates judge. Workload-wide facts first, then those of one container's resource. The first hold in this order
 * counts: the rule itself (nothing to write), state, `RecommendOnly` (but for an orphan), `Paused`, `OptedOut`,
 * `OtherAutoscaler`, `HPAHold`, `Guard` (a state of Held that no other flag explains), `Fuse`, `Contested`, `Managed`,
 * `Immutable`, `Orphaned`, `BelowMinChange`, `Cooldown`, `Canary`, `OutsideWindow`, `Budget`, `RolloutBlocked`,
 * `Quota`. Of these, `Budget` and `Quota` are not gates here: what a change costs its budget, and whether a quota takes
 * the pods of its rollout, are asked of a whole plan that all gates here let pass (plan/plan.h). A static target is one
 * for deploys: it holds by its own reason here.
 *
 * The fuse, canaries, windows, budget and max_decrease_percent hold decreases only. An increase waits for minChange
 * and, in place of the cooldown, an hour since the last change; after a kill for neither. Where an HPA holds a resource
 * that stands below its original, the original is put back, waiting for neither as well. A guarded workload's is put
 * back at once: neither usage that is away nor `RolloutBlocked` nor `Quota` hold that.
 */
struct gate_facts {
        struct wall now;
        const struct apply_policy *apply;
        enum state state; /* of the workload */
        bool apply_never; /* the setting `apply: never`, or the annotation on workload or namespace */
        bool source_away; /* usage cannot be read at all: nothing is applied */
        bool paused;
        bool immutable;     /* kinds that cannot be patched */
        bool in_place_only; /* a change of the template's requests would stick, and the owner's next image behind it */
        bool contested, managed, orphaned;
        bool guarded; /* a change did harm: the original comes back, whatever time, budget, rollout or quota say */
        bool held;    /* by a person, on the Recommendation: holds as `Paused` */
        bool other_autoscaler; /* one that sets requests itself has this workload for its target */
        bool rollout_blocked;
        bool fuse_blown;   /* too many changes went wrong: no decrease */
        bool canary_waits; /* others are to be lowered first, and did not stand their watch time yet */
        bool window_open;
        int64_t changed_ms; /* when halflife last changed this workload; 0: never */
        bool after_kill;    /* a kill since then */

        enum resource resource;
        bool pod_asks;   /* the pod as a whole asks for it (spec.resources), so that what its containers ask for counts
                            for  nobody: holds as `Immutable`, also at a deploy */
        bool hpa_holds;  /* an autoscaler goes by its utilization, and is not retuned: the original comes back */
        bool hpa_stands; /* one does whose target cannot be moved now: no change, neither down nor up */
        struct amount current; /* in the template now, effective */
        struct amount original, target;
        enum reason rule; /* why the target is what it is */
};

struct gate_verdict {
        enum reason hold;  /* REASON_NONE: may be written */
        int64_t value;     /* what to write when not held: the target, a step towards it, or the original put back */
        bool step_limited; /* maxDecreasePercent bounds this step */
        int64_t again_ms;  /* > 0: worth looking again after that long (cooldown) */
};
/* A resource whose target equals its current value, or that has no target, holds by the rule's own reason
 * (REASON_BELOW_MIN_CHANGE where there is none): nothing is to be written and nothing is held back. current unset: what
 * stands is the original. */
void gate(const struct gate_facts *f, struct gate_verdict *ret);

/*
 * The gates at a deploy, where the owner writes anyway and only the numbers are asked for: `RecommendOnly`, `Paused`,
 * `OptedOut`, `OtherAutoscaler`, `HPAHold`, `Guard`, `Contested`, `Immutable`, `Orphaned`; then the original stands
 * (value; unset where there is none). f->current is what a deploy before wrote, unset where none did: it is kept
 * (`below_min_change`) where the target is not far enough from it, so that the same manifest applied again changes
 * nothing. Where others are lowered first (`Canary`), or the fuse is blown (`Fuse`), it is kept as well, unless the
 * target is above it; without one the original stands. Of f, the facts of rollouts do not count. Under InPlace
 * f->current is what running pods are set to, and new ones get that, whatever the target is by now; where nothing is
 * set, the original, or a static target.
 */
struct deploy_verdict {
        enum reason hold; /* REASON_NONE: the value is ours */
        struct amount value;
        bool below_min_change;
};
void gate_deploy(const struct gate_facts *f, struct deploy_verdict *ret);

/* |target - current| / current >= percent / 100, in integers; current 0 and target > 0 counts as changed. */
bool gate_changed_enough(int64_t current, int64_t target, int percent);

#endif
