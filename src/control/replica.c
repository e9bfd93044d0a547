#include "replica.h"

#include <string.h>

#include "informers.h"
#include "parts.h"
#include "telemetry.h"

enum {
        NUDGE_MS = 100,
        SYNC_LOOK_MS = 100,
        PASS_SHARE = 4 /* the pause after a pass is this many times as long as the pass */,
        PASS_REST_MOST_MS = 250
};

struct replica {
        struct parts *parts;
        struct loop_timer cycle_timer, pass_timer;
        int64_t rest_ms;      /* pause before the next pass, so that other work on the loop gets its turn */
        struct arena scratch; /* memory for the Recommendations that a pass reads */
};

/* --- rows --- */

static void show_rows(struct replica *r)
{
        struct pass_state *pass = &r->parts->pass;
        const struct snapshot *v = snapshot_show_published(r->parts->snapshots, &r->scratch);
        arena_reset(&r->scratch);
        memset(pass->by_state, 0, sizeof pass->by_state);
        memset(pass->saving, 0, sizeof pass->saving);
        for (size_t i = 0; v && i < v->targets; i++) {
                pass->by_state[v->target[i]->state]++;
                bool counts = snapshot_dimension(v->target[i]) == DIMENSION_WORKLOAD;
                for (enum resource k = CPU; counts && k < RESOURCES; k++)
                        pass->saving[k] = add_saturated(pass->saving[k], v->target[i]->saving[k]);
        }
}

/* --- passes --- */

static void replica_pass(void *arg)
{
        struct replica *r = arg;
        struct parts *p = r->parts;
        struct mono began = mono_read();
        char waiting[256];
        if (leadership_stops(p->leadership))
                return;
        if (!p->pass.synced) {
                p->pass.synced = informers_synced(p->informers, waiting, sizeof waiting);
                if (p->pass.synced)
                        log_info("caches synced", KV_INT("recommendations", p->cache.published.count));
        }
        watched_kinds_settle(&p->cache);
        namespaces_sweep(&p->cache);
        /* While the API server does not answer, the values shown are as old as its last answer. */
        notice_usage_stands(p->notices, informers_unanswered(p->informers));
        snapshot_begin(p->snapshots, p->server != NULL);
        show_rows(r);
        telemetry_publish(p->telemetry);
        p->pass.last_cycle_seconds = (double)(mono_read().ns - began.ns) / 1e9;
        int64_t rest_ms = (int64_t)(p->pass.last_cycle_seconds * 1000 * PASS_SHARE);
        r->rest_ms = rest_ms < PASS_REST_MOST_MS ? rest_ms : PASS_REST_MOST_MS;
}

static void replica_cycle(void *arg)
{
        struct replica *r = arg;
        struct parts *p = r->parts;
        if (leadership_stops(p->leadership))
                return;
        informers_tick(p->informers);
        replica_pass(r);
        loop_timer_set(p->loop, &r->cycle_timer, p->pass.synced ? p->options.live.interval_ms : SYNC_LOOK_MS,
                       replica_cycle, r);
}

void replica_changed(struct replica *r)
{
        if (!r->pass_timer.place)
                loop_timer_set(r->parts->loop, &r->pass_timer, r->rest_ms > NUDGE_MS ? r->rest_ms : NUDGE_MS,
                               replica_pass, r);
}

/* --- from start to stop --- */

struct replica *replica_new(struct parts *parts)
{
        struct replica *r = MEM_NEW(struct replica);
        r->parts = parts;
        return r;
}

void replica_start(struct replica *r)
{
        loop_timer_set(r->parts->loop, &r->cycle_timer, 0, replica_cycle, r);
}

void replica_stop(struct replica *r)
{
        loop_timer_stop(r->parts->loop, &r->cycle_timer);
        loop_timer_stop(r->parts->loop, &r->pass_timer);
}

void replica_free(struct replica *r)
{
        if (!r)
                return;
        replica_stop(r);
        arena_release(&r->scratch);
        mem_free(r);
}
