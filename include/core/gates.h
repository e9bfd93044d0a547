/*
 * The gates: an ordered list of conditions that may hold back a change that halflife starts, and a second list for
 * deploys. The file gates.def has the rows and their order. Amounts are millicores or bytes.
 */
#ifndef HALFLIFE_CORE_GATES_H
#define HALFLIFE_CORE_GATES_H

#include "core/amount.h"
#include "core/reasons.h"
#include "core/recommend.h"

/* The gates of gates.def, in the order in which they are asked. GATE_NONE: no gate holds. */
enum gate {
        GATE_NONE,
#define GATE(id, name, rule, reason, direction, open, holds) GATE_##id,
#include "core/gates.def"
#undef GATE
        GATES
};
const char *gate_name(enum gate g);    /* the gate's name: "Rule", "State", …; "" for GATE_NONE */
enum reason gate_reason(enum gate g);  /* the gate's reason; REASON_NONE: it has none, or several */
bool gate_decreases_only(enum gate g); /* whether the gate lets every increase pass */
enum gate gate_at_deploy(int n);       /* the nth gate of a deploy, from 0; GATE_NONE: n is past the last */

/*
 * What the gates judge: facts of the workload first, then facts of one resource of one container. A static target acts
 * at deploys only, so the first gate holds it when halflife itself would start the change.
 *
 * Gates of DECREASES (gates.def) and max_decrease_percent hold decreases only. An increase waits for minChange and,
 * instead of the cooldown, for one hour since the last change; after a kill it waits for neither. Where an autoscaler
 * holds a resource whose request is below its original, or a container reads another value from it, halflife puts the
 * original back, and waits for neither. The original of a guarded workload comes back at once: unreadable usage,
 * `RolloutBlocked` and `Quota` do not hold it.
 */
struct gate_facts {
        struct wall now;
        const struct apply_policy *apply;
        enum state state; /* how far the workload's learning is */
        bool apply_never; /* the setting `apply: never`, or halflife.dev/apply: Never on workload or namespace */
        bool source_away; /* the usage source does not answer: nothing is applied */
        bool paused;
        bool immutable;     /* the template of this kind cannot be patched to any effect */
        bool in_place_only; /* updateStrategy InPlaceOnly: a changed request would block the rollout, and with it the
                             * owner's next image */
        bool contested, managed, orphaned;
        bool guarded; /* a change did harm: the original comes back, whatever time, budget, rollout or quota say */
        bool held;    /* a person holds the Recommendation; shown as `Paused` */
        bool rollout_blocked;
        bool profile_fused; /* too many changes of the profile did harm: no decrease of its workloads */
        bool fuse_blown;    /* too many changes in the cluster did harm: no decrease */
        bool canary_waits;  /* the profile's canaries are lowered first, and have not stood their watch time yet */
        bool window_open;
        int64_t changed_ms; /* when halflife last changed this workload, wall ms; 0: never */
        bool after_kill;    /* a container was killed for memory since changed_ms */

        enum resource resource;
        bool other_autoscaler; /* a VerticalPodAutoscaler sets this request */
        bool pod_asks;   /* the pod's own spec.resources has this request, so the containers' requests have no effect:
                            shown as `Immutable`, also at a deploy */
        bool hpa_holds;  /* an autoscaler scales by this resource's utilization and is not retuned: the original comes
                            back */
        bool hpa_shared; /* hpa_holds, as the autoscaler counts other workloads' pods too: shown as `HPAShared` */
        bool hpa_stands; /* an autoscaler to be retuned cannot be retuned now: no change, neither down nor up. A request
                            below the original is held even if it equals the target */
        struct amount read_least; /* a container reads the request: below this amount it reads another value than the
                                     owner's, and the original comes back; unset: nothing reads the request */
        struct amount current;    /* the effective request in the template now */
        struct amount original, target;
        enum reason rule; /* the reason of the rule that set the target */
};

struct gate_verdict {
        enum gate gate;   /* the first gate that holds; without a hold, GUARD, HPA_SHARED, HPA or READER where that puts
                             the original back */
        enum reason hold; /* the reason for the status; REASON_NONE: no gate holds, so the value may be written */
        int64_t value;    /* the value to write without a hold: the target, a step towards it, or the original */
        bool step_limited; /* maxDecreasePercent bounds the value, so further steps follow */
        int64_t again_ms;  /* > 0: ms until the cooldown ends, so ask again then */
};
/*
 * Ask the gates of a change that halflife starts, without those that judge a whole plan (gates.def: OF_PLAN). current
 * unset means that the original is in force.
 *
 * Where there is no target, or the target equals the current value, there is nothing to write and nothing is held back.
 * The first gate holds then, with the rule's own reason, or REASON_BELOW_MIN_CHANGE where the rule gives none.
 */
void gates_ask(const struct gate_facts *f, struct gate_verdict *ret);

/* Whether the first gate holds: the correction rules ask for no change at all. */
bool gates_rule_asks_nothing(const struct gate_facts *f);

/*
 * Ask the gates of a deploy: the owner writes the workload anyway, and asks which requests to write. f->current is what
 * the previous deploy wrote; unset: no deploy wrote anything. Where a gate holds, the original stands, or what the
 * previous deploy wrote, if that is below the original: gates.def says which. Where the gate MinChange holds, the
 * previous deploy's value stands, so that applying the same manifest again changes nothing.
 *
 * Facts about rollouts do not count. Under InPlace, f->current is the value set on running pods. New pods get the same
 * value, whatever the target is by now. Where no value is set, new pods get the original, or a static target.
 */
struct deploy_verdict {
        enum gate gate;   /* the first gate of a deploy that holds */
        enum reason hold; /* the reason that the answer shows; REASON_NONE: no gate holds, so the value is halflife's */
        struct amount value; /* the request to deploy with; unset: there is no original */
};
void gates_ask_deploy(const struct gate_facts *f, struct deploy_verdict *ret);

/* Whether a change is large enough to be made: |target - current| / current >= percent / 100, in integers. From current
 * 0, every target above 0 is enough. */
bool gate_changed_enough(int64_t current, int64_t target, int percent);

#endif
