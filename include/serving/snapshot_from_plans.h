/*
 * What others may read of a pass: each plan becomes a row of the snapshot that is published when the pass ends.
 */
#ifndef HALFLIFE_SERVING_SNAPSHOT_FROM_PLANS_H
#define HALFLIFE_SERVING_SNAPSHOT_FROM_PLANS_H

#include "cache/clock_skew.h"
#include "cache/live_settings.h"
#include "plan/plan.h"
#include "report/report.h"
#include "safety/safety.h"
#include "snapshot/snapshot.h"

struct snapshot_writer;
struct snapshot_writer_options { /* all is the caller's and stays */
        struct loop *loop;
        struct cache *cache;
        const struct live_settings *live;
        struct clock_skew *skew;
        struct report *report;
        struct safety *safety;
};
struct snapshot_writer *snapshot_writer_new(const struct snapshot_writer_options *o);
void snapshot_writer_free(struct snapshot_writer *w); /* NULL: nothing */

void snapshot_begin(struct snapshot_writer *w, bool read); /* read: somebody will; else nothing is kept */
void snapshot_show_target(struct snapshot_writer *w, const struct plan *p);
void snapshot_show_gone(struct snapshot_writer *w, const struct target *t);
/* A row for each Recommendation, where nothing else is known. What was added. */
const struct snapshot *snapshot_show_published(struct snapshot_writer *w, struct arena *scratch);
struct snapshot *snapshot_end(struct snapshot_writer *w); /* the caller's; empty before the first begin */

#endif
