/*
 * Raising: pods of InPlace that use more than they ask for are to get more before their node is short. Here each sample
 * is looked at; the resize is made as any other, but waits for nothing.
 */
#include "learner_private.h"

/* Rounded up, so that any use above a request is above it here. */
static int64_t used_of(const struct pod_metrics_container_view *v, enum resource r)
{
        enum { NANO_OF_MILLI = 1000000 };
        return r == CPU ? (v->cpu_nano + NANO_OF_MILLI - 1) / NANO_OF_MILLI : v->memory_bytes;
}

/* Nothing is kept of a pod that never used more than it asked for. */
static struct raising *raising_of(struct pod *p, int container, enum resource r, bool above)
{
        if (!p->resizing && !above)
                return NULL;
        return &pod_resizing(p)->raising[(size_t)container * RESOURCES + r];
}

void raise_see(const struct history *h, struct pod *p, int container, const struct pod_metrics_container_view *v,
               struct wall at)
{
        const struct pod_container *pc = &p->container[container];
        const struct profile_spec *spec = h->target->profile->spec;
        bool ignore;
        const struct resource_policy *policy = profile_spec_container(spec, text_of(pc->name), &ignore);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct amount request = pod_request(pc, r);
                if (!v->has[r] || !request.set || !policy[r].enabled || ignore)
                        continue;
                int64_t used = used_of(v, r);
                struct raising *raising = raising_of(p, container, r, used > request.value);
                if (raising) {
                        raising->used = used;
                        raising->sampled = true;
                }
                const struct raise_facts facts = {
                        .policy = &spec->apply.raise,
                        .at = at,
                        .used = used,
                        .request = request.value,
                        .original = h->original[r],
                        .round_to = policy[r].round_to,
                };
                if (raising && !raise_sample(&raising->stretch, &facts, &raising->to))
                        raising->to = 0;
        }
}
