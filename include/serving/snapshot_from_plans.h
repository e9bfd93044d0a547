/*
 * Makes the snapshot of a pass, which other threads read: each plan becomes a row. The snapshot is published when the
 * pass ends.
 */
#ifndef HALFLIFE_SERVING_SNAPSHOT_FROM_PLANS_H
#define HALFLIFE_SERVING_SNAPSHOT_FROM_PLANS_H

#include "cache/clock_skew.h"
#include "cache/live_settings.h"
#include "notices/notices.h"
#include "plan/plan.h"
#include "safety/safety.h"
#include "snapshot/snapshot.h"

struct snapshot_writer;
struct snapshot_writer_options { /* borrowed until snapshot_writer_free */
        struct loop *loop;
        struct cache *cache;
        const struct live_settings *live;
        struct clock_skew *skew;
        struct notices *notices;
        struct safety *safety;
};
struct snapshot_writer *snapshot_writer_new(const struct snapshot_writer_options *o);
void snapshot_writer_free(struct snapshot_writer *w); /* w may be NULL */

/* Begin the snapshot of a pass. `read` false: nobody reads snapshots, so the calls up to snapshot_end keep nothing. */
void snapshot_begin(struct snapshot_writer *w, bool read);
void snapshot_show_target(struct snapshot_writer *w, const struct plan *p);
void snapshot_show_gone(struct snapshot_writer *w, const struct target *t);
/* Add a row for each Recommendation, where there are no plans. Returns the snapshot with the rows. */
const struct snapshot *snapshot_show_published(struct snapshot_writer *w, struct arena *scratch);
/* The age in milliseconds up to which a pod's sample counts as the pod's present usage. */
int64_t snapshot_fresh_ms(const struct live_settings *live);
struct snapshot *snapshot_end(struct snapshot_writer *w); /* the caller owns the snapshot */

#endif
