#include "cache/cache.h"

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
        }
        dimension_init(w);
}

void cache_relink(struct cache *w, struct now now)
{
        if (!w->changed)
                return; /* all links stand */
        workloads_settle(w);
        pods_settle(w);
        autoscalers_settle(w);
        other_autoscalers_relink(w);
        targets_link(w, now);
        w->changed = false;
}

void cache_release(struct cache *w)
{
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
        while (w->kinds) {
                struct watched_kind *k = w->kinds;
                w->kinds = k->next;
                mem_free(k->asking);
                mem_free(k);
        }
        arena_release(&w->scratch);
        intern_free(w->names);
}
