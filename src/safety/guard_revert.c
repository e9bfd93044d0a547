/*
 * The guard watches each of halflife's changes for a while. It takes back a change that did harm, and then leaves the
 * workload alone, longer each time.
 */
#include <stdio.h>

#include "base/noun.h"
#include "cache/apply_state.h"
#include "cache/change_log.h"
#include "safety_private.h"

/* --- what is watched --- */

static bool guard_sets_pods(const struct target *t)
{
        return t->profile->spec->apply.mode == APPLY_ON_DEPLOY && t->profile->spec->apply.at == AT_POD;
}

/* Whether halflife itself starts changes. Under OnDeploy the owner's deploys do, and restarts or unready pods may come
 * from the owner's release. */
static bool starts_changes(const struct target *t)
{
        return t->profile->spec->apply.mode != APPLY_ON_DEPLOY;
}

/* Whether the owner changed the template since halflife's change. */
static bool is_released(const struct target *t)
{
        return t->workload->digest != t->apply_state.digest;
}

/* --- events of a watched target --- */

void guard_changed(struct target *t, struct guard_state *before, struct wall now)
{
        if (guard_policy_of(t) && starts_changes(t) && !guard_holds(t, now)) {
                guard_state_begin(t, before);
                return;
        }
        guard_state_free(before);
        guard_state_end(t);
}

void guard_deployed(struct target *t, struct wall now)
{
        bool deploys = guard_policy_of(t) && !starts_changes(t);
        guard_state_end(t);
        if (deploys && is_released(t))
                guard_state_released(t, now);
}

/* When a pod got halflife's requests: at its creation if admission sets them, else by halflife's last change. */
static struct wall change_of(const struct target *t, const struct pod *p)
{
        return (struct wall){guard_sets_pods(t) ? p->created_ms : guard_state_set_ms(t)};
}

/* Whether the owner released a new version together with halflife's change. Where admission sets requests on pods, the
 * age of the pod's ReplicaSet shows that. */
static bool came_released(const struct guard_policy *policy, const struct target *t, const struct pod *p,
                          struct wall at)
{
        const struct guard_state *g = t->apply_state.guard;
        if (starts_changes(t))
                return is_released(t);
        if (!guard_sets_pods(t))
                return g && guard_watches(policy, (struct wall){g->released_ms}, at);
        return p->owner && p->owner != t->workload && guard_watches(policy, (struct wall){p->owner->created_ms}, at);
}

void guard_killed(struct safety *safety, struct target *t, const struct pod *p, const struct oom_kill *k)
{
        const struct guard_policy *policy = t && t->workload ? guard_policy_of(t) : NULL;
        if (!policy || !p->ours)
                return;
        struct guard_state *g = t->apply_state.guard;
        if (!kill_tells_of_request(
                    k->cause)) { /* a limit caused this kill: its restart does not count against the change */
                if (g && g->change_ms && k->at.ms >= whole_second(g->change_ms))
                        guard_state_add_by_limit(g, p, k->untold);
                return;
        }
        struct wall since = change_of(t, p);
        if (!guard_watches(policy, since, k->at) || (g && (k->at.ms <= g->fired_ms || k->at.ms < g->kill.at.ms)))
                return;
        const struct guard_kill kill = {k->at, since, k->cause};
        guard_state_killed(t, &kill, came_released(policy, t, p, k->at));
        schedule_pass(safety->leadership);
}

/* --- judging --- */

/* Note since when fewer pods are ready than before the change. A new pod counts only after the guard's patience, and
 * then as not ready since its creation. */
static void follow_readiness(struct guard_state *g, const struct target *t, struct guard_facts *f)
{
        int64_t turned_ms;
        f->before = g->before;
        f->pods = guard_state_pods(t, f->now.ms - guard_patience_ms(f->policy), &turned_ms);
        if (!guard_below(f->before, f->pods))
                guard_state_set_below(g, 0);
        else if (!g->below_ms)
                guard_state_set_below(g, turned_ms > 0 && turned_ms < f->now.ms ? turned_ms : f->now.ms);
        f->below.ms = g->below_ms;
}

static struct guard_facts guard_facts_of(struct guard_state *g, struct target *t, const struct guard_policy *policy,
                                         struct wall now)
{
        struct guard_facts f = {.policy = policy, .now = now, .kill = g->kill};
        bool ours = g->change_ms && g->change_ms == guard_state_set_ms(t) && starts_changes(t) && !is_released(t);
        if (!ours || !guard_watches(policy, (struct wall){g->change_ms}, now))
                return f;
        f.changed.ms = g->change_ms;
        guard_state_hear(t);
        f.restarts = guard_state_restarts(t);
        follow_readiness(g, t, &f);
        return f;
}

static void print_duration(int64_t ms, char out[static 32])
{
        int64_t s = ms / SECOND_MS;
        if (s < 60)
                snprintf(out, 32, "%llds", (long long)s);
        else
                snprintf(out, 32, "%lldm%llds", (long long)(s / 60), (long long)(s % 60));
}

static char *guard_words_of(const struct guard_facts *f, enum guard_cause cause)
{
        char at[WALL_TEXT_MAX], after[32];
        static const char *const what[KILL_CAUSES] = {
                [KILL_ROOM] = "a container was killed for lack of room on its node",
                [KILL_UNKNOWN] =
                        "a container was killed for lack of memory (at its limit or on its node: unknown which)",
                [KILL_EVICTION] = "a pod was evicted for lack of memory",
        };
        bool killed = cause == GUARD_EVICTED || cause == GUARD_OUT_OF_MEMORY;
        print_duration(killed ? f->kill.at.ms - f->kill.since.ms : f->now.ms - f->changed.ms, after);
        if (killed)
                return mem_printf("%s at %s, %s after halflife's change", what[f->kill.cause],
                                  wall_print(f->kill.at, at), after);
        if (cause == GUARD_RESTARTS)
                return mem_printf("its containers restarted %s within %s of halflife's change",
                                  NOUN_COUNT(f->restarts, "time"), after);
        return mem_printf("%lld of its %lld pods are ready, fewer since %s; before halflife's change %lld of %lld were",
                          (long long)f->pods.ready, (long long)f->pods.count, wall_print(f->below, at),
                          (long long)f->before.ready, (long long)f->before.count);
}

static void guard_fire(struct safety *safety, struct target *t, const struct guard_facts *f, enum guard_cause cause)
{
        struct guard_state *g = t->apply_state.guard;
        guard_state_fired(g, cause, guard_words_of(f, cause), f->now);
        if (t->apply_state.pod_canary) /* the pod canary did not pass: forget since when it was in force */
                apply_state_passed(t, 0);
        bool released = g->released && (cause == GUARD_EVICTED || cause == GUARD_OUT_OF_MEMORY);
        guard_state_end(t);
        safety->count.guards[cause]++;
        bookkeeping_count(safety->cache, t, LEDGER_GUARD);
        change_log_add(safety->cache, t, f->now,
                       &(struct change){.kind = CHANGE_GUARDED,
                                        .by = CHANGE_BY_HALFLIFE,
                                        .reason = guard_cause_name(cause),
                                        .words = g->why});
        log_warn("a change did harm: the original requests come back", KV("namespace", t->ns), KV("kind", t->kind),
                 KV("name", t->name), KV("cause", guard_cause_name(cause)), KV("why", g->why),
                 KV_INT("hours", g->step_ms / HOUR_MS));
        checkpointer_apply_state(safety->checkpointer, t);
        AUTO(mem_free) char *note = mem_printf("%s: the original requests come back", g->why);
        notice_event(safety->notices, t, true, "Guarded", note);
        fuse_count(safety, t, released);
}

/* --- forgetting --- */

/* When pods last got halflife's requests, if at after_ms or later, wall ms; 0: never. Where admission sets them: when
 * the first such pod was created. */
static int64_t last_change(const struct target *t, int64_t after_ms)
{
        int64_t first = 0;
        if (!guard_sets_pods(t))
                return guard_state_set_ms(t) >= after_ms ? guard_state_set_ms(t) : 0;
        for (const struct pod *p = t->pods; p; p = target_next_pod(t, p))
                if (p->running && p->ours && p->created_ms >= after_ms && (!first || p->created_ms < first))
                        first = p->created_ms;
        return first;
}

/* Forget an earlier change that did harm, once a later one has passed its watch time: the next hold is then short
 * again. A change dated ahead, after the clock was set back, is still watched. */
static void guard_forget(struct safety *safety, struct target *t, const struct guard_policy *policy, struct wall now)
{
        const struct guard_state *g = t->apply_state.guard;
        int64_t change_ms = g->cause ? last_change(t, g->until_ms) : guard_state_set_ms(t);
        bool remembered = g->cause != GUARD_NONE;
        if (change_ms ? now.ms - change_ms <= policy->watch_ms : remembered)
                return;
        guard_state_forget(t);
        if (remembered)
                checkpointer_apply_state(safety->checkpointer, t);
}

/* Drop the guard's state of the target, if its profile turned the guard off. Without a profile the state stays. */
static void turn_off(struct safety *safety, struct target *t)
{
        if (!t->profile || t->profile->spec->apply.guard.enabled)
                return;
        target_drop_guard_state(t);
        checkpointer_apply_state(safety->checkpointer, t);
}

bool guard_look(struct safety *safety, struct target *t, const struct plan *p)
{
        const struct guard_policy *policy = guard_policy_of(t);
        struct guard_state *g = t->apply_state.guard;
        if (!g || guard_holds(t, p->now))
                return false;
        if (!policy) {
                turn_off(safety, t);
                return false;
        }
        struct guard_facts f = guard_facts_of(g, t, policy, p->now);
        enum guard_cause cause = guard_judge(&f);
        if (cause == GUARD_NONE || !p->carries)
                guard_forget(safety, t, policy, p->now);
        else
                guard_fire(safety, t, &f, cause);
        return cause != GUARD_NONE && p->carries;
}

bool guard_watch(struct safety *safety, struct target *t, const struct plan *p)
{
        return may_write(safety->leadership) && guard_look(safety, t, p);
}
