/*
 * What was learned about one container of a target: a histogram for CPU and one for memory, the open peak of the memory
 * window, recent kills and a week of daily peaks, and the counters that state and confidence are computed from.
 */
#ifndef HALFLIFE_CORE_USAGE_H
#define HALFLIFE_CORE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/histogram.h"
#include "core/usage_starts.h"

enum { USAGE_FUTURE_MS = 300000 }; /* how many ms a sample may be ahead of both halflife's clock and the server's */

enum sample_verdict {
        SAMPLE_ACCEPTED,
        SAMPLE_DUPLICATE, /* refused: the timestamp of the sample accepted last; no error */
        SAMPLE_REORDERED, /* refused: older than the sample accepted last */
        SAMPLE_FUTURE,    /* refused: more than 5 min after the later of halflife's clock and the server's Date */
        SAMPLE_INVALID,   /* refused: NaN, infinite or negative; or no value at all, or a time before 1970 */
        SAMPLE_ABSURD,    /* refused: above 1e5 cores or 1e15 bytes; of a sum above 5.7e6 cores or 5.7e15 bytes */
        SAMPLE_NO_MEMORY, /* memory is refused: it is zero, which is how metrics-server marks a missing value */
        SAMPLE_VERDICTS
};
const char *sample_verdict_name(enum sample_verdict v); /* "accepted", "duplicate", …: a metric's label */

struct sample {
        struct wall at;
        bool has[RESOURCES];
        double value[RESOURCES]; /* usage in cores and bytes */
        double cpu_weight; /* the original CPU request in cores; below 0.1 (or NaN) counts as 0.1, above 1e5 as 1e5 */
        double step_s;     /* 0: a live sample; else the seconds, at most 86400, that a back-filled point stands for. It
                              weighs step_s / 60 as much as a live sample */
        bool starts[RESOURCES]; /* the container starts: the value goes to usage.starts and does not move the target */
        int64_t age_ms;         /* ms since the container's start, where an element of `starts` is set */
        double steady[RESOURCES]; /* the steady target then, for start_sample.steady */
};

/* The time of the newest sample taken from one (pod UID, container), so that no sample counts twice. The caller keeps
 * it with the pod and stores it with the history. */
struct sample_watermark {
        int64_t last_ms; /* timestamp of the sample accepted last; 0: none yet */
};

enum { USAGE_KILLS = 4 };
struct usage_kill {
        int64_t at_ms;
        double bytes; /* the kill sample: max(m * oomBump, m + 100Mi), where m is the use at the kill (usage_oom) */
};

/* A count of distinct minutes. A minute more than 63 minutes before the latest is not counted any more. */
struct usage_minutes {
        int64_t count;
        int64_t last;    /* the latest minute, counted from 1970 */
        uint64_t recent; /* bit i: minute last - i was counted */
};

enum { USAGE_STEPS = 3 };

/* The days whose peaks are kept: the UTC day of the newest sample and the seven days before it. A peak that comes back
 * every week is then still known. */
enum { USAGE_DAYS = 8 };

struct usage {
        struct histogram of[RESOURCES];
        int64_t first_ms, newest_ms;           /* times of the earliest and latest sample accepted; 0: none */
        int64_t samples;                       /* number of samples accepted */
        int64_t spacing_ms;                    /* time between the last two samples of one pod's container */
        struct usage_minutes sampled, running; /* minutes with a sample, and minutes with a running pod */
        int64_t window_ms;                     /* length of the memory window; 0: every memory sample counts */
        int64_t peak_at_ms;                    /* time of the open window's peak; 0: there is no open peak */
        double peak;                           /* bytes of the open window's peak; 0: there is no open peak */
        uint32_t day_mi[USAGE_DAYS];         /* [i]: highest memory sample of the newest day - i, in Mi, rounded up; 0:
                                                none; UINT32_MAX: more. Kept always, so that weeklyPeak works at once
                                                when turned on */
        int64_t runs;                        /* of a CronJob: distinct Jobs with a sample */
        int64_t last_run_ms;                 /* of a CronJob: start of the newest Job counted */
        struct usage_kill kill[USAGE_KILLS]; /* newest kill first, and so smallest first; bytes 0: an empty place */
        int64_t step_ms[USAGE_STEPS];        /* times of the last kills that were bumped, newest first; 0: none */
        int64_t kills;                       /* number of all kills ever counted */
        struct usage_starts *starts;         /* samples of starts, in memory of the caller; NULL: none was taken */
};

void usage_init(struct usage *u, const struct resource_policy policy[static RESOURCES]);
/* Make u the usage of a sum over containers, such as a namespace's. Its histograms then have more buckets
 * (histogram.h). */
void usage_make_sum(struct usage *u);
/* Take over half-lives and window of a changed profile: what was learned is rescaled and kept. */
void usage_adopt(struct usage *u, const struct resource_policy policy[static RESOURCES]);

/*
 * Change the memory histogram as if it had been learned with another window: a peak stands for as many samples as its
 * window has minutes, so all weights are scaled by the ratio of the windows. The open peak is added first, so the
 * memory histogram needs room for all its buckets (asserted).
 */
void usage_rewindow(struct usage *u, int64_t window_ms);

/*
 * Judge a sample, and add an accepted one to the histograms. latest is the later of halflife's clock and the server's
 * Date. A refused sample changes nothing, with one exception: where only memory is refused (SAMPLE_NO_MEMORY), CPU is
 * added. A time before 1970 and a sample without any value are invalid.
 *
 * Returns 0 with *ret_verdict; or ERR_NOSPACE with *ret_room, the histogram that wants room and how much. Nothing has
 * changed then: lend room and call again; the other histogram may want room next.
 *
 * A sample whose values are all of a start moves the watermark and counts its minute as one in which a pod ran.
 * Histograms, peaks and all other counters stay as they are.
 *
 * With a memory window, a sample may come after another pod's sample has closed its window. It then counts in the open
 * window, if it is higher than the peak there: no peak is lost, and none weighs twice.
 */
struct usage_room {
        bool starts; /* usage.starts is wanted, with every byte 0, and no histogram */
        enum resource resource;
        int cap; /* buckets wanted: the cap for histogram_lend */
};
int usage_add(struct usage *u, struct sample_watermark *watermark, const struct sample *s, struct wall latest,
              enum sample_verdict *ret_verdict, struct usage_room *ret_room);
/* Count the minute of `at` as one in which a pod of the history ran. */
void usage_running(struct usage *u, struct wall at);
/*
 * Date the samples of starts that are later than `at` back to `at`, because a clock that was ahead dated them. The
 * minutes in which a pod ran then go on from `at` as well, unless another sample is later than `at` too. u->starts must
 * not be NULL.
 */
void usage_pull_back_starts(struct usage *u, struct wall at);

/*
 * Record an out-of-memory kill as a kill sample beside the histogram, where one sample alone would hardly change a
 * percentile. last_bytes is the container's last memory sample (0: none). limit_bytes is its limit, where the limit
 * killed it (0: it did not).
 *
 * The use at the kill is the larger of the two; without either, or within a half-life of the newest kill, at least the
 * model. The kill sample is that use, bumped (struct usage_kill). At most USAGE_STEPS kills are bumped in any
 * half-life; further kills renew the kill sample without a bump.
 *
 * usage keeps the kills that can still be the largest within some oomHold. That is exact for up to USAGE_KILLS kills.
 * Beyond that, the two oldest become one, with the larger bytes and the later time.
 */
void usage_oom(struct usage *u, const struct resource_policy *memory, struct wall at, double last_bytes,
               double limit_bytes);
/* The largest kill sample in bytes that is not older than oomHold; 0: none. */
double usage_kill_hold(const struct usage *u, const struct resource_policy *memory, struct wall now);

/* The highest memory sample in bytes of today (UTC) and the seven days before; 0: none. *ret_day is its day, counted
 * from 1970, the newest one where two are equal; untouched where there is none. */
double usage_week_peak(const struct usage *u, struct wall now, int64_t *ret_day);

/* usage_percentile gives the percentile p (tenths of a per cent) in cores or bytes, usage_place also its bucket. The
 * open peak counts. Both return 0, or ERR_INVALID where there is no data. */
int usage_percentile(const struct usage *u, enum resource r, int p, double *ret);
int usage_place(const struct usage *u, enum resource r, int p, struct histogram_place *ret);

/* Whether a history from elsewhere may be merged. No time in it may lie more than 5 min after latest (a reference time:
 * 5 min and a half-life), or all that was learned here would look old beside it. No count may exceed 2^48, so that a
 * thousand such histories can still be stored. */
bool usage_may_join(const struct usage *u, struct wall latest);

/* Merge what src has learned into dst, another history: after a rename, or for an import. ERR_INVALID: the two are not
 * mergeable, because half-lives differ or a bucket would weigh too much. ERR_NOSPACE as in usage_add. dst is untouched
 * on failure. */
bool usage_mergeable(const struct usage *a, const struct usage *b);
int usage_merge(struct usage *dst, const struct usage *src, struct usage_room *ret_room);

/*
 * Save and load exactly: little-endian, with a version, doubles bit for bit, and a CRC-32C at the end. usage_pack
 * returns the length, at most USAGE_PACK_MAX.
 *
 * usage_unpack places weights and starts in memory, which has to live as long as *ret. It returns 0; ERR_DAMAGED where
 * the CRC, a length, a count or a weight is not valid; or ERR_INVALID for a version it does not know. On failure *ret
 * is untouched, but memory may have changed. Version 1 had no daily peaks: they load as empty. Version 3 adds starts;
 * usage_pack writes it only where there are some. Version 4 adds the buckets of a sum beyond those of a container;
 * usage_pack writes it only where a value exceeds a container's bounds. So older programs can read all other histories.
 * A sum of an earlier version loads as a container's; memory then has the room for usage_make_sum.
 */
enum { USAGE_PACK_MAX = 512 + 2 * 8 * HISTOGRAM_SUM_BUCKETS + sizeof(struct usage_starts) };
struct usage_memory {
        double w[RESOURCES * HISTOGRAM_SUM_BUCKETS];
        struct usage_starts starts;
};
size_t usage_pack(const struct usage *u, uint8_t out[static USAGE_PACK_MAX]);
int usage_unpack(const uint8_t *in, size_t len, struct usage *ret, struct usage_memory *memory);

#endif
