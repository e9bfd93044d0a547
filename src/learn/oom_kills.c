/*
 * Counts out-of-memory kills, including evictions for memory. A kill counts once per pod UID, container and restart
 * count. The count is stored at once, beside the histogram of its container.
 */
#include "cache/pod_namespace_targets.h"
#include "learner_private.h"

/* Whether the kubelet itself stopped the pod as a whole, or evicted it. */
static bool is_kubelets(const struct pod *p)
{
        bool stopped = p->stopped;
        for (int i = 0; i < p->containers; i++)
                stopped |= p->container[i].evicted;
        return stopped;
}

/* How old a sample may be to stand for the usage at a kill: two intervals, but at least the minute that usage lags. */
static int64_t oom_fresh_ms(const struct learner *learner)
{
        int64_t ms = 2 * learner->live->interval_ms;
        return ms > MINUTE_MS ? ms : MINUTE_MS;
}

/* The facts about a kill in the pod's status. Deletion and eviction concern only the container's latest process:
 * earlier processes were restarted. */
static struct kill_facts facts_by_status(const struct cache *w, const struct pod *p, const struct pod_container *pc,
                                         const struct pod_kill *k)
{
        return (struct kill_facts){
                .evicted = k->latest && pc->evicted,
                .exit_code = k->exit_code,
                .deleting = k->latest && p->deleting,
                .by_kubelet = k->by_kubelet || (k->latest && is_kubelets(p)),
                .limit = pod_limit(pc, MEMORY),
                .used = KILL_NOT_MEASURED,
                .node_short = p->node_pressure || node_oom_event_of(w, p, (struct wall){k->at_ms}),
                .others = KILL_NOT_MEASURED,
        };
}

static void add_known(struct kill_facts *f, const struct kill_known *known)
{
        f->deleting = known->deleting;
        f->used = known->used;
        f->node_short |= known->node_short;
        f->allocatable = known->allocatable;
        f->others = known->others;
}

/* All facts about a kill. Usage is summed over the node's pods only if the cause is unknown without it. */
static struct kill_facts oom_facts_of(const struct learner *learner, const struct pod *p,
                                      const struct pod_container *pc, struct pod_kill *k)
{
        if (!k->at_ms) /* the status has no time of the kill, so take the time when halflife saw it */
                pod_kill_date(k, clock_skew_later(learner->skew));
        const struct wall at = {k->at_ms};
        struct kill_facts f = facts_by_status(learner->cache, p, pc, k);
        if (k->known.looked) {
                add_known(&f, &k->known);
                return f;
        }
        struct kill_known known = {
                .deleting = f.deleting,
                .used = pod_memory_before(pc, at, oom_fresh_ms(learner)),
                .node_short = f.node_short,
                .others = KILL_NOT_MEASURED,
        };
        add_known(&f, &known);
        if (kill_judge(&f) == KILL_UNKNOWN && p->node) {
                known.allocatable = p->node->allocatable[MEMORY];
                known.others = node_others_used(p->node, pc, at, oom_fresh_ms(learner));
                add_known(&f, &known);
        }
        pod_kill_know(k, &known);
        return f;
}

/* Whether the kill would have another cause if the kubelet itself had killed the container. */
static bool depends_on_probe(const struct learner *learner, const struct pod *p, const struct pod_container *pc,
                             struct pod_kill *k)
{
        struct kill_facts f = oom_facts_of(learner, p, pc, k);
        if (!pc->probed || f.by_kubelet)
                return false;
        enum kill_cause without = kill_judge(&f);
        f.by_kubelet = true;
        return kill_judge(&f) != without;
}

/*
 * Whether a kill older than the retention time was counted before. The store forgets a kill after the retention time,
 * but a pod's status shows its last kill as long as the pod runs. A sample taken after the kill proves that halflife
 * saw the status, and thus the kill.
 */
static bool counted_long_ago(const struct learner *learner, const struct pod_container *pc, int64_t at_ms)
{
        return clock_skew_earlier(learner->skew) - at_ms >= learner->live->retention_ms &&
               pc->watermark.last_ms > at_ms;
}

/* The time of a kill by the node's clock, but no later than now: memory would be held until a later time is past. */
static struct wall oom_time_of(const struct learner *learner, const struct pod_kill *k)
{
        int64_t later_ms = clock_skew_later(learner->skew);
        return (struct wall){k->at_ms < later_ms ? k->at_ms : later_ms};
}

static void learn_kill(struct learner *learner, struct history *h, const struct pod *p, const struct pod_container *pc,
                       const struct oom_kill *k)
{
        bool ignore;
        const struct resource_policy *policy =
                profile_spec_container(h->target->profile->spec, text_of(pc->name), &ignore);
        usage_oom(history_usage(h), &policy[MEMORY], k->at, (double)pc->last_memory, k->limit);
        history_learned(h);
        target_killed(learner->cache, h->target, k);
        guard_killed(learner->safety, h->target, p, k);
        checkpointer_kill(learner->checkpointer, h, p, pc, usage_kill_hold(&h->usage, &policy[MEMORY], k->at));
}

/* Discard a kill that is not believed. Its restart count is stored like a real kill's, because after a restart halflife
 * lacks the samples and Events that spoke against it. */
static void oom_disbelieve(struct learner *learner, struct history *h, const struct pod *p,
                           const struct pod_container *pc, int64_t exit_code)
{
        if (pc->role == ROLE_INIT)
                return;
        learner->count.kills_not_believed++;
        if (h)
                checkpointer_kill(learner->checkpointer, h, p, pc, 0);
        dimension_disbelieve(learner, p, pc);
        log_debug("reported as OOMKilled but ended for another reason: not counted", KV("namespace", p->ns),
                  KV("pod", p->name), KV("container", pc->name), KV_INT("exit_code", exit_code));
}

/* How many restarts between the last counted kill and this one no status has shown. They count as kills too. */
static int64_t untold_before(const struct pod_container *pc, const struct pod_kill *k)
{
        int64_t counted = pod_ended(pc).kills_counted;
        return counted > 0 && counted >= k->told_before ? k->number - counted - 1 : 0;
}

/*
 * Whether a kill whose number was counted already is a new kill: its process ended after the counted one was counted,
 * by more than clocks may differ. Then the restart count fell while halflife was down, and the numbers go on from the
 * last counted one.
 */
static bool is_after_a_fall(struct pod_container *pc, const struct pod_kill *told)
{
        const struct pod_ends e = pod_ended(pc);
        if (told->number >= e.kills_counted || !e.counted_ms || told->at_ms <= e.counted_ms + USAGE_FUTURE_MS)
                return false;
        pod_kills_continue(pc, e.kills_counted + 1 - told->number);
        return true;
}

static void count_kill(struct learner *learner, const struct pod *p, struct pod_container *pc, struct pod_kill *told)
{
        if (told->number <= pod_ended(pc).kills_counted && !is_after_a_fall(pc, told))
                return; /* this kill was counted before, by the number in the store */
        const struct kill_facts f = oom_facts_of(learner, p, pc, told);
        const enum kill_cause cause = kill_judge(&f);
        const struct wall at = oom_time_of(learner, told);
        int64_t untold = untold_before(pc, told);
        pod_kill_counted(pc, told->number, loop_now(learner->loop).wall.ms);
        if (counted_long_ago(learner, pc, at.ms))
                return;
        struct history *h = pc->role == ROLE_INIT ? NULL : ingest_history(learner, p, pc);
        if (cause == KILL_NOT_BELIEVED) {
                oom_disbelieve(learner, h, p, pc, f.exit_code);
                return;
        }
        const struct oom_kill k = {.container = pc->name,
                                   .at = at,
                                   .cause = cause,
                                   .untold = untold,
                                   .limit = cause == KILL_LIMIT ? (double)f.limit.value : 0};
        guard_killed(learner->safety, p->more ? p->more->single : NULL, p, &k);
        bool counted = dimension_kill(learner, p, pc, &k);
        if (h)
                learn_kill(learner, h, p, pc, &k);
        if (!counted && !h)
                return;
        learner->count.kills++;
        if (p->target)
                bookkeeping_count(learner->cache, p->target, LEDGER_KILL);
        log_info("out-of-memory kill counted", KV("namespace", p->ns), KV("pod", p->name), KV("container", pc->name),
                 KV_INT("restarts", told->number), KV("cause", kill_cause_name(k.cause)));
}

/* Whether a kill has to wait for the answer about its pod's Events. A pod that is gone is judged without them. */
static bool is_awaited(const struct learner *learner, const struct pod *p, const struct pod_container *pc,
                       struct pod_kill *k)
{
        return !p->gone && !k->answered && k->number > pod_ended(pc).kills_counted &&
               (k->asked || depends_on_probe(learner, p, pc, k));
}

/* Count a container's kills in the order of restart counts. A kill that waits for Events also holds up later ones. */
static void count_container(struct learner *learner, const struct pod *p, struct pod_container *pc)
{
        int counted = 0;
        for (; pc->kills && counted < pc->kills->count; counted++) {
                struct pod_kill *k = &pc->kills->kill[counted];
                if (is_awaited(learner, p, pc, k))
                        break;
                count_kill(learner, p, pc, k);
        }
        pod_kills_forget(pc, counted);
}

/* Count a pod's kills. Kills of a pod without target wait until it has one. */
static void oom_count_pod(struct learner *learner, struct pod *p)
{
        bool learned = p->target || (p->more && p->more->single);
        for (int i = 0; learned && i < p->containers; i++)
                count_container(learner, p, &p->container[i]);
        if (!pod_tells_of_kill(p))
                return;
        cache_set_kills(learner->cache); /* some kills are left: the next settle tries to count them again */
        if (learned && !p->probes_asked)
                pod_set_probes_asked(p, probe_ask(learner, p));
}

void oom_probe_told(struct learner *learner, struct pod *p)
{
        pod_set_probes_asked(p, false);
        oom_count_pod(learner, p);
        checkpointer_kills(learner->checkpointer);
}

/* Count the kills of all pods, and of those removed since the last settle: only a deleted pod's last object may show
 * its kill. */
void oom_count(struct learner *learner)
{
        if (!cache_take_kills(learner->cache))
                return;
        for (size_t i = 0; i < learner->cache->ordered; i++)
                oom_count_pod(learner, learner->cache->order[i]);
        for (size_t i = 0; i < learner->cache->dropped.count; i++)
                oom_count_pod(learner, learner->cache->dropped.of[i]);
        checkpointer_kills(learner->checkpointer);
}

void oom_begin(struct learner *learner)
{
        learner->synced = true;
}

/* Count the kills of the pod written last. A pod that is not stored yet waits for the next settle, which links it to
 * its target and loads its counted kills. */
void oom_seen_now(struct learner *learner)
{
        struct pod *p = cache_take_killed(learner->cache);
        if (!p || !p->stored || !learner->synced)
                return;
        oom_count_pod(learner, p);
        checkpointer_kills(learner->checkpointer);
}
