/*
 * Canaries are some workloads of a profile, or some pods of a workload, that halflife changes before the others. This
 * file chooses the workloads that go first, and decides when the other workloads or pods may follow. Each target's
 * apply state has all that is needed, so a canary goes on after a restart.
 */
#include <stdlib.h>

#include "base/yaml.h"
#include "cache/apply_state.h"
#include "cache/pod_canary.h"
#include "cache/profile_fuse.h"
#include "safety_private.h"

/* --- workloads of a profile --- */

static uint32_t canary_target_rank(const struct target *t)
{
        return canary_rank_of(text_of(t->ns), text_of(t->kind), text_of(t->name));
}

/* Whether a workload may be in the canary: not if it opted out of changes, or its namespace did. */
static bool may_be_first(struct safety *safety, const struct target *t)
{
        return !t->workload->apply_never && !ns_find(safety->cache, t->ns)->apply_never;
}

static void canary_choose(struct safety *safety, struct target *t)
{
        struct canary_group *g = profile_canary_group(t->profile, t->ns);
        uint32_t rank = canary_target_rank(t);
        if (!may_be_first(safety, t))
                return;
        target_set_canary(t, canary_chosen(rank, t->profile->spec->apply.canary.percent), false);
        g->tally.workloads += t->canary;
        if (!g->first || rank < canary_target_rank(g->first))
                g->first = t;
}

static struct canary_tally canary_tally_of(const struct target *t, int64_t now_ms)
{
        const struct apply_state *d = &t->apply_state;
        bool changed = d->passed_ms != 0 || t->rolling;
        bool passed = !t->rolling && d->passed_ms >= d->changed_ms &&
                      canary_passed(d->passed_ms, now_ms, t->profile->spec->apply.guard.watch_ms);
        return (struct canary_tally){
                .changed = changed,
                .passed = changed && passed,
                .reverted = guard_holds(t, (struct wall){now_ms}),
                .due = t->due,
        };
}

static bool tries_workloads(const struct target *t)
{
        return t->workload && t->profile && canary_among(t->profile);
}

/* Each namespace has a canary: where the profile's percentage chose no workload, choose the one with the lowest
 * rank. */
static void canary_choose_first(struct profile *p)
{
        struct canary_group *g;
        for (size_t at = 0; (g = map_each(&p->canary_groups, &at));)
                if (g->first && g->tally.workloads == 0) {
                        target_set_canary(g->first, true, false);
                        g->tally.workloads = 1;
                }
}

static void canary_close(struct profile *p)
{
        struct canary_group *g;
        bool closed =
                canary_among(p) && p->canary_groups.count == 0; /* no canary is chosen yet, so all workloads wait */
        for (size_t at = 0; (g = map_each(&p->canary_groups, &at));) {
                g->closed = !canary_is_complete(&g->tally);
                closed |= g->closed;
        }
        profile_canary_end(p, closed);
}

void canary_settle(struct safety *safety)
{
        struct profile *p;
        struct target *t;
        bool before = safety->canaries;
        safety->canaries = false;
        int64_t now_ms = loop_now(safety->loop).wall.ms;
        for (size_t at = 0; (p = map_each(&safety->cache->profiles, &at));) {
                safety->canaries |= canary_among(p);
                profile_canary_begin(p);
        }
        if (!before && !safety->canaries)
                return;
        for (size_t at = 0; (t = map_each(&safety->cache->targets, &at));) {
                target_set_canary(t, false, false);
                if (tries_workloads(t))
                        canary_choose(safety, t);
        }
        for (size_t at = 0; (p = map_each(&safety->cache->profiles, &at));)
                canary_choose_first(p);
        for (size_t at = 0; (t = map_each(&safety->cache->targets, &at));)
                if (t->canary) {
                        const struct canary_tally more = canary_tally_of(t, now_ms);
                        canary_tally_add(&profile_canary_group(t->profile, t->ns)->tally, &more);
                }
        for (size_t at = 0; (p = map_each(&safety->cache->profiles, &at));)
                canary_close(p);
        for (size_t at = 0; (t = map_each(&safety->cache->targets, &at));)
                if (!t->canary && tries_workloads(t) && profile_canary_group(t->profile, t->ns)->closed)
                        target_set_canary(t, false, true);
}

/* --- observing a canary --- */

/* Whether the target's pods, or its canary pods, run with halflife's last change by now. */
static bool canary_in_force(const struct target *t, const struct plan *p)
{
        const struct apply_policy *a = &t->profile->spec->apply;
        if (a->mode == APPLY_IN_PLACE)
                return p->resize.first_behind == 0;
        return (a->mode == APPLY_ON_DEPLOY && a->at == AT_POD) || rollout_done(t->workload);
}

static int64_t passed_since(const struct target *t, const struct plan *p)
{
        const struct apply_state *d = &t->apply_state;
        bool tried = t->apply_state.pod_canary || (t->canary && p->carries);
        bool known = d->passed_ms > 0 && d->passed_ms >= d->changed_ms && d->passed_ms <= p->now.ms;
        if (!tried)
                return 0;
        return known ? d->passed_ms : canary_in_force(t, p) ? p->now.ms : -1;
}

/* Whether another decrease of a canary workload is due, or waits only for its window or budget. The workloads outside
 * the canary wait for this decrease as well. */
static bool is_due(const struct plan *p)
{
        for (int i = 0; i < p->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct plan_container *c = &p->container[i];
                        const struct gate_verdict *g = &c->advice.gate[r];
                        bool passes = !g->hold || g->hold == REASON_OUTSIDE_WINDOW || g->hold == REASON_BUDGET;
                        if (passes && plan_wants_change(c, r) &&
                            c->advice.of[r].target.value < c->facts.current[r].value)
                                return true;
                }
        return false;
}

void canary_watch(struct safety *safety, struct target *t, const struct plan *p)
{
        target_set_due(t, t->canary && t->profile && t->profile->spec->apply.mode == APPLY_ROLLOUT && is_due(p));
        if (!t->profile)
                return;
        int64_t passed_ms = passed_since(t, p);
        if (passed_ms == t->apply_state.passed_ms)
                return;
        apply_state_passed(t, passed_ms);
        checkpointer_apply_state(safety->checkpointer, t);
}

/* --- pods of a workload --- */

/* The present request of a container on the pods outside the canary. */
static struct amount canary_stands(const struct target *t, const struct plan_container *c, enum resource r)
{
        const struct record_row *baseline = pod_canary_baseline(t, c->name);
        struct amount a = t->apply_state.pod_canary ? (baseline ? baseline->request[r] : (struct amount){0})
                                                    : c->facts.current[r];
        return a.set ? a : c->facts.original[r];
}

static bool canary_lowers(const struct plan *p)
{
        for (int i = 0; i < p->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct plan_container *c = &p->container[i];
                        const struct gate_verdict *g = &c->advice.gate[r];
                        struct amount now = canary_stands(p->target, c, r),
                                      to = g->hold ? c->facts.current[r] : (struct amount){true, g->value};
                        if (c->role != ROLE_INJECTED && now.set && to.set && to.value < now.value)
                                return true;
                }
        return false;
}

static bool has_rest(const struct target *t)
{
        size_t n = 0;
        for (const struct pod *p = t->pods; p; p = target_next_pod(t, p))
                n += p->running;
        return canary_share(n, t->profile->spec->apply.canary.percent) < n;
}

static char *canary_standing(const struct plan *p)
{
        AUTO(json_decref) json_t *list = json_array();
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                json_t *row = json_pack("{s:s}", "name", c->name);
                for (enum resource r = CPU; r < RESOURCES && c->role != ROLE_INJECTED; r++) {
                        struct amount now = canary_stands(p->target, c, r);
                        now.set = now.set && now.value < c->facts.original[r].value;
                        amount_put(row, resource_name(r), r, now);
                }
                if (json_object_size(row) > 1)
                        json_array_append_new(list, row);
                else
                        json_decref(row);
        }
        char *text = json_dumps(list, JSON_SORT_KEYS | JSON_COMPACT), *own = mem_string(text);
        free(text);
        return own;
}

char *canary_rest(const struct safety *safety, const struct plan *p)
{
        return safety->cache->resize != RESIZE_ABSENT && has_rest(p->target) && canary_lowers(p) ? canary_standing(p)
                                                                                                 : NULL;
}

/* Whether the canary pods have passed their watch time. They have not while the change is held for harm, a fuse is
 * blown, or a kill is still to be judged. */
static bool canary_has_passed(const struct safety *safety, const struct target *t, struct wall now)
{
        const struct apply_state *d = &t->apply_state;
        bool harms = guard_holds(t, now) || (d->guard && d->guard->kill.at.ms);
        return !safety->fuse.blown && !target_fused(t) && !harms &&
               canary_passed(d->passed_ms, now.ms, t->profile->spec->apply.guard.watch_ms);
}

void canary_follow(struct safety *safety, struct target *t)
{
        struct wall now = loop_now(safety->loop).wall;
        if (!t->apply_state.pod_canary || !t->profile)
                return;
        if (!canary_has_passed(safety, t, now) && t->profile->spec->apply.canary.percent < 100 && in_place(t)) {
                canary_mark(t);
                return;
        }
        pod_canary_end(safety->cache, t);
        apply_state_passed(t, 0);
        if (in_place(t)) {
                apply_state_followed(t, now);
                guard_changed(t, guard_state_survey(t), now);
        }
        checkpointer_apply_state(safety->checkpointer, t);
        if (!in_place(t))
                return;
        notice_event(safety->notices, t, false, "Followed", "the canary passed: its requests are set on all pods");
        log_info("the canary passed: its requests are set on all pods", KV("namespace", t->ns), KV("kind", t->kind),
                 KV("name", t->name), KV_INT("cycle", notice_cycle(safety->notices)));
}
