/* Profiles and ClusterProfiles, and which of them wins for a workload, pod, namespace or node. */
#include <string.h>

#include "base/yaml.h"
#include "cache/cache.h"
#include "cache/cached_zone.h"
#include "cache/profile_fuse.h"
#include "cache/profile_specs.h"

static struct text profile_key(struct cache *w, bool cluster, const struct object_view *view)
{
        struct object_view v = *view;
        if (cluster)
                v.ns = (struct text){"", 0};
        return key_of_object(w, &v);
}

/* Set the message about the first window that stays shut, because its time zone could never be read. */
static void profile_set_trouble(struct profile *p)
{
        mem_free(p->trouble);
        p->trouble = NULL;
        for (int i = 0; i < p->spec->windows && !p->trouble; i++)
                if (!p->zone[i]->zone)
                        p->trouble = mem_printf("windows[%d] stays shut: %s", i, p->zone[i]->trouble);
}

static void profile_zones_release(struct cache *w, struct profile *p)
{
        for (int i = 0; i < PROFILE_WINDOWS; i++)
                cached_zone_drop(w, p->zone[i]);
        memset(p->zone, 0, sizeof p->zone);
}

static struct profile_list *profile_list_of(struct cache *w, const struct profile *p)
{
        return p->ns ? &ns_get(w, text_of(p->ns))->profiles : &w->of_cluster;
}

static void profile_kinds_renamed(struct cache *w, const struct profile *p)
{
        struct kind_share *share = p->ns ? &ns_get(w, text_of(p->ns))->named : &w->named;
        share->stale = w->kinds_renamed = true;
}

static void profile_named_release(struct cache *w, struct profile *p)
{
        for (int i = 0; i < p->nameds; i++)
                intern_drop(w->names, p->named[i].key);
        mem_free(p->named);
        p->named = NULL;
        p->nameds = 0;
}

static void profile_named_read(struct cache *w, struct profile *p)
{
        struct profile_kind named[PROFILE_TARGETS];
        profile_named_release(w, p);
        for (int i = 0; i < p->spec->targets; i++) {
                struct text group = kind_group(text_of(p->spec->target[i].api_version));
                struct text kind = text_of(p->spec->target[i].kind);
                if (kind_dimension(group, kind) != DIMENSION_WORKLOAD || kind_find(group, kind))
                        continue; /* no kind of workload, or one that halflife watches or looks for anyway */
                named[p->nameds++] =
                        (struct profile_kind){watched_kind_key(w, group, kind), watched_kind_find(w, group, kind)};
        }
        p->named = mem_resize(NULL, (size_t)p->nameds, sizeof *p->named);
        for (int i = 0; i < p->nameds; i++)
                p->named[i] = named[i];
}

static void profile_free(struct cache *w, struct profile *p)
{
        profile_zones_release(w, p);
        profile_canary_begin(p);
        profile_fuses_release(p);
        profile_spec_drop(p->spec);
        profile_specs_drop(w, p->shared);
        mem_free(p->error);
        mem_free(p->trouble);
        profile_named_release(w, p);
        budget_account_release(&p->budget);
        mem_free(p->key);
        mem_free(p);
}

void profiles_read_zones(struct cache *w)
{
        struct profile *p;
        cached_zones_read(w);
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                profile_set_trouble(p);
}

/* Read a profile from its object. `object` NULL: the profile's JSON is wrong, as `why` describes. */
static void profile_read(struct cache *w, struct profile *p, const json_t *object, const json_error_t *why)
{
        struct err err = {0};
        mem_free(p->error);
        p->error = NULL;
        /* If the spec becomes unreadable, the last good spec still makes recommendations, but nothing is applied. */
        struct shared_profile_spec *shared =
                object ? profile_specs_take(w, json_object_get(object, "spec"), &err) : NULL;
        if (shared && p->ns && shared->spec->dimension == DIMENSION_NODE) {
                profile_specs_drop(w, shared);
                shared = NULL;
                err_set(&err, ERR_INVALID,
                        "spec: dimension: nodes are for a ClusterProfile: a Profile has Workload, Pod "
                        "or Namespace");
        }
        if (shared) {
                profile_spec_drop(p->spec);
                profile_specs_drop(w, p->shared);
                p->shared = shared;
                p->spec = profile_spec_hold(shared->spec);
                p->valid = true;
                profile_named_read(w, p);
                profile_zones_release(w, p);
                for (int i = 0; i < p->spec->windows; i++)
                        p->zone[i] = cached_zone_take(w, p->spec->window[i].time_zone);
                profile_set_trouble(p);
        } else {
                p->error = mem_string(err.code ? err.text : why->text);
        }
}

/* Read from a profile's status since when its conditions hold, as halflife wrote them before a restart. */
static void standing_read(struct profile *p, const json_t *status)
{
        size_t i;
        json_t *row;
        json_array_foreach(json_object_get(status, "conditions"), i, row)
        {
                const char *type = json_string_value(json_object_get(row, "type"));
                const char *is = json_string_value(json_object_get(row, "status"));
                const char *since = json_string_value(json_object_get(row, "lastTransitionTime"));
                struct wall at = {0};
                if (!type || !is || !since || wall_parse(since, strlen(since), &at) < 0)
                        continue;
                bool ready = strcmp(type, "Ready") == 0;
                *(ready ? &p->was_ready : &p->was_degraded) = strcmp(is, "True") == 0;
                *(ready ? &p->ready_since_ms : &p->degraded_since_ms) = at.ms;
        }
}

static bool is_text(const json_t *object, const char *key, const char *want)
{
        const char *s = json_string_value(json_object_get(object, key));
        return s && strcmp(s, want) == 0;
}

/* Read the fuses, canary state and conditions that the holder of the Lease wrote to a profile's status. Replicas go by
 * them, the holder by its own state. */
static void verdicts_read(struct profile *p, const json_t *status)
{
        size_t i;
        json_t *row;
        bool fused = false, left_out = false;
        const json_t *canary = json_object_get(status, "canary");
        p->canary_closed =
                json_is_false(json_object_get(canary, json_object_get(canary, "complete") ? "complete" : "open"));
        profile_fuses_read(p, status);
        json_array_foreach(json_object_get(status, "conditions"), i, row)
        {
                if (!is_text(row, "type", "Degraded") || !is_text(row, "status", "True"))
                        continue;
                fused |= is_text(row, "reason", "Fuse");
                left_out |= is_text(row, "reason", "TooManyProfiles");
        }
        p->told = (struct profile_told){fused, left_out};
}

int profile_upsert(struct cache *w, bool cluster, struct text json, uint32_t epoch, struct err *err)
{
        struct object_view view;
        int rc = decode_object(json, &w->scratch, &view, err);
        if (rc == 0) {
                json_error_t why;
                AUTO(json_decref) json_t *object = json_loadb(json.p, json.len, 0, &why);
                const json_t *status = json_object_get(object, "status");
                struct text key = profile_key(w, cluster, &view);
                struct profile *p = map_get(&w->profiles, key);
                bool made = !p;
                if (made) {
                        p = MEM_NEW(struct profile);
                        p->spec = profile_spec_share(&(struct profile_spec){0});
                        p->key = mem_string_n(key.p, key.len);
                        p->name = strrchr(p->key, '/') + 1;
                        p->ns = cluster ? NULL : ns_get(w, view.ns)->name;
                        map_put(&w->profiles, text_of(p->key), p);
                        standing_read(p, status);
                }
                p->epoch = epoch;
                verdicts_read(p, status);
                /* halflife's own status writes change no generation; a profile deleted and made again has another
                 * creation time. */
                if (made || p->generation != view.generation || p->created_ms != view.created.ms) {
                        struct profile_list *list = profile_list_of(w, p);
                        if (!made)
                                profile_list_drop(list, p);
                        p->generation = view.generation;
                        p->created_ms = view.created.ms;
                        profile_read(w, p, object, &why);
                        profile_list_add(list, p);
                        profile_kinds_renamed(w, p);
                        w->changed = true;
                }
        }
        arena_reset(&w->scratch);
        return rc;
}

/* Free the profiles that are marked as going, and clear what points to them. */
static void profiles_drop_going(struct cache *w)
{
        struct target *t;
        struct profile *p;
        for (size_t at = 0; (t = map_each(&w->targets, &at));)
                if (t->profile && t->profile->going)
                        t->profile = NULL;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                if (p->by && p->by->going)
                        p->by = NULL;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));) {
                if (!p->going)
                        continue;
                profile_list_drop(profile_list_of(w, p), p);
                profile_kinds_renamed(w, p);
                map_drop(&w->profiles, text_of(p->key));
                profile_free(w, p);
                w->changed = w->ns_gone = true;
        }
}

void profile_remove(struct cache *w, bool cluster, struct text json)
{
        struct object_view view;
        if (decode_object(json, &w->scratch, &view, NULL) == 0) {
                struct profile *p = map_get(&w->profiles, profile_key(w, cluster, &view));
                if (p) {
                        p->going = true;
                        profiles_drop_going(w);
                }
        }
        arena_reset(&w->scratch);
}

void profile_swept(struct cache *w, bool cluster, uint32_t epoch)
{
        struct profile *p;
        bool any = false;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));) {
                p->going = !p->ns == cluster && p->epoch != epoch;
                any |= p->going;
        }
        if (any)
                profiles_drop_going(w);
}

void profiles_release(struct cache *w)
{
        struct profile *p;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                profile_free(w, p);
        map_release(&w->profiles);
        profile_list_release(&w->of_cluster);
}

bool profile_unread(const struct cache *w, const struct target *t)
{
        AUTO(mem_free)
        char *key = mem_printf("%s/%s", t->published->of_profile ? t->ns : "", t->published->profile_name);
        const struct profile *p = map_get(&w->profiles, text_of(key));
        return p && !p->valid;
}

/* --- choosing the profile of a workload, pod or namespace --- */

bool profile_system_namespace(const struct cache *w, const char *ns)
{
        return strcmp(ns, "kube-system") == 0 || strcmp(ns, "kube-public") == 0 || strcmp(ns, "kube-node-lease") == 0 ||
               (w->own_ns && strcmp(ns, w->own_ns) == 0);
}

/* A profile may name the kind of a workload, or of the Rollout that runs its template. */
static bool profile_matches(const struct profile *p, const struct profile_subject *s, const struct watched_kind *by)
{
        struct profile_subject other = *s;
        if (by) {
                other.group = text_of(by->group);
                other.kind = text_of(by->kind);
        }
        return p->valid && (profile_selects(p->spec, text_of(p->ns), s) ||
                            (by && profile_selects(p->spec, text_of(p->ns), &other)));
}

struct profile_subject profile_subject_of(struct cache *w, const struct workload *wl, enum dimension d)
{
        const struct ns *ns = ns_get(w, text_of(wl->ns));
        struct text group = text_of(wl->kind->group), kind = text_of(wl->kind->kind);
        return (struct profile_subject){
                .ns = text_of(wl->ns),
                .ns_label = ns->labels.pair,
                .ns_labels = ns->labels.count,
                .system = profile_system_namespace(w, wl->ns),
                .dimension = d,
                .group = group,
                .kind = kind,
                .by_default = d == DIMENSION_WORKLOAD ? (wl->kind->flags & KIND_DEFAULT) != 0
                                                      : kind_is_default(d, group, kind),
                .label = wl->labels.pair,
                .labels = wl->labels.count,
        };
}

/* The winner: `best`, or if that is NULL the list's first profile that selects the subject. All other profiles that
 * select the subject lose. */
static struct profile *profile_choose_among(const struct profile_list *l, const struct profile_subject *s,
                                            const struct watched_kind *by, struct profile *best)
{
        for (size_t i = 0; i < l->count - l->left_out; i++) {
                struct profile *p = l->of[i];
                if (!profile_matches(p, s, by))
                        continue;
                if (best) {
                        p->overridden++;
                        p->by = best;
                } else {
                        best = p;
                }
        }
        return best;
}

struct profile *profile_choose(struct cache *w, const struct profile_subject *s, const struct watched_kind *by)
{
        const struct ns *ns = map_get(&w->namespaces, s->ns);
        struct profile *best = ns ? profile_choose_among(&ns->profiles, s, by, NULL) : NULL;
        if (!best && ns && ns->profiles.left_out)
                return NULL;
        return profile_choose_among(&w->of_cluster, s, by, best);
}
