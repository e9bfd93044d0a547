#include "replica.h"

#include <stdio.h>
#include <string.h>

#include "controller_private.h"
#include "serving/snapshot_build.h"

enum { SYNC_LOOK_MS = 100, PASS_SHARE = 4 /* times a pass is left to the rest */, PASS_REST_MOST_MS = 250 };

/* --- what cannot be seen --- */

/* What is shown is as it was when the API server could last be asked. */
static void look_at_source(struct controller *c)
{
        const struct watch *away = NULL;
        for (int i = 0; i < c->watches && !away; i++)
                if (c->watch[i].health.trouble[0] && c->watch[i].health.trouble_code == ERR_RETRY)
                        away = &c->watch[i];
        report_usage_stands(c->report, away ? away->health.trouble : NULL);
}

/* --- rows --- */

static void show_rows(struct controller *c)
{
        const struct snapshot *v = c->next_view;
        snapshot_add_recommendations(&c->cache, &c->plans, c->next_view);
        arena_reset(&c->plans);
        memset(c->by_state, 0, sizeof c->by_state);
        memset(c->saving, 0, sizeof c->saving);
        for (size_t i = 0; i < v->targets; i++) {
                c->by_state[v->target[i]->state]++;
                bool counts = snapshot_dimension(v->target[i]) == DIMENSION_WORKLOAD;
                for (enum resource k = CPU; counts && k < RESOURCES; k++)
                        c->saving[k] = add_saturated(c->saving[k], v->target[i]->saving[k]);
        }
}

/* --- passes --- */

void replica_pass(void *arg)
{
        struct controller *c = arg;
        struct mono began = mono_read();
        char waiting[256];
        if (leadership_stops(c->leadership))
                return;
        c->nudged = false;
        if (!c->synced) {
                c->synced = watch_synced(c, waiting, sizeof waiting);
                if (c->synced)
                        log_info("caches synced", KV_INT("recommendations", c->cache.published.count));
        }
        namespaces_sweep(&c->cache);
        look_at_source(c);
        snapshot_begin(c);
        show_rows(c);
        telemetry_publish(c);
        c->count.last_cycle_seconds = (double)(mono_read().ns - began.ns) / 1e9;
        int64_t rest_ms = (int64_t)(c->count.last_cycle_seconds * 1000 * PASS_SHARE);
        c->pass_ms = rest_ms < PASS_REST_MOST_MS ? rest_ms : PASS_REST_MOST_MS;
}

void replica_cycle(void *arg)
{
        struct controller *c = arg;
        if (leadership_stops(c->leadership))
                return;
        watch_tick(c);
        replica_pass(c);
        loop_timer_set(c->loop, &c->cycle_timer, c->synced ? c->options.live.interval_ms : SYNC_LOOK_MS, replica_cycle,
                       c);
}
