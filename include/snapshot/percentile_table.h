/*
 * A table of each container's learned usage at some percentiles, to tell what other percentiles than its profile's
 * would give it, for the threads that answer HTTP requests. The loop makes the table when an HTTP request needs it. Its
 * rows are immutable from then on, and HTTP requests within the same cycle share the table. References are counted.
 */
#ifndef HALFLIFE_SNAPSHOT_PERCENTILE_TABLE_H
#define HALFLIFE_SNAPSHOT_PERCENTILE_TABLE_H

#include <pthread.h>

#include "base/mem.h"
#include "core/policy.h"

enum { TRIED = 7, PERCENTILE_ROWS_MOST = 20000 };
extern const int percentiles_tried[TRIED]; /* in tenths of a per cent, ascending */

struct percentile_row { /* what was learned of one container */
        const char *ns, *recommendation, *container;
        double at[RESOURCES][TRIED]; /* cores or bytes; negative: nothing was learned */
        bool more[RESOURCES][TRIED]; /* usage may be above `at`, by how much is not known */
        double kill, week;           /* memory that OOM kills, and the weekly peak, ask for, in bytes; 0: nothing */
};

/* The sums over the workloads of one namespace that one profile selects: what their present target values save (now),
 * and what those of each percentile would (tried). */
struct percentile_sum {
        const char *profile_ns, *profile, *ns;                      /* profile_ns "": a ClusterProfile */
        int64_t workloads, now[RESOURCES], tried[RESOURCES][TRIED]; /* millicores, bytes */
};

struct percentile_table {
        _Atomic int refs;
        struct arena arena; /* everything that rows and sums point to */
        struct percentile_row *row;
        size_t rows, left; /* left: number of containers beyond PERCENTILE_ROWS_MOST, which have no row */

        /* The sums: the first thread that needs them makes them once, and holds the lock meanwhile. */
        pthread_mutex_t lock;
        struct percentile_sum *sum;
        size_t sums;
        bool summed;
};

struct percentile_table *percentile_table_new(void); /* without rows; the caller owns its one reference */
/* Add a row with copies of the texts, which the caller fills in. NULL: there are PERCENTILE_ROWS_MOST rows already, and
 * t->left was increased. */
struct percentile_row *percentile_table_add(struct percentile_table *t, const char *ns, const char *recommendation,
                                            const char *container);
struct percentile_table *percentile_table_hold(struct percentile_table *t);
void percentile_table_drop(struct percentile_table *t); /* any thread; NULL: does nothing */

#endif
