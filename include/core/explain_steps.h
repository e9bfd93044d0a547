/*
 * How a target comes about, step by step, as values: the samples, the percentile's bucket, the model, margin and
 * rounding, the result of each rule, and the gate that holds. The caller words the steps.
 */
#ifndef HALFLIFE_CORE_EXPLAIN_STEPS_H
#define HALFLIFE_CORE_EXPLAIN_STEPS_H

#include "core/gates.h"
#include "core/rules.h"

/* The kinds of steps, in the order in which they are listed. "spoke" says what explain_step.spoke means for a kind. */
enum explain_kind {
        EXPLAIN_SAMPLES,    /* value: unset; spoke: there are samples */
        EXPLAIN_PERCENTILE, /* value: the bucket's upper edge in whole units, rounded up; spoke: a percentile exists */
        EXPLAIN_KILL,  /* memory only; value: the largest kill sample within oomHold; spoke: the kill made the model */
        EXPLAIN_WEEK,  /* memory with weeklyPeak; value: the highest peak of a week; spoke: that peak made the model */
        EXPLAIN_MODEL, /* value: the largest of percentile, kill sample and peak, rounded up to 1m or 1Mi; spoke: a
                          model exists */
        EXPLAIN_MULTIPLIER, /* value: model * multiplier; spoke: the product differs from the model */
        EXPLAIN_ROUNDING,   /* value: model * multiplier, rounded up to roundTo; spoke: rounding changed the product */
        EXPLAIN_RULE,       /* value: the target after the rule; spoke: the rule changed target, reason or a flag */
        EXPLAIN_GATE,       /* a gate of a change that halflife starts; value: unset; spoke: the gate holds */
        EXPLAIN_DEPLOY,     /* a gate of a deploy; value: unset; spoke: the gate holds */
        EXPLAIN_KINDS
};
const char *explain_kind_name(enum explain_kind k); /* the kind's name: "samples", "percentile", … */

struct explain_step {
        enum explain_kind kind;
        enum rule rule; /* of EXPLAIN_RULE: the rule */
        enum gate gate; /* of EXPLAIN_GATE and EXPLAIN_DEPLOY: the gate */
        bool spoke;
        bool reached;        /* false: an earlier gate holds, so this gate was not asked */
        struct amount value; /* millicores or bytes; unset: the step has no value, or none yet */
        enum reason reason;  /* the reason that the step gives; REASON_NONE: it gives none */
};

struct explain_facts {
        const struct usage *usage; /* NULL: nothing was learned */
        struct wall now;
        struct correct_facts correct; /* where usage is set, explain computes the estimate's model and causes afresh */
        enum gate held, deploy_held;  /* the gate that holds a change, and the gate that holds at a deploy */
        enum reason shown, deploy;    /* the reason in the status, and the reason in the answer for a deploy */
};

enum { EXPLAIN_STEPS = EXPLAIN_RULE + RULES + 2 * GATES };
struct explain {
        bool learned;                 /* the usage has a percentile */
        double percentile;            /* the usage percentile in cores or bytes */
        struct histogram_place place; /* the percentile's bucket; weights are as of the histogram's reference time */
        struct usage_kill kill;       /* the largest kill sample not older than oomHold; bytes 0: there is none */
        double week;                  /* the highest peak of a week in bytes; 0: there is none, or weeklyPeak is off */
        int64_t week_day;             /* the day of that peak, counted from 1970 */
        struct estimate estimate;
        struct correction result;
        struct explain_step step[EXPLAIN_STEPS];
        int steps;
};
void explain(const struct explain_facts *f, struct explain *ret);

/*
 * Explain, into *ret, the target that the policy would give with the numbers in *change. ret has no steps for gates.
 *
 * Samples were weighted by the stored half-life; another half-life can age them only from the newest sample on. Another
 * half-life therefore changes a percentile at most through an open peak. explain_changed uses room, which the caller
 * owns, only during the call.
 */
struct explain_change {
        int percentile;       /* tenths of a per cent; 0: the policy's own percentile */
        int multiplier;       /* thousandths; 0: the policy's own multiplier */
        int64_t half_life_ms; /* 0: the policy's own */
};
void explain_changed(const struct explain_facts *f, const struct explain_change *change,
                     double room[static RESOURCES * HISTOGRAM_SUM_BUCKETS], struct explain *ret);

#endif
