/*
 * What one history (a workload's container) has learned: a histogram for CPU and one for memory, the memory window with
 * its open peak, the kills and a week of daily peaks beside the histogram, and the counters that state and confidence
 * come from.
 */
#ifndef HALFLIFE_CORE_USAGE_H
#define HALFLIFE_CORE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/histogram.h"

enum sample_verdict {
        SAMPLE_ACCEPTED,
        SAMPLE_DUPLICATE, /* the timestamp accepted last: not an error */
        SAMPLE_REORDERED, /* older than that */
        SAMPLE_FUTURE,    /* more than 5 min after the later of our clock and the server's Date */
        SAMPLE_INVALID,   /* NaN, infinite, negative */
        SAMPLE_ABSURD,    /* above 1e5 cores or 1e15 bytes */
        SAMPLE_NO_MEMORY, /* memory of zero: metrics-server's sign of a missing value */
        SAMPLE_VERDICTS
};
const char *sample_verdict_name(enum sample_verdict v); /* "accepted", "duplicate", … (a metric's label) */

struct sample {
        struct wall at;
        bool has[RESOURCES];
        double value[RESOURCES]; /* cores, bytes */
        double cpu_weight; /* the original CPU request in cores; below 0.1 (or NaN) counts as 0.1, above 1e5 as 1e5 */
        double step_s;     /* 0: a live sample. Else a back-filled point that stands for so long: weighs step_s / 60 */
};

/* What a (pod UID, container) remembers between samples: kept with the pod, stored with the history. */
struct sample_watermark {
        int64_t last_ms; /* timestamp accepted last; 0: none yet */
};

enum { USAGE_KILLS = 4 };
struct usage_kill {
        int64_t at_ms;
        double bytes; /* the kill sample: max(m * oomBump, m + 100Mi) */
};

/* Distinct minutes counted: exact as long as none comes more than 63 minutes after a later one. */
struct usage_minutes {
        int64_t count;
        int64_t last;    /* the latest, since 1970 */
        uint64_t recent; /* bit i: the minute last - i is counted */
};

enum { USAGE_STEPS = 3 };

/* The UTC day of the newest sample and the seven before it: what comes back after a week is still known when it does.
 */
enum { USAGE_DAYS = 8 };

struct usage {
        struct histogram of[RESOURCES];
        int64_t first_ms, newest_ms;           /* of the samples accepted; 0: none */
        int64_t samples;                       /* accepted */
        int64_t spacing_ms;                    /* between the last two timestamps of one watermark */
        struct usage_minutes sampled, running; /* distinct minutes with a sample, with a running pod */
        int64_t window_ms;                     /* memory; 0: every sample counts */
        int64_t peak_at_ms;                    /* of the open window's peak; 0: no open peak */
        double peak;                           /* bytes */
        uint32_t day_mi[USAGE_DAYS];         /* highest memory sample of the newest day - i, in Mi, rounded up; 0: none.
                                                Kept of all, so that weeklyPeak counts from when it is turned on */
        int64_t runs;                        /* of a CronJob: distinct Jobs seen with a sample */
        int64_t last_run_ms;                 /* start of the newest run counted */
        struct usage_kill kill[USAGE_KILLS]; /* newest first, and so smallest first; bytes 0: empty */
        int64_t step_ms[USAGE_STEPS];        /* of the last kills that bumped, newest first; 0: long ago */
        int64_t kills;                       /* counted ever */
};

void usage_init(struct usage *u, const struct resource_policy policy[static RESOURCES]);
/* Half-lives or the window changed in the profile: rescale what was learned and go on. */
void usage_adopt(struct usage *u, const struct resource_policy policy[static RESOURCES]);

/*
 * The memory histogram as if it had been learned with another window: a peak stands for as many samples as its window
 * has minutes. An open peak enters first, so that u lends HISTOGRAM_BUCKETS doubles for memory (asserted).
 */
void usage_rewindow(struct usage *u, int64_t window_ms);

/*
 * Judge a sample and, where it is accepted, fold it. latest is the later of our clock and the server's Date. Refused
 * samples change nothing but memory of zero, which is refused alone: the CPU of such a sample is folded. A time before
 * 1970 and a sample without any value are invalid. Returns the verdict in *ret_verdict and 0; or ERR_NOSPACE with
 * *ret_room telling which histogram wants how much: lend and call again (nothing has changed; the other histogram may
 * want room next).
 *
 * With a memory window, a sample that comes when its window is closed already (another pod's was faster) counts in the
 * open window if it is the higher: no peak is lost, and none weighs more than once.
 */
struct usage_room {
        enum resource resource;
        int cap;
};
int usage_add(struct usage *u, struct sample_watermark *watermark, const struct sample *s, struct wall latest,
              enum sample_verdict *ret_verdict, struct usage_room *ret_room);
/* A pod of it ran during the minute of at. */
void usage_running(struct usage *u, struct wall at);

/*
 * An out-of-memory kill. last_bytes: the container's last memory sample (0: none, the model stands for it);
 * limit_bytes: its limit where the limit is what killed it (0: not). Keeps the kill sample beside the histogram. Within
 * a half-life of the newest kill the model is what is bumped; at most USAGE_STEPS bumps in any half-life, further kills
 * only renew what is held. Kept are the kills that can still be the largest of some oomHold, which is exact up to
 * USAGE_KILLS of them; beyond, the two oldest become one, the larger at the later time.
 */
void usage_oom(struct usage *u, const struct resource_policy *memory, struct wall at, double last_bytes,
               double limit_bytes);
/* Largest kill sample not older than oomHold; 0: none. */
double usage_kill_hold(const struct usage *u, const struct resource_policy *memory, struct wall now);

/* The highest peak of the day of now and of the seven before it, in bytes, and the day it fell on (the newest of
 * equals); 0: none. */
double usage_week_peak(const struct usage *u, struct wall now, int64_t *ret_day);

/* Percentile in cores or bytes, the open peak counted. ERR_INVALID: no data. */
int usage_percentile(const struct usage *u, enum resource r, int p, double *ret);
int usage_place(const struct usage *u, enum resource r, int p, struct histogram_place *ret);

/* May what comes from elsewhere be joined? No time of it lies after latest by more than the 5 min that samples may (a
 * reference time: than a half-life), so that what was learned here does not look old beside it; and no count is so high
 * that a thousand such together could not be stored. */
bool usage_may_join(const struct usage *u, struct wall latest);

/* Add what src (another one) has learned into dst (a rename, an import). ERR_INVALID: they are not mergeable (their
 * half-lives differ, or together they weigh more than a histogram can); ERR_NOSPACE as in usage_add. dst is untouched
 * on failure. */
bool usage_mergeable(const struct usage *a, const struct usage *b);
int usage_merge(struct usage *dst, const struct usage *src, struct usage_room *ret_room);

/*
 * Exact save and load: little-endian, versioned, the doubles bit by bit, a CRC-32C at the end. usage_pack returns the
 * length, at most USAGE_PACK_MAX. usage_unpack lends from room (2 * HISTOGRAM_BUCKETS doubles) and returns 0, or
 * ERR_DAMAGED when a byte does not check out (count, sum, NaN, shape, CRC), or ERR_INVALID for a version it does not
 * know; *ret is untouched on failure, room may not be. Version 1 had no daily peaks: they are empty then.
 */
enum { USAGE_PACK_MAX = 512 + 2 * 8 * HISTOGRAM_BUCKETS };
size_t usage_pack(const struct usage *u, uint8_t out[static USAGE_PACK_MAX]);
int usage_unpack(const uint8_t *in, size_t len, struct usage *ret, double room[static 2 * HISTOGRAM_BUCKETS]);

#endif
