/*
 * A profile's numbers with every default filled in, as plain values for the arithmetic and the rules. CPU is in
 * millicores, memory in bytes, factors in thousandths, times in milliseconds, percentiles in tenths of a per cent.
 */
#ifndef HALFLIFE_CORE_POLICY_H
#define HALFLIFE_CORE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

enum resource { CPU, MEMORY, RESOURCES };
static inline const char *resource_name(enum resource r)
{
        return r == CPU ? "cpu" : "memory";
}

/* What a target is: a workload, a single pod, a whole namespace, or a node. Only workloads have a pod template. */
enum dimension { DIMENSION_WORKLOAD, DIMENSION_POD, DIMENSION_NAMESPACE, DIMENSION_NODE, DIMENSIONS };

struct resource_policy {
        bool enabled;
        int percentile;       /* the percentile of usage, 500..1000 */
        int multiplier;       /* thousandths: the margin, target = model * multiplier */
        int static_factor;    /* thousandths of the original, 1..1000, where nothing was learned; 1000: no effect */
        int64_t half_life_ms; /* 1 min .. 720 h: the time in which a sample's weight halves */
        int64_t round_to;     /* >= 1: targets are rounded up to multiples of this */
        int64_t min;          /* lower bound of the target; 0: none */
        int64_t max;          /* upper bound of the target; 0: none */
        int64_t window_ms;    /* memory: only the peak of each window of this length counts; 0: every sample counts */
        int64_t oom_hold_ms;  /* memory: how long a kill sample bounds the model from below */
        int oom_bump;         /* memory, thousandths: factor from the use at a kill to the kill sample (core/usage.h) */
        bool weekly_peak;     /* memory: the model is at least the highest peak of a week (core/usage.h) */
        int64_t ignore_first_ms; /* 0 .. 1 h: the target does not count samples of a container younger than that */
};

/* Raising a request at once when usage outgrows it: core/raise_stretch.h. */
struct raise_policy {
        bool enabled;
        int64_t after_ms; /* 1 min .. 24 h: how long usage has to be above the request */
        int factor;       /* thousandths, 1000..10000: margin above the highest usage */
        int most;         /* thousandths of the request in force, 1000..100000: the most that one raise may give */
};

/* Requests before minHistory is over: core/early_request.h. */
struct early_policy {
        bool enabled;
        int64_t after_ms; /* 0 .. 8760 h: the length of history that the first early request needs */
        int multiplier;   /* thousandths, 1000..10000: the margin at after_ms, on top of the policy's own multiplier */
};

/* How halflife watches a change that it made, and takes the change back if it did harm: core/guard_verdict.h. */
struct guard_policy {
        bool enabled;     /* a harmful change is taken back */
        int restarts;     /* this many restarts count as harm; 0: restarts do not count; at most 100000 */
        int64_t watch_ms; /* 1 s .. 24 h: the watch time after a change, in which harm is blamed on the change */
};

/* Which workloads or pods halflife changes first: core/canary_choice.h. */
struct canary_policy {
        int percent; /* 1..100, the share of canaries; 100: all workloads or pods may change at once */
};

/* With which request a pod starts, and until when: core/startup_stage.h. */
enum startup_request { STARTUP_TARGET, STARTUP_ORIGINAL };
enum startup_until { STARTUP_UNTIL_READY };
struct startup_policy {
        enum startup_request request;
        enum startup_until until;
        int64_t after_ms; /* 0 .. 1 h: how long a pod has to be Ready to have started */
        int64_t most_ms;  /* 1 min .. 24 h: the longest start */
};

/* Which factor may lower a request: the learned one, the static one, or the static one until something is learned. */
enum overcommit { OVERCOMMIT_DYNAMIC, OVERCOMMIT_STATIC, OVERCOMMIT_STATIC_THEN_DYNAMIC };
enum apply_mode { APPLY_RECOMMEND, APPLY_ROLLOUT, APPLY_ON_DEPLOY, APPLY_IN_PLACE, APPLY_MODES };
/* Under OnDeploy, the object whose requests are written. AT_POD leaves the template as its owner wrote it. */
enum apply_at { AT_POD, AT_WORKLOAD };
enum hpa_mode { HPA_HOLD, HPA_IGNORE, HPA_RETUNE, HPA_LIMIT_BASIS };

/* Whether halflife heeds what a container's program does with its request: core/request_reading.h. */
enum runtime_mode { RUNTIME_RESPECT, RUNTIME_IGNORE };

struct apply_policy {
        enum overcommit overcommit;
        enum apply_mode mode;
        enum apply_at at;
        enum hpa_mode hpa;
        enum runtime_mode runtime;
        int64_t min_history_ms;
        int min_change_percent;
        int max_decrease_percent;
        int64_t cooldown_ms;
        int min_replicas;
        bool keep_guaranteed;
        struct raise_policy raise;     /* used under InPlace only */
        struct startup_policy startup; /* used under InPlace, and under OnDeploy at Pod */
        struct guard_policy guard;
        struct canary_policy canary;
        struct early_policy early;
};

/* Fill in the defaults of the CRDs (a test compares the two). minChangePercent and cooldown depend on the mode. */
void resource_policy_defaults(enum resource r, struct resource_policy *ret);
void apply_policy_defaults(enum apply_mode mode, struct apply_policy *ret);
void raise_policy_defaults(struct raise_policy *ret);

/* Whether the workload's owner writes the annotation utilization-basis: under LimitBasis only. Under other modes
 * halflife records in that annotation which basis autoscalers use. */
static inline bool apply_policy_owns_no_basis(const struct apply_policy *p)
{
        return p->hpa == HPA_LIMIT_BASIS;
}

const char *apply_mode_name(enum apply_mode mode); /* the mode's name: "Recommend", "OnDeploy", … */
/* How requests are written under a mode, as status.applied.mode spells it; NULL: the mode writes none. */
const char *apply_mode_writes(enum apply_mode mode);

#endif
