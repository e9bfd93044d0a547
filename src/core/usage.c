#include "core/usage.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "histogram_inner.h"
#include "usage_inner.h"

static const double weight_least = 0.1, weight_most = 1e5; /* bounds of a CPU sample's weight, in cores */
static const double kill_margin = 100 * 1048576.0;         /* 100Mi, the least that a bump adds */
static const double mebi = 1048576.0;

const char *sample_verdict_name(enum sample_verdict v)
{
        static const char *const names[SAMPLE_VERDICTS] = {
                [SAMPLE_ACCEPTED] = "accepted",   [SAMPLE_DUPLICATE] = "duplicate", [SAMPLE_REORDERED] = "reordered",
                [SAMPLE_FUTURE] = "future",       [SAMPLE_INVALID] = "invalid",     [SAMPLE_ABSURD] = "absurd",
                [SAMPLE_NO_MEMORY] = "no_memory",
        };
        assert(v < SAMPLE_VERDICTS);
        return names[v];
}

void usage_init(struct usage *u, const struct resource_policy policy[static RESOURCES])
{
        *u = (struct usage){.window_ms = policy[MEMORY].window_ms};
        for (int r = 0; r < RESOURCES; r++)
                histogram_init(&u->of[r], (enum resource)r, policy[r].half_life_ms);
}

void usage_make_sum(struct usage *u)
{
        for (int r = 0; r < RESOURCES; r++)
                histogram_make_sum(&u->of[r]);
}

void usage_adopt(struct usage *u, const struct resource_policy policy[static RESOURCES])
{
        for (int r = 0; r < RESOURCES; r++)
                if (u->of[r].half_life_ms != policy[r].half_life_ms)
                        histogram_rescale(&u->of[r], policy[r].half_life_ms, (struct wall){u->newest_ms});
        u->window_ms = policy[MEMORY].window_ms; /* the open peak is added with the next sample of another window */
}

/* --- the watermark --- */

static enum sample_verdict judge_value(const struct usage *u, enum resource r, double value)
{
        if (!isfinite(value) || value < 0)
                return SAMPLE_INVALID;
        return value > usage_absurd_of(u, r) ? SAMPLE_ABSURD : SAMPLE_ACCEPTED;
}

static enum sample_verdict usage_judge(const struct usage *u, const struct sample_watermark *watermark,
                                       const struct sample *s, struct wall latest)
{
        if (s->at.ms < 0 || (!s->has[CPU] && !s->has[MEMORY]))
                return SAMPLE_INVALID;
        if (s->at.ms == watermark->last_ms && watermark->last_ms > 0)
                return SAMPLE_DUPLICATE;
        if (s->at.ms < watermark->last_ms)
                return SAMPLE_REORDERED;
        if (s->at.ms - USAGE_FUTURE_MS > latest.ms)
                return SAMPLE_FUTURE;
        for (int r = 0; r < RESOURCES; r++) {
                enum sample_verdict v = s->has[r] ? judge_value(u, (enum resource)r, s->value[r]) : SAMPLE_ACCEPTED;
                if (v != SAMPLE_ACCEPTED)
                        return v;
        }
        return s->has[MEMORY] && s->value[MEMORY] <= 0 ? SAMPLE_NO_MEMORY : SAMPLE_ACCEPTED;
}

/* --- folding --- */

static void minutes_count(struct usage_minutes *m, int64_t minute)
{
        if (m->count == 0 || minute > m->last) {
                int64_t ahead = minute - m->last;
                m->recent = (m->count > 0 && ahead < 64 ? m->recent << ahead : 0) | 1;
                m->last = minute;
                m->count++;
        } else if (m->last - minute < 64 && !(m->recent >> (m->last - minute) & 1)) {
                m->recent |= (uint64_t)1 << (m->last - minute);
                m->count++;
        }
}

void usage_running(struct usage *u, struct wall at)
{
        minutes_count(&u->running, at.ms / MINUTE_MS);
}

/* Whether a sample of that time ends the window of the open peak. Without windows every sample ends it. */
static bool closes_window(const struct usage *u, struct wall at)
{
        return u->peak > 0 && (u->window_ms == 0 || at.ms / u->window_ms > u->peak_at_ms / u->window_ms);
}

static void note_peak(struct usage *u, double bytes, struct wall at)
{
        int64_t opened_ms = u->peak_at_ms / u->window_ms * u->window_ms;
        int64_t at_ms = u->peak > 0 && at.ms < opened_ms ? opened_ms : at.ms;
        /* The later of two equal peaks counts, so that the order in which they arrive does not matter. */
        if (bytes > u->peak || (bytes >= u->peak && at_ms > u->peak_at_ms)) {
                u->peak = bytes;
                u->peak_at_ms = at_ms;
        }
}

static int64_t newest_day(const struct usage *u)
{
        return u->newest_ms / DAY_MS;
}

/* Shift the daily peaks by a number of days, and forget the peaks older than USAGE_DAYS. */
static void days_pass(struct usage *u, int64_t days)
{
        for (int i = USAGE_DAYS; i-- > 0;)
                u->day_mi[i] = i >= days ? u->day_mi[i - days] : 0;
}

static void note_day(struct usage *u, double bytes, int64_t ago)
{
        if (ago < USAGE_DAYS && bytes > u->day_mi[ago] * mebi)
                u->day_mi[ago] = (uint32_t)fmin(ceil(bytes / mebi), UINT32_MAX);
}

static int usage_bucket_of(const struct usage *u, enum resource r, double value)
{
        return histogram_bucket_near(&u->of[r], value);
}

static void usage_put_value(struct usage *u, enum resource r, int bucket, double weight, struct wall at,
                            const struct histogram_phase *phase)
{
        int unused;
        int rc = histogram_put(&u->of[r], bucket, weight, at, phase, &unused);
        assert(rc == 0); /* cannot fail: the caller made room, and the weights of samples are bounded */
        (void)rc;
}

/* Add a window's peak to the memory histogram, weighted as of the peak's own time. */
static void put_peak(struct usage *u, double bytes, int64_t at_ms)
{
        struct wall at = {at_ms};
        struct histogram_phase phase = histogram_phase_of(&u->of[MEMORY], at);
        usage_put_value(u, MEMORY, usage_bucket_of(u, MEMORY, bytes), 1, at, &phase);
}

/* The phase of a time in h, given its phase in another histogram: equal where ref and half-life are equal. */
static struct histogram_phase phase_beside(const struct histogram *h, struct wall at, const struct histogram *other,
                                           struct histogram_phase known)
{
        bool same = h->ref_ms == other->ref_ms && h->half_life_ms == other->half_life_ms;
        return same ? known : histogram_phase_of(h, at);
}

static bool lacks_room(const struct usage *u, enum resource r, struct histogram_range range, struct usage_room *ret)
{
        int cap = histogram_room(range);
        if (cap <= u->of[r].cap)
                return false;
        *ret = (struct usage_room){.resource = r, .cap = cap};
        return true;
}

static void close_window(struct usage *u)
{
        put_peak(u, u->peak, u->peak_at_ms);
        u->peak = 0;
        u->peak_at_ms = 0;
}

void usage_rewindow(struct usage *u, int64_t window_ms)
{
        double was = u->window_ms > 0 ? (double)u->window_ms : MINUTE_MS,
               will = window_ms > 0 ? (double)window_ms : MINUTE_MS;
        assert(u->of[MEMORY].cap >= histogram_buckets(&u->of[MEMORY]));
        if (u->window_ms == window_ms)
                return;
        if (u->peak > 0)
                close_window(u);
        histogram_scale(&u->of[MEMORY], was / will);
        u->window_ms = window_ms;
}

double usage_cpu_weight(double cores)
{
        return !(cores > weight_least) ? weight_least : cores > weight_most ? weight_most : cores;
}

static double weight_of(const struct sample *s, enum resource r)
{
        assert(s->step_s >= 0 && s->step_s <= 86400);
        double whole = r == MEMORY ? 1 : usage_cpu_weight(s->cpu_weight);
        return s->step_s > 0 ? whole * (s->step_s / 60) : whole;
}

/* Note spacing, watermark and running minute, for which every accepted sample counts, also one of a start. */
static void count_time(struct usage *u, struct sample_watermark *watermark, struct wall at)
{
        if (watermark->last_ms > 0)
                u->spacing_ms = at.ms - watermark->last_ms;
        watermark->last_ms = at.ms;
        usage_running(u, at);
}

static void count_sample(struct usage *u, struct wall at)
{
        if (u->samples == 0 || at.ms < u->first_ms)
                u->first_ms = at.ms;
        if (at.ms > u->newest_ms)
                u->newest_ms = at.ms;
        u->samples++;
        minutes_count(&u->sampled, at.ms / MINUTE_MS);
        if (u->running.count < u->sampled.count)
                u->running.count = u->sampled.count;
}

/* The effects of a sample that is accepted. */
struct folding {
        bool of[RESOURCES];     /* the resource is added to its histogram */
        bool starts[RESOURCES]; /* the resource is added to the starts */
        bool closes;            /* the sample ends the window of the open peak */
        int bucket[RESOURCES];
};

static int find_room(const struct usage *u, const struct sample *s, struct folding *f, struct usage_room *ret_room)
{
        if ((f->starts[CPU] || f->starts[MEMORY]) && !u->starts) {
                *ret_room = (struct usage_room){.starts = true};
                return ERR_NOSPACE;
        }
        for (int r = 0; r < RESOURCES; r++) {
                if (!f->of[r])
                        continue;
                f->bucket[r] = usage_bucket_of(u, (enum resource)r, s->value[r]);
                struct histogram_range range = histogram_range_of(&u->of[r]);
                if (r == MEMORY && f->closes)
                        range = histogram_range_with(range, usage_bucket_of(u, MEMORY, u->peak));
                if (r == CPU || u->window_ms == 0)
                        range = histogram_range_with(range, f->bucket[r]);
                if (lacks_room(u, (enum resource)r, range, ret_room))
                        return ERR_NOSPACE;
        }
        return 0;
}

static void fold_sample(struct usage *u, const struct sample *s, const struct folding *f)
{
        struct histogram cpu = u->of[CPU]; /* a copy, because adding a sample may move the CPU histogram's ref */
        struct histogram_phase phase = histogram_phase_of(&cpu, s->at);
        if (f->of[CPU])
                usage_put_value(u, CPU, f->bucket[CPU], weight_of(s, CPU), s->at, &phase);
        if (f->closes)
                close_window(u);
        int64_t ahead = s->at.ms / DAY_MS - newest_day(u);
        if (ahead > 0)
                days_pass(u, ahead);
        if (f->of[MEMORY])
                note_day(u, s->value[MEMORY], ahead < 0 ? -ahead : 0);
        if (f->of[MEMORY] && u->window_ms > 0)
                note_peak(u, s->value[MEMORY], s->at);
        else if (f->of[MEMORY]) {
                phase = phase_beside(&u->of[MEMORY], s->at, &cpu, phase);
                usage_put_value(u, MEMORY, f->bucket[MEMORY], weight_of(s, MEMORY), s->at, &phase);
        }
}

static void fold_starts(struct usage *u, const struct sample *s, const struct folding *f)
{
        for (int r = 0; r < RESOURCES; r++)
                if (f->starts[r])
                        usage_starts_add(u->starts, (enum resource)r, u->of[r].half_life_ms,
                                         &(struct start_sample){.at = s->at,
                                                                .value = s->value[r],
                                                                .age_ms = s->age_ms,
                                                                .steady = s->steady[r],
                                                                .step_s = s->step_s});
}

void usage_pull_back_starts(struct usage *u, struct wall at)
{
        usage_starts_pull_back(u->starts, at);
        if (u->newest_ms <= at.ms && u->running.last > at.ms / MINUTE_MS) {
                u->running.last = at.ms / MINUTE_MS;
                u->running.recent = 1;
        }
}

int usage_add(struct usage *u, struct sample_watermark *watermark, const struct sample *s, struct wall latest,
              enum sample_verdict *ret_verdict, struct usage_room *ret_room)
{
        enum sample_verdict verdict = usage_judge(u, watermark, s, latest);
        bool whole = verdict == SAMPLE_ACCEPTED;
        bool taken[RESOURCES] = {
                [CPU] = s->has[CPU] && (whole || verdict == SAMPLE_NO_MEMORY), [MEMORY] = s->has[MEMORY] && whole};
        struct folding f = {.of = {taken[CPU] && !s->starts[CPU], taken[MEMORY] && !s->starts[MEMORY]},
                            .starts = {taken[CPU] && s->starts[CPU], taken[MEMORY] && s->starts[MEMORY]}};
        f.closes = f.of[MEMORY] && closes_window(u, s->at);
        if (find_room(u, s, &f, ret_room) != 0)
                return ERR_NOSPACE;
        *ret_verdict = verdict;
        if (taken[CPU] || taken[MEMORY])
                count_time(u, watermark, s->at);
        fold_starts(u, s, &f);
        if (f.of[CPU] || f.of[MEMORY]) {
                fold_sample(u, s, &f);
                count_sample(u, s->at);
        }
        return 0;
}

int usage_place(const struct usage *u, enum resource r, int p, struct histogram_place *ret)
{
        struct histogram_extra open = {.value = u->peak, .weight = 1, .at = {u->peak_at_ms}};
        return histogram_place(&u->of[r], p, r == MEMORY && u->peak > 0 ? &open : NULL, ret);
}

int usage_percentile(const struct usage *u, enum resource r, int p, double *ret)
{
        struct histogram_place place;
        int rc = usage_place(u, r, p, &place);
        if (rc == 0)
                *ret = place.value;
        return rc;
}

double usage_week_peak(const struct usage *u, struct wall now, int64_t *ret_day)
{
        int64_t newest = newest_day(u), oldest = now.ms / DAY_MS - USAGE_DAYS + 1;
        uint32_t highest = 0;
        for (int i = 0; i < USAGE_DAYS && newest - i >= oldest; i++)
                if (u->day_mi[i] > highest) {
                        highest = u->day_mi[i];
                        *ret_day = newest - i;
                }
        return highest * mebi;
}

/* --- kills --- */

static double sane_bytes(const struct usage *u, double bytes)
{
        return bytes > 0 && bytes <= usage_absurd_of(u, MEMORY) ? bytes : 0;
}

/*
 * Insert a kill. The list is newest first, and keeps only kills larger than every newer one: no other kill can be the
 * largest of a span that ends now or later.
 */
static void kill_insert(struct usage *u, struct usage_kill kill, int64_t hold_ms)
{
        struct usage_kill all[USAGE_KILLS + 1];
        int n = 0;
        bool inserted = false;
        double largest = 0;
        for (int i = 0; i < USAGE_KILLS || !inserted;) {
                struct usage_kill next = i < USAGE_KILLS ? u->kill[i] : (struct usage_kill){0};
                bool kill_first = !inserted && (next.bytes <= 0 || kill.at_ms > next.at_ms ||
                                                (kill.at_ms == next.at_ms && kill.bytes > next.bytes));
                if (kill_first) {
                        next = kill;
                        inserted = true;
                } else {
                        i++;
                }
                if (next.bytes > largest) {
                        all[n++] = next;
                        largest = next.bytes;
                }
        }
        if (n > USAGE_KILLS) {
                n--;
                if (all[0].at_ms - all[n].at_ms <= hold_ms)
                        all[n - 1].bytes = all[n].bytes;
        }
        for (int i = 0; i < USAGE_KILLS; i++)
                u->kill[i] = i < n ? all[i] : (struct usage_kill){0};
}

double usage_kill_hold(const struct usage *u, const struct resource_policy *memory, struct wall now)
{
        double largest = 0;
        for (int i = 0; i < USAGE_KILLS; i++)
                if (u->kill[i].bytes > largest && now.ms - u->kill[i].at_ms <= memory->oom_hold_ms)
                        largest = u->kill[i].bytes;
        return largest;
}

/* The memory model as recommend_model rounds it: a whole number of Mi. */
static double memory_model(const struct usage *u, const struct resource_policy *memory, struct wall at)
{
        double held = usage_kill_hold(u, memory, at), percentile;
        int64_t unused;
        if (memory->weekly_peak)
                held = fmax(held, usage_week_peak(u, at, &unused));
        if (usage_percentile(u, MEMORY, memory->percentile, &percentile) == 0 && percentile > held)
                held = percentile;
        return ceil(held / mebi) * mebi;
}

/* Replace the time of the oldest bump, and keep the times in order: kills of several pods are reported in any order. */
static void note_step(struct usage *u, int64_t at_ms)
{
        int i = USAGE_STEPS - 1;
        for (; i > 0 && u->step_ms[i - 1] < at_ms; i--)
                u->step_ms[i] = u->step_ms[i - 1];
        u->step_ms[i] = at_ms;
}

void usage_oom(struct usage *u, const struct resource_policy *memory, struct wall at, double last_bytes,
               double limit_bytes)
{
        double bytes = sane_bytes(u, last_bytes), limit = sane_bytes(u, limit_bytes);
        if (limit > bytes)
                bytes = limit;
        if (bytes <= 0 || at.ms - u->kill[0].at_ms < memory->half_life_ms) {
                double model = memory_model(u, memory, at);
                if (model > bytes)
                        bytes = model;
        }
        if (at.ms - u->step_ms[USAGE_STEPS - 1] >= memory->half_life_ms) {
                double bumped = bytes * memory->oom_bump / 1000;
                bytes = bumped > bytes + kill_margin ? bumped : bytes + kill_margin;
                note_step(u, at.ms);
        }
        if (bytes > usage_absurd_of(u, MEMORY))
                bytes = usage_absurd_of(u, MEMORY);
        kill_insert(u, (struct usage_kill){at.ms, bytes}, memory->oom_hold_ms);
        u->kills++;
}

/* --- merging --- */

static void minutes_merge(struct usage_minutes *a, const struct usage_minutes *b)
{
        const struct usage_minutes *later = b->last > a->last ? b : a, *earlier = later == b ? a : b;
        int64_t apart = later->last - earlier->last;
        *a = (struct usage_minutes){
                .count = a->count + b->count,
                .last = later->last,
                .recent = later->recent | (apart < 64 ? earlier->recent << apart : 0),
        };
}

/*
 * Join the open peaks of two histories. Where both are of one window, the higher peak stays open, and the lower is
 * dropped. Otherwise the later peak stays open. Returns the peak to add to the histogram; {0}: none. A missing peak is
 * {0} as well, so it is lower and earlier than any other.
 */
static struct usage_kill peaks_join(const struct usage *dst, const struct usage *src, struct usage_kill *ret_open)
{
        struct usage_kill a = {dst->peak_at_ms, dst->peak}, b = {src->peak_at_ms, src->peak}, none = {0, 0};
        bool higher = b.bytes > a.bytes || (b.bytes >= a.bytes && b.at_ms > a.at_ms);
        bool later = b.at_ms > a.at_ms || (b.at_ms >= a.at_ms && b.bytes > a.bytes);
        bool one_window = dst->window_ms > 0 && a.at_ms / dst->window_ms == b.at_ms / dst->window_ms;
        bool b_stays = one_window ? higher : later;
        *ret_open = b_stays ? b : a;
        return one_window ? none : b_stays ? a : b;
}

static void histories_join(struct usage *dst, const struct usage *src)
{
        if (src->samples > 0) {
                if (dst->samples == 0 || src->first_ms < dst->first_ms)
                        dst->first_ms = src->first_ms;
                if (src->newest_ms > dst->newest_ms) {
                        dst->newest_ms = src->newest_ms;
                        dst->spacing_ms = src->spacing_ms;
                }
                dst->samples += src->samples;
        }
        minutes_merge(&dst->sampled, &src->sampled);
        minutes_merge(&dst->running, &src->running);
        dst->runs += src->runs;
        if (src->last_run_ms > dst->last_run_ms)
                dst->last_run_ms = src->last_run_ms;
}

/* Join the daily peaks. Call it before histories_join, because dst's newest sample dates dst's days. */
static void days_join(struct usage *dst, const struct usage *src)
{
        int64_t ahead = newest_day(src) - newest_day(dst);
        if (ahead > 0)
                days_pass(dst, ahead);
        for (int64_t i = 0, at = ahead > 0 ? 0 : -ahead; at < USAGE_DAYS; i++, at++)
                if (src->day_mi[i] > dst->day_mi[at])
                        dst->day_mi[at] = src->day_mi[i];
}

/* Join the times at which kills of two histories were bumped, and keep the newest. */
static void steps_join(struct usage *dst, const struct usage *src)
{
        int64_t joined[USAGE_STEPS];
        for (int i = 0, a = 0, b = 0; i < USAGE_STEPS; i++)
                joined[i] = dst->step_ms[a] >= src->step_ms[b] ? dst->step_ms[a++] : src->step_ms[b++];
        memcpy(dst->step_ms, joined, sizeof(joined));
}

bool usage_may_join(const struct usage *u, struct wall latest)
{
        int64_t end = latest.ms + USAGE_FUTURE_MS, most = (int64_t)1 << 48;
        const int64_t times[] = {u->newest_ms,  u->peak_at_ms, u->last_run_ms,
                                 u->step_ms[0], u->step_ms[1], u->step_ms[2]};
        if (u->sampled.last > end / MINUTE_MS || u->running.last > end / MINUTE_MS)
                return false;
        if (u->samples > most || u->running.count > most || u->runs > most || u->kills > most)
                return false; /* sampled.count needs no check: it is at most running.count */
        for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
                if (times[i] > end)
                        return false;
        for (int i = 0; i < USAGE_KILLS; i++)
                if (u->kill[i].at_ms > end)
                        return false;
        if (u->starts && usage_starts_after(u->starts, (struct wall){end}))
                return false;
        for (int r = 0; r < RESOURCES; r++)
                if (u->of[r].ref_ms > end && u->of[r].ref_ms - end > u->of[r].half_life_ms)
                        return false;
        return true;
}

bool usage_mergeable(const struct usage *a, const struct usage *b)
{
        return histogram_mergeable(&a->of[CPU], &b->of[CPU]) && histogram_mergeable(&a->of[MEMORY], &b->of[MEMORY]);
}

int usage_merge(struct usage *dst, const struct usage *src, struct usage_room *ret_room)
{
        assert(dst != src);
        struct usage_kill open, entered = peaks_join(dst, src, &open);
        if (!usage_mergeable(dst, src))
                return ERR_INVALID;
        if (src->starts && !dst->starts) {
                *ret_room = (struct usage_room){.starts = true};
                return ERR_NOSPACE;
        }
        for (int r = 0; r < RESOURCES; r++) {
                struct histogram_range range = histogram_range_merged(&dst->of[r], &src->of[r]);
                if (r == MEMORY && entered.bytes > 0)
                        range = histogram_range_with(range, usage_bucket_of(dst, MEMORY, entered.bytes));
                if (lacks_room(dst, (enum resource)r, range, ret_room))
                        return ERR_NOSPACE;
        }
        for (int r = 0; r < RESOURCES; r++) {
                int unused, rc = histogram_merge(&dst->of[r], &src->of[r], &unused);
                assert(rc == 0);
                (void)rc;
        }
        if (entered.bytes > 0)
                put_peak(dst, entered.bytes, entered.at_ms);
        dst->peak = open.bytes;
        dst->peak_at_ms = open.at_ms;
        days_join(dst, src);
        histories_join(dst, src);
        for (int i = USAGE_KILLS; i-- > 0;)
                if (src->kill[i].bytes > 0)
                        kill_insert(dst, src->kill[i], INT64_MAX);
        steps_join(dst, src);
        for (int r = 0; r < RESOURCES && src->starts; r++)
                usage_starts_merge(dst->starts, src->starts, (enum resource)r, dst->of[r].half_life_ms);
        dst->kills += src->kills;
        return 0;
}
