#include "cycle.h"

#include <string.h>

#include "informers.h"
#include "parts.h"
#include "telemetry.h"

enum { NUDGE_MS = 500, SYNC_LOOK_MS = 100, DECIDE_SLICE = 512 };

struct cycle {
        struct parts *parts;
        enum { CYCLE_IDLE, CYCLE_POLLING, CYCLE_DECIDING, CYCLE_PACKING } stage;
        struct loop_timer cycle_timer, pass_timer, slice_timer;
        struct mono began, checkpointed;
        bool nudged; /* something changed since the last pass began */
        bool polled; /* the decisions under way follow a poll */
        size_t decide_at;
        struct pass_totals {
                int64_t by_state[STATES], by_reason[REASONS];
                struct condition_count by_condition[CONDITION_COUNTS];
                int64_t saving[RESOURCES], in_force[RESOURCES];
        } next; /* totals of the pass under way */
};

static void cycle_begin(void *arg);
static void decide_slice(void *arg);

/* --- totals --- */

static int64_t cycle_in_force(const struct plan *p, enum resource r)
{
        __int128 less = 0;
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].ours[r])
                        less += p->container[i].facts.original[r].value - p->container[i].facts.current[r].value;
        less *= workload_replicas(p->target->workload);
        return less > INT64_MAX ? INT64_MAX : less < INT64_MIN ? INT64_MIN : (int64_t)less;
}

static void tally_resource(struct cycle *c, const struct plan *p, enum resource r)
{
        struct profile *profile = p->target->profile;
        for (int i = 0; i < p->containers; i++)
                if (plan_wants_change(&p->container[i], r) || plan_puts_back(&p->container[i], r))
                        c->next.by_reason[p->container[i].advice.gate[r].hold]++;
        int64_t saving = plan_saving(p, r);
        if (p->target->dimension == DIMENSION_WORKLOAD) { /* other targets would count the same pods again */
                c->next.saving[r] = add_saturated(c->next.saving[r], saving);
                c->next.in_force[r] = add_saturated(c->next.in_force[r], cycle_in_force(p, r));
        }
        if (profile)
                profile_count_saving(profile, r, saving);
}

/* Count a condition, but not Ready and Applied: every Recommendation has both, and states and reasons tell the same. */
static void tally_condition(struct cycle *c, const struct plan_condition *of)
{
        struct condition_count *n = c->next.by_condition;
        if (strcmp(of->type, "Ready") == 0 || strcmp(of->type, "Applied") == 0)
                return;
        while (n->type && (strcmp(n->type, of->type) != 0 || strcmp(n->reason, of->reason) != 0))
                if (++n == c->next.by_condition + CONDITION_COUNTS)
                        return;
        n->type = of->type;
        n->reason = of->reason;
        n->count++;
}

static void tally_target(struct cycle *c, const struct plan *p)
{
        struct profile *profile = p->target->profile;
        c->next.by_state[p->state]++;
        for (int i = 0; i < p->conditions; i++)
                tally_condition(c, &p->condition[i]);
        for (enum resource r = CPU; r < RESOURCES; r++)
                tally_resource(c, p, r);
        if (profile)
                profile_count(profile, p->state == STATE_READY, p->carries);
}

static void tally_begin(struct cycle *c)
{
        struct profile *p;
        memset(c->next.by_state, 0, sizeof c->next.by_state);
        memset(c->next.by_reason, 0, sizeof c->next.by_reason);
        memset(c->next.by_condition, 0, sizeof c->next.by_condition);
        memset(c->next.saving, 0, sizeof c->next.saving);
        memset(c->next.in_force, 0, sizeof c->next.in_force);
        for (size_t at = 0; (p = map_each(&c->parts->cache.profiles, &at));)
                profile_count_begin(p);
}

static void tally_end(struct cycle *c)
{
        struct profile *p;
        memcpy(c->parts->pass.by_state, c->next.by_state, sizeof c->parts->pass.by_state);
        memcpy(c->parts->pass.by_reason, c->next.by_reason, sizeof c->parts->pass.by_reason);
        memcpy(c->parts->pass.by_condition, c->next.by_condition, sizeof c->parts->pass.by_condition);
        memcpy(c->parts->pass.saving, c->next.saving, sizeof c->parts->pass.saving);
        memcpy(c->parts->pass.in_force, c->next.in_force, sizeof c->parts->pass.in_force);
        for (size_t at = 0; (p = map_each(&c->parts->cache.profiles, &at));)
                profile_count_end(p);
}

/* --- deciding --- */

static void remember_weights(struct target *t, const struct plan *p)
{
        for (int i = 0; i < p->containers; i++) {
                struct history *h = history_find(t, p->container[i].name);
                struct amount original = p->container[i].facts.original[CPU];
                if (!h)
                        continue;
                history_set_cpu_weight(h, original.set ? (double)original.value / 1e3 : 0);
                bool raises = in_place(t) && t->profile->spec->apply.raise.enabled;
                history_set_original(h, raises ? p->container[i].facts.original : NULL);
        }
}

/* If the profile's half-lives or window changed, rescale the target's histories, so that nothing learned is lost. */
static void adopt_policy(struct target *t)
{
        bool ignore;
        for (struct history *h = t->histories; h; h = h->next) {
                const struct resource_policy *policy =
                        profile_spec_container(t->profile->spec, text_of(h->container), &ignore);
                usage_adopt(history_usage(h), policy);
                if (t->dimension == DIMENSION_WORKLOAD)
                        history_ignore_first(h, policy);
        }
}

static void decide_target(struct cycle *c, struct target *t)
{
        struct plan plan;
        clock_skew_clamp(c->parts->skew, t);
        if (!t->workload) {
                snapshot_show_gone(c->parts->snapshots, t);
                if (!t->busy && work_delete_due(c->parts->applier, t))
                        work_add(c->parts->applier, t);
                return;
        }
        if (!t->profile && !t->published)
                return;
        if (t->profile)
                adopt_policy(t);
        external_apply_adopt(c->parts->applier, t);
        notice_admitted(c->parts->notices, &c->parts->cache, t);
        canary_follow(c->parts->safety, t);
        applier_decide(c->parts->applier, t, &plan);
        if (!t->profile && !plan.orphaned) {
                work_add(c->parts->applier, t); /* deletes the target's Recommendation */
                return;
        }
        remember_weights(t, &plan);
        target_set_deploys(t, plan_deploys(&plan), plan.now);
        target_set_resizing(t, plan.resize.goes_on);
        conflict_watch(c->parts->safety, t, &plan);
        if (guard_watch(c->parts->safety, t, &plan))
                applier_decide(c->parts->applier, t, &plan);
        canary_watch(c->parts->safety, t, &plan);
        tally_target(c, &plan);
        snapshot_show_target(c->parts->snapshots, &plan);
        work_consider(c->parts->applier, &plan);
}

static void cycle_settle(struct cycle *c)
{
        cache_relink(&c->parts->cache, loop_now(c->parts->loop));
        oom_count(c->parts->learner);
        pods_free_dropped(&c->parts->cache);
        workloads_free_gone(&c->parts->cache);
        namespaces_sweep(&c->parts->cache);
        informers_kinds(c->parts->informers);
        resize_settle(c->parts->applier);
        windows_settle(&c->parts->cache, loop_now(c->parts->loop));
        safety_settle(c->parts->safety);
}

static void decide_begin(struct cycle *c)
{
        cycle_settle(c);
        if (c->polled)
                bookkeeping_cycle(c->parts->books);
        if (c->polled)
                c->parts->pass.gone_targets = targets_bound_gone(&c->parts->cache, clock_skew_earlier(c->parts->skew),
                                                                 c->parts->options.live.retention_ms);
        tally_begin(c);
        snapshot_begin(c->parts->snapshots, c->parts->server != NULL);
        c->stage = CYCLE_DECIDING;
        c->decide_at = 0;
        decide_slice(c);
}

static void cycle_end(struct cycle *c)
{
        struct now now = loop_now(c->parts->loop);
        if (c->polled) {
                c->parts->pass.cycles++;
                c->parts->pass.hot_nodes =
                        notice_hot_nodes(c->parts->notices, &c->parts->cache, c->parts->options.live.hot_percent);
                notice_cycle_ends(c->parts->notices);
                c->parts->pass.last_cycle_seconds = (double)(now.mono.ns - c->began.ns) / 1e9;
                metric_observe(&c->parts->pass.cycle_seconds, c->parts->pass.last_cycle_seconds);
                checkpointer_recall(c->parts->checkpointer);
                learner_backfill(c->parts->learner);
                learner_throttling(c->parts->learner);
                learner_ask_prices(c->parts->learner);
                checkpointer_forget_old(c->parts->checkpointer);
        }
        annotation_commands_settle(c->parts->learner);
        notices_tick(c->parts->notices);
        informers_tick(c->parts->informers);
        telemetry_publish(c->parts->telemetry);
        c->stage = CYCLE_IDLE;
        work_pump(c->parts->applier);
        if (c->polled) {
                int64_t took = (now.mono.ns - c->began.ns) / 1000000;
                int64_t rest = c->parts->options.live.interval_ms - took;
                loop_timer_set(c->parts->loop, &c->cycle_timer, rest > 0 ? rest : 0, cycle_begin, c);
        }
        if (c->nudged)
                schedule_pass(c->parts->leadership);
}

static void pack_slice(void *arg)
{
        struct cycle *c = arg;
        if (!checkpointer_pack(c->parts->checkpointer)) {
                loop_timer_set(c->parts->loop, &c->slice_timer, 0, pack_slice, c);
                return;
        }
        node_usage_store(c->parts->learner);
        c->checkpointed = loop_now(c->parts->loop).mono;
        cycle_end(c);
}

static bool checkpoint_due(const struct cycle *c)
{
        return c->polled && (loop_now(c->parts->loop).mono.ns - c->checkpointed.ns) / 1000000 >=
                                    c->parts->options.live.checkpoint_ms;
}

static void decide_slice(void *arg)
{
        struct cycle *c = arg;
        struct target *t;
        for (int n = 0; n < DECIDE_SLICE; n++) {
                t = map_each(&c->parts->cache.targets, &c->decide_at);
                if (!t) {
                        tally_end(c);
                        profile_status_publish(c->parts->applier);
                        c->stage = CYCLE_PACKING;
                        if (checkpoint_due(c))
                                pack_slice(c);
                        else
                                cycle_end(c);
                        return;
                }
                decide_target(c, t);
                decide_end(c->parts->applier);
        }
        loop_timer_set(c->parts->loop, &c->slice_timer, 0, decide_slice, c);
}

/* --- the cycle --- */

void cycle_polled(struct cycle *c)
{
        decide_begin(c);
}

static void cycle_begin(void *arg)
{
        struct cycle *c = arg;
        char waiting[256];
        if (leadership_stops(c->parts->leadership))
                return;
        if (!c->parts->pass.synced) {
                c->parts->pass.synced = informers_synced(c->parts->informers, waiting, sizeof waiting);
                if (!c->parts->pass.synced) {
                        telemetry_publish(c->parts->telemetry);
                        loop_timer_set(c->parts->loop, &c->cycle_timer, SYNC_LOOK_MS, cycle_begin, c);
                        return;
                }
                oom_begin(c->parts->learner);
                mem_trim(); /* the first lists needed memory that is not needed again */
                log_info("caches synced", KV_INT("pods", c->parts->cache.pods.count),
                         KV_INT("workloads", c->parts->cache.workloads.count));
                informers_tell_late(c->parts->informers);
        }
        if (c->stage != CYCLE_IDLE) { /* a pass without a poll is under way */
                loop_timer_set(c->parts->loop, &c->cycle_timer, SYNC_LOOK_MS, cycle_begin, c);
                return;
        }
        notice_cycle_begins(c->parts->notices);
        c->began = loop_now(c->parts->loop).mono;
        c->polled = true;
        c->stage = CYCLE_POLLING;
        cycle_settle(c);
        ingest_start(c->parts->learner);
}

/* Resume writes once everything is read again: another instance may have changed things while it held the Lease. */
static void reread_settle(struct cycle *c)
{
        char waiting[256];
        if (!leadership_reads_again(c->parts->leadership) ||
            !informers_synced(c->parts->informers, waiting, sizeof waiting))
                return;
        leadership_read_again(c->parts->leadership);
        log_info("everything was read again: writes from now on", KV("lease", c->parts->options.lease_name));
        informers_tell_late(c->parts->informers);
}

static void pass_begin(void *arg)
{
        struct cycle *c = arg;
        reread_settle(c);
        if (leadership_stops(c->parts->leadership) || !c->parts->pass.synced || c->stage != CYCLE_IDLE)
                return; /* nudged is still set: the cycle under way schedules a pass at its end */
        c->nudged = false;
        c->polled = false;
        decide_begin(c);
}

/* Several changes share one pass. A change during a cycle gets a pass after the cycle. */
void cycle_changed(struct cycle *c)
{
        c->nudged = true;
        if (!c->pass_timer.place)
                loop_timer_set(c->parts->loop, &c->pass_timer, NUDGE_MS, pass_begin, c);
}

void cycle_turn(struct cycle *c)
{
        reread_settle(c);
}

bool cycle_is_idle(const struct cycle *c)
{
        return c->stage == CYCLE_IDLE;
}

/* --- from start to stop --- */

struct cycle *cycle_new(struct parts *parts)
{
        struct cycle *c = MEM_NEW(struct cycle);
        c->parts = parts;
        return c;
}

void cycle_start(struct cycle *c)
{
        c->checkpointed = loop_now(c->parts->loop).mono;
        loop_timer_set(c->parts->loop, &c->cycle_timer, 0, cycle_begin, c);
}

void cycle_stop(struct cycle *c)
{
        loop_timer_stop(c->parts->loop, &c->cycle_timer);
        loop_timer_stop(c->parts->loop, &c->pass_timer);
        loop_timer_stop(c->parts->loop, &c->slice_timer);
}

void cycle_free(struct cycle *c)
{
        if (!c)
                return;
        cycle_stop(c);
        mem_free(c);
}
