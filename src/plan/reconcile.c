/*
 * Makes the plan for a target: gathers facts from the cache, lets core judge them, and adds conditions. No I/O.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/noun.h"
#include "cache/guard_state.h"
#include "cache/pod_namespace_targets.h"
#include "cache/profile_fuse.h"
#include "core/original_request.h"
#include "plan/autoscaler_plan.h"
#include "plan/plan.h"

/* --- originals --- */

static const struct record_row *reconcile_row_of(const struct record_set *s, const char *container)
{
        for (int i = 0; i < s->rows; i++)
                if (s->row[i].container == container)
                        return &s->row[i];
        return NULL;
}

/* Fill in a container's original and current requests. The apply state tells what admission made of the requests that
 * halflife wrote last. */
static void reconcile_originate(const struct target *t, const struct container_spec *spec,
                                const struct range_facts *range, struct plan_container *c)
{
        const struct workload *wl = t->workload;
        const struct record_row *applied = reconcile_row_of(&wl->applied, spec->name),
                                *original = reconcile_row_of(&wl->original, spec->name),
                                *made = reconcile_row_of(&t->apply_state.made, spec->name);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct original_request o = original_request_read(&(struct original_request_facts){
                        .request = spec->request[r],
                        .limit = spec->limit[r],
                        .range_default = range->default_request[r],
                        .applied = applied ? applied->request[r] : (struct amount){0},
                        .recorded = original,
                        .original = original ? original->request[r] : (struct amount){0},
                        .changed = made,
                        .admitted = made ? made->request[r] : (struct amount){0},
                });
                c->ours[r] = o.ours;
                c->reset[r] = o.reset;
                c->raw[r] = o.raw;
                c->raw_limit[r] = spec->limit[r];
                c->facts.original[r] = o.effective;
                c->facts.current[r] = o.current;
                c->facts.limit[r] = spec->limit[r].set ? spec->limit[r] : range->default_limit[r];
                const struct request_reader *reader = request_readers_find(&workload_more(wl)->readers, spec->name, r);
                c->facts.read_least[r] = request_reading_least(reader ? reader->divisor : 0, o.effective);
        }
        struct runtime_heap heap = runtime_heaps_find(&workload_more(wl)->heaps, spec->name);
        c->facts.heap_start = runtime_heap_start(&heap, c->facts.limit[MEMORY]);
}

void plan_originals(const struct cache *w, const struct target *t, const struct pod_container *pc,
                    struct amount ret[static RESOURCES])
{
        struct range_facts range;
        struct plan_container c = {.facts.original = {pod_request(pc, CPU), pod_request(pc, MEMORY)}};
        const struct workload *wl = t ? t->workload : NULL;
        if (wl)
                range_facts(w, t->ns, &range);
        for (int i = 0; wl && i < wl->containers; i++)
                if (wl->container[i].name == pc->name)
                        reconcile_originate(t, &wl->container[i], &range, &c);
        memcpy(ret, c.facts.original, sizeof c.facts.original);
}

double plan_cpu_weight(const struct cache *w, const struct target *t, const struct pod_container *pc)
{
        struct amount original[RESOURCES];
        plan_originals(w, t, pc, original);
        return original[CPU].set ? (double)original[CPU].value / 1e3 : 0;
}

/* --- containers --- */

static const struct pod *newest_pod(const struct target *t)
{
        const struct pod *newest = NULL;
        for (const struct pod *p = t->pods; p; p = target_next_pod(t, p))
                if (!p->finished && (!newest || p->created_ms > newest->created_ms))
                        newest = p;
        return newest;
}

/* The newest pod that does not run with originals just for its start; `newest` if there is no such pod. */
static const struct pod *newest_settled(const struct plan *plan, const struct pod *newest)
{
        const struct pod *settled = NULL;
        for (const struct pod *p = plan->target->pods; plan->starts && p; p = target_next_pod(plan->target, p))
                if (!p->finished && !startup_holds_original(startup_stage_in(plan, p)) &&
                    (!settled || p->created_ms > settled->created_ms))
                        settled = p;
        return settled ? settled : newest;
}

static const struct pod_container *container_of_pod(const struct pod *p, const char *name)
{
        for (int i = 0; p && i < p->containers; i++)
                if (p->container[i].name == name)
                        return &p->container[i];
        return NULL;
}

static const struct status_container *published_row(const struct target *t, const char *container)
{
        for (int i = 0; t->published && i < t->published->status.containers; i++)
                if (t->published->status.container[i].name == container)
                        return &t->published->status.container[i];
        return NULL;
}

/* The longest time, in ms, that a running pod of the target has gone without a sample of this container. */
static int64_t silence_of(const struct target *t, const char *container, struct wall now)
{
        int64_t longest = 0;
        for (const struct pod *p = t->pods; p; p = target_next_pod(t, p)) {
                const struct pod_container *c = p->running ? container_of_pod(p, container) : NULL;
                if (!c)
                        continue;
                int64_t since = c->watermark.last_ms > pod_started_ms(p) ? c->watermark.last_ms : pod_started_ms(p);
                if (since > 0 && now.ms - since > longest)
                        longest = now.ms - since;
        }
        return longest;
}

/*
 * Does halflife still have the history that led to the published target value? Then Learning means that the profile now
 * asks for a longer history, and the published value no longer counts. If the history was lost, the published value
 * stays in force. Times are compared in whole seconds, as the status has them.
 */
static bool is_here(const struct target *t, const struct status_container *row, const struct history *h)
{
        bool stood_alone = row->state == STATE_NO_DATA || row->state == STATE_LEARNING;
        return h && !stood_alone && h->usage.first_ms / SECOND_MS <= t->published->status.since_ms / SECOND_MS;
}

static void reconcile_learn(const struct cache *w, const struct target *t, const struct plan_facts *f,
                            struct plan_container *c)
{
        const struct history *h = history_find(t, c->name);
        struct recommend_facts facts = {
                .now = f->now.wall,
                .interval_ms = f->interval_ms,
                .silent_ms =
                        t->dimension ? dimension_silence(w, t, h, f->now.wall) : silence_of(t, c->name, f->now.wall),
                .by_runs = t->workload->kind->flags & KIND_BY_RUNS,
                .min_history_ms = t->profile ? t->profile->spec->apply.min_history_ms : 0,
                .early = t->profile && !t->dimension ? &t->profile->spec->apply.early : NULL,
        };
        recommend(h ? &h->usage : NULL, c->facts.policy, &facts, &c->facts.learned);
        const struct status_container *row = published_row(t, c->name);
        bool young = row && c->facts.learned.state == STATE_LEARNING && is_here(t, row, h);
        for (int r = 0; row && !young && r < RESOURCES; r++)
                if (row->of[r].learned) /* an unlearned target value was just the owner's request, which may change */
                        c->facts.last_good[r] = amount_of_status(row->of[r].target);
}

static void reconcile_policy_of(const struct target *t, struct arena *a, struct plan_container *c)
{
        if (t->profile) {
                c->facts.policy = profile_spec_container(t->profile->spec, text_of(c->name), &c->facts.ignored);
                return;
        }
        /* without a profile (orphaned), the published target values stay in force */
        struct resource_policy *p = arena_new(a, RESOURCES * sizeof *p);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                resource_policy_defaults(r, &p[r]);
                p[r].enabled = true;
                p[r].min = 0;
        }
        c->facts.policy = p;
        c->facts.unasked = true;
}

static bool in_template(const struct workload *wl, const char *name)
{
        for (int i = 0; i < wl->containers; i++)
                if (wl->container[i].name == name)
                        return true;
        return false;
}

static struct plan_container *add_injected(struct plan *plan, const char *name)
{
        struct plan_container *c = &plan->container[plan->containers++];
        c->name = name;
        c->role = c->facts.role = ROLE_INJECTED;
        return c;
}

static void reconcile_injected(const struct pod *newest, struct plan *plan)
{
        for (int i = 0; i < newest->containers; i++) {
                const struct pod_container *pc = &newest->container[i];
                if (pc->role == ROLE_INIT || in_template(plan->target->workload, pc->name))
                        continue;
                struct plan_container *c = add_injected(plan, pc->name);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        c->facts.original[r] = c->facts.current[r] = c->raw[r] = pod_request(pc, r);
                        c->facts.limit[r] = pod_limit(pc, r);
                }
        }
}

/* Without pods, injected containers are unknown: take them from the published status, so that new pods get the learned
 * target values. */
static void injected_before(const struct target *t, struct plan *plan)
{
        for (int i = 0; t->published && i < t->published->status.containers; i++) {
                const struct status_container *row = &t->published->status.container[i];
                if (row->role != ROLE_INJECTED || in_template(t->workload, row->name) || !history_find(t, row->name))
                        continue;
                struct plan_container *c = add_injected(plan, row->name);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        c->facts.original[r] = c->facts.current[r] = c->raw[r] = amount_of_status(row->of[r].original);
        }
}

enum apply_mode plan_mode_of(const struct target *t)
{
        return t->profile && dimension_writes(t) ? t->profile->spec->apply.mode : APPLY_RECOMMEND;
}

/* Does halflife set requests on pods at admission? The template then keeps the owner's requests, and only pods have
 * halflife's. */
static bool writes_pods(const struct target *t)
{
        return plan_mode_of(t) == APPLY_ON_DEPLOY && t->profile->spec->apply.at == AT_POD;
}

static bool reconcile_is_lowered(const struct plan_container *c, enum resource r)
{
        struct amount original = c->facts.original[r], running = c->running[r];
        return original.set && running.set && running.value < original.value;
}

static void gather_whole(const struct cache *w, struct plan *plan, const struct plan_facts *f, struct arena *a)
{
        struct plan_container *c = &plan->container[plan->containers];
        dimension_whole(w, plan->target, plan, c);
        reconcile_policy_of(plan->target, a, c);
        reconcile_learn(w, plan->target, f, c);
        plan->containers++;
}

static void reconcile_gather(const struct cache *w, struct plan *plan, const struct range_facts *range,
                             const struct plan_facts *f, struct arena *a)
{
        const struct target *t = plan->target;
        const struct workload *wl = t->workload;
        const struct other_autoscaler *other = wl->other_autoscaler;
        const struct pod *newest = newest_pod(t), *settled = newest_settled(plan, newest);
        int most = wl->containers + (newest ? newest->containers : t->published ? t->published->status.containers : 0);
        plan->container = arena_new(a, sizeof *plan->container * (size_t)(most + 1));
        for (int i = 0; i < wl->containers; i++) {
                struct plan_container *c = &plan->container[plan->containers++];
                c->name = wl->container[i].name;
                c->role = c->facts.role = wl->container[i].role;
                reconcile_originate(t, &wl->container[i], range, c);
        }
        if (newest)
                reconcile_injected(newest, plan);
        else
                injected_before(t, plan);
        for (int i = 0; i < plan->containers; i++) {
                struct plan_container *c = &plan->container[i];
                const struct pod_container *pc = container_of_pod(settled, c->name);
                reconcile_policy_of(t, a, c);
                reconcile_learn(w, t, f, c);
                if (in_place(t))
                        resize_setting(t, c);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        struct amount running = pc ? pod_request(pc, r) : (struct amount){0};
                        c->facts.other_autoscaler[r] = other && vpa_policy_sets(other->policy, text_of(c->name), r);
                        c->running[r] = running.set ? running : c->facts.current[r];
                        if (writes_pods(t))
                                c->facts.current[r] = c->running[r];
                        plan->carries |= c->ours[r] || (writes_pods(t) && reconcile_is_lowered(c, r));
                }
        }
        if (t->dimension != DIMENSION_WORKLOAD)
                gather_whole(w, plan, f, a);
}

static void reconcile_summarize(struct plan *plan)
{
        bool any = false;
        for (int i = 0; i < plan->containers; i++) {
                const struct plan_container *c = &plan->container[i];
                const struct history *h = history_find(plan->target, c->name);
                if (!plan_counts(c))
                        continue;
                enum state s = c->facts.learned.state;
                plan->state = any ? state_least(plan->state, s) : s;
                if (!any || c->facts.learned.confidence_percent < plan->confidence_percent)
                        plan->confidence_percent = c->facts.learned.confidence_percent;
                any = true;
                if (!h)
                        continue;
                plan->samples += h->usage.samples;
                plan->kills += h->usage.kills;
                if (h->usage.first_ms && (!plan->since_ms || h->usage.first_ms < plan->since_ms))
                        plan->since_ms = h->usage.first_ms;
                if (h->usage.newest_ms > plan->last_ms)
                        plan->last_ms = h->usage.newest_ms;
        }
}

/* --- the rollout --- */

/* Does the profile name the kind that rolls out the workload's template? */
static bool reconcile_is_named(const struct target *t)
{
        const struct workload *wl = t->workload;
        const struct watched_kind *by = workload_more(wl)->rollout_ref.kind, *k = by ? by : wl->kind;
        for (int i = 0; t->profile && i < t->profile->spec->targets; i++) {
                struct text group = kind_group(text_of(t->profile->spec->target[i].api_version));
                if (text_is(group, k->group) && strcmp(t->profile->spec->target[i].kind, k->kind) == 0)
                        return true;
        }
        return false;
}

static void rollout_facts(const struct target *t, struct plan *plan)
{
        const struct workload *wl = t->workload;
        const char *why = rollout_blocked(wl, reconcile_is_named(t));
        int least = t->profile ? t->profile->spec->apply.min_replicas : 1;
        if (wl->kind->flags & KIND_BY_RUNS || t->dimension != DIMENSION_WORKLOAD)
                return;
        if (why)
                snprintf(plan->blocked, sizeof plan->blocked, "%s", why);
        else if (workload_replicas(wl) < least && strcmp(wl->kind->kind, "DaemonSet") != 0)
                snprintf(plan->blocked, sizeof plan->blocked, "it has %s, minReplicas is %d",
                         NOUN_COUNT(workload_replicas(wl), "replica"), least);
}

/* --- others that set the requests --- */

/* The field manager that owns a request by server-side apply, and whose next apply would fail after a patch by
 * halflife; NULL: none. */
static const char *foreign_manager(const struct plan *plan)
{
        const struct workload *wl = plan->target->workload;
        for (int i = 0; i < wl->foreigns; i++)
                for (int k = 0; k < plan->containers; k++) {
                        const struct plan_container *c = &plan->container[k];
                        if (c->name != wl->foreign[i].container || c->facts.ignored)
                                continue;
                        for (int r = 0; r < RESOURCES; r++)
                                if (wl->foreign[i].of[r] && c->facts.policy[r].enabled)
                                        return wl->foreign[i].manager;
                }
        return NULL;
}

static void contest_facts(struct plan *plan)
{
        const struct target *t = plan->target;
        const char *manager =
                t->profile && t->profile->spec->apply.mode == APPLY_ROLLOUT ? foreign_manager(plan) : NULL;
        plan->contested = manager || t->apply_state.contested_ms > plan->now.ms;
        if (!plan->contested)
                return;
        struct plan_condition *c = plan_say(plan, "Contested", true, manager ? "OwnedByApply" : "ChangedBack");
        if (manager) {
                snprintf(c->message, sizeof c->message,
                         "'%s' owns the requests by server-side apply; drop them from what it applies, or use OnDeploy "
                         "at Pod, or InPlace",
                         manager);
        } else {
                char until[WALL_TEXT_MAX];
                snprintf(c->message, sizeof c->message, "%.270s; left alone until %s",
                         t->apply_state.contest ? t->apply_state.contest : "somebody put it back",
                         wall_print((struct wall){t->apply_state.contested_ms}, until));
        }
}

static bool is_managed(const struct target *t, struct plan *plan)
{
        const struct controller_owner *owner = &t->workload->owner_ref;
        if (!owner->kind || in_place(t)) /* mode InPlace never writes the template */
                return false;
        struct plan_condition *c = plan_say(plan, "Managed", true, "OwnedByController");
        snprintf(c->message, sizeof c->message, "its template is written by %s '%s' (%s): set the requests there",
                 owner->kind, owner->name, owner->api_version);
        return true;
}

/* --- judging --- */

static void reconcile_judge(const struct cache *w, struct plan *plan, const struct range_facts *range,
                            const struct plan_facts *f, struct arena *a)
{
        const struct target *t = plan->target;
        const struct workload *wl = t->workload;
        static const struct apply_policy none = {.mode = APPLY_RECOMMEND, .max_decrease_percent = 100};
        struct apply_policy apply = t->profile ? t->profile->spec->apply : none;
        const struct ns *ns = ns_find(w, t->ns);
        apply.mode = plan_mode_of(t);
        if (t->dimension != DIMENSION_NODE) /* a node's target is in halflife's own namespace, which is always exempt */
                plan->opted_out = opted_out_word(wl, ns, f->apply_never);
        plan->unfilled = t->backfilled ? NULL : ns->refusal.why;
        struct decide_facts facts = {
                .workload =
                        {
                                .now = f->now.wall,
                                .apply = &apply,
                                .state = plan->state,
                                .apply_never = plan->opted_out != NULL,
                                .source_away = f->source_away,
                                .paused = t->profile && (t->profile->spec->paused || t->profile->error),
                                .immutable = (wl->kind->flags & KIND_IMMUTABLE) && !in_place(t),
                                .in_place_only = wl->in_place_only && !in_place(t),
                                .contested = plan->contested,
                                .managed = plan->managed,
                                .orphaned = plan->orphaned,
                                .held = plan->held,
                                .guarded = plan->guarded,
                                .rollout_blocked = plan->blocked[0] != '\0' && !in_place(t),
                                .canary_waits = t->waits,
                                .window_open = !t->profile || t->profile->window_open,
                                .profile_fused = target_fused(t),
                                .fuse_blown = f->fuse_blown,
                                .changed_ms = t->apply_state.changed_ms,
                                .after_kill = t->kill_ms && t->kill_ms >= whole_second(t->apply_state.changed_ms),
                        },
        };
        autoscaler_plan_facts(plan, f->now.wall, a);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                facts.hpa_holds[r] = plan->hpa_holds[r];
                facts.hpa_shared[r] = plan->hpa_shared[r];
                facts.hpa_stands[r] = plan->hpa_stands[r];
                facts.pod_asks[r] = workload_more(wl)->pod_asks[r].set;
                facts.range_min[r] = range->min[r];
                facts.range_ratio[r] = range->ratio[r];
                facts.pod_min[r] = range->pod_min[r];
                facts.pod_ratio[r] = range->pod_ratio[r];
        }
        size_t n = (size_t)plan->containers;
        struct decide_container *c = arena_new(a, (n + 1) * sizeof *c);
        struct advice *advice = arena_new(a, (n + 1) * sizeof *advice);
        for (size_t i = 0; i < n; i++)
                c[i] = plan->container[i].facts;
        bool whole = n > 0 && c[n - 1].role == ROLE_WHOLE;
        plan->apply = decide_rollout(&facts, c, n - whole, advice);
        if (whole) { /* the last row, of the whole pod, is judged alone, not with the containers */
                const struct decide_facts alone = {.workload = facts.workload};
                decide_rollout(&alone, &c[n - 1], 1, &advice[n - 1]);
        }
        for (size_t i = 0; i < n; i++)
                plan->container[i].advice = advice[i];
}

/* --- the whole --- */

void plan_judge(const struct cache *w, struct target *t, const struct plan_facts *f, struct arena *a, struct plan *ret)
{
        assert(t->workload);
        *ret = (struct plan){.target = t, .now = f->now.wall};
        struct range_facts range = {0};
        if (!target_is_sum(t)) /* a LimitRange bounds pods and containers only */
                range_facts(w, t->ns, &range);
        else
                dimension_bounds(w, ret);
        startup_begin(w, ret);
        reconcile_gather(w, ret, &range, f, a);
        reconcile_summarize(ret);
        rollout_facts(t, ret);
        contest_facts(ret);
        ret->managed = is_managed(t, ret);
        ret->unrecorded = t->workload->original.broken || t->workload->applied.broken;
        ret->held = ret->unrecorded || t->hold;
        ret->carries |= plan_mode_of(t) == APPLY_RECOMMEND && resize_stands(t);
        ret->orphaned = plan_mode_of(t) == APPLY_RECOMMEND && ret->carries;
        ret->guarded = guard_holds(t, f->now.wall);
        if (ret->contested || ret->orphaned || ret->held || ret->guarded)
                ret->state = STATE_HELD;
        reconcile_judge(w, ret, &range, f, a);
        startup_judge(ret, newest_pod(t));
        plan_ask_quota(w, ret);
}

void plan_finish(const struct cache *w, const struct plan_facts *f, struct arena *a, struct plan *p)
{
        struct range_facts range = {0};
        if (!target_is_sum(p->target))
                range_facts(w, p->target->ns, &range);
        autoscaler_plan_targets(p, &range, f, a);
        resize_survey(w, f, p);
        conditions_say(p);
}
