/*
 * Raising gives a pod in mode InPlace larger requests once it uses more than it requests, before its node runs short.
 * Each sample is checked here. The resize itself is done like any other resize (apply/pod_resize.c), but at once.
 */
#include "learner_private.h"

/* Usage in millicores or bytes. CPU is rounded up, so that any usage above a request stays above it. */
static int64_t used_of(const struct pod_metrics_container_view *v, enum resource r)
{
        enum { NANO_OF_MILLI = 1000000 };
        return r == CPU ? (v->cpu_nano + NANO_OF_MILLI - 1) / NANO_OF_MILLI : v->memory_bytes;
}

/* The raise state of one resource of a container. NULL: no container of the pod has used more than its request, so no
 * memory is spent on it. */
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
                const struct raise_facts facts = {
                        .policy = &spec->apply.raise,
                        .at = at,
                        .used = used,
                        .request = request.value,
                        .original = h->original[r],
                        .round_to = policy[r].round_to,
                };
                if (raising)
                        raising_sampled(raising, &facts);
        }
}
