/*
 * Canaries: which workloads of a profile are changed first and when the others may follow, and when what is set has
 * been tried on enough pods. All of it follows from what was done to each target and is stored with that.
 */
#include <stdlib.h>

#include "base/yaml.h"
#include "cache/apply_state.h"
#include "cache/pod_canary.h"
#include "safety_private.h"

/* --- workloads of a profile --- */

static uint32_t canary_target_rank(const struct target *t)
{
        return canary_rank_of(text_of(t->ns), text_of(t->kind), text_of(t->name));
}

/* Who opted out tries nothing. */
static bool may_be_first(struct safety *safety, const struct target *t)
{
        return !t->workload->apply_never && !ns_get(safety->cache, text_of(t->ns))->apply_never;
}

static void canary_choose(struct safety *safety, struct target *t)
{
        struct profile *p = t->profile;
        uint32_t rank = canary_target_rank(t);
        if (!may_be_first(safety, t))
                return;
        target_set_canary(t, canary_chosen(rank, p->spec->apply.canary.percent), false);
        p->canary.workloads += t->canary;
        if (!p->first || rank < canary_target_rank(p->first))
                p->first = t;
}

static void canary_count(struct canary_tally *to, const struct target *t, int64_t now_ms)
{
        const struct apply_state *d = &t->apply_state;
        bool changed = d->stood_ms != 0 || t->rolling;
        bool stood = !t->rolling && d->stood_ms >= d->changed_ms &&
                     canary_stood(d->stood_ms, now_ms, t->profile->spec->apply.guard.watch_ms);
        to->changed += changed;
        to->stood += changed && stood;
        to->taken_back += guard_holds(t, (struct wall){now_ms});
        to->due += t->due;
}

static bool tries_workloads(const struct target *t)
{
        return t->workload && t->profile && canary_among(t->profile);
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
                p->canary = (struct canary_tally){0};
                p->canary_closed = canary_among(p);
                p->first = NULL;
        }
        if (!before && !safety->canaries)
                return;
        for (size_t at = 0; (t = map_each(&safety->cache->targets, &at));) {
                target_set_canary(t, false, false);
                if (tries_workloads(t))
                        canary_choose(safety, t);
        }
        for (size_t at = 0; (p = map_each(&safety->cache->profiles, &at));)
                if (p->first && p->canary.workloads == 0) {
                        target_set_canary(p->first, true, false);
                        p->canary.workloads = 1;
                }
        for (size_t at = 0; (t = map_each(&safety->cache->targets, &at));)
                if (t->canary)
                        canary_count(&t->profile->canary, t, now_ms);
        for (size_t at = 0; (p = map_each(&safety->cache->profiles, &at));)
                p->canary_closed = canary_among(p) && !canary_opens(&p->canary);
        for (size_t at = 0; (t = map_each(&safety->cache->targets, &at));)
                target_set_canary(t, t->canary, !t->canary && tries_workloads(t) && t->profile->canary_closed);
}

/* --- what is seen of a canary --- */

/* Does what was changed last run by now? */
static bool canary_in_force(const struct target *t, const struct plan *p)
{
        const struct apply_policy *a = &t->profile->spec->apply;
        if (a->mode == APPLY_IN_PLACE)
                return p->resize.first_behind == 0;
        return (a->mode == APPLY_ON_DEPLOY && a->at == AT_POD) || rollout_done(t->workload);
}

static int64_t stood_since(const struct target *t, const struct plan *p)
{
        const struct apply_state *d = &t->apply_state;
        bool tried = t->apply_state.pod_canary || (t->canary && p->carries);
        bool known = d->stood_ms > 0 && d->stood_ms >= d->changed_ms && d->stood_ms <= p->now.ms;
        if (!tried)
                return 0;
        return known ? d->stood_ms : canary_in_force(t, p) ? p->now.ms : -1;
}

/* A further decrease that nothing but time, window or budget keeps back: who waits does so for that one as well. */
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
        int64_t stood_ms = stood_since(t, p);
        if (stood_ms == t->apply_state.stood_ms)
                return;
        apply_state_stood(t, stood_ms);
        checkpointer_apply_state(safety->checkpointer, t);
}

/* --- pods of a workload --- */

/* What stands of a container on those that are not tried on. */
static struct amount canary_stands(const struct target *t, const struct plan_container *c, enum resource r)
{
        const struct record_row *resting = pod_canary_resting(t, c->name);
        struct amount a =
                t->apply_state.pod_canary ? (resting ? resting->request[r] : (struct amount){0}) : c->facts.current[r];
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

/* Did what is tried stand? Not where it did harm, or may have: a kill is looked at after this. */
static bool canary_has_stood(const struct safety *safety, const struct target *t, struct wall now)
{
        const struct apply_state *d = &t->apply_state;
        bool harms = guard_holds(t, now) || (d->guard && d->guard->kill.at.ms);
        return !safety->fuse.blown && !harms &&
               canary_stood(d->stood_ms, now.ms, t->profile->spec->apply.guard.watch_ms);
}

void canary_follow(struct safety *safety, struct target *t)
{
        struct wall now = loop_now(safety->loop).wall;
        if (!t->apply_state.pod_canary || !t->profile)
                return;
        if (!canary_has_stood(safety, t, now) && t->profile->spec->apply.canary.percent < 100 && in_place(t)) {
                canary_mark(t);
                return;
        }
        pod_canary_end(safety->cache, t);
        apply_state_stood(t, 0);
        if (in_place(t)) {
                apply_state_followed(t, now);
                guard_changed(t, guard_state_survey(t), now);
        }
        checkpointer_apply_state(safety->checkpointer, t);
        if (!in_place(t))
                return;
        report_event(safety->report, t, false, "Followed", "what was tried on some pods is set on the others");
        log_info("what was tried on some pods is set on the others", KV("namespace", t->ns), KV("kind", t->kind),
                 KV("name", t->name), KV_INT("cycle", report_cycle(safety->report)));
}
