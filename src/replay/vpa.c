#include "replay/vpa.h"

enum { WINDOW_MS = DAY_MS, P90 = 900 };
static const double cpu_weight = 0.1, peak_weight = 1, margin = 1.15;
static const double units_of_one[RESOURCES] = {[CPU] = 1000, [MEMORY] = 1};
static const int64_t floor_of[RESOURCES] = {[CPU] = 25, [MEMORY] = INT64_C(250) << 20};

void vpa_init(struct vpa *v)
{
        *v = (struct vpa){0};
        for (enum resource r = CPU; r < RESOURCES; r++)
                histogram_init(&v->of[r], r, DAY_MS);
}

/* The end of the window of `at`. The first window begins with the first sample; windows follow without a gap, even
 * without samples. */
static int64_t window_end_of(const struct vpa *v, struct wall at)
{
        int64_t end_ms = v->peak > 0 ? v->window_end_ms : at.ms;
        return end_ms + ((at.ms - end_ms) / WINDOW_MS + 1) * WINDOW_MS;
}

static int vpa_add_memory(struct vpa *v, double bytes, struct wall at, int *ret_cap)
{
        if (v->peak > 0 && at.ms < v->window_end_ms) {
                v->peak = bytes > v->peak ? bytes : v->peak;
                return 0;
        }
        if (v->peak > 0) {
                struct wall end = {v->window_end_ms};
                int rc = histogram_add(&v->of[MEMORY], v->peak, peak_weight, end, ret_cap);
                if (rc < 0)
                        return rc;
        }
        v->window_end_ms = window_end_of(v, at);
        v->peak = bytes;
        return 0;
}

int vpa_add(struct vpa *v, enum resource r, double value, struct wall at, int *ret_cap)
{
        if (r == MEMORY)
                return vpa_add_memory(v, value, at, ret_cap);
        return histogram_add(&v->of[CPU], value, cpu_weight, at, ret_cap);
}

bool vpa_target(const struct vpa *v, enum resource r, int64_t *ret)
{
        const struct histogram_extra open = {v->peak, peak_weight, {v->window_end_ms}};
        double value;
        if (histogram_percentile(&v->of[r], P90, r == MEMORY && v->peak > 0 ? &open : NULL, &value) < 0)
                return false;
        int64_t learned = (int64_t)(value * units_of_one[r]);
        int64_t target = (int64_t)((double)learned * margin);
        *ret = target > floor_of[r] ? target : floor_of[r];
        return true;
}
