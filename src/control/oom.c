/*
 * Out-of-memory kills, and evictions for memory as a second witness: counted once per (pod UID, container, restart
 * count), stored at once, kept beside the histogram.
 */
#include "controller_private.h"
#include "dimension.h"

/* A kubelet notes a process' end within a second or two of what it says of it elsewhere. */
enum { SLACK_MS = 5 * SECOND_MS };

/* Did the kubelet kill this very process, for a probe or the like? */
static bool is_probes(const struct pod_container *pc, int which)
{
        int64_t asked_ms = (int64_t)pod_ended(pc).killed_s * SECOND_MS;
        return asked_ms && asked_ms >= pc->kills->started_ms[which] && asked_ms <= pc->kills->at_ms[which] + SLACK_MS;
}

/* Did the kubelet end the whole pod? */
static bool is_kubelets(const struct pod *p)
{
        bool stopped = p->stopped;
        for (int i = 0; i < p->containers; i++)
                stopped |= p->container[i].evicted;
        return stopped;
}

/* How old a sample may be to tell of a moment: two cycles, and no less than usage itself takes to come. */
static int64_t fresh_ms(const struct controller *c)
{
        int64_t ms = 2 * c->options.interval_ms;
        return ms > MINUTE_MS ? ms : MINUTE_MS;
}

/* That a pod is being deleted or was evicted tells of its last process: what ended before was started again. */
static struct kill_facts facts_by_status(const struct world *w, const struct pod *p, const struct pod_container *pc,
                                         int which)
{
        bool present = which == 1;
        return (struct kill_facts){
                .evicted = present && pc->evicted,
                .exit_code = pc->kills->exit_code[which],
                .deleting = present && p->deleting,
                .by_kubelet = is_probes(pc, which) || (present && is_kubelets(p)),
                .limit = pod_limit(pc, MEMORY),
                .used = KILL_NOT_MEASURED,
                .node_short = p->node_pressure || shortage_of(w, p, (struct wall){pc->kills->at_ms[which]}),
                .others = KILL_NOT_MEASURED,
        };
}

static void add_told(struct kill_facts *f, const struct kill_told *told)
{
        f->used = told->used;
        f->node_short |= told->node_short;
        f->allocatable = told->allocatable;
        f->others = told->others;
}

/* What is asked of all pods of the node is asked only where it makes a difference. */
static struct kill_facts facts_of(const struct controller *c, const struct pod *p, const struct pod_container *pc,
                                  int which)
{
        const struct wall at = {pc->kills->at_ms[which]};
        struct kill_told *told = &pc->kills->told[which];
        struct kill_facts f = facts_by_status(&c->world, p, pc, which);
        if (told->asked) {
                add_told(&f, told);
                return f;
        }
        *told = (struct kill_told){
                .asked = true,
                .used = pod_memory_before(pc, at, fresh_ms(c)),
                .node_short = f.node_short,
                .others = KILL_NOT_MEASURED,
        };
        add_told(&f, told);
        if (kill_judge(&f) == KILL_UNKNOWN && p->node) {
                told->allocatable = p->node->allocatable;
                told->others = node_others_used(p->node, pc, at, fresh_ms(c));
                add_told(&f, told);
        }
        return f;
}

/* Would it be another matter if the kubelet had killed it by itself? */
static bool depends_on_probe(const struct controller *c, const struct pod *p, const struct pod_container *pc, int which)
{
        struct kill_facts f = facts_of(c, p, pc, which);
        if (!pc->probed || f.by_kubelet)
                return false;
        enum kill_cause without = kill_judge(&f);
        f.by_kubelet = true;
        return kill_judge(&f) != without;
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

static void learn_kill(struct controller *c, struct history *h, struct pod *p, struct pod_container *pc,
                       const struct oom_kill *k)
{
        bool ignore;
        const struct resource_policy *policy =
                profile_spec_container(h->target->profile->spec, text_of(pc->name), &ignore);
        usage_oom(&h->usage, &policy[MEMORY], k->at, (double)pc->last_memory, k->limit);
        h->dirty = true;
        oom_note(c, h->target, k);
        guard_killed(c, h->target, p, k);
        persist_kill(c, h, p, pc, usage_kill_hold(&h->usage, &policy[MEMORY], k->at));
}

/* Its number is stored like that of a kill: the next start has no more the samples and Events that spoke against it. */
static void disbelieve(struct controller *c, struct history *h, const struct pod *p, const struct pod_container *pc,
                       int64_t exit_code)
{
        if (pc->role == ROLE_INIT)
                return;
        c->count.kills_not_believed++;
        if (h)
                persist_kill(c, h, p, pc, 0);
        dimension_disbelieve(c, p, pc);
        log_debug("reported as OOMKilled, and ended otherwise: not counted", KV("namespace", p->ns), KV("pod", p->name),
                  KV("container", pc->name), KV_INT("exit_code", exit_code));
}

static void count_kill(struct controller *c, struct pod *p, struct pod_container *pc, int which)
{
        struct wall at = time_of(c, pc, which);
        int64_t restarts = pc->kills->restarts + which;
        if (restarts <= pod_ended(pc).kills_counted) /* the store knew of it */
                return;
        pod_ends(pc)->kills_counted = restarts;
        if (counted_long_ago(c, pc, at.ms))
                return;
        const struct kill_facts f = facts_of(c, p, pc, which);
        const enum kill_cause cause = kill_judge(&f);
        struct history *h = pc->role == ROLE_INIT ? NULL : ingest_history(c, p, pc);
        if (cause == KILL_NOT_BELIEVED) {
                disbelieve(c, h, p, pc, f.exit_code);
                return;
        }
        const struct oom_kill k = {.container = pc->name,
                                   .at = at,
                                   .cause = cause,
                                   .limit = cause == KILL_LIMIT ? (double)f.limit.value : 0};
        guard_killed(c, p->more ? p->more->single : NULL, p, &k);
        bool counted = dimension_kill(c, p, pc, &k);
        if (h)
                learn_kill(c, h, p, pc, &k);
        if (!counted && !h)
                return;
        c->count.kills++;
        log_info("out-of-memory kill counted", KV("namespace", p->ns), KV("pod", p->name), KV("container", pc->name),
                 KV_INT("restarts", restarts), KV("cause", kill_cause_name(k.cause)));
}

/* Its kills wait until the answer is there; those of a pod that goes cannot. */
static bool waits_for_probes(struct controller *c, struct pod *p)
{
        bool matters = p->probes_asked && !p->gone;
        for (int i = 0; i < p->containers && !matters && !p->gone && !p->probes_told; i++)
                for (int which = 0; p->container[i].kills && which < 2; which++)
                        matters |=
                                p->container[i].kills->at_ms[which] &&
                                p->container[i].kills->restarts + which > pod_ended(&p->container[i]).kills_counted &&
                                depends_on_probe(c, p, &p->container[i], which);
        if (!matters)
                return false;
        c->world.kills = true; /* also where there was no place for one more question */
        p->probes_asked = p->probes_asked || probe_ask(c, p);
        return true;
}

/* Those of a pod that nothing is learned of wait until something is. */
static void count_pod(struct controller *c, struct pod *p)
{
        if (!p->target && !(p->more && p->more->single)) {
                c->world.kills |= pod_tells_of_kill(p);
                p->probes_told = false;
                return;
        }
        if (waits_for_probes(c, p))
                return;
        for (int i = 0; i < p->containers; i++) {
                struct pod_container *pc = &p->container[i];
                for (int which = 0; pc->kills && which < 2; which++)
                        if (pc->kills->at_ms[which])
                                count_kill(c, p, pc, which);
                pod_kills_forget(pc);
        }
        p->probes_told = false;
}

void oom_probe_told(struct controller *c, struct pod *p)
{
        p->probes_asked = false;
        p->probes_told = true;
        count_pod(c, p);
        persist_kills(c);
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
