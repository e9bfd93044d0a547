/*
 * Other autoscalers: VerticalPodAutoscalers that set requests, and the workloads whose requests each of them sets.
 */
#include <string.h>

#include "cache/cache.h"
#include "objects/target_key.h"

static void other_autoscaler_free(struct cache *w, struct other_autoscaler *r)
{
        intern_drop(w->names, r->target_group);
        intern_drop(w->names, r->target_kind);
        intern_drop(w->names, r->mode);
        mem_free(r->target_name);
        mem_free(r->policy);
        mem_free(r->key);
        mem_free(r);
}

static void other_autoscaler_drop(struct cache *w, struct other_autoscaler *r)
{
        struct workload *wl;
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                if (wl->other_autoscaler == r)
                        wl->other_autoscaler = NULL;
        for (wl = w->gone; wl; wl = wl->next_gone) /* plans may still read a gone workload until the next settle */
                if (wl->other_autoscaler == r)
                        wl->other_autoscaler = NULL;
        map_drop(&w->other_autoscalers, text_of(r->key));
        other_autoscaler_free(w, r);
        w->changed = true;
}

static struct other_autoscaler *other_autoscaler_new(struct cache *w, const struct vpa_view *v, struct text key)
{
        struct text group, version;
        struct other_autoscaler *r = MEM_NEW(struct other_autoscaler);
        key_split(v->target.api_version, &group, &version);
        r->key = mem_string_n(key.p, key.len);
        r->ns = ns_get(w, v->meta.ns)->name;
        r->name = r->key + v->meta.ns.len + 1;
        r->target_group = intern_text(w->names, group);
        r->target_kind = intern_text(w->names, v->target.kind);
        r->target_name = mem_string_n(v->target.name.p, v->target.name.len);
        r->mode = intern_text(w->names, v->mode);
        r->created_ms = v->meta.created.ms;
        if (v->policy)
                r->policy = vpa_policy_copy(v->policy, mem_new(vpa_policy_size(v->policy)));
        map_put(&w->other_autoscalers, text_of(r->key), r);
        w->changed = true;
        return r;
}

/* Does the VPA still say all that halflife uses? Its status, which changes all the time, does not count. */
static bool says_the_same(const struct other_autoscaler *r, const struct vpa_view *v)
{
        struct text group, version;
        key_split(v->target.api_version, &group, &version);
        return text_is(group, r->target_group) && text_is(v->target.kind, r->target_kind) &&
               text_is(v->target.name, r->target_name) && text_is(v->mode, r->mode) &&
               v->meta.created.ms == r->created_ms && vpa_policy_equal(v->policy, r->policy);
}

int other_autoscaler_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        struct vpa_view view;
        int rc = decode_vpa(json, &w->scratch, &view, err);
        if (rc == 0) {
                struct text key = key_of_object(w, &view.meta);
                struct other_autoscaler *r = map_get(&w->other_autoscalers, key);
                if (r && (!view.sets || !says_the_same(r, &view))) {
                        other_autoscaler_drop(w, r);
                        r = NULL;
                }
                if (!r && view.sets)
                        r = other_autoscaler_new(w, &view, key);
                if (r)
                        r->epoch = epoch;
        }
        arena_reset(&w->scratch);
        return rc;
}

void other_autoscaler_remove(struct cache *w, struct text json)
{
        struct object_view view;
        if (decode_object(json, &w->scratch, &view, NULL) == 0) {
                struct other_autoscaler *r = map_get(&w->other_autoscalers, key_of_object(w, &view));
                if (r)
                        other_autoscaler_drop(w, r);
        }
        arena_reset(&w->scratch);
}

void other_autoscaler_swept(struct cache *w, uint32_t epoch)
{
        struct other_autoscaler *r;
        for (size_t at = 0; (r = map_each(&w->other_autoscalers, &at));)
                if (r->epoch != epoch)
                        other_autoscaler_drop(w, r);
}

void other_autoscalers_release(struct cache *w)
{
        struct other_autoscaler *r;
        for (size_t at = 0; (r = map_each(&w->other_autoscalers, &at));) {
                map_drop(&w->other_autoscalers, text_of(r->key));
                other_autoscaler_free(w, r);
        }
        map_release(&w->other_autoscalers);
}

/* --- links between VPAs and workloads --- */

bool other_autoscaler_wins(const struct other_autoscaler *a, const struct other_autoscaler *b)
{
        return a->created_ms != b->created_ms ? a->created_ms < b->created_ms : strcmp(a->name, b->name) < 0;
}

/* Index VPAs by the key of the workload that they set; of several VPAs for one workload, keep the one that wins. */
static void index_other_autoscalers(struct cache *w, struct map *ret)
{
        struct other_autoscaler *r;
        for (size_t at = 0; (r = map_each(&w->other_autoscalers, &at));) {
                AUTO(mem_free)
                char *about = target_key_new(text_of(r->ns), text_of(r->target_group), text_of(r->target_kind),
                                             text_of(r->target_name));
                const struct other_autoscaler *other = map_get(ret, text_of(about));
                if (!other || other_autoscaler_wins(r, other))
                        map_put(ret, text_of(arena_text(&w->scratch, text_of(about))), r);
        }
}

/* The VPA of a workload's owner, found by the owner's name, because the owner's kind may not be watched. */
static const struct other_autoscaler *other_autoscaler_of_owner(const struct map *about, const struct workload *wl)
{
        const struct controller_owner *o = &wl->owner_ref;
        if (!o->kind)
                return NULL;
        AUTO(mem_free)
        char *key = target_key_new(text_of(wl->ns), kind_group(text_of(o->api_version)), text_of(o->kind),
                                   text_of(o->name));
        return map_get(about, text_of(key));
}

static const struct other_autoscaler *other_autoscaler_of(const struct map *about, const struct workload *wl)
{
        const struct other_autoscaler *r = NULL;
        for (; wl && !r; wl = wl->owner) {
                r = map_get(about, text_of(wl->key));
                if (!r)
                        r = other_autoscaler_of_owner(about, wl);
        }
        return r;
}

/* A VPA on a Rollout applies to the workload whose template the Rollout runs. */
static void pass_on(const struct map *about, const struct workload *wl)
{
        const struct other_autoscaler *r = workload_more(wl)->refers.kind ? map_get(about, text_of(wl->key)) : NULL;
        struct workload *of = wl->owner;
        if (r && of && (!of->other_autoscaler || other_autoscaler_wins(r, of->other_autoscaler)))
                of->other_autoscaler = r;
}

void other_autoscalers_relink(struct cache *w)
{
        struct map about = {0};
        struct workload *wl;
        index_other_autoscalers(w, &about);
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                wl->other_autoscaler = about.count ? other_autoscaler_of(&about, wl) : NULL;
        for (size_t at = 0; about.count && (wl = map_each(&w->workloads, &at));)
                pass_on(&about, wl);
        map_release(&about);
        arena_reset(&w->scratch);
}
