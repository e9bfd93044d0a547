#include "correct_subject.h"

#include <string.h>

#include "core/kind.h"

struct correct_facts correct_facts_of(const struct correct_subject *s, int container, enum resource r)
{
        const struct snapshot_target *t = s->target;
        const struct status_container *c = &t->container[container];
        const struct status_numbers *n = &c->of[r];
        const struct resource_policy *policy = s->defaults;
        bool ignored = false,
             whole = strcmp(c->name, CONTAINER_WHOLE) == 0; /* a pod's or namespace's sum: no LimitRange bounds it */
        if (t->profile)
                policy = profile_spec_container(t->profile->spec, text_of(c->name), &ignored);
        return (struct correct_facts){
                .resource = r,
                .policy = &policy[r],
                .overcommit = s->apply->overcommit,
                .role = (enum container_role)c->role,
                .ignored = ignored,
                .state = (enum state)c->state,
                .estimate = {.known = n->model >= 0,
                             .by_kill = n->by_kill,
                             .more = n->more,
                             .model = n->model,
                             .lower = n->lower,
                             .upper = n->upper,
                             .early = s->apply->early.enabled && n->early ? n->target : 0},
                .original = amount_of_status(n->original),
                .limit = {n->limit > 0, n->limit},
                .range_min = s->ns && !whole ? s->ns->range_min[r] : (struct amount){0},
                .range_ratio = s->ns && !whole ? s->ns->range_ratio[r] : (struct amount){0},
                .heap_start =
                        s->apply->runtime == RUNTIME_RESPECT ? amount_of_heap_start(n->heap_start) : (struct amount){0},
                .last_good = n->learned ? amount_of_status(n->target) : (struct amount){0},
                .keep_guaranteed = s->apply->keep_guaranteed,
        };
}
