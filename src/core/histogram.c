#include "core/histogram.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "histogram_inner.h"
#include "histogram_start.h"

_Static_assert(FLT_EVAL_METHOD == 0, "excess precision would give other weights on other machines");

enum { MOVE_AFTER = 64 };                /* half-lives that a sample may lie after ref without moving ref */
enum { HALVINGS_MOST = 1 << 12 };        /* so many halvings take any double to 0 */
static const double slack = 1 - 0x1p-40; /* lowers the bound for a percentile, because sums are rounded */

void histogram_init(struct histogram *h, enum resource r, int64_t half_life_ms)
{
        assert(half_life_ms > 0);
        *h = (struct histogram){.half_life_ms = half_life_ms, .resource = (uint8_t)r};
}

double histogram_start(enum resource r, int n)
{
        assert(n >= 0 && n < HISTOGRAM_SUM_BUCKETS);
        return starts[r][n];
}

double histogram_edge(enum resource r, int n)
{
        return histogram_start(r, n + 1 < HISTOGRAM_BUCKETS ? n + 1 : n);
}

double histogram_edge_of(const struct histogram *h, int n)
{
        return histogram_start((enum resource)h->resource, n + 1 < histogram_buckets(h) ? n + 1 : n);
}

/* Binary search for the last start that is <= value, among `left` starts from index `at` on. start[at] has to be <=
 * value. The loop is written so that compilers need no branch for the comparison. */
static int histogram_search(const double *start, int at, int left, double value)
{
        for (int step = left / 2; left > 1; step = left / 2) {
                at = start[at + step] <= value ? at + step : at;
                left -= step;
        }
        return at;
}

int histogram_bucket(enum resource r, double value)
{
        assert(isfinite(value) && value >= 0);
        return histogram_search(starts[r], 0, HISTOGRAM_BUCKETS, value);
}

int histogram_sum_bucket(enum resource r, double value)
{
        assert(isfinite(value) && value >= 0);
        return histogram_search(starts[r], 0, HISTOGRAM_SUM_BUCKETS, value);
}

static int histogram_bucket_of(const struct histogram *h, double value)
{
        enum resource r = (enum resource)h->resource;
        return h->sum ? histogram_sum_bucket(r, value) : histogram_bucket(r, value);
}

int histogram_bucket_near(const struct histogram *h, double value)
{
        const double *start = starts[h->resource];
        int end = h->first + h->count;
        bool held = start[h->first] <= value && end < histogram_buckets(h) && value < start[end];
        return held ? histogram_search(start, h->first, h->count, value) : histogram_bucket_of(h, value);
}

/* --- time and weight --- */

static struct histogram_phase phase_of(int64_t ref_ms, int64_t half_life_ms, int64_t at_ms)
{
        uint64_t half_life = (uint64_t)half_life_ms;
        bool before = at_ms < ref_ms;
        uint64_t apart = before ? (uint64_t)ref_ms - (uint64_t)at_ms : (uint64_t)at_ms - (uint64_t)ref_ms;
        uint64_t whole = apart / half_life, rest = apart % half_life;
        if (before && rest > 0) {
                whole++;
                rest = half_life - rest;
        }
        int bounded = whole < HALVINGS_MOST ? (int)whole : HALVINGS_MOST;
        return (struct histogram_phase){.whole = before ? -bounded : bounded,
                                        .rest_ms = (int64_t)rest,
                                        .weight = exp2((double)rest / (double)half_life)};
}

struct histogram_phase histogram_phase_of(const struct histogram *h, struct wall at)
{
        return phase_of(h->ref_ms, h->half_life_ms, at.ms);
}

/*
 * w * 2^power, exact. A result below the smallest normal number would lose bits, so it becomes 0. A move is therefore
 * exact for every weight that it leaves above 0.
 */
static double histogram_scaled(double w, int power)
{
        double factor, result;
        assert(power <= MOVE_AFTER);
        if (power >= DBL_MIN_EXP) { /* true in nearly every call: saves ldexp */
                uint64_t bits = (uint64_t)(power + DBL_MAX_EXP - 1) << (DBL_MANT_DIG - 1);
                memcpy(&factor, &bits, sizeof(factor));
                result = w * factor;
        } else {
                result = ldexp(w, power);
        }
        return result < DBL_MIN ? 0 : result;
}

static int histogram_halvings(const struct histogram *h, int64_t ref_ms)
{
        return -phase_of(h->ref_ms, h->half_life_ms, ref_ms).whole;
}

/* How many half-lives ref moves forward before a sample far after it (MOVE_AFTER) is added, because weights must stay
 * bounded; 0: ref stays. */
static int move_before(const struct histogram_phase *p)
{
        return p->whole > MOVE_AFTER || (p->whole == MOVE_AFTER && p->rest_ms > 0) ? p->whole : 0;
}

/* --- the occupied range --- */

struct histogram_range histogram_range_of(const struct histogram *h)
{
        return (struct histogram_range){h->first, h->first + h->count - 1};
}

struct histogram_range histogram_range_with(struct histogram_range range, int bucket)
{
        if (range.low > range.high)
                return (struct histogram_range){bucket, bucket};
        if (bucket < range.low)
                range.low = bucket;
        if (bucket > range.high)
                range.high = bucket;
        return range;
}

int histogram_room(struct histogram_range range)
{
        return range.high - range.low + 1;
}

/* The weight of bucket n, times 2^power; 0 for buckets outside the range that h holds. */
static double weight_in(const struct histogram *h, int n, int power)
{
        if (n < h->first || n >= h->first + h->count)
                return 0;
        double w = h->w[n - h->first];
        return power == 0 ? w : histogram_scaled(w, power);
}

/* The range of buckets that would still have weight, were all weights multiplied by 2^power. */
static struct histogram_range range_after(const struct histogram *h, int power)
{
        struct histogram_range range = histogram_range_of(h);
        while (range.low <= range.high && weight_in(h, range.low, power) <= 0)
                range.low++;
        while (range.low <= range.high && weight_in(h, range.high, power) <= 0)
                range.high--;
        return range;
}

/* Make h hold exactly the buckets of range, for which h->cap has to suffice. Buckets new in h weigh 0. */
static void histogram_hold(struct histogram *h, struct histogram_range range)
{
        int count = histogram_room(range), low = h->first, high = h->first + h->count;
        assert(count <= h->cap);
        int from = low > range.low ? low : range.low, to = high <= range.high ? high : range.high + 1;
        int kept = from < to ? to - from : 0, at = kept > 0 ? from - range.low : 0;
        if (kept > 0)
                memmove(h->w + at, h->w + (from - low), (size_t)kept * sizeof(double));
        for (int i = 0; i < count; i++)
                if (i < at || i >= at + kept)
                        h->w[i] = 0;
        h->first = (uint16_t)(count ? range.low : 0);
        h->count = (uint16_t)count;
}

void histogram_make_sum(struct histogram *h)
{
        if (!h->sum && h->first + h->count == HISTOGRAM_BUCKETS) {
                h->w[h->count - 1] = 0;
                histogram_hold(h, range_after(h, 0));
        }
        h->sum = true;
}

double *histogram_lend(struct histogram *h, double *w, int cap)
{
        assert(cap >= h->count);
        double *old = h->w;
        if (h->count > 0)
                memcpy(w, old, h->count * sizeof(double));
        h->w = w;
        h->cap = (uint16_t)(cap < histogram_buckets(h) ? cap : histogram_buckets(h));
        return old;
}

/* --- adding --- */

void histogram_move(struct histogram *h, int64_t ref_ms)
{
        assert(ref_ms >= h->ref_ms && ref_ms % h->half_life_ms == 0);
        int power = histogram_halvings(h, ref_ms);
        struct histogram_range left = range_after(h, power);
        for (int i = 0; i < h->count; i++)
                h->w[i] = histogram_scaled(h->w[i], power);
        histogram_hold(h, left);
        h->ref_ms = ref_ms;
}

void histogram_scale(struct histogram *h, double factor)
{
        for (int i = 0; i < h->count; i++) {
                double w = histogram_scaled(h->w[i] * factor, 0);
                h->w[i] = w < HISTOGRAM_HEAVIEST ? w : HISTOGRAM_HEAVIEST;
        }
        histogram_hold(h, range_after(h, 0));
}

int histogram_put(struct histogram *h, int bucket, double weight, struct wall at, const struct histogram_phase *p,
                  int *ret_cap)
{
        int moved = move_before(p);
        double more = histogram_scaled(weight * p->weight, p->whole - moved);
        if (!(more + weight_in(h, bucket, -moved) <= HISTOGRAM_HEAVIEST))
                return ERR_INVALID;
        if (more <= 0)
                return 0;
        struct histogram_range range = histogram_range_with(histogram_range_of(h), bucket);
        if (histogram_room(range) > h->cap) {
                *ret_cap = histogram_room(range);
                return ERR_NOSPACE;
        }
        if (moved > 0)
                histogram_move(h, at.ms - p->rest_ms);
        if (bucket < h->first || bucket >= h->first + h->count)
                histogram_hold(h, histogram_range_with(histogram_range_of(h), bucket));
        h->w[bucket - h->first] += more;
        return 0;
}

int histogram_add(struct histogram *h, double value, double weight, struct wall at, int *ret_cap)
{
        if (!isfinite(value) || value < 0 || !isfinite(weight) || weight <= 0)
                return ERR_INVALID;
        struct histogram_phase p = histogram_phase_of(h, at);
        return histogram_put(h, histogram_bucket_of(h, value), weight, at, &p, ret_cap);
}

/* --- asking --- */

int histogram_place(const struct histogram *h, int p, const struct histogram_extra *extra, struct histogram_place *ret)
{
        struct histogram_range range = histogram_range_of(h);
        int power = 0, bucket = -1;
        double more = 0, total = 0, running = 0;
        if (extra) {
                struct histogram_phase phase = phase_of(h->ref_ms, h->half_life_ms, extra->at.ms);
                power = -move_before(&phase);
                more = histogram_scaled(extra->weight * phase.weight, phase.whole + power);
                bucket = histogram_bucket_of(h, extra->value);
                range = histogram_range_with(range, bucket);
        }
        for (int n = range.low; n <= range.high; n++)
                total += weight_in(h, n, power) + (n == bucket ? more : 0);
        if (total <= 0)
                return ERR_INVALID;
        double wanted = p * total * slack;
        *ret = (struct histogram_place){.bucket = range.low, .total = total};
        for (int n = range.low; n <= range.high; n++) {
                double w = weight_in(h, n, power) + (n == bucket ? more : 0);
                if (w > 0) {
                        ret->bucket = n;
                        ret->below = running;
                        ret->here = w;
                }
                running += w;
                if (w > 0 && p < HISTOGRAM_PERCENTILE_MAX && running * 1000 >= wanted)
                        break;
        }
        ret->last = ret->bucket == histogram_buckets(h) - 1;
        ret->value = histogram_edge_of(h, ret->bucket);
        return 0;
}

int histogram_percentile(const struct histogram *h, int p, const struct histogram_extra *extra, double *ret)
{
        struct histogram_place place;
        int rc = histogram_place(h, p, extra, &place);
        if (rc == 0)
                *ret = place.value;
        return rc;
}

double histogram_total(const struct histogram *h)
{
        double total = 0;
        for (int i = 0; i < h->count; i++)
                total += h->w[i];
        return total;
}

/* --- joining and changing --- */

static int64_t later_ref(const struct histogram *a, const struct histogram *b)
{
        return a->ref_ms > b->ref_ms ? a->ref_ms : b->ref_ms;
}

struct histogram_range histogram_range_merged(const struct histogram *a, const struct histogram *b)
{
        int64_t ref_ms = later_ref(a, b);
        struct histogram_range range = range_after(a, histogram_halvings(a, ref_ms)),
                               other = range_after(b, histogram_halvings(b, ref_ms));
        if (other.low > other.high)
                return range;
        return histogram_range_with(histogram_range_with(range, other.low), other.high);
}

bool histogram_mergeable(const struct histogram *a, const struct histogram *b)
{
        if (a->resource != b->resource || a->sum != b->sum || a->half_life_ms != b->half_life_ms)
                return false;
        int64_t ref_ms = later_ref(a, b);
        int a_power = histogram_halvings(a, ref_ms), b_power = histogram_halvings(b, ref_ms);
        for (int n = 0; n < histogram_buckets(a); n++)
                if (weight_in(a, n, a_power) + weight_in(b, n, b_power) > HISTOGRAM_HEAVIEST)
                        return false;
        return true;
}

int histogram_merge(struct histogram *a, const struct histogram *b, int *ret_cap)
{
        if (!histogram_mergeable(a, b))
                return ERR_INVALID;
        struct histogram_range range = histogram_range_merged(a, b);
        if (histogram_room(range) > a->cap) {
                *ret_cap = histogram_room(range);
                return ERR_NOSPACE;
        }
        histogram_move(a, later_ref(a, b));
        int power = histogram_halvings(b, a->ref_ms);
        histogram_hold(a, range);
        for (int n = range.low; n <= range.high; n++)
                a->w[n - range.low] += weight_in(b, n, power);
        return 0;
}

void histogram_rescale(struct histogram *h, int64_t half_life_ms, struct wall newest)
{
        assert(half_life_ms > 0);
        int64_t at_ms = newest.ms > h->ref_ms ? newest.ms : h->ref_ms;
        struct histogram_phase was = phase_of(h->ref_ms, h->half_life_ms, at_ms),
                               will = phase_of(0, half_life_ms, at_ms);
        for (int i = 0; i < h->count; i++) {
                double w = histogram_scaled(h->w[i] * (will.weight / was.weight), -was.whole);
                h->w[i] = w < HISTOGRAM_HEAVIEST ? w : HISTOGRAM_HEAVIEST;
        }
        histogram_hold(h, range_after(h, 0));
        h->half_life_ms = half_life_ms;
        h->ref_ms = at_ms - will.rest_ms;
}
