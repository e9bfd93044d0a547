/*
 * What a world tells a view beside its plans; and all of a view where Recommendations are all there is.
 */
#include "plan/autoscaler_plan.h"
#include "plan/plan.h"
#include "serving/snapshot_build.h"

#include <string.h>

/* --- profiles, namespaces, autoscalers --- */

static void drop_spec(void *spec)
{
        profile_spec_drop(spec);
}

void snapshot_add_profiles(struct cache *w, struct snapshot *v)
{
        struct profile *p;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));) {
                p->shown = NULL;
                if (!p->valid)
                        continue;
                struct snapshot_profile *to = arena_new(&v->arena, sizeof *to);
                p->shown = to;
                *to = (struct snapshot_profile){
                        .ns = snapshot_name(v, p->ns),
                        .name = arena_text(&v->arena, text_of(p->name)),
                        .created_ms = p->created_ms,
                        .unreadable = p->error != NULL,
                        .canary_closed = p->canary_closed,
                        .spec = profile_spec_hold(p->spec),
                };
                snapshot_keep(v, p->spec, drop_spec);
                snapshot_add_profile(v, to);
        }
}

void snapshot_add_namespaces(struct cache *w, struct snapshot *v)
{
        struct ns *ns;
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

void snapshot_add_hpas(struct cache *w, struct snapshot *v)
{
        struct autoscaler *h;
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
                to++, v->hpas++;
        }
}

void snapshot_add_other_autoscalers(struct cache *w, struct snapshot *v)
{
        struct other_autoscaler *r;
        struct snapshot_other_autoscaler *to = arena_new(&v->arena, (w->other_autoscalers.count + 1) * sizeof *to);
        v->rival = to;
        for (size_t at = 0; (r = map_each(&w->other_autoscalers, &at)); to++, v->other_autoscalers++)
                *to = (struct snapshot_other_autoscaler){
                        .ns = snapshot_name(v, r->ns),
                        .group = snapshot_name(v, r->target_group),
                        .kind = snapshot_name(v, r->target_kind),
                        .name = arena_text(&v->arena, text_of(r->target_name)),
                };
}

/* --- rows of Recommendations --- */

/* Most Recommendations are named for their workload: its name is the end of theirs, and kept once. */
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

const struct snapshot_quota *snapshot_quota_new(struct snapshot *v, const struct amount hard[static RESOURCES],
                                                const struct amount used[static RESOURCES])
{
        if (!hard[CPU].set && !hard[MEMORY].set)
                return NULL;
        struct snapshot_quota *to = arena_new(&v->arena, RESOURCES * sizeof *to);
        for (enum resource r = CPU; r < RESOURCES; r++)
                to[r] = (struct snapshot_quota){snapshot_amount_of(hard[r]), snapshot_amount_of(used[r])};
        return to;
}

static bool snapshot_says(const struct published *p, const char *condition)
{
        for (int i = 0; i < p->conditions; i++)
                if (p->condition[i].status && strcmp(p->condition[i].type, condition) == 0)
                        return true;
        return false;
}

/* For canaries of its profile. */
static bool snapshot_waits(const struct published *p)
{
        for (int i = 0; i < p->conditions; i++)
                if (p->condition[i].status && strcmp(p->condition[i].type, "Canary") == 0)
                        return strcmp(p->condition[i].reason, "Waiting") == 0;
        return false;
}

static bool snapshot_is_orphaned(const struct published *p)
{
        for (int i = 0; i < p->conditions; i++)
                if (strcmp(p->condition[i].type, "Applied") == 0)
                        return strcmp(p->condition[i].reason, "Orphaned") == 0;
        return false;
}

static void read_pod_asks(const struct published *p, bool ret[static RESOURCES])
{
        for (int i = 0; i < p->conditions; i++)
                if (strcmp(p->condition[i].type, "PodLevel") == 0) {
                        ret[CPU] = strcmp(p->condition[i].reason, "Memory") != 0;
                        ret[MEMORY] = strcmp(p->condition[i].reason, "CPU") != 0;
                }
}

/* The applied values of a Recommendation are what stands as ours, as far as it tells: what is set, or what runs. */
static snapshot_amount snapshot_standing(const struct published *p, const struct snapshot_numbers *n)
{
        if (p->in_place)
                return n->applied;
        return n->current >= 0 && n->original >= 0 && n->current < n->original ? n->current : -1;
}

static const struct snapshot_container *published_containers(struct snapshot *v, const struct published *p, bool gone)
{
        struct snapshot_container *to = arena_new(&v->arena, (size_t)p->rows * sizeof *to);
        for (int i = 0; i < p->rows; i++) {
                to[i].name = snapshot_name(v, p->row[i].container);
                to[i].role = (uint8_t)published_role(p, &p->row[i]);
                to[i].state = (uint8_t)(gone ? STATE_STALE : p->row[i].state);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        to[i].of[r] = p->row[i].shown[r];
                        to[i].of[r].applied = gone ? -1 : snapshot_standing(p, &p->row[i].shown[r]);
                }
        }
        return to;
}

static const struct snapshot_condition *published_conditions(struct snapshot *v, const struct published *p)
{
        AUTO(mem_free) struct snapshot_condition *c = mem_new_array((size_t)p->conditions + 1, sizeof *c);
        for (int i = 0; i < p->conditions; i++)
                c[i] = (struct snapshot_condition){snapshot_name(v, p->condition[i].type),
                                                   snapshot_name(v, p->condition[i].reason), p->condition[i].status};
        return snapshot_conditions(v, c, (size_t)p->conditions);
}

/* One made again by the name of a workload that is gone is sized at once, by the last good values. */
void snapshot_add_published(struct snapshot *v, const struct published *p, struct snapshot_target *to, bool gone)
{
        to->labels = snapshot_labels(v, p->labels.pair, p->labels.count, &to->labels_size);
        to->state = (uint8_t)(p->hold ? STATE_HELD : gone ? STATE_STALE : p->state);
        to->contested = snapshot_says(p, "Contested");
        to->orphaned = !gone && snapshot_is_orphaned(p);
        to->other_autoscaler = !gone && snapshot_says(p, "OtherAutoscaler");
        to->in_place_only = !gone && snapshot_says(p, "InPlaceOnly");
        to->waits = snapshot_waits(p);
        read_pod_asks(p, to->pod_asks);
        to->samples = p->samples;
        to->since_ms = p->since_ms;
        to->last_ms = p->last_ms;
        to->applied_ms = p->applied_ms;
        to->confidence_percent = p->confidence_percent;
        memcpy(to->saving, p->saving, sizeof to->saving);
        if (p->quota)
                to->quota = snapshot_quota_new(v, p->quota->hard, p->quota->used);
        to->containers = (uint16_t)p->rows;
        to->container = published_containers(v, p, gone);
        to->conditions = (uint16_t)p->conditions;
        to->condition = published_conditions(v, p);
        snapshot_add_target(v, to);
}

static const struct snapshot_profile *snapshot_profile_of(const struct cache *w, const struct published *p,
                                                          struct text ns)
{
        bool own = strcmp(p->profile_kind, "Profile") == 0;
        AUTO(mem_free) char *key = mem_printf("%.*s/%s", own ? (int)ns.len : 0, ns.p, p->profile_name);
        const struct profile *profile = map_get(&w->profiles, text_of(key));
        return profile && profile->valid ? profile->shown : NULL;
}

/* The workload's own annotation is not seen here: its Recommendation tells of it. */
static bool opted_out(const struct published *p)
{
        for (int i = 0; i < p->conditions; i++)
                if (p->condition[i].status && strcmp(p->condition[i].type, "OptedOut") == 0)
                        return true;
        return false;
}

/* "ns/group/Kind/name" */
static char *snapshot_workload_key(struct arena *a, struct text ns, struct text group, const char *kind,
                                   const char *name)
{
        AUTO(mem_free) char *key = mem_printf("%.*s/%.*s/%s/%s", TEXT_ARG(ns), TEXT_ARG(group), kind, name);
        return arena_text(a, text_of(key));
}

/* What autoscalers say of a workload, those too that its Recommendation does not know of yet. */
struct scaled {
        bool rival;            /* one sets its requests itself */
        bool on[RESOURCES];    /* one goes by its utilization */
        bool stuck[RESOURCES]; /* and its targets cannot be moved */
};

static struct scaled *scaled_get(struct map *all, struct arena *a, const char *ns, const char *group, const char *kind,
                                 const char *name)
{
        char *key = snapshot_workload_key(a, text_of(ns), text_of(group), kind, name);
        struct scaled *s = map_get(all, text_of(key));
        if (!s) {
                s = arena_new(a, sizeof *s);
                map_put(all, text_of(key), s);
        }
        return s;
}

static void scaled_read(struct cache *w, struct arena *a, struct map *ret)
{
        const struct autoscaler *h;
        const struct other_autoscaler *v;
        for (size_t at = 0; (v = map_each(&w->other_autoscalers, &at));)
                scaled_get(ret, a, v->ns, v->target_group, v->target_kind, v->target_name)->rival = true;
        for (size_t at = 0; (h = map_each(&w->autoscalers, &at));) {
                if (autoscaler_spoken_for(w, h))
                        continue;
                struct scaled *to = scaled_get(ret, a, h->ns, h->target_group, h->target_kind, h->target_name);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        to->on[r] |= autoscaler_utilizes(h, r);
                        to->stuck[r] |= autoscaler_concerns(h, r) && autoscaler_hold(h) != AUTOSCALER_FREE;
                }
        }
}

/* Of a pod without owner it is not said whether it is one: what is never written says so where there is a change. */
static bool is_never_written(const struct published *p)
{
        struct text group, version;
        key_split(text_of(p->target_api_version), &group, &version);
        enum dimension d = kind_dimension(group, text_of(p->target_kind));
        if (d != DIMENSION_POD)
                return d == DIMENSION_NAMESPACE;
        for (int i = 0; i < p->conditions; i++)
                if (strcmp(p->condition[i].type, "Applied") == 0)
                        return strcmp(p->condition[i].reason, reason_name(REASON_RECOMMEND_ONLY)) == 0;
        return false;
}

static bool snapshot_keeps(const struct snapshot_target *t, const struct scaled *s, enum resource r)
{
        return t->profile && t->profile->spec->apply.hpa == HPA_RETUNE ? s->stuck[r] : s->on[r];
}

static void show_recommendation(struct cache *w, const struct published *p, const struct map *scaled,
                                struct arena *scratch, struct snapshot *v)
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
        to->apply_never = opted_out(p);
        for (int i = 0; i < p->rows;
             i++) /* of a Rollout that runs it, or a target that may not be moved, only the controller knows */
                for (enum resource r = CPU; r < RESOURCES; r++)
                        to->hpa_holds[r] |= p->row[i].shown[r].reason == REASON_HPA_HOLD;
        to->never_written = is_never_written(p);
        snapshot_add_published(v, p, to, false);
        if (scaled->count) {
                char *key = snapshot_workload_key(scratch, ns, group, p->target_kind, p->target_name);
                const struct scaled *by = map_get(scaled, text_of(key));
                to->other_autoscaler |= by && by->rival;
                for (enum resource r = CPU; by && r < RESOURCES; r++)
                        to->hpa_holds[r] |= snapshot_keeps(to, by, r);
        }
}

/* Every profile says so. */
static bool is_fused(const struct cache *w)
{
        const struct profile *p;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                if (p->fused)
                        return true;
        return false;
}

void snapshot_add_recommendations(struct cache *w, struct arena *scratch, struct snapshot *v)
{
        v->fuse_blown = is_fused(w);
        struct map scaled = {0};
        const struct published *p;
        scaled_read(w, scratch, &scaled);
        for (size_t at = 0; (p = map_each(&w->published, &at));)
                if (p->known && *p->target_name)
                        show_recommendation(w, p, &scaled, scratch, v);
        map_release(&scaled);
}

struct snapshot *snapshot_from_status(struct cache *w, struct wall at)
{
        struct snapshot *v = snapshot_new();
        struct arena scratch = {0};
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
