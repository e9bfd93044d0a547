#include "serving/snapshot_from_plans.h"

#include "cache/change_log.h"
#include "plan/autoscaler_plan.h"
#include "serving/pod_utilization.h"
#include "serving/snapshot_from_status.h"

#include <string.h>

struct snapshot_writer {
        struct loop *loop;
        struct cache *cache;
        const struct live_settings *live;
        struct clock_skew *skew;
        struct notices *notices;
        struct safety *safety;
        struct snapshot *next; /* the snapshot of the pass under way; NULL: none is made */
};

/* --- targets --- */

static struct snapshot_target *snapshot_row_of(struct snapshot *v, const struct target *t)
{
        struct snapshot_target *to = snapshot_row_new(
                v, &(struct snapshot_row_name){t->ns, t->group, t->version, t->kind, t->name, t->recommendation});
        if (t->hold)
                to->hold = arena_text(&v->arena, text_of(t->hold));
        return to;
}

void snapshot_show_target(struct snapshot_writer *w, const struct plan *p)
{
        struct snapshot *v = w->next;
        const struct target *t = p->target;
        const struct workload *wl = t->workload;
        struct recommendation_status status;
        if (!v)
                return;
        struct snapshot_target *to = snapshot_row_of(v, t);
        /* Use the labels of the Recommendation once there is one, so that a replica, which sees no workload, answers
         * with the same labels. */
        struct labels labels = t->published ? t->published->labels : workload_own_labels(wl);
        to->labels = snapshot_labels(v, labels.pair, labels.count, &to->labels_size);
        to->profile = t->profile ? t->profile->shown : NULL;
        plan_status(p, &w->cache->scratch, &status);
        snapshot_row_fill(v, &status, false, to);
        arena_reset(&w->cache->scratch);
        for (enum resource r = CPU; r < RESOURCES; r++)
                to->hpa_holds[r] = plan_deploys_original(p, r);
        to->replicas = workload_replicas(wl);
        snapshot_add_target(v, to);
}

void snapshot_show_gone(struct snapshot_writer *w, const struct target *t)
{
        if (w->next && t->published && t->published->known)
                snapshot_add_published(w->next, t->published, snapshot_row_of(w->next, t), true);
}

/* --- a pass --- */

void snapshot_begin(struct snapshot_writer *w, bool read)
{
        snapshot_drop(w->next);
        w->next = read ? snapshot_new() : NULL;
        if (w->next)
                snapshot_add_profiles(w->cache, w->next);
}

/* A pod whose sample is older gets no value: an autoscaler handles that, but would take an old value for the
 * present. */
int64_t snapshot_fresh_ms(const struct live_settings *live)
{
        enum { INTERVALS = 3, LEAST_MS = 2 * MINUTE_MS };
        int64_t ms = INTERVALS * live->interval_ms;
        return ms > LEAST_MS ? ms : LEAST_MS;
}

static void snapshot_drop_changes(void *p)
{
        change_table_drop(p);
}

struct snapshot *snapshot_end(struct snapshot_writer *w)
{
        struct snapshot *v = STEAL(&w->next);
        if (!v)
                return snapshot_new();
        snapshot_add_namespaces(w->cache, v);
        snapshot_add_hpas(w->cache, v);
        snapshot_add_utilization(w->cache, (struct wall){clock_skew_earlier(w->skew)}, snapshot_fresh_ms(w->live), v);
        snapshot_add_other_autoscalers(w->cache, v);
        v->at = loop_now(w->loop).wall;
        v->apply_never = w->live->apply_never;
        v->fuse_blown |= fuse_blown(w->safety) != NULL; /* a replica knows it from the profiles' status */
        const struct usage_source_state *source = notice_usage_source(w->notices);
        if (source->away) {
                v->source_error = arena_text(&v->arena, text_of(source->error));
                v->source_since_ms = source->since_ms;
        }
        v->changes = change_log_table(w->cache, v->at);
        snapshot_keep(v, v->changes, snapshot_drop_changes);
        snapshot_finish(v);
        return v;
}

const struct snapshot *snapshot_show_published(struct snapshot_writer *w, struct arena *scratch)
{
        if (w->next)
                snapshot_add_recommendations(w->cache, scratch, w->next);
        return w->next;
}

struct snapshot_writer *snapshot_writer_new(const struct snapshot_writer_options *o)
{
        struct snapshot_writer *w = MEM_NEW(struct snapshot_writer);
        *w = (struct snapshot_writer){
                .loop = o->loop,
                .cache = o->cache,
                .live = o->live,
                .skew = o->skew,
                .notices = o->notices,
                .safety = o->safety,
        };
        return w;
}

void snapshot_writer_free(struct snapshot_writer *w)
{
        if (!w)
                return;
        snapshot_drop(w->next);
        mem_free(w);
}
