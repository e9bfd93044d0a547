/*
 * How a number comes about, step by step, as values: what was learned, the percentile's bucket, the model, margin and
 * rounding, what each rule made of it, and which gate holds. Who shows it finds the words.
 */
#ifndef HALFLIFE_CORE_EXPLAIN_H
#define HALFLIFE_CORE_EXPLAIN_H

#include "core/rules.h"

/* The gates of a change that halflife starts, in their order. */
enum gate {
        GATE_RULE, /* nothing to write: it stands already, or the rules ask for none */
        GATE_STATE,
        GATE_MODE,
        GATE_PAUSE,
        GATE_OPT_OUT,
        GATE_AUTOSCALER,
        GATE_HPA,
        GATE_GUARD,
        GATE_FUSE,
        GATE_CONTEST,
        GATE_MANAGER,
        GATE_KIND,
        GATE_ORPHAN,
        GATE_MIN_CHANGE,
        GATE_COOLDOWN,
        GATE_CANARY,
        GATE_WINDOW,
        GATE_BUDGET,
        GATE_ROLLOUT,
        GATE_QUOTA,
        GATES
};
const char *gate_name(enum gate g); /* "Rule", "State", "Mode", "Pause", … */

/* The gate that gave this reason; GATES: none did, so that all are open. rule: why the target is what it is; stands:
 * what is in force equals the target already. */
enum gate gate_of_reason(enum reason shown, enum reason rule, bool stands);
/* The same of a deploy's reason. */
enum gate gate_of_deploy(enum reason shown, enum reason rule);

enum explain_kind {
        EXPLAIN_SAMPLES,    /* value: unset */
        EXPLAIN_PERCENTILE, /* value: the bucket's upper edge in whole units, rounded up; spoke: there is one */
        EXPLAIN_KILL,       /* memory only; value: the kill held; spoke: it makes the model */
        EXPLAIN_WEEK,  /* memory with weeklyPeak only; value: the highest peak of a week; spoke: it makes the model */
        EXPLAIN_MODEL, /* value: the largest of them, up to 1m or 1Mi */
        EXPLAIN_MULTIPLIER, /* value: model * multiplier */
        EXPLAIN_ROUNDING,   /* value: up to roundTo; spoke: that changed it */
        EXPLAIN_RULE,       /* value: the target after the rule; spoke: it changed target, reason or a flag */
        EXPLAIN_GATE,       /* of a change that we start; spoke: it holds */
        EXPLAIN_DEPLOY,     /* of a deploy; spoke: it holds */
        EXPLAIN_KINDS
};
const char *explain_kind_name(enum explain_kind k); /* "samples", "percentile", … */

struct explain_step {
        enum explain_kind kind;
        enum rule rule; /* of EXPLAIN_RULE */
        enum gate gate; /* of EXPLAIN_GATE and EXPLAIN_DEPLOY */
        bool spoke;
        bool reached;        /* false: a gate before it holds, so it was not asked */
        struct amount value; /* millicores or bytes; unset: none (yet) */
        enum reason reason;  /* it names; REASON_NONE: none */
};

struct explain_facts {
        const struct usage *usage; /* NULL: nothing was learned */
        struct wall now;
        struct correct_facts correct; /* the estimate's model and by_kill are taken from usage where there is one */
        enum reason shown;            /* what the status says */
        bool stands;                  /* what is in force equals the target already */
        enum reason deploy;           /* what the deploy answer says */
};

enum { EXPLAIN_STEPS = EXPLAIN_RULE + RULES + 2 * GATES };
struct explain {
        bool learned;                 /* there is a percentile */
        double percentile;            /* cores or bytes */
        struct histogram_place place; /* where it falls; weights are as of the histogram's reference time */
        struct usage_kill kill;       /* the one held; bytes 0: none */
        double week;                  /* bytes; 0: none, or weeklyPeak is off */
        int64_t week_day;             /* it fell on, since 1970 */
        struct estimate estimate;
        struct correction result;
        struct explain_step step[EXPLAIN_STEPS];
        int steps;
};
void explain(const struct explain_facts *f, struct explain *ret);

/*
 * The same with another policy for the resource. What was stored with one half-life can be aged with another from the
 * newest sample on only, so a half-life changes percentiles by an open peak at most. room is lent for the time of the
 * call. Gates are those of the policy as it is: none is given.
 */
struct explain_change {
        int percentile;       /* tenths of a per cent; 0: as it is */
        int multiplier;       /* thousandths; 0: as it is */
        int64_t half_life_ms; /* 0: as it is */
};
void explain_changed(const struct explain_facts *f, const struct explain_change *change,
                     double room[static RESOURCES * HISTOGRAM_BUCKETS], struct explain *ret);

#endif
