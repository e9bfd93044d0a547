#include "core/usage_starts.h"

#include <assert.h>
#include <math.h>

_Static_assert(START_BUCKETS *START_FINE == HISTOGRAM_BUCKETS, "coarse buckets cover all others");

enum { SHARE = 95, WHOLE = 100, PERCENTILE_WHOLE = 1000 };
static const float heaviest = 1e30F;
static const int64_t latest = (int64_t)1 << 60; /* the bound of a time, as for the times of struct usage */

static const uint16_t age_edge_s[START_AGES] = {30, 60, 90, 120, 180, 240, 300, 420, 600, 900, 1200, 1800, 2700, 3600};

int64_t start_age_edge(int bucket)
{
        assert(bucket >= 0 && bucket < START_AGES);
        return age_edge_s[bucket] * (int64_t)SECOND_MS;
}

static int age_bucket(int64_t age_ms)
{
        int n = 0;
        while (n < START_AGES - 1 && age_ms > start_age_edge(n))
                n++;
        return n;
}

/* --- ageing --- */

static void weights_scale(float *w, int count, double by)
{
        for (int i = 0; i < count; i++)
                w[i] = (float)((double)w[i] * by);
}

/* The share of a weight that is left after ms. */
static double left_after(int64_t ms, int64_t half_life_ms)
{
        return exp2(-(double)ms / (double)half_life_ms);
}

/* Age the weights to at_ms. An at_ms not after s->at_ms changes nothing. */
static void starts_age(struct start_samples *s, int64_t at_ms, int64_t half_life_ms)
{
        if (at_ms <= s->at_ms)
                return;
        if (s->at_ms > 0) {
                double by = left_after(at_ms - s->at_ms, half_life_ms);
                weights_scale(s->weight, START_BUCKETS, by);
                weights_scale(s->above, START_AGES, by);
        }
        s->at_ms = at_ms;
}

/* The weight of a sample: 1 if live (step_s 0), else the minutes that a back-filled point stands for. */
static double weight_of_step(double step_s)
{
        assert(step_s >= 0 && step_s <= 86400);
        return step_s > 0 ? step_s / 60 : 1;
}

void usage_starts_add(struct usage_starts *s, enum resource r, int64_t half_life_ms, const struct start_sample *sample)
{
        struct start_samples *of = &s->of[r];
        starts_age(of, sample->at.ms, half_life_ms);
        float weight = (float)(weight_of_step(sample->step_s) * left_after(of->at_ms - sample->at.ms, half_life_ms));
        of->weight[histogram_bucket(r, sample->value) / START_FINE] += weight;
        if (sample->steady > 0 && sample->value > sample->steady)
                of->above[age_bucket(sample->age_ms)] += weight;
}

static void weights_merge(float *to, const float *from, int count)
{
        for (int i = 0; i < count; i++) {
                to[i] += from[i];
                if (to[i] > heaviest)
                        to[i] = heaviest;
        }
}

void usage_starts_merge(struct usage_starts *dst, const struct usage_starts *src, enum resource r, int64_t half_life_ms)
{
        struct start_samples from = src->of[r], *to = &dst->of[r];
        if (from.at_ms == 0)
                return;
        starts_age(&from, to->at_ms, half_life_ms);
        starts_age(to, from.at_ms, half_life_ms);
        weights_merge(to->weight, from.weight, START_BUCKETS);
        weights_merge(to->above, from.above, START_AGES);
}

/* --- what is taken back --- */

void usage_starts_forget(struct usage_starts *s, enum resource r)
{
        s->of[r] = (struct start_samples){0};
}

bool usage_starts_empty(const struct usage_starts *s)
{
        return s->of[CPU].at_ms == 0 && s->of[MEMORY].at_ms == 0;
}

bool usage_starts_after(const struct usage_starts *s, struct wall at)
{
        return s->of[CPU].at_ms > at.ms || s->of[MEMORY].at_ms > at.ms;
}

void usage_starts_pull_back(struct usage_starts *s, struct wall at)
{
        for (int r = 0; r < RESOURCES; r++)
                if (s->of[r].at_ms > at.ms)
                        s->of[r].at_ms = at.ms;
}

/* --- what they say --- */

/* The first index at which the running sum reaches the fraction share / whole of all weights; -1: all weights are 0. */
static int weight_place(const float *w, int count, int share, int whole)
{
        double total = 0, running = 0;
        for (int i = 0; i < count; i++)
                total += (double)w[i];
        for (int i = 0; i < count; i++) {
                running += (double)w[i];
                if (w[i] > 0 && running * whole >= share * total * (1 - 0x1p-20))
                        return i;
        }
        return -1;
}

bool usage_starts_need(const struct usage_starts *s, enum resource r, int p, double *ret)
{
        int n = weight_place(s->of[r].weight, START_BUCKETS, p, PERCENTILE_WHOLE);
        if (n < 0)
                return false;
        *ret = histogram_edge(r, n * START_FINE + START_FINE - 1);
        return true;
}

int64_t usage_starts_last_ms(const struct usage_starts *s, enum resource r)
{
        int n = weight_place(s->of[r].above, START_AGES, SHARE, WHOLE);
        return n < 0 ? 0 : start_age_edge(n);
}

static bool weights_hold(const float *w, int count)
{
        for (int i = 0; i < count; i++)
                if (!(w[i] >= 0 && w[i] <= heaviest) || signbit(w[i]))
                        return false;
        return true;
}

bool usage_starts_hold(const struct usage_starts *s)
{
        for (int r = 0; r < RESOURCES; r++) {
                const struct start_samples *of = &s->of[r];
                if (of->at_ms < 0 || of->at_ms > latest || !weights_hold(of->weight, START_BUCKETS) ||
                    !weights_hold(of->above, START_AGES))
                        return false;
        }
        return true;
}
