#include "core/vpa_checkpoint.h"

#include <assert.h>
#include <math.h>

#include "usage_inner.h"

static const int64_t most = (int64_t)1 << 60;

static int64_t sum_of(const struct vpa_histogram *from)
{
        int64_t sum = 0;
        for (int n = 0; n < HISTOGRAM_BUCKETS; n++)
                sum += from->weight[n];
        return sum;
}

static const char *vpa_judge(const struct vpa_checkpoint *v, const int64_t half_life_ms[static RESOURCES])
{
        if (v->samples < 0 || v->samples > most)
                return "totalSamplesCount is out of range";
        if (v->first.ms < 0 || v->last.ms < v->first.ms || v->last.ms > most)
                return "lastSampleStart is before firstSampleStart, or before 1970";
        if (v->samples > 0 && v->first.ms == 0)
                return "firstSampleStart is missing: nobody knows how long it learned";
        for (int r = 0; r < RESOURCES; r++) {
                const struct vpa_histogram *from = &v->of[r];
                if (!isfinite(from->total) || from->total < 0)
                        return "totalWeight is no number from 0 on";
                if (sum_of(from) > 0 && (from->reference.ms <= 0 || from->reference.ms > v->last.ms + half_life_ms[r]))
                        return "referenceTimestamp is missing, before 1970, or more than a half-life after "
                               "lastSampleStart";
        }
        return NULL;
}

/* The weight of v->samples samples as of the reference time, evenly spread from the first to the last: the integral of
 * the decay. */
static double weight_of_samples(const struct vpa_checkpoint *v, int64_t half_life_ms)
{
        static const double ln2 = 0.69314718055994531;
        double life = (double)half_life_ms, reference = (double)v->of[CPU].reference.ms;
        double first = exp2(((double)v->first.ms - reference) / life);
        double last = exp2(((double)v->last.ms - reference) / life), lives = (double)(v->last.ms - v->first.ms) / life;
        return (double)v->samples * (lives > 0 ? (last - first) / (ln2 * lives) : last);
}

static int vpa_fill(struct histogram *h, const struct vpa_histogram *from)
{
        enum resource r = (enum resource)h->resource;
        int64_t sum = sum_of(from);
        int unused, rc = 0;
        double share = from->total / (double)sum; /* sum 0: no bucket has weight, so share is not used */
        for (int n = 0; n < HISTOGRAM_BUCKETS && rc == 0; n++)
                if (from->weight[n] > 0 && share > 0)
                        rc = histogram_add(h, histogram_start(r, n), from->weight[n] * share, from->reference, &unused);
        assert(rc != ERR_NOSPACE);
        return rc;
}

static void count_minutes(const struct vpa_checkpoint *v, struct usage *u)
{
        int64_t minutes = v->last.ms / MINUTE_MS - v->first.ms / MINUTE_MS + 1;
        struct usage_minutes seen = {v->samples < minutes ? v->samples : minutes, v->last.ms / MINUTE_MS, 1};
        u->first_ms = v->first.ms;
        u->newest_ms = v->last.ms;
        u->samples = v->samples;
        u->sampled = u->running = seen;
}

int vpa_usage(const struct vpa_checkpoint *v, const int64_t half_life_ms[static RESOURCES], double cpu_weight,
              struct usage *ret, double room[static 2 * HISTOGRAM_BUCKETS], const char **ret_why)
{
        const char *why = vpa_judge(v, half_life_ms);
        struct vpa_histogram cpu = v->of[CPU];
        if (cpu.total > 0)
                cpu.total = usage_cpu_weight(cpu_weight) * weight_of_samples(v, half_life_ms[CPU]);
        struct usage u = {.window_ms = DAY_MS};
        for (int r = 0; r < RESOURCES && !why; r++) {
                histogram_init(&u.of[r], (enum resource)r, half_life_ms[r]);
                histogram_lend(&u.of[r], room + r * HISTOGRAM_BUCKETS, HISTOGRAM_BUCKETS);
                if (vpa_fill(&u.of[r], r == CPU ? &cpu : &v->of[r]) < 0)
                        why = "totalWeight is beyond what a histogram can weigh";
        }
        if (why) {
                *ret_why = why;
                return ERR_INVALID;
        }
        if (v->samples > 0)
                count_minutes(v, &u);
        *ret = u;
        return 0;
}
