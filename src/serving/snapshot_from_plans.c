#include "serving/snapshot_from_plans.h"

#include "cache/pod_canary.h"
#include "cache/pod_namespace_targets.h"
#include "plan/autoscaler_plan.h"
#include "serving/snapshot_build.h"
#include "serving/utilization.h"

#include <string.h>

struct snapshot_writer {
        struct loop *loop;
        struct cache *cache;
        const struct live_settings *live;
        struct clock_skew *skew;
        struct report *report;
        struct safety *safety;
        struct snapshot *next; /* of the pass under way; NULL: nobody reads */
};

/* --- targets --- */

/* What an answer of ours made of the request: what stands below the original; of a trial, what new pods get. */
static snapshot_amount applied_of(const struct target *t, const struct plan_container *c, enum resource r)
{
        struct amount current = c->facts.current[r], original = c->facts.original[r];
        const struct record_row *resting = pod_canary_resting(t, c->name);
        if (t->apply_state.pod_canary)
                current = resting ? resting->request[r] : (struct amount){0};
        return current.set && original.set && current.value < original.value ? current.value : -1;
}

static struct snapshot_numbers snapshot_numbers_of(const struct target *t, const struct plan_container *c,
                                                   enum resource r)
{
        const struct amount target = plan_amount_of(c, r, PLAN_TARGET), original = plan_amount_of(c, r, PLAN_ORIGINAL);
        enum reason rule = c->advice.of[r].reason;
        bool below = target.set && original.set && target.value < original.value;
        return (struct snapshot_numbers){
                .original = snapshot_amount_of(original),
                .current = snapshot_amount_of(plan_amount_of(c, r, PLAN_CURRENT)),
                .model = snapshot_amount_of(plan_amount_of(c, r, PLAN_MODEL)),
                .target = snapshot_amount_of(target),
                .lower = snapshot_amount_of(plan_amount_of(c, r, PLAN_LOWER)),
                .upper = snapshot_amount_of(plan_amount_of(c, r, PLAN_UPPER)),
                .applied = applied_of(t, c, r),
                .limit = c->facts.limit[r].set ? c->facts.limit[r].value : 0,
                .reason = (uint8_t)c->advice.reason[r],
                .learned = below && rule != REASON_STATIC,
                .by_kill = c->facts.learned.of[r].by_kill,
        };
}

static const struct snapshot_container *snapshot_containers_of(struct snapshot *v, const struct plan *p)
{
        struct snapshot_container *to = arena_new(&v->arena, (size_t)p->containers * sizeof *to);
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                to[i].name = snapshot_name(v, c->name);
                to[i].role = (uint8_t)c->role;
                to[i].state = (uint8_t)c->facts.learned.state;
                to[i].ignored = c->facts.ignored;
                for (enum resource r = CPU; r < RESOURCES; r++)
                        to[i].of[r] = snapshot_numbers_of(p->target, c, r);
        }
        return to;
}

static const struct snapshot_condition *conditions_of(struct snapshot *v, const struct plan *p)
{
        struct snapshot_condition c[PLAN_CONDITIONS];
        for (int i = 0; i < p->conditions; i++)
                c[i] = (struct snapshot_condition){p->condition[i].type, p->condition[i].reason,
                                                   p->condition[i].status};
        return snapshot_conditions(v, c, (size_t)p->conditions);
}

static struct snapshot_target *snapshot_row_of(struct snapshot *v, const struct target *t)
{
        struct snapshot_target *to = snapshot_row_new(
                v, &(struct snapshot_row_name){t->ns, t->group, t->version, t->kind, t->name, t->recommendation});
        if (t->published && t->published->hold)
                to->hold = arena_text(&v->arena, text_of(t->published->hold));
        return to;
}

void snapshot_show_target(struct snapshot_writer *w, const struct plan *p)
{
        struct snapshot *v = w->next;
        const struct target *t = p->target;
        const struct workload *wl = t->workload;
        if (!v)
                return;
        struct snapshot_target *to = snapshot_row_of(v, t);
        struct labels own = workload_own_labels(wl);
        to->labels = snapshot_labels(v, own.pair, own.count, &to->labels_size);
        to->profile = t->profile ? t->profile->shown : NULL;
        to->state = (uint8_t)p->state;
        to->contested = p->contested;
        to->orphaned = p->orphaned;
        to->apply_never = wl->apply_never;
        to->other_autoscaler = wl->rival != NULL;
        to->in_place_only = wl->in_place_only;
        to->waits = t->waits;
        to->never_written = !dimension_writes(t);
        for (enum resource r = CPU; r < RESOURCES; r++)
                to->pod_asks[r] = workload_more(wl)->pod_asks[r].set;
        for (enum resource r = CPU; r < RESOURCES; r++)
                to->hpa_holds[r] = plan_deploys_original(p, r);
        to->quota = snapshot_quota_new(v, p->quota_hard, p->quota_used);
        to->replicas = workload_replicas(wl);
        for (enum resource r = CPU; r < RESOURCES; r++)
                to->saving[r] = plan_saving(p, r);
        to->samples = p->samples;
        to->since_ms = p->since_ms;
        to->last_ms = p->last_ms;
        to->applied_ms = t->apply_state.changed_ms;
        to->confidence_percent = p->confidence_percent;
        to->containers = (uint16_t)p->containers;
        to->container = snapshot_containers_of(v, p);
        to->conditions = (uint16_t)p->conditions;
        to->condition = conditions_of(v, p);
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

/* An autoscaler takes a pod without a value for one not measured; an old value it would take for the present one. */
static int64_t snapshot_fresh_ms(const struct snapshot_writer *w)
{
        enum { INTERVALS = 3, LEAST_MS = 2 * MINUTE_MS };
        int64_t ms = INTERVALS * w->live->interval_ms;
        return ms > LEAST_MS ? ms : LEAST_MS;
}

struct snapshot *snapshot_end(struct snapshot_writer *w)
{
        struct snapshot *v = STEAL(&w->next);
        if (!v)
                return snapshot_new();
        snapshot_add_namespaces(w->cache, v);
        snapshot_add_hpas(w->cache, v);
        snapshot_add_utilization(w->cache, (struct wall){clock_skew_earlier(w->skew)}, snapshot_fresh_ms(w), v);
        snapshot_add_other_autoscalers(w->cache, v);
        v->at = loop_now(w->loop).wall;
        v->apply_never = w->live->apply_never;
        v->fuse_blown |= fuse_blown(w->safety) != NULL; /* a replica has read it already */
        const struct usage_source *source = report_usage_source(w->report);
        if (source->away) {
                v->source_error = arena_text(&v->arena, text_of(source->error));
                v->source_since_ms = source->since_ms;
        }
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
                .report = o->report,
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
