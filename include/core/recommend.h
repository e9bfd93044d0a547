/*
 * What a container needs according to its learned usage: state, model, bounds and confidence.
 */
#ifndef HALFLIFE_CORE_RECOMMEND_H
#define HALFLIFE_CORE_RECOMMEND_H

#include "core/early_request.h"
#include "core/usage.h"

/* How far learning is. A workload has the least ready state (state_least) of its containers that count. */
enum state { STATE_NO_DATA, STATE_LEARNING, STATE_READY, STATE_STALE, STATE_HELD, STATES };
const char *state_name(enum state s); /* the state's name: "NoData", "Learning", … */
/* The less ready of two states: NoData < Learning < Held < Stale < Ready. */
enum state state_least(enum state a, enum state b);

struct estimate {
        bool known;           /* false: no data for this resource */
        bool by_kill;         /* a kill sample made the model, because it is above the percentile */
        int64_t model;        /* millicores or bytes, rounded up to 1m or 1Mi */
        int64_t lower, upper; /* bounds of the model: lower <= model <= upper */
        bool more; /* the percentile is in the last bucket: usage may be above the model, by how much is not known */
        int64_t early; /* while learning: the request by core/early_request.h; 0: none */
        bool by_week;  /* the highest peak of a week made the model; where a kill sample is equal, by_kill counts */
};

/* Set the model to the largest of percentile, kill sample and weekly peak, rounded up to 1m or 1Mi. The three are in
 * cores or bytes; 0: there is none. known, by_kill and by_week are set too; the bounds stay as they are. Returns the
 * model in steps of 1m or 1Mi. */
int64_t recommend_model(enum resource r, double percentile, double kill, double week, struct estimate *ret);

struct recommend_facts {
        struct wall now;
        int64_t interval_ms; /* time from one reading of usage to the next */
        int64_t silent_ms;   /* the longest time that a running pod has gone without a sample; 0: no pod runs */
        bool by_runs;        /* CronJob: Ready after 3 runs and 30 samples, whatever min_history_ms is */
        int64_t min_history_ms;
        const struct early_policy *early; /* NULL: there are no early requests */
};

struct recommendation {
        enum state state;
        int confidence_percent; /* floor(100 * min(1, days / 7) * coverage), coverage = minutes sampled / running */
        struct estimate of[RESOURCES];
};

/* Compute a container's recommendation from its learned usage. u NULL: nothing was ever learned. */
void recommend(const struct usage *u, const struct resource_policy policy[static RESOURCES],
               const struct recommend_facts *f, struct recommendation *ret);

#endif
