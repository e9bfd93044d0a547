/*
 * Profiles, and which of them a workload gets.
 */
#include <string.h>

#include "base/time_zone.h"
#include "base/yaml.h"
#include "cache/cache.h"

static struct text profile_key(struct cache *w, bool cluster, const struct object_view *view)
{
        struct object_view v = *view;
        if (cluster)
                v.ns = (struct text){"", 0};
        return key_of_object(w, &v);
}

static void zones_release(struct profile *p)
{
        for (int i = 0; i < PROFILE_WINDOWS; i++)
                zone_free(p->zone[i]);
        memset(p->zone, 0, sizeof p->zone);
        mem_free(p->trouble);
        p->trouble = NULL;
}

static void profile_free(struct profile *p)
{
        zones_release(p);
        profile_spec_drop(p->spec);
        mem_free(p->error);
        mem_free(p->key);
        mem_free(p);
}

/* An unknown zone is a condition and a shut window, not a profile refused: tzdata may come later. One that cannot be
 * read again stays as it was. */
static void zones_read(struct profile *p)
{
        mem_free(p->trouble);
        p->trouble = NULL;
        for (int i = 0; i < p->spec->windows; i++) {
                struct err err = {0};
                struct zone *fresh = NULL;
                if (zone_read(NULL, p->spec->window[i].time_zone, &fresh, &err) == 0) {
                        zone_free(p->zone[i]);
                        p->zone[i] = fresh;
                } else if (!p->zone[i] && !p->trouble) {
                        p->trouble = mem_printf("windows[%d] stays shut: %s", i, err.text);
                }
        }
}

void profiles_read_zones(struct cache *w)
{
        struct profile *p;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                zones_read(p);
}

static void profile_read(struct profile *p, struct text json)
{
        json_error_t why;
        AUTO(json_decref) json_t *object = json_loadb(json.p, json.len, 0, &why);
        struct profile_spec spec;
        struct err err = {0};
        mem_free(p->error);
        p->error = NULL;
        /* A spec that was good and is no longer goes on recommending by what was good, and changes nothing. */
        if (object && profile_spec_read(json_object_get(object, "spec"), &spec, &err) == 0) {
                profile_spec_drop(p->spec);
                p->spec = profile_spec_share(&spec);
                p->valid = true;
                zones_release(p);
                zones_read(p);
        } else {
                p->error = mem_string(err.code ? err.text : why.text);
        }
}

/* Since when its conditions hold, as an earlier life of ours wrote it. */
static void standing_read(struct profile *p, struct text json)
{
        AUTO(json_decref) json_t *object = json_loadb(json.p, json.len, 0, NULL);
        size_t i;
        json_t *row;
        json_array_foreach(json_object_get(json_object_get(object, "status"), "conditions"), i, row)
        {
                const char *type = json_string_value(json_object_get(row, "type"));
                const char *status = json_string_value(json_object_get(row, "status"));
                const char *since = json_string_value(json_object_get(row, "lastTransitionTime"));
                struct wall at = {0};
                if (!type || !status || !since || wall_parse(since, strlen(since), &at) < 0)
                        continue;
                bool ready = strcmp(type, "Ready") == 0;
                *(ready ? &p->was_ready : &p->was_degraded) = strcmp(status, "True") == 0;
                *(ready ? &p->ready_since_ms : &p->degraded_since_ms) = at.ms;
        }
}

static bool is_text(const json_t *object, const char *key, const char *want)
{
        const char *s = json_string_value(json_object_get(object, key));
        return s && strcmp(s, want) == 0;
}

/* As whoever holds the Lease says; he himself knows. */
static void verdicts_read(struct profile *p, struct text json)
{
        AUTO(json_decref) json_t *object = json_loadb(json.p, json.len, 0, NULL);
        const json_t *status = json_object_get(object, "status");
        size_t i;
        json_t *row;
        const json_t *canary = json_object_get(status, "canary");
        p->canary_closed =
                json_is_false(json_object_get(canary, json_object_get(canary, "complete") ? "complete" : "open"));
        p->fused = false;
        json_array_foreach(json_object_get(status, "conditions"), i, row) p->fused |=
                is_text(row, "type", "Degraded") && is_text(row, "status", "True") && is_text(row, "reason", "Fuse");
}

int profile_upsert(struct cache *w, bool cluster, struct text json, uint32_t epoch, struct err *err)
{
        struct object_view view;
        int rc = decode_object(json, &w->scratch, &view, err);
        if (rc == 0) {
                struct text key = profile_key(w, cluster, &view);
                struct profile *p = map_get(&w->profiles, key);
                if (!p) {
                        p = MEM_NEW(struct profile);
                        p->spec = profile_spec_share(&(struct profile_spec){0});
                        p->key = mem_string_n(key.p, key.len);
                        p->name = strrchr(p->key, '/') + 1;
                        p->ns = cluster ? NULL : ns_get(w, view.ns)->name;
                        map_put(&w->profiles, text_of(p->key), p);
                        standing_read(p, json);
                }
                p->epoch = epoch;
                verdicts_read(p, json);
                /* Our own status writes do not count; one deleted and made again while nobody looked does. */
                if (p->generation != view.generation || p->created_ms != view.created.ms) {
                        p->generation = view.generation;
                        p->created_ms = view.created.ms;
                        profile_read(p, json);
                        w->changed = true;
                }
        }
        arena_reset(&w->scratch);
        return rc;
}

static void profile_drop(struct cache *w, struct profile *p)
{
        struct target *t;
        struct profile *other;
        for (size_t at = 0; (t = map_each(&w->targets, &at));)
                if (t->profile == p)
                        t->profile = NULL;
        for (size_t at = 0; (other = map_each(&w->profiles, &at));)
                if (other->by == p)
                        other->by = NULL;
        map_drop(&w->profiles, text_of(p->key));
        profile_free(p);
        w->changed = true;
}

void profile_remove(struct cache *w, bool cluster, struct text json)
{
        struct object_view view;
        if (decode_object(json, &w->scratch, &view, NULL) == 0) {
                struct profile *p = map_get(&w->profiles, profile_key(w, cluster, &view));
                if (p)
                        profile_drop(w, p);
        }
        arena_reset(&w->scratch);
}

void profile_swept(struct cache *w, bool cluster, uint32_t epoch)
{
        bool again = true;
        while (again) { /* profile_drop walks the map itself, so the walk starts afresh after each */
                again = false;
                struct profile *p;
                for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                        if (!p->ns == cluster && p->epoch != epoch) {
                                profile_drop(w, p);
                                again = true;
                                break;
                        }
        }
}

void profiles_release(struct cache *w)
{
        struct profile *p;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                profile_free(p);
        map_release(&w->profiles);
}

bool profile_unread(const struct cache *w, const struct target *t)
{
        bool own = strcmp(t->published->profile_kind, "Profile") == 0;
        AUTO(mem_free) char *key = mem_printf("%s/%s", own ? t->ns : "", t->published->profile_name);
        const struct profile *p = map_get(&w->profiles, text_of(key));
        return p && !p->valid;
}

/* --- choosing --- */

bool profile_system_namespace(const struct cache *w, const char *ns)
{
        return strcmp(ns, "kube-system") == 0 || strcmp(ns, "kube-public") == 0 || strcmp(ns, "kube-node-lease") == 0 ||
               (w->own_ns && strcmp(ns, w->own_ns) == 0);
}

/* A profile may name the kind of a workload, or of whoever runs its template. */
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

static struct profile_rank profile_rank_of(const struct profile *p)
{
        return (struct profile_rank){!p->ns, p->spec->priority, p->created_ms, p->name};
}

static void profile_lost(struct profile *loser, const struct profile *winner)
{
        loser->overridden++;
        loser->by = winner;
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

struct profile *profile_choose(struct cache *w, const struct profile_subject *s, const struct watched_kind *by,
                               bool count)
{
        struct profile *best = NULL, *p;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));) {
                if (!profile_matches(p, s, by))
                        continue;
                struct profile *loser = best;
                if (!best || profile_beats(profile_rank_of(p), profile_rank_of(best)))
                        best = p;
                else
                        loser = p;
                if (loser && count)
                        profile_lost(loser, best);
        }
        return best;
}
