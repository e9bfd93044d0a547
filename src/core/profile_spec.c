#include "core/profile_spec.h"

#include "core/kind.h"

const struct resource_policy *profile_spec_container(const struct profile_spec *p, struct text name, bool *ret_ignore)
{
        const struct profile_container *rest = NULL;
        *ret_ignore = false;
        if (text_is(name, CONTAINER_WHOLE))
                return p->of;
        for (int i = 0; i < p->containers; i++) {
                const struct profile_container *c = &p->container[i];
                if (text_is(name, c->name)) {
                        *ret_ignore = c->ignore;
                        return c->of;
                }
                if (strcmp(c->name, "*") == 0)
                        rest = c;
        }
        *ret_ignore = rest && rest->ignore;
        return rest ? rest->of : p->of;
}

static bool selects_namespace(const struct profile_spec *p, struct text ns, const struct profile_subject *s)
{
        if (ns.p)
                return text_equal(ns, s->ns);
        if (s->system && !selector_names(p->namespace_selector, TEXT("kubernetes.io/metadata.name"), s->ns))
                return false;
        return selector_match(p->namespace_selector, s->ns_label, s->ns_labels);
}

/* The API version of a profile's target does not count: the API server serves the same object in each version. */
static bool selects_kind(const struct profile_spec *p, const struct profile_subject *s)
{
        for (int i = 0; i < p->targets; i++)
                if (text_equal(kind_group(text_of(p->target[i].api_version)), s->group) &&
                    text_is(s->kind, p->target[i].kind))
                        return true;
        return p->targets == 0 && s->by_default;
}

bool profile_selects(const struct profile_spec *p, struct text ns, const struct profile_subject *s)
{
        if (p->dimension != s->dimension)
                return false;
        if (p->dimension == DIMENSION_NODE) /* a node belongs to no namespace */
                return !ns.p && selector_match(p->selector, s->label, s->labels);
        if (!selects_namespace(p, ns, s))
                return false;
        if (kind_dimension(s->group, s->kind) == DIMENSION_NAMESPACE)
                return true;
        return selects_kind(p, s) && selector_match(p->selector, s->label, s->labels);
}

struct profile_cost profile_spec_cost(const struct profile_spec *p)
{
        struct profile_cost cost = {.subject = 1 + p->targets}; /* the subject's namespace, and the targets' kinds */
        for (size_t i = 0; p->selector && i < p->selector->count; i++) {
                cost.subject += (int64_t)p->selector->of[i].values;
                cost.label++;
        }
        return cost;
}

bool profile_beats(struct profile_rank a, struct profile_rank b)
{
        if (a.cluster != b.cluster)
                return b.cluster;
        if (a.priority != b.priority)
                return a.priority > b.priority;
        if (a.created_ms != b.created_ms)
                return a.created_ms < b.created_ms;
        return strcmp(a.name, b.name) < 0;
}
