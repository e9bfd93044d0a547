/*
 * Out-of-memory kills, and evictions for memory as a second witness: counted once per (pod UID, container, restart
 * count), stored at once, kept beside the histogram.
 */
#include "cache/pod_namespace_targets.h"
#include "learner_private.h"

/* Did the kubelet end the whole pod? */
static bool is_kubelets(const struct pod *p)
{
        bool stopped = p->stopped;
        for (int i = 0; i < p->containers; i++)
                stopped |= p->container[i].evicted;
        return stopped;
}

/* How old a sample may be to tell of a moment: two cycles, and no less than usage itself takes to come. */
static int64_t oom_fresh_ms(const struct learner *learner)
{
        int64_t ms = 2 * learner->live->interval_ms;
        return ms > MINUTE_MS ? ms : MINUTE_MS;
}

/* That a pod is being deleted or was evicted tells of its last process: what ended before was started again. */
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

/* What is asked of all pods of the node is asked only where it makes a difference. */
static struct kill_facts oom_facts_of(const struct learner *learner, const struct pod *p,
                                      const struct pod_container *pc, struct pod_kill *k)
{
        if (!k->at_ms) /* it does not tell: as it is seen */
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
                known.allocatable = p->node->allocatable;
                known.others = node_others_used(p->node, pc, at, oom_fresh_ms(learner));
                add_known(&f, &known);
        }
        pod_kill_know(k, &known);
        return f;
}

/* Would it be another matter if the kubelet had killed it by itself? */
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
 * The store knows of a kill for the retention time, a pod tells of its last one for as long as it runs. One that old is
 * known where a sample of the container came after it: who took that in had seen the pod's status too.
 */
static bool counted_long_ago(const struct learner *learner, const struct pod_container *pc, int64_t at_ms)
{
        return clock_skew_earlier(learner->skew) - at_ms >= learner->live->retention_ms &&
               pc->watermark.last_ms > at_ms;
}

/* By the node's clock. What that says of times to come would be held until they are past. */
static struct wall oom_time_of(const struct learner *learner, const struct pod_kill *k)
{
        int64_t later_ms = clock_skew_later(learner->skew);
        return (struct wall){k->at_ms < later_ms ? k->at_ms : later_ms};
}

static void learn_kill(struct learner *learner, struct history *h, struct pod *p, struct pod_container *pc,
                       const struct oom_kill *k)
{
        bool ignore;
        const struct resource_policy *policy =
                profile_spec_container(h->target->profile->spec, text_of(pc->name), &ignore);
        usage_oom(&h->usage, &policy[MEMORY], k->at, (double)pc->last_memory, k->limit);
        h->dirty = true;
        target_killed(learner->cache, h->target, k);
        guard_killed(learner->safety, h->target, p, k);
        checkpointer_kill(learner->checkpointer, h, p, pc, usage_kill_hold(&h->usage, &policy[MEMORY], k->at));
}

/* Its number is stored like that of a kill: the next start has no more the samples and Events that spoke against it. */
static void oom_disbelieve(struct learner *learner, struct history *h, const struct pod *p,
                           const struct pod_container *pc, int64_t exit_code)
{
        if (pc->role == ROLE_INIT)
                return;
        learner->count.kills_not_believed++;
        if (h)
                checkpointer_kill(learner->checkpointer, h, p, pc, 0);
        dimension_disbelieve(learner, p, pc);
        log_debug("reported as OOMKilled, and ended otherwise: not counted", KV("namespace", p->ns), KV("pod", p->name),
                  KV("container", pc->name), KV_INT("exit_code", exit_code));
}

/* Ends between the kill that was counted before and this one, of which no status told: they were of the same kind. */
static int64_t untold_before(const struct pod_container *pc, const struct pod_kill *k)
{
        int64_t counted = pod_ended(pc).kills_counted;
        return counted > 0 && counted >= k->told_before ? k->number - counted - 1 : 0;
}

static void count_kill(struct learner *learner, struct pod *p, struct pod_container *pc, struct pod_kill *told)
{
        if (told->number <= pod_ended(pc).kills_counted) /* the store knew of it */
                return;
        const struct kill_facts f = oom_facts_of(learner, p, pc, told);
        const enum kill_cause cause = kill_judge(&f);
        const struct wall at = oom_time_of(learner, told);
        int64_t untold = untold_before(pc, told);
        pod_kill_counted(pc, told->number);
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
        log_info("out-of-memory kill counted", KV("namespace", p->ns), KV("pod", p->name), KV("container", pc->name),
                 KV_INT("restarts", told->number), KV("cause", kill_cause_name(k.cause)));
}

/* A kill of a pod that goes cannot wait for an answer. */
static bool is_awaited(const struct learner *learner, const struct pod *p, const struct pod_container *pc,
                       struct pod_kill *k)
{
        return !p->gone && !k->answered && k->number > pod_ended(pc).kills_counted &&
               (k->asked || depends_on_probe(learner, p, pc, k));
}

/* Kills are counted in the order of their numbers: one whose answer is awaited holds up those after it. */
static void count_container(struct learner *learner, struct pod *p, struct pod_container *pc)
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

/* Those of a pod that nothing is learned of wait until something is. */
static void oom_count_pod(struct learner *learner, struct pod *p)
{
        bool learned = p->target || (p->more && p->more->single);
        for (int i = 0; learned && i < p->containers; i++)
                count_container(learner, p, &p->container[i]);
        if (!pod_tells_of_kill(p))
                return;
        learner->cache->kills = true; /* also where there was no place for one more question */
        if (learned && !p->probes_asked)
                pod_set_probes_asked(p, probe_ask(learner, p));
}

void oom_probe_told(struct learner *learner, struct pod *p)
{
        pod_set_probes_asked(p, false);
        oom_count_pod(learner, p);
        checkpointer_kills(learner->checkpointer);
}

/* After a settle: the pods that are there, and those that vanished since (a deleted pod's last object may be the only
 * witness). */
void oom_count(struct learner *learner)
{
        if (!learner->cache->kills)
                return;
        learner->cache->kills = false;
        for (size_t i = 0; i < learner->cache->ordered; i++)
                oom_count_pod(learner, learner->cache->order[i]);
        for (size_t i = 0; i < learner->cache->droppeds; i++)
                oom_count_pod(learner, learner->cache->dropped[i]);
        checkpointer_kills(learner->checkpointer);
}

void oom_begin(struct learner *learner)
{
        learner->synced = true;
}

/* One that nobody has linked yet, or whose kills the store may know of, waits for the next settle. */
void oom_seen_now(struct learner *learner)
{
        struct pod *p = learner->cache->killed;
        learner->cache->killed = NULL;
        if (!p || !p->stored || !learner->synced)
                return;
        oom_count_pod(learner, p);
        checkpointer_kills(learner->checkpointer);
}
