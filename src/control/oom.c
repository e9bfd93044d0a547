/*
 * Out-of-memory kills: counted once per (pod UID, container, restart count), stored at once, kept beside the histogram.
 */
#include "controller_private.h"
#include "dimension.h"

/* Was the limit what killed it? The peak reached 80 % of it, or no node was short of memory. */
static double limit_that_killed(const struct pod *p, const struct pod_container *pc)
{
        struct amount limit = pc->limit[MEMORY];
        if (!limit.set || limit.value <= 0)
                return 0;
        bool near = (double)pc->last_memory >= 0.8 * (double)limit.value;
        return near || !p->node_pressure ? (double)limit.value : 0;
}

/*
 * The store knows of a kill for the retention time, a pod tells of its last one for as long as it runs. One that old is
 * known where a sample of the container came after it: who took that in had seen the pod's status too.
 */
static bool counted_long_ago(const struct controller *c, const struct pod_container *pc, int64_t at_ms)
{
        return clocks_earlier(c) - at_ms >= c->options.retention_ms && pc->door.last_ms > at_ms;
}

static void count_kill(struct controller *c, struct pod *p, struct pod_container *pc)
{
        bool ignore;
        struct wall at = {pc->kill_at_ms};
        int64_t restarts = pc->kill_restarts;
        pc->kill_at_ms = 0;
        if (restarts <= pc->kills_counted) /* the store knew of it */
                return;
        pc->kills_counted = restarts;
        if (counted_long_ago(c, pc, at.ms))
                return;
        double limit = limit_that_killed(p, pc);
        bool counted = dimension_kill(c, p, pc, at, limit);
        struct history *h = ingest_history(c, p, pc);
        if (pc->role != ROLE_INIT && h) {
                const struct resource_policy *policy =
                        profile_spec_container(h->target->profile->spec, text_of(pc->name), &ignore);
                usage_oom(&h->usage, &policy[MEMORY], at, (double)pc->last_memory, limit);
                h->dirty = true;
                if (at.ms > h->target->kill_ms)
                        h->target->kill_ms = at.ms;
                persist_kill(c, h->target, p, pc, usage_kill_hold(&h->usage, &policy[MEMORY], at));
                counted = true;
        }
        if (!counted)
                return;
        c->count.kills++;
        log_info("out-of-memory kill counted", KV("namespace", p->ns), KV("pod", p->name), KV("container", pc->name),
                 KV_INT("restarts", restarts), KV("cause", limit > 0 ? "limit" : "node"));
}

static void count_pod(struct controller *c, struct pod *p)
{
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].kill_at_ms && (p->target || (p->more && p->more->single)))
                        count_kill(c, p, &p->container[i]);
}

/* After a settle: the pods that are there, and those that vanished since (a deleted pod's last object may be the only
 * witness). */
void oom_count(struct controller *c)
{
        for (size_t i = 0; i < c->world.ordered; i++)
                count_pod(c, c->world.order[i]);
        for (size_t i = 0; i < c->world.droppeds; i++)
                count_pod(c, c->world.dropped[i]);
}
