/*
 * Writes to a pod by other modules, and the sum of its usage.
 */
#include <string.h>

#include "cache/cache.h"

void pod_admission_told(struct pod *p)
{
        p->admitted = false;
}

void pod_set_canary(struct pod *p, bool first)
{
        p->canary = first;
}

/* --- kills --- */

void pod_set_probes_asked(struct pod *p, bool asked)
{
        p->probes_asked = asked;
}

void pod_kills_asked(struct pod *p)
{
        for (int i = 0; i < p->containers; i++)
                for (int k = 0; p->container[i].kills && k < p->container[i].kills->count; k++)
                        p->container[i].kills->kill[k].asked = true;
}

void pod_kills_answered(struct pod *p)
{
        for (int i = 0; i < p->containers; i++)
                for (int k = 0; p->container[i].kills && k < p->container[i].kills->count; k++)
                        p->container[i].kills->kill[k].answered = p->container[i].kills->kill[k].asked;
}

void pod_kill_is_kubelets(struct pod_kill *k)
{
        k->by_kubelet = true;
}

void pod_kill_date(struct pod_kill *k, int64_t at_ms)
{
        k->at_ms = at_ms;
}

void pod_kill_know(struct pod_kill *k, const struct kill_known *known)
{
        k->known = *known;
        k->known.looked = true;
}

/* --- usage --- */

int64_t pod_used(const struct pod *p, enum resource r)
{
        int64_t memory = 0;
        if (r == CPU)
                return p->cpu_milli;
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].role != ROLE_INIT)
                        memory = add_saturated(memory, p->container[i].last_memory);
        return memory;
}

void pod_history(struct pod_container *c, struct history *h)
{
        c->history = h;
}

void pod_cpu_told(struct pod *p, const struct pod_container *c, int64_t nanocores)
{
        if (p->told)
                p->told->cpu[c - p->container] = nanocores;
}

/* --- resizes --- */

struct resizing *pod_resizing_for(struct pod *p, int64_t set_ms)
{
        struct resizing *kept = pod_resizing(p);
        if (kept->set_ms != set_ms) {
                kept->set_ms = set_ms;
                resizing_done(p, false);
        }
        return kept;
}

void resizing_done(struct pod *p, bool left)
{
        struct resizing *kept = p->resizing;
        kept->left = left;
        kept->failures = 0;
        mem_free(kept->refused);
        kept->refused = NULL;
}

void resizing_invalid(struct pod *p, const char *why)
{
        resizing_done(p, true);
        resizing_raised(p);
        p->resizing->refused = mem_string(why);
}

void resizing_raised(struct pod *p)
{
        for (int i = 0; i < p->containers * RESOURCES; i++)
                p->resizing->raising[i].to = 0;
}

void resizing_refused(struct resizing *kept, struct mono again, const char *why)
{
        kept->again = again;
        mem_free(kept->refused);
        kept->refused = mem_string(why);
}

void resizing_failed(struct resizing *kept)
{
        kept->failures++;
}

void pod_resize_after(struct pod *p, struct mono again)
{
        pod_resizing(p)->again = again;
}

void raising_sampled(struct raising *r, const struct raise_facts *facts)
{
        r->used = facts->used;
        r->sampled = true;
        if (!raise_sample(&r->stretch, facts, &r->to))
                r->to = 0;
}

void pod_set_requests(struct pod *p, const struct pod_view *v)
{
        for (int i = 0; i < v->containers; i++)
                for (int k = 0; k < p->containers; k++)
                        if (text_is(v->container[i].name, p->container[k].name))
                                for (enum resource r = CPU; r < RESOURCES; r++)
                                        p->container[k].request[r] = amount_pack(v->container[i].request[r]);
        p->ours = v->meta.annotation.applied.len > 0;
}
