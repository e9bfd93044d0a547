/*
 * What each container would be given by other percentiles than its profile's: what was learned of it, reduced to a few
 * numbers, for the threads that answer requests. Made on the loop when somebody asks, immutable from then on, and
 * shared by those who ask within the same cycle. References are counted.
 */
#ifndef HALFLIFE_SNAPSHOT_PERCENTILE_TABLE_H
#define HALFLIFE_SNAPSHOT_PERCENTILE_TABLE_H

#include <pthread.h>

#include "base/mem.h"
#include "core/policy.h"

enum { TRIED = 7, PERCENTILE_ROWS_MOST = 20000 };
extern const int percentiles_tried[TRIED]; /* in tenths of a per cent, ascending */

struct percentile_row { /* of a container's history */
        const char *ns, *recommendation, *container;
        double at[RESOURCES][TRIED]; /* cores or bytes; negative: nothing was learned */
        bool more[RESOURCES][TRIED]; /* usage may be above, by how much is not known */
        double kill, week;           /* what these ask for in bytes, as its policy has it; 0: nothing */
};

/* Of the workloads of one namespace that one profile selects: what the present targets save, and what others would. */
struct percentile_sum {
        const char *profile_ns, *profile, *ns;                      /* profile_ns "": a ClusterProfile */
        int64_t workloads, now[RESOURCES], tried[RESOURCES][TRIED]; /* millicores, bytes */
};

struct percentile_table {
        _Atomic int refs;
        struct arena arena; /* everything that rows and sums point to */
        struct percentile_row *row;
        size_t rows, left; /* left: containers beyond PERCENTILE_ROWS_MOST, of which nothing else is tried */

        /* made once, by the first thread that wants them, with the lock held */
        pthread_mutex_t lock;
        struct percentile_sum *sum;
        size_t sums;
        bool summed;
};

struct percentile_table *percentile_table_new(void); /* without rows; the caller owns its one reference */
/* A row more, to be filled in; its texts are copied. NULL: there are PERCENTILE_ROWS_MOST, and left counts it. */
struct percentile_row *percentile_table_add(struct percentile_table *t, const char *ns, const char *recommendation,
                                            const char *container);
struct percentile_table *percentile_table_hold(struct percentile_table *t);
void percentile_table_drop(struct percentile_table *t); /* any thread; NULL: does nothing */

#endif
