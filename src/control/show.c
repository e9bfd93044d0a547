/*
 * What others may read of a pass: each plan becomes a row of the view that is published when the pass ends.
 */
#include "controller_private.h"

#include <string.h>

/* --- profiles, namespaces, autoscalers --- */

static void drop_spec(void *spec)
{
        profile_spec_drop(spec);
}

static void show_profiles(struct controller *c, struct view *v)
{
        struct profile *p;
        for (size_t at = 0; (p = map_each(&c->world.profiles, &at));) {
                struct view_profile *to = arena_new(&v->arena, sizeof *to);
                p->shown = to;
                if (!p->valid)
                        continue;
                *to = (struct view_profile){
                        .ns = view_name(v, p->ns),
                        .name = arena_text(&v->arena, text_of(p->name)),
                        .created_ms = p->created_ms,
                        .unreadable = p->error != NULL,
                        .spec = profile_spec_hold(p->spec),
                };
                view_keep(v, p->spec, drop_spec);
                view_add_profile(v, to);
        }
}

static void show_namespaces(struct controller *c, struct view *v)
{
        struct ns *ns;
        for (size_t at = 0; (ns = map_each(&c->world.namespaces, &at));) {
                struct range_facts range;
                if (!ns->known)
                        continue;
                struct view_ns *to = arena_new(&v->arena, sizeof *to);
                range_facts(&c->world, ns->name, &range);
                to->name = view_name(v, ns->name);
                to->labels = view_labels(v, ns->labels.pair, ns->labels.count, &to->labels_size);
                to->system = profile_system_namespace(&c->world, ns->name);
                to->apply_never = ns->apply_never;
                memcpy(to->default_request, range.default_request, sizeof to->default_request);
                memcpy(to->range_min, range.min, sizeof to->range_min);
                memcpy(to->range_ratio, range.ratio, sizeof to->range_ratio);
                view_add_ns(v, to);
        }
}

static void show_hpas(struct controller *c, struct view *v)
{
        struct hpa *h;
        struct view_hpa *to = arena_new(&v->arena, (c->world.hpas.count + 1) * sizeof *to);
        v->hpa = to;
        for (size_t at = 0; (h = map_each(&c->world.hpas, &at)); to++, v->hpas++) {
                *to = (struct view_hpa){
                        .ns = view_name(v, h->ns),
                        .group = view_name(v, h->target_group),
                        .kind = view_name(v, h->target_kind),
                        .name = arena_text(&v->arena, text_of(h->target_name)),
                };
                memcpy(to->utilization, h->utilization, sizeof to->utilization);
        }
}

/* --- targets --- */

/* What an answer of ours made of the request: what stands below the original. */
static view_amount applied_of(const struct plan_container *c, enum resource r)
{
        struct amount current = c->facts.current[r], original = c->facts.original[r];
        return current.set && original.set && current.value < original.value ? current.value : -1;
}

static struct view_numbers numbers_of(const struct plan_container *c, enum resource r)
{
        const struct amount target = plan_amount_of(c, r, PLAN_TARGET), original = plan_amount_of(c, r, PLAN_ORIGINAL);
        enum reason rule = c->advice.of[r].reason;
        bool below = target.set && original.set && target.value < original.value;
        return (struct view_numbers){
                .original = view_amount_of(original),
                .current = view_amount_of(plan_amount_of(c, r, PLAN_CURRENT)),
                .model = view_amount_of(plan_amount_of(c, r, PLAN_MODEL)),
                .target = view_amount_of(target),
                .lower = view_amount_of(plan_amount_of(c, r, PLAN_LOWER)),
                .upper = view_amount_of(plan_amount_of(c, r, PLAN_UPPER)),
                .applied = applied_of(c, r),
                .limit = c->facts.limit[r].set ? c->facts.limit[r].value : 0,
                .reason = (uint8_t)c->advice.reason[r],
                .learned = below && rule != REASON_STATIC,
                .by_kill = c->facts.learned.of[r].by_kill,
        };
}

static const struct view_container *containers_of(struct view *v, const struct plan *p)
{
        struct view_container *to = arena_new(&v->arena, (size_t)(p->containers + 1) * sizeof *to);
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                to[i].name = view_name(v, c->name);
                to[i].role = (uint8_t)c->role;
                to[i].state = (uint8_t)c->facts.learned.state;
                to[i].ignored = c->facts.ignored;
                for (enum resource r = CPU; r < RESOURCES; r++)
                        to[i].of[r] = numbers_of(c, r);
        }
        return to;
}

static const struct view_condition *conditions_of(struct view *v, const struct plan *p)
{
        struct view_condition *to = arena_new(&v->arena, (size_t)(p->conditions + 1) * sizeof *to);
        for (int i = 0; i < p->conditions; i++)
                to[i] = (struct view_condition){p->condition[i].type, p->condition[i].reason, p->condition[i].status};
        return to;
}

struct view_target *show_row_new(struct view *v, const struct show_name *n)
{
        struct view_target *to = arena_new(&v->arena, sizeof *to);
        *to = (struct view_target){
                .ns = view_name(v, n->ns),
                .group = view_name(v, n->group),
                .version = view_name(v, n->version),
                .kind = view_name(v, n->kind),
                .name = arena_text(&v->arena, text_of(n->name)),
                .recommendation = arena_text(&v->arena, text_of(n->recommendation)),
                .labels = "",
        };
        return to;
}

static struct view_target *row_of(struct view *v, const struct target *t)
{
        struct view_target *to =
                show_row_new(v, &(struct show_name){t->ns, t->group, t->version, t->kind, t->name, t->recommendation});
        if (t->published && t->published->hold)
                to->hold = arena_text(&v->arena, text_of(t->published->hold));
        return to;
}

void show_target(struct controller *c, const struct plan *p)
{
        struct view *v = c->next_view;
        const struct target *t = p->target;
        const struct workload *wl = t->workload;
        if (!v)
                return;
        struct view_target *to = row_of(v, t);
        struct labels own = workload_own_labels(wl);
        to->labels = view_labels(v, own.pair, own.count, &to->labels_size);
        to->profile = t->profile ? t->profile->shown : NULL;
        to->state = (uint8_t)p->state;
        to->contested = p->contested;
        to->orphaned = p->orphaned;
        to->apply_never = wl->apply_never;
        memcpy(to->hpa_holds, wl->hpa, sizeof to->hpa_holds);
        to->replicas = wl->replicas;
        for (enum resource r = CPU; r < RESOURCES; r++)
                to->saving[r] = plan_saving(p, r);
        to->samples = p->samples;
        to->since_ms = p->since_ms;
        to->last_ms = p->last_ms;
        to->applied_ms = t->deed.changed_ms;
        to->confidence_percent = p->confidence_percent;
        to->containers = (uint16_t)p->containers;
        to->container = containers_of(v, p);
        to->conditions = (uint16_t)p->conditions;
        to->condition = conditions_of(v, p);
        view_add_target(v, to);
}

static bool says(const struct published *p, const char *condition)
{
        for (int i = 0; i < p->conditions; i++)
                if (p->condition[i].status && strcmp(p->condition[i].type, condition) == 0)
                        return true;
        return false;
}

static bool is_orphaned(const struct published *p)
{
        for (int i = 0; i < p->conditions; i++)
                if (strcmp(p->condition[i].type, "Applied") == 0)
                        return strcmp(p->condition[i].reason, "Orphaned") == 0;
        return false;
}

/* The applied values of a Recommendation are what stands as ours, as far as it tells. */
static view_amount standing(const struct view_numbers *n)
{
        return n->current >= 0 && n->original >= 0 && n->current < n->original ? n->current : -1;
}

static const struct view_container *published_containers(struct view *v, const struct published *p, bool gone)
{
        struct view_container *to = arena_new(&v->arena, (size_t)(p->rows + 1) * sizeof *to);
        for (int i = 0; i < p->rows; i++) {
                to[i].name = view_name(v, p->row[i].container);
                to[i].state = (uint8_t)(gone ? STATE_STALE : p->row[i].state);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        to[i].of[r] = p->row[i].shown[r];
                        to[i].of[r].applied = gone ? -1 : standing(&p->row[i].shown[r]);
                }
        }
        return to;
}

static const struct view_condition *published_conditions(struct view *v, const struct published *p)
{
        struct view_condition *to = arena_new(&v->arena, (size_t)(p->conditions + 1) * sizeof *to);
        for (int i = 0; i < p->conditions; i++)
                to[i] = (struct view_condition){view_name(v, p->condition[i].type),
                                                view_name(v, p->condition[i].reason), p->condition[i].status};
        return to;
}

/* One made again by the name of a workload that is gone is sized at once, by the last good values. */
void show_published(struct view *v, const struct published *p, struct view_target *to, bool gone)
{
        to->labels = view_labels(v, p->labels.pair, p->labels.count, &to->labels_size);
        to->state = (uint8_t)(p->hold ? STATE_HELD : gone ? STATE_STALE : p->state);
        to->contested = says(p, "Contested");
        to->orphaned = !gone && is_orphaned(p);
        to->samples = p->samples;
        to->since_ms = p->since_ms;
        to->last_ms = p->last_ms;
        to->applied_ms = p->applied_ms;
        to->confidence_percent = p->confidence_percent;
        memcpy(to->saving, p->saving, sizeof to->saving);
        to->containers = (uint16_t)p->rows;
        to->container = published_containers(v, p, gone);
        to->conditions = (uint16_t)p->conditions;
        to->condition = published_conditions(v, p);
        view_add_target(v, to);
}

void show_gone(struct controller *c, const struct target *t)
{
        if (c->next_view && t->published && t->published->known)
                show_published(c->next_view, t->published, row_of(c->next_view, t), true);
}

/* --- a pass --- */

void show_begin(struct controller *c)
{
        view_drop(c->next_view);
        c->next_view = c->server ? view_new() : NULL;
        if (c->next_view)
                show_profiles(c, c->next_view);
}

struct view *show_end(struct controller *c)
{
        struct view *v = STEAL(&c->next_view);
        if (!v)
                return view_new();
        show_namespaces(c, v);
        show_hpas(c, v);
        v->at = loop_now(c->loop).wall;
        v->apply_never = c->options.apply_never;
        if (c->source_away) {
                v->source_error = arena_text(&v->arena, text_of(c->source_error));
                v->source_since_ms = c->source_since_ms;
        }
        view_finish(v);
        return v;
}
