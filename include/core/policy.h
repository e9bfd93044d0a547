/*
 * A profile's numbers after defaulting: what the arithmetic and the rules need, as plain values.
 * CPU is in millicores, memory in bytes, factors in thousandths, times in milliseconds, percentiles in tenths of a per
 * cent.
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

/* What a history is kept for. Pods and Namespaces stand for themselves: they hold no template. */
enum dimension { DIMENSION_WORKLOAD, DIMENSION_POD, DIMENSION_NAMESPACE, DIMENSIONS };

struct resource_policy {
        bool enabled;
        int percentile;       /* 500..1000 */
        int multiplier;       /* thousandths */
        int static_factor;    /* thousandths of the original, 1..1000, where nothing is learned; 1000 does nothing */
        int64_t half_life_ms; /* 1 min .. 720 h */
        int64_t round_to;     /* >= 1 */
        int64_t min;          /* 0: none */
        int64_t max;          /* 0: none */
        int64_t window_ms;    /* memory: 0 every sample counts, else only the peak of each window */
        int64_t oom_hold_ms;  /* memory */
        int oom_bump;         /* memory, thousandths */
        bool weekly_peak;     /* memory: the model is at least the highest peak of a week (core/usage.h) */
};

/* Raising at once what usage has outgrown: core/raise.h. */
struct raise_policy {
        bool enabled;
        int64_t after_ms; /* 1 min .. 24 h */
        int factor;       /* thousandths, 1000..10000 */
        int most;         /* thousandths of the request in force, 1000..100000 */
};

/* How a change of ours is watched once it is made, and taken back: core/guard.h. */
struct guard_policy {
        bool enabled;     /* it is taken back */
        int restarts;     /* so many take it back; 0: they do not count; at most 100000 */
        int64_t watch_ms; /* 1 s .. 24 h: so long after a change what happens to its pods counts as its doing */
};

/* Who is changed first: core/canary.h. */
struct canary_policy {
        int percent; /* 1..100; 100: all at once */
};

/* Which factors may lower a request: what was learned, the static one, or the static one until something is learned. */
enum overcommit { OVERCOMMIT_DYNAMIC, OVERCOMMIT_STATIC, OVERCOMMIT_STATIC_THEN_DYNAMIC };
enum apply_mode { APPLY_RECOMMEND, APPLY_ROLLOUT, APPLY_ON_DEPLOY, APPLY_IN_PLACE, APPLY_MODES };
/* OnDeploy: what is written. Pod leaves the template as its owner wrote it. */
enum apply_at { AT_POD, AT_WORKLOAD };
enum hpa_mode { HPA_HOLD, HPA_IGNORE, HPA_RETUNE, HPA_LIMIT_BASIS };

struct apply_policy {
        enum overcommit overcommit;
        enum apply_mode mode;
        enum apply_at at;
        enum hpa_mode hpa;
        int64_t min_history_ms;
        int min_change_percent;
        int max_decrease_percent;
        int64_t cooldown_ms;
        int min_replicas;
        bool keep_guaranteed;
        struct raise_policy raise; /* InPlace */
        struct guard_policy guard;
        struct canary_policy canary;
};

/* The defaults of the CRDs (a test holds the two together); minChangePercent and cooldown depend on the mode. */
void resource_policy_defaults(enum resource r, struct resource_policy *ret);
void apply_policy_defaults(enum apply_mode mode, struct apply_policy *ret);
void raise_policy_defaults(struct raise_policy *ret);

/* Under LimitBasis the annotation utilization-basis is the workload's owner's to write; else we record there what
 * autoscalers go by. */
static inline bool apply_policy_owns_no_basis(const struct apply_policy *p)
{
        return p->hpa == HPA_LIMIT_BASIS;
}

/* How requests are written under a mode, as status.applied.mode has it; NULL: they are not. */
const char *apply_mode_writes(enum apply_mode mode);

#endif
