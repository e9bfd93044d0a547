/* ResourceQuotas as watched. No links lead to quotas, so an update of one never marks the cache as changed. */
#include <string.h>

#include "cache/cache.h"

static void quota_free(struct cache *w, struct quota *q)
{
        for (int i = 0; i < q->says.class_count; i++)
                intern_drop(w->names, q->says.class[i]);
        mem_free(q->says.class);
        mem_free(q->name);
        mem_free(q);
}

static void quota_drop(struct cache *w, struct quota **link)
{
        struct quota *q = *link;
        *link = q->next;
        quota_free(w, q);
}

/* The link to the quota of that name in the namespace's sorted list, or the link at which to insert it. */
static struct quota **quota_place(struct ns *ns, struct text name)
{
        struct quota **at = &ns->quotas;
        while (*at && text_compare(text_of((*at)->name), name) < 0)
                at = &(*at)->next;
        return at;
}

static struct quota *quota_new(struct cache *w, const struct resource_quota_view *v, uint32_t epoch)
{
        struct quota *q = MEM_NEW(struct quota);
        q->name = mem_string_n(v->meta.name.p, v->meta.name.len);
        q->epoch = epoch;
        q->says.scopes = v->scopes;
        q->says.classes = v->classes;
        q->says.class = v->class_count ? mem_new_array((size_t)v->class_count, sizeof *q->says.class) : NULL;
        for (int i = 0; i < v->class_count; i++)
                q->says.class[q->says.class_count++] = intern_text(w->names, v->class[i]);
        memcpy(q->says.hard, v->hard, sizeof q->says.hard);
        memcpy(q->says.used, v->used, sizeof q->says.used);
        return q;
}

int quota_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        struct resource_quota_view *view = arena_new(&w->scratch, sizeof *view);
        int rc = decode_resource_quota(json, &w->scratch, view, err);
        if (rc == 0) {
                struct quota **at = quota_place(ns_get(w, view->meta.ns), view->meta.name);
                struct quota *q = quota_new(w, view, epoch), *old = *at;
                bool known = old && text_is(view->meta.name, old->name);
                q->next = known ? old->next : old;
                *at = q;
                if (known)
                        quota_free(w, old);
        }
        arena_reset(&w->scratch);
        return rc;
}

void quota_remove(struct cache *w, struct text json)
{
        struct object_view view;
        if (decode_object(json, &w->scratch, &view, NULL) == 0) {
                struct quota **at = quota_place(ns_get(w, view.ns), view.name);
                if (*at && text_is(view.name, (*at)->name))
                        quota_drop(w, at);
        }
        arena_reset(&w->scratch);
}

void quota_swept(struct cache *w, uint32_t epoch)
{
        struct ns *ns;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                for (struct quota **link = &ns->quotas; *link;)
                        if ((*link)->epoch == epoch)
                                link = &(*link)->next;
                        else
                                quota_drop(w, link);
}

void quotas_release(struct cache *w, struct ns *ns)
{
        while (ns->quotas)
                quota_drop(w, &ns->quotas);
}
