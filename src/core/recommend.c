#include "core/recommend.h"

#include <assert.h>
#include <math.h>

enum { WEEK_MS = 7 * DAY_MS, SILENT_MS = 5 * MINUTE_MS, SILENT_INTERVALS = 5, SILENT_SPACINGS = 3 };
enum { ENOUGH_SAMPLES = 100, ENOUGH_RUNS = 3, ENOUGH_SAMPLES_OF_RUNS = 30 };
enum { MEDIAN = 500, P95 = 950 };

/* Estimates are whole multiples of a step: 1m or 1Mi. step is in millicores or bytes; steps_of_one is the number of
 * steps in one core or one byte. */
static const int64_t step[RESOURCES] = {[CPU] = 1, [MEMORY] = 1 << 20};
static const double steps_of_one[RESOURCES] = {[CPU] = 1000, [MEMORY] = 0x1p-20};

const char *state_name(enum state s)
{
        static const char *const names[STATES] = {
                [STATE_NO_DATA] = "NoData", [STATE_LEARNING] = "Learning", [STATE_READY] = "Ready",
                [STATE_STALE] = "Stale",    [STATE_HELD] = "Held",
        };
        assert(s < STATES);
        return names[s];
}

enum state state_least(enum state a, enum state b)
{
        static const uint8_t readiness[STATES] = {
                [STATE_NO_DATA] = 0, [STATE_LEARNING] = 1, [STATE_HELD] = 2, [STATE_STALE] = 3, [STATE_READY] = 4,
        };
        assert(a < STATES && b < STATES);
        return readiness[a] <= readiness[b] ? a : b;
}

/* The length of the history in ms. Where samples are few, each sample counts for two intervals of reading. */
static int64_t recommend_learned_ms(const struct usage *u, const struct recommend_facts *f)
{
        int64_t span_ms = u->newest_ms - u->first_ms;
        bool few = u->samples < ENOUGH_SAMPLES && u->samples * 2 * f->interval_ms < span_ms;
        return few ? u->samples * 2 * f->interval_ms : span_ms;
}

static bool is_enough(const struct usage *u, const struct recommend_facts *f)
{
        if (f->by_runs)
                return u->runs >= ENOUGH_RUNS && u->samples >= ENOUGH_SAMPLES_OF_RUNS;
        return recommend_learned_ms(u, f) >= f->min_history_ms;
}

static bool is_stale(const struct usage *u, const struct recommend_facts *f)
{
        int64_t patience_ms = SILENT_MS;
        if (patience_ms < SILENT_INTERVALS * f->interval_ms)
                patience_ms = SILENT_INTERVALS * f->interval_ms;
        if (patience_ms < SILENT_SPACINGS * u->spacing_ms)
                patience_ms = SILENT_SPACINGS * u->spacing_ms;
        return f->silent_ms >= patience_ms;
}

static enum state recommend_judge(const struct usage *u, const struct recommend_facts *f)
{
        if (u->samples == 0)
                return STATE_NO_DATA;
        if (!is_enough(u, f))
                return STATE_LEARNING;
        return is_stale(u, f) ? STATE_STALE : STATE_READY;
}

static int recommend_confidence(const struct usage *u)
{
        int64_t learned_ms = u->newest_ms - u->first_ms;
        if (learned_ms > WEEK_MS)
                learned_ms = WEEK_MS;
        if (u->running.count == 0)
                return 0;
        unsigned __int128 part = (unsigned __int128)u->sampled.count * (uint64_t)learned_ms * 100;
        return (int)(part / ((unsigned __int128)u->running.count * WEEK_MS));
}

static int64_t divide_up(int64_t a, int64_t b)
{
        return (a + b - 1) / b;
}

/* The value in steps (1m of CPU, 1Mi of memory), rounded up, so that the request covers the value. */
static int64_t steps_up(enum resource r, double value)
{
        return (int64_t)ceil(value * steps_of_one[r]);
}

int64_t recommend_model(enum resource r, double percentile, double kill, double week, struct estimate *ret)
{
        ret->known = true;
        ret->by_kill = kill > percentile && kill >= week;
        ret->by_week = week > percentile && week > kill;
        int64_t steps = steps_up(r, fmax(percentile, fmax(kill, week)));
        ret->model = steps * step[r];
        return steps;
}

static void recommend_estimate(const struct usage *u, enum resource r, const struct resource_policy *policy,
                               struct wall now, int c, struct estimate *ret)
{
        struct histogram_place place;
        double median = 0, p95 = 0;
        *ret = (struct estimate){0};
        if (usage_place(u, r, policy->percentile, &place) < 0)
                return;
        usage_percentile(u, r, MEDIAN, &median); /* cannot fail, because one percentile is known */
        usage_percentile(u, r, P95, &p95);
        int64_t day;
        double kill = r == MEMORY ? usage_kill_hold(u, policy, now) : 0;
        double week = r == MEMORY && policy->weekly_peak ? usage_week_peak(u, now, &day) : 0;
        int64_t model = recommend_model(r, place.value, kill, week, ret);
        ret->more = place.last;
        int64_t high = steps_up(r, p95) > model ? steps_up(r, p95) : model;
        ret->lower = divide_up(steps_up(r, median) * (100 + c), 200) * step[r];
        ret->upper = divide_up(high * (200 - c), 100) * step[r];
}

static void recommend_early(const struct usage *u, const struct resource_policy policy[static RESOURCES],
                            const struct recommend_facts *f, struct recommendation *ret)
{
        int margin = early_margin(f->early, recommend_learned_ms(u, f), f->min_history_ms);
        for (int r = 0; r < RESOURCES; r++)
                if (ret->of[r].known && !ret->of[r].more)
                        ret->of[r].early = early_request(ret->of[r].model, &policy[r], margin);
}

void recommend(const struct usage *u, const struct resource_policy policy[static RESOURCES],
               const struct recommend_facts *f, struct recommendation *ret)
{
        *ret = (struct recommendation){.state = STATE_NO_DATA};
        if (!u)
                return;
        ret->state = recommend_judge(u, f);
        ret->confidence_percent = recommend_confidence(u);
        for (int r = 0; r < RESOURCES; r++)
                recommend_estimate(u, (enum resource)r, &policy[r], f->now, ret->confidence_percent, &ret->of[r]);
        if (ret->state == STATE_LEARNING && f->early && !f->by_runs && !is_stale(u, f))
                recommend_early(u, policy, f, ret);
}
