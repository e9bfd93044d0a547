/* Namespaces as watched, and the LimitRanges in them. */
#include <string.h>

#include "cache/cache.h"

/* Whether a namespace is halflife's own, or in the setting exempt-namespaces. An empty name in the setting names none.
 */
static bool ns_is_exempt(const struct cache *w, const char *name)
{
        size_t len;
        for (const char *at = w->exempt_namespaces; at && *at; at += len + (at[len] == ',')) {
                len = strcspn(at, ",");
                if (len && text_is((struct text){at, len}, name))
                        return true;
        }
        return w->own_ns && strcmp(name, w->own_ns) == 0;
}

struct ns *ns_get(struct cache *w, struct text name)
{
        struct ns *ns = map_get(&w->namespaces, name);
        if (ns)
                return ns;
        ns = MEM_NEW(struct ns);
        ns->name = intern_text(w->names, name);
        ns->exempt = ns_is_exempt(w, ns->name);
        map_put(&w->namespaces, text_of(ns->name), ns);
        return ns;
}

const struct ns *ns_find(const struct cache *w, const char *name)
{
        static const struct ns none;
        const struct ns *ns = map_get(&w->namespaces, text_of(name));
        return ns ? ns : &none;
}

void ns_recount(struct cache *w, const char *name)
{
        ns_get(w, text_of(name))->recount = true;
}

int ns_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        struct object_view view;
        int rc = decode_object(json, &w->scratch, &view, err);
        if (rc == 0) {
                struct ns *ns = ns_get(w, view.name);
                struct label_pair *pair = arena_new(&w->scratch, sizeof *pair * (size_t)(view.labels + 1));
                for (int i = 0; i < view.labels; i++)
                        pair[i] = (struct label_pair){view.label[i].key, view.label[i].value};
                labels_set(&w->label_sets, &ns->labels, pair, (size_t)view.labels);
                ns->labels_cut = view.labels_cut;
                ns->apply_never = ns->exempt || ns->labels_cut || view.annotation.apply.len > 0;
                ns->going = view.deleted.ms != 0;
                ns->known = true;
                ns->epoch = epoch;
                w->changed = true;
        }
        arena_reset(&w->scratch);
        return rc;
}

/* Clear a deleted namespace. Its entry stays while pods, targets and other objects are in it, because they use its
 * name. */
static void ns_forget(struct cache *w, struct ns *ns)
{
        labels_release(&w->label_sets, &ns->labels);
        ns->known = ns->apply_never = ns->labels_cut = ns->going = false;
        w->changed = true;
        w->ns_gone = true;
}

void ns_remove(struct cache *w, struct text json)
{
        struct object_view view;
        if (decode_object(json, &w->scratch, &view, NULL) == 0) {
                struct ns *ns = map_get(&w->namespaces, view.name);
                if (ns)
                        ns_forget(w, ns);
        }
        arena_reset(&w->scratch);
}

void ns_swept(struct cache *w, uint32_t epoch)
{
        struct ns *ns;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                if (ns->known && ns->epoch != epoch)
                        ns_forget(w, ns);
}

/* --- LimitRanges --- */

static struct limit_range *range_take(struct ns *ns, struct text name)
{
        for (struct limit_range **at = &ns->ranges; *at; at = &(*at)->next) {
                struct limit_range *r = *at;
                if (text_is(name, r->name)) {
                        *at = r->next;
                        return r;
                }
        }
        return NULL;
}

static void range_free(struct limit_range *r)
{
        if (r)
                mem_free(r->name);
        mem_free(r);
}

static void range_read(const struct limit_range_view *view, struct range_facts *ret)
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                ret->default_request[r] = view->default_request[r];
                ret->default_limit[r] = view->default_limit[r];
                ret->min[r] = view->min[r];
                ret->ratio[r] = view->ratio[r];
                ret->pod_min[r] = view->pod_min[r];
                ret->pod_ratio[r] = view->pod_ratio[r];
        }
}

int range_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        struct limit_range_view view;
        int rc = decode_limit_range(json, &w->scratch, &view, err);
        if (rc == 0) {
                struct ns *ns = ns_get(w, view.meta.ns);
                range_free(range_take(ns, view.meta.name));
                struct limit_range *r = MEM_NEW(struct limit_range);
                r->name = mem_string_n(view.meta.name.p, view.meta.name.len);
                r->epoch = epoch;
                range_read(&view, &r->says);
                r->next = ns->ranges;
                ns->ranges = r;
                w->changed = true;
        }
        arena_reset(&w->scratch);
        return rc;
}

void range_remove(struct cache *w, struct text json)
{
        struct object_view view;
        if (decode_object(json, &w->scratch, &view, NULL) == 0) {
                range_free(range_take(ns_get(w, view.ns), view.name));
                w->changed = true;
        }
        arena_reset(&w->scratch);
}

void range_swept(struct cache *w, uint32_t epoch)
{
        struct ns *ns;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                for (struct limit_range **link = &ns->ranges; *link;) {
                        struct limit_range *r = *link;
                        if (r->epoch == epoch) {
                                link = &r->next;
                                continue;
                        }
                        *link = r->next;
                        range_free(r);
                        w->changed = true;
                }
}

static void keep_larger(struct amount *a, struct amount b)
{
        if (b.set && (!a->set || b.value > a->value))
                *a = b;
}

static void keep_smaller(struct amount *a, struct amount b)
{
        if (b.set && (!a->set || b.value < a->value))
                *a = b;
}

void range_facts(const struct cache *w, const char *name, struct range_facts *ret)
{
        *ret = (struct range_facts){0};
        const struct ns *ns = map_get(&w->namespaces, text_of(name));
        for (const struct limit_range *r = ns ? ns->ranges : NULL; r; r = r->next)
                for (int i = 0; i < RESOURCES; i++) {
                        keep_larger(&ret->min[i], r->says.min[i]);
                        keep_smaller(&ret->ratio[i], r->says.ratio[i]);
                        keep_larger(&ret->pod_min[i], r->says.pod_min[i]);
                        keep_smaller(&ret->pod_ratio[i], r->says.pod_ratio[i]);
                        keep_larger(&ret->default_request[i], r->says.default_request[i]);
                        keep_larger(&ret->default_limit[i], r->says.default_limit[i]);
                }
}

/* --- deleted namespaces --- */

bool namespace_going(const struct cache *w, const char *name)
{
        const struct ns *ns = map_get(&w->namespaces, text_of(name));
        return ns && ns->going;
}

static void ns_use(struct cache *w, const char *name)
{
        struct ns *ns = name ? map_get(&w->namespaces, text_of(name)) : NULL;
        if (ns)
                ns->used = true;
}

static void ns_free(struct cache *w, struct ns *ns)
{
        while (ns->ranges)
                range_free(range_take(ns, text_of(ns->ranges->name)));
        quotas_release(w, ns);
        labels_release(&w->label_sets, &ns->labels);
        profile_list_release(&ns->profiles);
        kind_share_release(&ns->named);
        kind_share_release(&ns->recommended);
        mem_free(ns->refusal.why);
        intern_drop(w->names, ns->name);
        mem_free(ns);
}

void namespaces_sweep(struct cache *w)
{
        const struct workload *wl;
        const struct target *t;
        const struct autoscaler *h;
        const struct other_autoscaler *other_autoscaler;
        const struct pod *p;
        struct ns *ns;
        if (!w->ns_gone)
                return;
        w->ns_gone = false;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                ns->used = ns->known || ns->ranges || ns->quotas || ns->profiles.count || ns->recommended.count ||
                           ns->command_bytes;
        for (size_t at = 0; (p = map_each(&w->pods, &at));)
                ns_use(w, p->ns);
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                ns_use(w, wl->ns);
        for (wl = w->gone; wl; wl = wl->next_gone)
                ns_use(w, wl->ns);
        for (size_t at = 0; (t = map_each(&w->targets, &at));)
                ns_use(w, t->ns);
        for (size_t at = 0; (h = map_each(&w->autoscalers, &at));)
                ns_use(w, h->ns);
        for (size_t at = 0; (other_autoscaler = map_each(&w->other_autoscalers, &at));)
                ns_use(w, other_autoscaler->ns);
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                if (!ns->used) {
                        map_drop(&w->namespaces, text_of(ns->name));
                        ns_free(w, ns);
                }
}

void namespaces_release(struct cache *w)
{
        struct ns *ns;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                ns_free(w, ns);
        map_release(&w->namespaces);
}

void ns_backfilled(struct ns *ns)
{
        ns_backfill_failed(ns, NULL);
        ns->refusal = (struct backfill_refusal){0};
}

void ns_backfill_failed(struct ns *ns, const char *why)
{
        mem_free(ns->refusal.why);
        ns->refusal.why = why ? mem_string(why) : NULL;
}

void ns_backfill_refused(struct ns *ns, struct mono until)
{
        ns->refusal.times++;
        ns->refusal.until = until;
}

void ns_backfill_refusal_told(struct ns *ns)
{
        ns->refusal.told = true;
}
