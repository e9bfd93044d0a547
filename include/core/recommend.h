/*
 * From what was learned to what a container needs: state, model, bounds, confidence.
 */
#ifndef HALFLIFE_CORE_RECOMMEND_H
#define HALFLIFE_CORE_RECOMMEND_H

#include "core/usage.h"

/* In the order of readiness: the state of a workload is the least ready of its containers that count (state_least). */
enum state { STATE_NO_DATA, STATE_LEARNING, STATE_READY, STATE_STALE, STATE_HELD, STATES };
const char *state_name(enum state s); /* "NoData", "Learning", … */
/* The less ready of two: NoData < Learning < Held < Stale < Ready. */
enum state state_least(enum state a, enum state b);

struct estimate {
        bool known;           /* false: no data for this resource */
        bool by_kill;         /* a kill, not the percentile, made the model */
        int64_t model;        /* percentile rounded up to 1m or 1Mi; millicores, bytes */
        int64_t lower, upper; /* lower <= model <= upper */
        bool by_week;         /* the highest peak of a week made it; kills of no less count as theirs */
};

struct recommend_facts {
        struct wall now;
        int64_t interval_ms; /* how often usage is read */
        int64_t silent_ms;   /* longest that a running pod of it has gone without a sample; 0: none runs */
        bool by_runs;        /* CronJob: ready after 3 runs and 30 samples */
        int64_t min_history_ms;
};

struct recommendation {
        enum state state;
        int confidence_percent; /* floor(100 * min(1, days/7) * coverage) */
        struct estimate of[RESOURCES];
};

/* u NULL: nothing was ever learned. */
void recommend(const struct usage *u, const struct resource_policy policy[static RESOURCES],
               const struct recommend_facts *f, struct recommendation *ret);

#endif
