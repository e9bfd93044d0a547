/*
 * Who else sets requests: VerticalPodAutoscalers that are not Off, and which workloads each of them is about.
 */
#include <stdio.h>
#include <string.h>

#include "cache/cache.h"

static void other_autoscaler_free(struct cache *w, struct other_autoscaler *r)
{
        intern_drop(w->names, r->target_group);
        intern_drop(w->names, r->target_kind);
        intern_drop(w->names, r->mode);
        mem_free(r->target_name);
        mem_free(r->key);
        mem_free(r);
}

static void other_autoscaler_drop(struct cache *w, struct other_autoscaler *r)
{
        struct workload *wl;
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                if (wl->rival == r)
                        wl->rival = NULL;
        for (wl = w->gone; wl;
             wl = wl->next_gone) /* what was decided about it may be asked for until the next settle */
                if (wl->rival == r)
                        wl->rival = NULL;
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
        map_put(&w->other_autoscalers, text_of(r->key), r);
        w->changed = true;
        return r;
}

/* Its status changes all the time. */
static bool says_the_same(const struct other_autoscaler *r, const struct vpa_view *v)
{
        struct text group, version;
        key_split(v->target.api_version, &group, &version);
        return text_is(group, r->target_group) && text_is(v->target.kind, r->target_kind) &&
               text_is(v->target.name, r->target_name) && text_is(v->mode, r->mode);
}

int other_autoscaler_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        struct vpa_view view;
        int rc = decode_vpa(json, &w->scratch, &view, err);
        if (rc == 0) {
                struct text key = key_of_object(w, &view.meta);
                struct other_autoscaler *r = map_get(&w->other_autoscalers, key);
                bool off = text_is(view.mode, "Off");
                if (r && (off || !says_the_same(r, &view))) {
                        other_autoscaler_drop(w, r);
                        r = NULL;
                }
                if (!r && !off)
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

/* --- links --- */

enum { KEY_MAX = 1024 };

/* "ns/group/Kind/name", as a workload's key. None is that long: cut, it is no workload's. */
static struct text other_autoscaler_key_of(const char *ns, struct text group, const char *kind, const char *name,
                                           char out[static KEY_MAX])
{
        int len = snprintf(out, KEY_MAX, "%s/%.*s/%s/%s", ns, TEXT_ARG(group), kind, name);
        return (struct text){out, len < KEY_MAX ? (size_t)len : KEY_MAX - 1};
}

/* By what they are about. Of several the first by name, so that the same is told after a restart. */
static void index_other_autoscalers(struct cache *w, struct map *ret)
{
        struct other_autoscaler *r;
        char key[KEY_MAX];
        for (size_t at = 0; (r = map_each(&w->other_autoscalers, &at));) {
                struct text about =
                        other_autoscaler_key_of(r->ns, text_of(r->target_group), r->target_kind, r->target_name, key);
                const struct other_autoscaler *other = map_get(ret, about);
                if (other && strcmp(other->name, r->name) < 0)
                        continue;
                char *kept = arena_new(&w->scratch, about.len);
                memcpy(kept, about.p, about.len);
                map_put(ret, (struct text){kept, about.len}, r);
        }
}

/* An owner that nobody watches is known by name alone. */
static const struct other_autoscaler *other_autoscaler_of_owner(const struct map *about, const struct workload *wl)
{
        const struct controller_owner *o = &wl->owner_ref;
        struct text group, version;
        char key[KEY_MAX];
        if (!o->kind)
                return NULL;
        key_split(text_of(o->api_version), &group, &version);
        return map_get(about, other_autoscaler_key_of(wl->ns, group, o->kind, o->name, key));
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

/* Whoever runs a workload's template stands for it. */
static void pass_on(const struct map *about, const struct workload *wl)
{
        const struct other_autoscaler *r = workload_more(wl)->refers.kind ? map_get(about, text_of(wl->key)) : NULL;
        struct workload *of = wl->owner;
        if (r && of && (!of->rival || strcmp(r->name, of->rival->name) < 0))
                of->rival = r;
}

void other_autoscalers_relink(struct cache *w)
{
        struct map about = {0};
        struct workload *wl;
        index_other_autoscalers(w, &about);
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                wl->rival = about.count ? other_autoscaler_of(&about, wl) : NULL;
        for (size_t at = 0; about.count && (wl = map_each(&w->workloads, &at));)
                pass_on(&about, wl);
        map_release(&about);
        arena_reset(&w->scratch);
}
