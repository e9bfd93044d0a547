/*
 * Which pods and namespaces are targets of their own (dimensions Pod and Namespace), and their synthetic workloads.
 */
#include "cache/pod_namespace_targets.h"

#include <string.h>

#include "cache/node_target.h"
#include "objects/target_key.h"

void dimension_init(struct cache *w)
{
        w->whole = intern_text(w->names, TEXT(CONTAINER_WHOLE));
        for (enum dimension d = DIMENSION_POD; d < DIMENSIONS; d++) {
                const struct kind *k = &kind_of_dimension[d];
                w->synthetic[d] = (struct watched_kind){.group = intern_text(w->names, text_of(k->group)),
                                                        .version = intern_text(w->names, text_of(k->version)),
                                                        .kind = intern_text(w->names, text_of(k->kind)),
                                                        .flags = k->flags};
        }
}

bool dimension_writes(const struct target *t)
{
        if (t->dimension == DIMENSION_POD)
                return t->pods && t->pods->more->alone;
        return t->dimension == DIMENSION_WORKLOAD;
}

/* --- pod_more: facts of few pods --- */

static struct pod_more *more_of(struct pod *p)
{
        if (!p->more)
                p->more = MEM_NEW(struct pod_more);
        return p->more;
}

static void dimension_more_clear(struct cache *w, struct pod_more *more)
{
        labels_release(&w->label_sets, &more->labels);
        record_set_release(w, &more->original);
        record_set_release(w, &more->applied);
        more->alone = false;
        more->apply_never = NEVER_UNSET;
}

void pod_more_free(struct cache *w, struct pod *p)
{
        if (p->more) {
                dimension_more_clear(w, p->more);
                request_readers_release(w, &p->more->readers);
                runtime_heaps_release(w, &p->more->heaps);
                record_set_release(w, &p->more->born);
        }
        mem_free(p->more);
        p->more = NULL;
}

static bool is_born_with(const struct record_row *row, const struct pod_view *v)
{
        for (int i = 0; i < v->containers; i++)
                for (enum resource r = CPU; text_is(v->container[i].name, row->container) && r < RESOURCES; r++)
                        if (row->request[r].set && !amount_equal(row->request[r], v->container[i].request[r]))
                                return false;
        return true;
}

void pod_born_read(struct cache *w, struct pod *p, const struct pod_view *v)
{
        struct record_set born = record_set_read(w, v->meta.annotation.applied);
        bool as_given = true;
        for (int i = 0; i < born.rows; i++)
                as_given &= is_born_with(&born.row[i], v);
        if (as_given)
                record_set_release(w, &born);
        else
                more_of(p)->born = born;
}

/* Read the annotation records that halflife wrote on a pod, at admission or before a resize. The pod's synthetic
 * workload shares them. */
static void records_read(struct cache *w, struct pod_more *more, const struct our_annotations *notes)
{
        struct workload *synthetic = more->single ? more->single->synthetic : NULL;
        record_set_release(w, &more->original);
        record_set_release(w, &more->applied);
        more->original = record_set_read(w, notes->original);
        more->applied = record_set_read(w, notes->applied);
        if (!synthetic)
                return;
        synthetic->original = more->original;
        synthetic->applied = more->applied;
}

static void pod_more_keep_asks(struct pod *p, const struct pod_view *v)
{
        bool any = p->more;
        for (enum resource r = CPU; r < RESOURCES; r++)
                any |= v->pod_asks[r].set || v->overhead[r].set;
        if (!any)
                return;
        memcpy(more_of(p)->asks, v->pod_asks, sizeof p->more->asks);
        memcpy(p->more->overhead, v->overhead, sizeof p->more->overhead);
}

void pod_more_read(struct cache *w, struct pod *p, const struct pod_view *v)
{
        const struct object_view *meta = &v->meta;
        bool alone = meta->owner.kind.len == 0;
        if (!alone && watched_kind_find(w, kind_group(meta->owner.api_version), meta->owner.kind)) {
                if (p->more && p->more->alone) { /* a controller adopted the pod */
                        static const struct our_annotations none;
                        records_read(w, p->more, &none); /* clears the records in the synthetic workload as well, which
                                                            shares them until the next settle */
                        dimension_more_clear(w, p->more);
                        w->changed = true;
                }
        } else {
                struct pod_more *more = more_of(p);
                struct label_pair *pair = arena_new(&w->scratch, sizeof *pair * (size_t)(meta->labels + 1));
                for (int i = 0; i < meta->labels; i++)
                        pair[i] = (struct label_pair){meta->label[i].key, meta->label[i].value};
                enum never never = never_of(meta, v->containers_cut, false);
                w->changed |= labels_keep(&w->label_sets, &more->labels, pair, (size_t)meta->labels) ||
                              more->alone != alone || more->apply_never != never;
                if (alone)
                        records_read(w, more, &meta->annotation);
                if (alone && !more->readers.rows) /* a pod's variables and volumes never change */
                        more->readers = request_readers_read(w, v->container, v->containers);
                if (alone && !more->heaps.rows)
                        more->heaps = runtime_heaps_read(w, v->container, v->containers);
                more->alone = alone;
                more->apply_never = never;
        }
        pod_more_keep_asks(p, v);
        if (p->more && p->more->single)
                w->changed = true; /* the pod's requests may differ after a resize */
}

/* --- synthetic workloads --- */

struct workload *dimension_synthetic(struct cache *w, struct target *t)
{
        struct workload *wl = t->synthetic;
        if (!wl) {
                wl = t->synthetic = MEM_NEW(struct workload);
                *wl = (struct workload){.kind = &w->synthetic[t->dimension], .key = t->key, .ns = t->ns};
                wl->name = t->name;
                wl->replicas = 1;
        }
        t->workload = wl;
        t->version = wl->kind->version;
        wl->target = t;
        return wl;
}

static void synthetic_free(struct cache *w, struct workload *wl)
{
        if (!wl)
                return;
        labels_release(&w->label_sets, &wl->labels);
        mem_free(wl->container);
        mem_free(wl->more);
        mem_free(wl);
}

static void synthetic_of_pod(struct cache *w, struct target *t, const struct pod *p)
{
        struct workload *wl = dimension_synthetic(w, t);
        const struct pod_more *more = p->more && p->more->alone ? p->more : NULL;
        struct labels own = more ? more->labels : workload_own_labels(p->owner);
        (void)labels_keep(&w->label_sets, &wl->labels, own.pair, own.count);
        wl->roles.own = (uint32_t)own.count;
        memcpy(wl->uid, p->uid, UID_BYTES);
        wl->created_ms = p->created_ms;
        wl->generation = more ? p->created_ms : 0; /* not 0: an ownerless pod's records are compared once */
        wl->apply_never = more ? more->apply_never : p->owner->apply_never;
        /* the pod owns the records, and lives as long as this link */
        wl->original = more ? more->original : (struct record_set){0};
        wl->applied = more ? more->applied : (struct record_set){0};
        if (wl->more || (more && (more->readers.rows || more->heaps.rows))) { /* the pod owns these too */
                workload_more_made(wl)->readers = more ? more->readers : (struct request_readers){0};
                wl->more->heaps = more ? more->heaps : (struct runtime_heaps){0};
        }
        wl->container = mem_resize(wl->container, (size_t)p->containers, sizeof *wl->container);
        wl->containers = p->containers;
        for (int i = 0; i < p->containers; i++) {
                const struct pod_container *from = &p->container[i];
                wl->container[i] = (struct container_spec){.name = from->name, .role = from->role};
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        wl->container[i].request[r] = pod_request(from, r);
                        wl->container[i].limit[r] = pod_limit(from, r);
                }
        }
}

/* --- choosing profiles of pods and namespaces --- */

static struct target *target_find(struct cache *w, const char *ns, enum dimension d, const char *name)
{
        if (!w->others[d])
                return NULL;
        AUTO(mem_free)
        char *key = target_key_new(text_of(ns), TEXT(""), text_of(kind_of_dimension[d].kind), text_of(name));
        return map_get(&w->targets, text_of(key));
}

struct target *dimension_chosen(struct cache *w, const char *ns, enum dimension d, const char *name, struct profile *by)
{
        struct target *t = by ? target_get(w, text_of(ns), TEXT(""), text_of(kind_of_dimension[d].kind), text_of(name))
                              : target_find(w, ns, d, name);
        if (t)
                t->profile = by;
        if (by)
                by->matched++;
        return t;
}

static void settle_namespace(struct cache *w, struct ns *ns)
{
        const struct profile_subject s = {.ns = text_of(ns->name),
                                          .ns_label = ns->labels.pair,
                                          .ns_labels = ns->labels.count,
                                          .system = profile_system_namespace(w, ns->name),
                                          .dimension = DIMENSION_NAMESPACE,
                                          .kind = text_of(kind_of_dimension[DIMENSION_NAMESPACE].kind)};
        struct profile *by = ns->known ? profile_choose(w, &s, NULL) : NULL;
        struct target *t = dimension_chosen(w, ns->name, DIMENSION_NAMESPACE, ns->name, by);
        ns->whole = by ? t : NULL;
        if (!t || !ns->known)
                return;
        struct workload *wl = dimension_synthetic(w, t);
        (void)labels_keep(&w->label_sets, &wl->labels, ns->labels.pair, ns->labels.count);
        wl->roles.own = (uint32_t)ns->labels.count;
}

/* Is the pod's name that of its owner, '-' and a number, such as "web-3" of the workload "web"? */
static bool is_ordinal(const struct pod *p)
{
        size_t len = strlen(p->owner->name);
        const char *digits = strncmp(p->name, p->owner->name, len) == 0 && p->name[len] == '-' ? p->name + len + 1 : "";
        return *digits && digits[strspn(digits, "0123456789")] == '\0';
}

static struct profile *profile_of_alone(struct cache *w, const struct pod *p)
{
        const struct ns *ns = ns_get(w, text_of(p->ns));
        const struct profile_subject s = {.ns = text_of(p->ns),
                                          .ns_label = ns->labels.pair,
                                          .ns_labels = ns->labels.count,
                                          .system = profile_system_namespace(w, p->ns),
                                          .dimension = DIMENSION_POD,
                                          .kind = text_of(kind_of_dimension[DIMENSION_POD].kind),
                                          .by_default = true,
                                          .label = p->more->labels.pair,
                                          .labels = p->more->labels.count};
        return profile_choose(w, &s, NULL);
}

static struct target *settle_single(struct cache *w, struct pod *p)
{
        bool alone = p->more && p->more->alone;
        if (!alone && (!p->owner || p->owner->gone || !is_ordinal(p)))
                return NULL;
        struct profile *by = alone ? profile_of_alone(w, p) : p->owner->of_pods;
        struct target *t = dimension_chosen(w, p->ns, DIMENSION_POD, p->name, by);
        if (t)
                synthetic_of_pod(w, t, p);
        return by ? t : NULL;
}

/* Does the pod count in its namespace's target: does the profile `by` select its topmost workload or, if none is known,
 * the pod's own labels? */
static bool dimension_is_part(struct cache *w, const struct pod *p, const struct profile *by)
{
        const struct workload *top = workload_topmost(p->owner);
        struct profile_subject s;
        if (top) {
                s = profile_subject_of(w, top, DIMENSION_NAMESPACE);
        } else {
                const struct ns *ns = ns_get(w, text_of(p->ns));
                s = (struct profile_subject){.ns = text_of(p->ns),
                                             .ns_label = ns->labels.pair,
                                             .ns_labels = ns->labels.count,
                                             .system = profile_system_namespace(w, p->ns),
                                             .dimension = DIMENSION_NAMESPACE,
                                             .kind = text_of(kind_of_dimension[DIMENSION_POD].kind),
                                             .by_default = true,
                                             .label = p->more ? p->more->labels.pair : NULL,
                                             .labels = p->more ? p->more->labels.count : 0};
        }
        return profile_selects(by->spec, text_of(by->ns), &s);
}

static void settle_pod(struct cache *w, struct pod *p, struct target *whole)
{
        struct target *single = settle_single(w, p);
        if (whole && !dimension_is_part(w, p, whole->profile))
                whole = NULL;
        if (!p->more && !single && !whole)
                return;
        struct pod_more *more = more_of(p);
        more->single = single;
        if (more->whole != whole)
                more->newest = (struct pod_aggregate_sample){0};
        more->whole = whole;
}

static bool dimension_is_asked_for(const struct cache *w, bool ret[static DIMENSIONS])
{
        const struct profile *p;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                if (p->valid)
                        ret[p->spec->dimension] = true;
        return ret[DIMENSION_POD] || ret[DIMENSION_NAMESPACE] || w->others[DIMENSION_POD] > 0 ||
               w->others[DIMENSION_NAMESPACE] > 0;
}

void dimension_settle(struct cache *w)
{
        bool asked[DIMENSIONS] = {false};
        struct workload *wl;
        struct ns *ns;
        if (!dimension_is_asked_for(w, asked))
                return;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                settle_namespace(w, ns);
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));) {
                const struct profile_subject s = profile_subject_of(w, wl, DIMENSION_POD);
                wl->of_pods = asked[DIMENSION_POD] && !workload_is_link(wl) ? profile_choose(w, &s, NULL) : NULL;
        }
        ns = NULL;
        for (size_t i = 0; i < w->ordered; i++) {
                struct pod *p = w->order[i];
                if (!ns || ns->name != p->ns)
                        ns = ns_get(w, text_of(p->ns));
                settle_pod(w, p, ns->whole);
        }
}

/* --- links between pods and their targets --- */

void dimension_link(struct pod *p)
{
        struct target *t = p->more->single;
        if (p->more->whole)
                p->more->whole->pod_count++;
        if (!t)
                return;
        t->pods = p;
        t->pod_count = 1;
        for (int k = 0; k < t->kills; k++)
                for (int i = 0; i < p->containers; i++) {
                        struct pod_container *c = &p->container[i];
                        if (t->killed[k].container == c->name && t->killed[k].restarts > pod_ended(c).kills_counted &&
                            memcmp(t->killed[k].uid, p->uid, UID_BYTES) == 0)
                                pod_kill_counted(c, t->killed[k].restarts, t->killed[k].at_ms);
                }
}

void dimension_forget(struct cache *w, struct target *t)
{
        struct node *node = map_get(&w->nodes.by_name, text_of(t->name));
        struct ns *ns = map_get(&w->namespaces, text_of(t->ns));
        if (ns && ns->whole == t)
                ns->whole = NULL;
        for (size_t i = pods_from(w, t->ns); i < w->ordered && w->order[i]->ns == t->ns; i++) {
                struct pod_more *more = w->order[i]->more;
                if (more && more->single == t)
                        more->single = NULL;
                if (more && more->whole == t)
                        more->whole = NULL;
        }
        if (node && node->facts && node->facts->whole && node->facts->whole->target == t) {
                mem_free(node->facts->whole);
                node->facts->whole = NULL;
        }
        synthetic_free(w, t->synthetic);
        w->others[t->dimension]--;
}

/* --- what a pod takes of its node, and its sums of usage --- */

struct amount pod_overhead(const struct pod *p, enum resource r)
{
        return p && p->more ? p->more->overhead[r] : (struct amount){0};
}

struct amount pod_takes(const struct pod *p, enum resource r, struct amount containers)
{
        struct amount of = p->more && p->more->asks[r].set ? p->more->asks[r] : containers, more = pod_overhead(p, r);
        return (struct amount){of.set || more.set, add_saturated(of.value, more.value)};
}

void pod_summed(struct pod *p, const struct pod_aggregate_sample *sum)
{
        p->more->newest = *sum;
}
