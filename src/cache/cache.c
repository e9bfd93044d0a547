#include "cache/cache.h"

#include "cache/change_log.h"
#include "cache/node_target.h"
#include "cache/pod_namespace_targets.h"

void cache_init(struct cache *w, const char *field_manager, const char *own_ns)
{
        *w = (struct cache){.names = intern_new(), .field_manager = field_manager, .own_ns = own_ns, .changed = true};
        for (size_t i = 0; i < kinds_count; i++) {
                struct watched_kind *k = kind_watched(w, text_of(kinds[i].group), text_of(kinds[i].kind));
                k->version = intern_text(w->names, text_of(kinds[i].version));
                k->plural = intern_text(w->names, text_of(kinds[i].plural));
                k->template_path = kinds[i].template_path;
                k->flags = kinds[i].flags;
                k->built_in = true;
        }
        dimension_init(w);
}

void cache_relink(struct cache *w, struct now now)
{
        if (!w->changed)
                return; /* nothing changed, so all links are still right */
        workloads_settle(w);
        pods_settle(w);
        autoscalers_settle(w);
        autoscaler_counts_settle(w);
        other_autoscalers_relink(w);
        targets_choose(w);
        node_targets_settle(w);
        targets_link(w, now);
        node_targets_link(w);
        w->changed = false;
}

void cache_release(struct cache *w)
{
        change_log_release(w);
        targets_release(w);
        pods_release(w);
        workloads_release(w);
        profiles_release(w);
        published_release(w);
        other_autoscalers_release(w);
        node_oom_events_release(w);
        nodes_release(w);
        autoscalers_release(w);
        namespaces_release(w);
        kind_share_release(&w->named);
        watched_kinds_release(w);
        arena_release(&w->scratch);
        map_release(&w->label_sets);
        intern_free(w->names);
}

/* --- written by other modules --- */

void cache_set_pod_labels(struct cache *w, bool kept)
{
        w->pod_labels = kept;
}

void cache_set_resize(struct cache *w, enum resize_support resize)
{
        w->resize = resize;
}

static bool take_flag(bool *flag)
{
        bool was = *flag;
        *flag = false;
        return was;
}

bool cache_take_changed(struct cache *w)
{
        return take_flag(&w->changed);
}

void cache_set_changed(struct cache *w)
{
        w->changed = true;
}

bool cache_take_turned(struct cache *w)
{
        return take_flag(&w->turned);
}

bool cache_take_kills(struct cache *w)
{
        return take_flag(&w->kills);
}

void cache_set_kills(struct cache *w)
{
        w->kills = true;
}

struct pod *cache_take_killed(struct cache *w)
{
        struct pod *p = w->killed;
        w->killed = NULL;
        return p;
}
