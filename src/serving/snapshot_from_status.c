/*
 * Makes those parts of a snapshot that come from the objects in the cache and not from plans, and makes a whole
 * snapshot from Recommendations where there are no plans.
 */
#include "serving/snapshot_from_status.h"
#include "cache/profile_fuse.h"
#include "objects/decode_profile.h"
#include "objects/target_key.h"
#include "plan/autoscaler_plan.h"
#include "plan/plan.h"

#include <string.h>

/* --- profiles, namespaces, autoscalers --- */

static void drop_spec(void *spec)
{
        profile_spec_drop(spec);
}

/* The namespaces for which the profile's fuse is blown. */
static const char *const *snapshot_fuses(struct snapshot *v, const struct profile *p, size_t *ret_count)
{
        const char **to = arena_new(&v->arena, (p->fuses.count + 1) * sizeof *to);
        const struct profile_fuse *f;
        *ret_count = 0;
        for (size_t at = 0; (f = map_each(&p->fuses, &at));)
                to[(*ret_count)++] = snapshot_name(v, f->ns);
        return to;
}

static void snapshot_add_profile_of(struct snapshot *v, struct profile *p)
{
        profile_set_shown(p, NULL);
        if (!p->valid)
                return;
        struct snapshot_profile *to = arena_new(&v->arena, sizeof *to);
        size_t fused_count;
        const char *const *fused = snapshot_fuses(v, p, &fused_count);
        profile_set_shown(p, to);
        *to = (struct snapshot_profile){
                .ns = snapshot_name(v, p->ns),
                .name = arena_text(&v->arena, text_of(p->name)),
                .created_ms = p->created_ms,
                .left_out = p->left_out,
                .unreadable = p->error != NULL,
                .canary_closed = p->canary_closed,
                .fused = fused,
                .fused_count = fused_count,
                .spec = profile_spec_hold(p->spec),
        };
        snapshot_keep(v, p->spec, drop_spec);
        snapshot_add_profile(v, to);
}

/* Add profiles namespace by namespace, and then ClusterProfiles, so that sorting all profiles is cheap. */
void snapshot_add_profiles(struct cache *w, struct snapshot *v)
{
        struct ns *ns;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                for (size_t i = 0; i < ns->profiles.count; i++)
                        snapshot_add_profile_of(v, ns->profiles.of[i]);
        for (size_t i = 0; i < w->of_cluster.count; i++)
                snapshot_add_profile_of(v, w->of_cluster.of[i]);
}

void snapshot_add_namespaces(const struct cache *w, struct snapshot *v)
{
        const struct ns *ns;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));) {
                struct range_facts range;
                if (!ns->known)
                        continue;
                struct snapshot_ns *to = arena_new(&v->arena, sizeof *to);
                range_facts(w, ns->name, &range);
                to->name = snapshot_name(v, ns->name);
                to->labels = snapshot_labels(v, ns->labels.pair, ns->labels.count, &to->labels_size);
                to->system = profile_system_namespace(w, ns->name);
                to->apply_never = ns->apply_never;
                memcpy(to->default_request, range.default_request, sizeof to->default_request);
                memcpy(to->range_min, range.min, sizeof to->range_min);
                memcpy(to->range_ratio, range.ratio, sizeof to->range_ratio);
                memcpy(to->default_limit, range.default_limit, sizeof to->default_limit);
                memcpy(to->pod_min, range.pod_min, sizeof to->pod_min);
                memcpy(to->pod_ratio, range.pod_ratio, sizeof to->pod_ratio);
                snapshot_add_ns(v, to);
        }
}

void snapshot_add_hpas(const struct cache *w, struct snapshot *v)
{
        const struct autoscaler *h;
        struct snapshot_hpa *to = arena_new(&v->arena, w->autoscalers.count * sizeof *to);
        v->hpa = to;
        for (size_t at = 0; (h = map_each(&w->autoscalers, &at));) {
                if (autoscaler_spoken_for(w, h))
                        continue;
                *to = (struct snapshot_hpa){
                        .ns = snapshot_name(v, h->ns),
                        .group = snapshot_name(v, h->target_group),
                        .kind = snapshot_name(v, h->target_kind),
                        .name = arena_text(&v->arena, text_of(h->target_name)),
                };
                for (enum resource r = CPU; r < RESOURCES; r++)
                        to->utilization[r] = autoscaler_utilizes(h, r);
                to->retunes = autoscaler_hold(h) == AUTOSCALER_FREE;
                if (to->utilization[CPU] || to->utilization[MEMORY])
                        to->asks = autoscaler_selector(w, h, &v->arena, &to->asks_unread);
                to++, v->hpas++;
        }
}

void snapshot_add_other_autoscalers(const struct cache *w, struct snapshot *v)
{
        const struct other_autoscaler *r;
        struct snapshot_other_autoscaler *to = arena_new(&v->arena, (w->other_autoscalers.count + 1) * sizeof *to);
        v->other_autoscaler = to;
        for (size_t at = 0; (r = map_each(&w->other_autoscalers, &at)); to++, v->other_autoscalers++)
                *to = (struct snapshot_other_autoscaler){
                        .ns = snapshot_name(v, r->ns),
                        .group = snapshot_name(v, r->target_group),
                        .kind = snapshot_name(v, r->target_kind),
                        .name = arena_text(&v->arena, text_of(r->target_name)),
                        .left = snapshot_vpa_policy(v, r->policy),
                };
}

/* --- rows of Recommendations --- */

/* The workload's name, without a copy where possible: a Recommendation's name mostly ends in the name of its
 * workload. */
static const char *name_within(struct snapshot *v, const char *recommendation, const char *name)
{
        size_t whole = strlen(recommendation), len = strlen(name);
        const char *tail = recommendation + (whole > len ? whole - len : 0);
        return strcmp(tail, name) == 0 ? tail : arena_text(&v->arena, text_of(name));
}

struct snapshot_target *snapshot_row_new(struct snapshot *v, const struct snapshot_row_name *n)
{
        struct snapshot_target *to = arena_new(&v->arena, sizeof *to);
        const char *recommendation = arena_text(&v->arena, text_of(n->recommendation));
        *to = (struct snapshot_target){
                .ns = snapshot_name(v, n->ns),
                .group = snapshot_name(v, n->group),
                .version = snapshot_name(v, n->version),
                .kind = snapshot_name(v, n->kind),
                .name = name_within(v, recommendation, n->name),
                .recommendation = recommendation,
                .labels = "",
        };
        return to;
}

static const struct status_container *row_containers(struct snapshot *v, const struct recommendation_status *s,
                                                     bool gone)
{
        struct status_container *to = arena_new(&v->arena, (size_t)s->containers * sizeof *to);
        for (int i = 0; i < s->containers; i++) {
                to[i] = s->container[i];
                to[i].name = snapshot_name(v, s->container[i].name);
                if (!gone)
                        continue;
                to[i].state = STATE_STALE;
                for (enum resource r = CPU; r < RESOURCES; r++)
                        to[i].of[r].applied = -1;
        }
        return to;
}

static const struct snapshot_condition *row_conditions(struct snapshot *v, const struct recommendation_status *s)
{
        AUTO(mem_free) struct snapshot_condition *c = mem_new_array((size_t)s->conditions + 1, sizeof *c);
        for (int i = 0; i < s->conditions; i++)
                c[i] = (struct snapshot_condition){snapshot_name(v, s->condition[i].type),
                                                   snapshot_name(v, s->condition[i].reason), s->condition[i].status};
        return snapshot_conditions(v, c, (size_t)s->conditions);
}

static const struct status_quota *row_quota(struct snapshot *v, const struct recommendation_status *s)
{
        struct status_quota *to = s->quota ? arena_new(&v->arena, RESOURCES * sizeof *to) : NULL;
        for (enum resource r = CPU; to && r < RESOURCES; r++)
                to[r] = s->quota[r];
        return to;
}

static const struct status_node *row_node(struct snapshot *v, const struct recommendation_status *s)
{
        struct status_node *to = s->node ? arena_new(&v->arena, RESOURCES * sizeof *to) : NULL;
        for (enum resource r = CPU; to && r < RESOURCES; r++)
                to[r] = s->node[r];
        return to;
}

/* Copy the advised limits of a status. NULL: it advises none, or the workload is gone, so that nobody needs them. */
static const struct status_limits *row_limits(struct snapshot *v, const struct recommendation_status *s, bool gone)
{
        if (!s->limits || gone)
                return NULL;
        struct status_limits *to = status_limits_new(&v->arena, (size_t)s->limits->rows);
        memcpy(to, s->limits, sizeof *to + (size_t)s->limits->rows * sizeof to->row[0]);
        return to;
}

static const status_amount *row_so_far(struct snapshot *v, const struct recommendation_status *s)
{
        status_amount *to = s->so_far ? arena_new(&v->arena, RESOURCES * sizeof *to) : NULL;
        for (enum resource r = CPU; to && r < RESOURCES; r++)
                to[r] = s->so_far[r];
        return to;
}

void snapshot_row_fill(struct snapshot *v, const struct recommendation_status *s, bool gone, struct snapshot_target *to)
{
        const struct status_decision *d = &s->decision;
        to->state = gone ? STATE_STALE : s->state;
        to->mode = s->mode;
        to->decision = *d;
        if (gone)
                to->decision = (struct status_decision){.contested = d->contested,
                                                        .waits = d->waits,
                                                        .profile_fused = d->profile_fused,
                                                        .pod_asks = {d->pod_asks[CPU], d->pod_asks[MEMORY]}};
        to->samples = s->samples;
        to->since_ms = s->since_ms;
        to->last_ms = s->last_ms;
        to->applied_ms = s->applied_ms;
        to->confidence_percent = s->confidence_percent;
        memcpy(to->saving, s->saving, sizeof to->saving);
        to->so_far = row_so_far(v, s);
        to->limits = row_limits(v, s, gone);
        to->left = snapshot_vpa_policy(v, s->left);
        to->quota = row_quota(v, s);
        to->node = row_node(v, s);
        to->containers = s->containers;
        to->container = row_containers(v, s, gone);
        to->conditions = s->conditions;
        to->condition = row_conditions(v, s);
}

void snapshot_add_published(struct snapshot *v, const struct published *p, struct snapshot_target *to, bool gone)
{
        snapshot_row_fill(v, &p->status, gone, to);
        to->labels = snapshot_labels(v, p->labels.pair, p->labels.count, &to->labels_size);
        if (p->hold)
                to->state = STATE_HELD;
        snapshot_add_target(v, to);
}

static const struct snapshot_profile *snapshot_profile_of(const struct cache *w, const struct published *p,
                                                          struct text ns)
{
        AUTO(mem_free) char *key = mem_printf("%.*s/%s", p->of_profile ? (int)ns.len : 0, ns.p, p->profile_name);
        const struct profile *profile = map_get(&w->profiles, text_of(key));
        return profile && profile->valid ? profile->shown : NULL;
}

/* The profile that a Recommendation names and that could not be listed: made once, with default settings, and shared by
 * Recommendations. */
static const struct snapshot_profile *snapshot_unseen_profile(struct snapshot *v, const struct published *p,
                                                              const char *ns, struct map *unseen, struct arena *a)
{
        AUTO(mem_free) char *key = mem_printf("%s/%s", p->of_profile ? ns : "", p->profile_name);
        struct snapshot_profile *to = map_get(unseen, text_of(key));
        if (to)
                return to;
        struct profile_spec defaults;
        struct err none = {0};
        (void)profile_spec_read(NULL, &defaults, &none); /* cannot fail: nothing is read */
        struct profile_spec *spec = profile_spec_share(&defaults);
        to = arena_new(&v->arena, sizeof *to);
        *to = (struct snapshot_profile){.ns = p->of_profile ? snapshot_name(v, ns) : NULL,
                                        .name = arena_text(&v->arena, text_of(p->profile_name)),
                                        .unseen = true,
                                        .spec = spec};
        snapshot_keep(v, spec, drop_spec);
        snapshot_add_profile(v, to);
        map_put(unseen, text_of(arena_text(a, text_of(key))), to);
        return to;
}

/* The autoscalers of a workload, including those that its Recommendation does not reflect yet. */
struct scaled {
        const struct other_autoscaler *other; /* the VerticalPodAutoscaler of its requests; NULL: none */
        bool on[RESOURCES];                   /* an autoscaler scales by utilization of the resource, or may */
        bool stuck[RESOURCES]; /* an autoscaler concerns the resource, and its targets cannot be retuned */
};

static struct scaled *scaled_get(struct map *all, struct arena *a, const char *ns, const char *group, const char *kind,
                                 const char *name)
{
        AUTO(mem_free) char *key = target_key_new(text_of(ns), text_of(group), text_of(kind), text_of(name));
        struct scaled *s = map_get(all, text_of(key));
        if (!s) {
                s = arena_new(a, sizeof *s);
                map_put(all, text_of(arena_text(a, text_of(key))), s);
        }
        return s;
}

static void scaled_read(const struct cache *w, struct arena *a, struct map *ret)
{
        const struct autoscaler *h;
        const struct other_autoscaler *v;
        for (size_t at = 0; (v = map_each(&w->other_autoscalers, &at));) {
                struct scaled *to = scaled_get(ret, a, v->ns, v->target_group, v->target_kind, v->target_name);
                if (!to->other || other_autoscaler_wins(v, to->other))
                        to->other = v;
        }
        for (size_t at = 0; (h = map_each(&w->autoscalers, &at));) {
                if (autoscaler_spoken_for(w, h))
                        continue;
                struct scaled *to = scaled_get(ret, a, h->ns, h->target_group, h->target_kind, h->target_name);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        to->on[r] |= autoscaler_utilizes(h, r);
                        to->stuck[r] |= autoscaler_utilizes(h, r) && autoscaler_hold(h) != AUTOSCALER_FREE;
                }
        }
}

static bool snapshot_keeps(const struct snapshot_target *t, const struct scaled *s, enum resource r)
{
        return t->profile && t->profile->spec->apply.hpa == HPA_RETUNE ? s->stuck[r] : s->on[r];
}

/* Leave to a VPA the requests that its policy sets. Where the Recommendation was made with another policy of a VPA,
 * leave every request. */
static void snapshot_leave(struct snapshot *v, const struct other_autoscaler *other, struct snapshot_target *to)
{
        if (!to->decision.other_autoscaler)
                to->left = snapshot_vpa_policy(v, other->policy);
        else if (!vpa_policy_equal(to->left, other->policy))
                to->left = NULL;
        to->decision.other_autoscaler = true;
}

static void show_recommendation(const struct cache *w, const struct published *p, const struct map *scaled,
                                struct map *unseen, struct arena *scratch, struct snapshot *v)
{
        const char *slash = strchr(p->key, '/');
        struct text ns = {p->key, (size_t)(slash - p->key)}, group, version;
        key_split(text_of(p->target_api_version), &group, &version);
        AUTO(mem_free) char *own_ns = mem_string_n(ns.p, ns.len);
        AUTO(mem_free) char *own_group = mem_string_n(group.p, group.len);
        AUTO(mem_free) char *own_version = mem_string_n(version.p, version.len);
        struct snapshot_target *to =
                snapshot_row_new(v, &(struct snapshot_row_name){own_ns, own_group, own_version, p->target_kind,
                                                                p->target_name, slash + 1});
        to->hold = p->hold ? arena_text(&v->arena, text_of(p->hold)) : NULL;
        to->profile = snapshot_profile_of(w, p, ns);
        if (!to->profile && v->unlisted[p->of_profile] && *p->profile_name)
                to->profile = snapshot_unseen_profile(v, p, own_ns, unseen, scratch);
        /* Take the holds by autoscalers from the status: those of a Rollout, or seen with other permissions, only the
         * controller knows. */
        for (int i = 0; i < p->status.containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        to->hpa_holds[r] |= p->status.container[i].of[r].reason == REASON_HPA_HOLD;
        for (enum resource r = CPU; r < RESOURCES; r++)
                to->hpa_holds[r] |= p->status.decision.hpa_shared[r];
        snapshot_add_published(v, p, to, false);
        if (scaled->count) {
                AUTO(mem_free) char *key = target_key_new(ns, group, text_of(p->target_kind), text_of(p->target_name));
                const struct scaled *by = map_get(scaled, text_of(key));
                if (by && by->other)
                        snapshot_leave(v, by->other, to);
                for (enum resource r = CPU; by && r < RESOURCES; r++)
                        to->hpa_holds[r] |= snapshot_keeps(to, by, r);
        }
}

/* Whether the cluster's fuse is blown. Every profile's status says so then, so the first that does suffices. */
static bool is_fused(const struct cache *w)
{
        const struct profile *p;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                if (p->told.fused)
                        return true;
        return false;
}

void snapshot_add_recommendations(const struct cache *w, struct arena *scratch, struct snapshot *v)
{
        v->fuse_blown = is_fused(w);
        struct map scaled = {0}, unseen = {0};
        const struct published *p;
        scaled_read(w, scratch, &scaled);
        for (size_t at = 0; (p = map_each(&w->published, &at));)
                if (p->known && *p->target_name)
                        show_recommendation(w, p, &scaled, &unseen, scratch, v);
        map_release(&unseen);
        map_release(&scaled);
}

struct snapshot *snapshot_from_status(struct cache *w, struct wall at)
{
        return snapshot_from_shown(w, (const char *const[2]){NULL, NULL}, at);
}

struct snapshot *snapshot_from_shown(struct cache *w, const char *const unlisted[static 2], struct wall at)
{
        struct snapshot *v = snapshot_new();
        for (int i = 0; i < 2; i++)
                v->unlisted[i] = unlisted[i] ? arena_text(&v->arena, text_of(unlisted[i])) : NULL;
        struct arena scratch = {0};
        struct profile *p;
        for (size_t i = 0; (p = map_each(&w->profiles, &i));)
                profile_fuses_follow(p);
        profile_bounds_follow(w);
        snapshot_add_profiles(w, v);
        snapshot_add_recommendations(w, &scratch, v);
        snapshot_add_namespaces(w, v);
        snapshot_add_hpas(w, v);
        snapshot_add_other_autoscalers(w, v);
        arena_release(&scratch);
        v->at = at;
        v->ready = true;
        snapshot_finish(v);
        return v;
}
