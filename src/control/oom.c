/*
 * Out-of-memory kills, and evictions for memory as a second witness: counted once per (pod UID, container, restart
 * count), stored at once, kept beside the histogram.
 */
#include "controller_private.h"
#include "dimension.h"

enum cause { CAUSE_LIMIT, CAUSE_NODE, CAUSE_EVICTION };
static const char *const cause_name[] = {[CAUSE_LIMIT] = "limit", [CAUSE_NODE] = "node", [CAUSE_EVICTION] = "eviction"};

static bool near_limit(const struct pod_container *pc)
{
        return (double)pc->last_memory >= 0.8 * (double)pod_limit(pc, MEMORY).value;
}

/* The peak reached 80 % of the limit, or no node was short of memory: the limit is what killed it. */
static enum cause cause_of(const struct world *w, const struct pod *p, const struct pod_container *pc, int which)
{
        struct wall at = {pc->kills->at_ms[which]};
        struct amount limit = pod_limit(pc, MEMORY);
        if (pc->evicted && which == 1)
                return CAUSE_EVICTION;
        bool limited = limit.set && limit.value > 0;
        return limited && (near_limit(pc) || !(p->node_pressure || shortage_of(w, p, at))) ? CAUSE_LIMIT : CAUSE_NODE;
}

/* Without a limit, or by a sample that tells of less: what the container asked for may be the cause. */
static bool is_under_limit(const struct pod_container *pc, enum cause cause)
{
        struct amount limit = pod_limit(pc, MEMORY);
        return cause == CAUSE_EVICTION || !limit.set || limit.value <= 0 || (pc->last_memory > 0 && !near_limit(pc));
}

void oom_note(struct controller *c, struct target *t, const struct oom_kill *k)
{
        if (k->at.ms > t->kill_ms)
                t->kill_ms = k->at.ms;
        if (k->limit <= 0 || k->at.ms <= t->limit_ms)
                return;
        t->limit_ms = k->at.ms;
        intern_drop(c->world.names, t->limit_of);
        t->limit_of = intern_keep(k->container);
}

/*
 * The store knows of a kill for the retention time, a pod tells of its last one for as long as it runs. One that old is
 * known where a sample of the container came after it: who took that in had seen the pod's status too.
 */
static bool counted_long_ago(const struct controller *c, const struct pod_container *pc, int64_t at_ms)
{
        return clocks_earlier(c) - at_ms >= c->options.retention_ms && pc->door.last_ms > at_ms;
}

/* By the node's clock. What that says of times to come would be held until they are past. */
static struct wall time_of(const struct controller *c, const struct pod_container *pc, int which)
{
        int64_t at_ms = pc->kills->at_ms[which], later_ms = clocks_later(c);
        return (struct wall){at_ms < later_ms ? at_ms : later_ms};
}

static void count_kill(struct controller *c, struct pod *p, struct pod_container *pc, int which)
{
        bool ignore;
        struct wall at = time_of(c, pc, which);
        int64_t restarts = pc->kills->restarts + which;
        enum cause cause = cause_of(&c->world, p, pc, which);
        if (restarts <= pc->kills_counted) /* the store knew of it */
                return;
        pc->kills_counted = restarts;
        if (counted_long_ago(c, pc, at.ms))
                return;
        const struct oom_kill k = {.container = pc->name,
                                   .at = at,
                                   .limit = cause == CAUSE_LIMIT ? (double)pod_limit(pc, MEMORY).value : 0,
                                   .under_limit = is_under_limit(pc, cause)};
        guard_killed(c, p->more ? p->more->single : NULL, p, &k, cause == CAUSE_EVICTION);
        bool counted = dimension_kill(c, p, pc, &k);
        struct history *h = ingest_history(c, p, pc);
        if (pc->role != ROLE_INIT && h) {
                const struct resource_policy *policy =
                        profile_spec_container(h->target->profile->spec, text_of(pc->name), &ignore);
                usage_oom(&h->usage, &policy[MEMORY], at, (double)pc->last_memory, k.limit);
                h->dirty = true;
                oom_note(c, h->target, &k);
                guard_killed(c, h->target, p, &k, cause == CAUSE_EVICTION);
                persist_kill(c, h, p, pc, usage_kill_hold(&h->usage, &policy[MEMORY], at));
                counted = true;
        }
        if (!counted)
                return;
        c->count.kills++;
        log_info("out-of-memory kill counted", KV("namespace", p->ns), KV("pod", p->name), KV("container", pc->name),
                 KV_INT("restarts", restarts), KV("cause", cause_name[cause]));
}

/* Those of a pod that nothing is learned of wait until something is. */
static void count_pod(struct controller *c, struct pod *p)
{
        if (!p->target && !(p->more && p->more->single)) {
                c->world.kills |= pod_tells_of_kill(p);
                return;
        }
        for (int i = 0; i < p->containers; i++) {
                struct pod_container *pc = &p->container[i];
                for (int which = 0; pc->kills && which < 2; which++)
                        if (pc->kills->at_ms[which])
                                count_kill(c, p, pc, which);
                pod_kills_forget(pc);
        }
}

/* After a settle: the pods that are there, and those that vanished since (a deleted pod's last object may be the only
 * witness). */
void oom_count(struct controller *c)
{
        if (!c->world.kills)
                return;
        c->world.kills = false;
        for (size_t i = 0; i < c->world.ordered; i++)
                count_pod(c, c->world.order[i]);
        for (size_t i = 0; i < c->world.droppeds; i++)
                count_pod(c, c->world.dropped[i]);
        persist_kills(c);
}

/* One that nobody has linked yet, or whose kills the store may know of, waits for the next settle. */
void oom_seen_now(struct controller *c)
{
        struct pod *p = c->world.killed;
        c->world.killed = NULL;
        if (!p || !p->stored || !c->synced)
                return;
        count_pod(c, p);
        persist_kills(c);
}
