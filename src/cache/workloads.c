/* Workloads: objects with a pod template, reduced to the containers' requests, the labels, the owner and the facts of
 * the rollout. */
#include <stdio.h>
#include <string.h>

#include "cache/cache.h"
#include "objects/target_key.h"

static struct workload *workload_of_object(const struct cache *w, const struct watched_kind *k,
                                           const struct object_view *meta)
{
        AUTO(mem_free) char *key = target_key_new(meta->ns, text_of(k->group), text_of(k->kind), meta->name);
        return map_get(&w->workloads, text_of(key));
}

struct workload *workload_find(const struct cache *w, const char *group, const char *kind, const char *ns,
                               const char *name)
{
        AUTO(mem_free) char *key = target_key_new(text_of(ns), text_of(group), text_of(kind), text_of(name));
        return map_get(&w->workloads, text_of(key));
}

static struct text uid_key(const uint8_t uid[static UID_BYTES])
{
        return (struct text){(const char *)uid, UID_BYTES};
}

/* A UID kept as bytes is printed with hyphens, as "7d44…-…". */
char *workload_uid(const struct workload *wl)
{
        char text[40], *at = text;
        if (wl->uid_text || uid_none(wl->uid))
                return wl->uid_text ? mem_string(wl->uid_text) : NULL;
        for (int i = 0; i < UID_BYTES; i++)
                at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", wl->uid[i]);
        return mem_string(text);
}

struct workload_more *workload_more_made(struct workload *wl)
{
        if (!wl->more)
                wl->more = MEM_NEW(struct workload_more);
        return wl->more;
}

/* Clear all facts but rollout_ref and counted_by, which come from other objects and are valid until the next settle. */
static void workload_more_clear(struct cache *w, struct workload *wl)
{
        if (!wl->more)
                return;
        struct rollout_ref by = wl->more->rollout_ref;
        const struct autoscaler *counted_by[RESOURCES];
        memcpy(counted_by, wl->more->counted_by, sizeof counted_by);
        label_roles_release(&w->label_sets, &wl->more->roles);
        request_readers_release(w, &wl->more->readers);
        runtime_heaps_release(w, &wl->more->heaps);
        mem_free(wl->more->refused);
        intern_drop(w->names, wl->more->refers.api_version);
        intern_drop(w->names, wl->more->refers.kind);
        intern_drop(w->names, wl->more->refers.name);
        mem_free(wl->more);
        wl->more = NULL;
        if (by.kind)
                workload_more_made(wl)->rollout_ref = by;
        if (counted_by[CPU] || counted_by[MEMORY])
                memcpy(workload_more_made(wl)->counted_by, counted_by, sizeof counted_by);
}

/* Clear the fields of a workload that a new version of its object sets. */
static void workload_clear(struct cache *w, struct workload *wl)
{
        labels_release(&w->label_sets, &wl->labels);
        wl->roles = (struct label_roles){0};
        for (int i = 0; i < wl->containers; i++)
                intern_drop(w->names, wl->container[i].name);
        mem_free(wl->container);
        for (int i = 0; i < wl->foreigns; i++) {
                intern_drop(w->names, wl->foreign[i].container);
                intern_drop(w->names, wl->foreign[i].manager);
        }
        mem_free(wl->foreign);
        record_set_release(w, &wl->original);
        record_set_release(w, &wl->applied);
        intern_drop(w->names, wl->priority_class);
        wl->priority_class = NULL;
        intern_drop(w->names, wl->owner_ref.api_version);
        intern_drop(w->names, wl->owner_ref.kind);
        intern_drop(w->names, wl->owner_ref.name);
        workload_more_clear(w, wl);
        wl->container = NULL;
        wl->foreign = NULL;
        wl->containers = wl->foreigns = 0;
        wl->owner_ref = (struct controller_owner){0};
}

static void workload_free(struct cache *w, struct workload *wl)
{
        workload_clear(w, wl);
        autoscalers_forget(wl);
        wl->kind->workloads--;
        if (wl->owner)
                wl->owner->children--;
        mem_free(wl->more);
        mem_free(wl->uid_text);
        mem_free(wl->key);
        mem_free(wl);
}

/* Remove a deleted workload from the maps. Its memory stays while pods or workloads point to it as owner. */
static void workload_drop(struct cache *w, struct workload *wl)
{
        map_drop(&w->workloads, text_of(wl->key));
        if (map_get(&w->uids, uid_key(wl->uid)) == wl) /* else a later object has taken this UID */
                map_drop(&w->uids, uid_key(wl->uid));
        ns_recount(w, wl->ns);
        wl->gone = true;
        wl->next_gone = w->gone;
        w->gone = wl;
        w->changed = true;
}

/* Freeing a workload may make its owner free to go, so the list is walked again, as often as a chain has links. */
void workloads_free_gone(struct cache *w)
{
        bool again = true;
        while (again) {
                again = false;
                for (struct workload **link = &w->gone; *link;) {
                        struct workload *wl = *link;
                        if (wl->children > 0) {
                                link = &wl->next_gone;
                                continue;
                        }
                        *link = wl->next_gone;
                        again |= wl->owner && wl->owner->gone && wl->owner->children == 1;
                        workload_free(w, wl);
                }
        }
}

static struct workload *workload_new(struct cache *w, struct watched_kind *k, const struct object_view *meta)
{
        struct workload *wl = MEM_NEW(struct workload);
        wl->kind = k;
        k->workloads++;
        wl->key = target_key_new(meta->ns, text_of(k->group), text_of(k->kind), meta->name);
        wl->name = strrchr(wl->key, '/') + 1;
        wl->ns = ns_get(w, meta->ns)->name;
        uid_bytes(meta->uid, wl->uid);
        AUTO(mem_free) char *plain = workload_uid(wl);
        wl->uid_text = text_is(meta->uid, plain) ? NULL : mem_string_n(meta->uid.p, meta->uid.len);
        map_put(&w->workloads, text_of(wl->key), wl);
        map_put(&w->uids, uid_key(wl->uid), wl);
        return wl;
}

/* --- a workload's fields, from its decoded object --- */

static void labels_join(struct cache *w, struct workload *wl, const struct workload_view *v)
{
        size_t most = (size_t)(v->meta.labels + v->template_labels), count = 0;
        struct label_pair *pair = arena_new(&w->scratch, sizeof *pair * (most + 1));
        for (int i = 0; i < v->meta.labels; i++)
                pair[count++] = (struct label_pair){v->meta.label[i].key, v->meta.label[i].value};
        wl->roles.own = (uint32_t)count;
        for (int i = 0; i < v->template_labels; i++) {
                bool known = false; /* on equal keys, the workload's own label wins */
                for (int k = 0; k < v->meta.labels && !known; k++)
                        known = text_equal(v->meta.label[k].key, v->template_label[i].key);
                if (!known)
                        pair[count++] = (struct label_pair){v->template_label[i].key, v->template_label[i].value};
        }
        labels_set(&w->label_sets, &wl->labels, pair, count);
}

static void roles_set(struct cache *w, struct workload *wl, const struct workload_view *v)
{
        struct label_roles_rest rest = {0};
        label_roles_read(v, &wl->labels, &w->label_sets, &w->scratch, &wl->roles, &rest);
        if (rest.labels.count || rest.selector || rest.labels_cut || rest.selector_unread)
                workload_more_made(wl)->roles = rest;
        if (v->suspended)
                workload_more_made(wl)->suspended = true;
}

/* A digest of all by which autoscalers count this workload's pods, and its selector other pods. If it changes, the
 * namespace is counted anew. */
static uint64_t roles_digest(struct cache *w, const struct workload *wl)
{
        const struct label_roles_rest *rest = &workload_more(wl)->roles;
        if (workload_is_link(wl) && !workload_more(wl)->refers.kind)
                return 0;
        struct labels labels = label_roles_of_pods(&wl->labels, &wl->roles, rest, &w->scratch);
        bool flag[] = {wl->replicas > 0 && !workload_more(wl)->suspended, rest->labels_cut, rest->selector_unread};
        uint64_t digest = digest_bytes(0, flag, sizeof flag);
        digest = digest_bytes(digest, &wl->roles.selected, sizeof wl->roles.selected);
        for (size_t i = 0; i < labels.count; i++) {
                digest = digest_bytes(digest, labels.pair[i].key.p, labels.pair[i].key.len);
                digest = digest_bytes(digest, labels.pair[i].value.p, labels.pair[i].value.len);
        }
        return rest->selector ? digest_bytes(digest, rest->selector, strlen(rest->selector)) : digest;
}

static void containers_set(struct cache *w, struct workload *wl, const struct workload_view *v)
{
        wl->containers = v->containers;
        wl->container = v->containers ? mem_new_array((size_t)v->containers, sizeof *wl->container) : NULL;
        for (int i = 0; i < v->containers; i++) {
                struct container_spec *c = &wl->container[i];
                c->name = intern_text(w->names, v->container[i].name);
                c->role = v->container[i].role;
                memcpy(c->request, v->container[i].request, sizeof c->request);
                memcpy(c->limit, v->container[i].limit, sizeof c->limit);
        }
        wl->foreigns = v->owners;
        wl->foreign = v->owners ? mem_new_array((size_t)v->owners, sizeof *wl->foreign) : NULL;
        for (int i = 0; i < v->owners; i++) {
                wl->foreign[i].container = intern_text(w->names, v->owner[i].container);
                wl->foreign[i].manager = intern_text(w->names, v->owner[i].manager);
                memcpy(wl->foreign[i].of, v->owner[i].of, sizeof wl->foreign[i].of);
        }
}

static void rollout_set(struct workload *wl, const struct workload_view *v)
{
        if ((wl->kind->flags & KIND_PHASED) && v->phase.len)
                workload_more_made(wl)->phase = rollout_phase_read(v->phase);
        wl->in_place_only = v->in_place_only;
        wl->needs_person = v->needs_person;
        if (v->observed_referred)
                workload_more_made(wl)->observed_referred = v->observed_referred;
        wl->replicas = v->replicas;
        wl->paused = v->paused;
        wl->on_delete = v->on_delete;
        wl->recreate = v->recreate;
        wl->deadline_exceeded = v->deadline_exceeded;
        wl->partition = v->partition;
        wl->observed_generation = v->observed_generation;
        wl->updated = v->updated;
        wl->available = v->available;
        wl->status_replicas = v->status_replicas;
}

/* Another owner has adopted the object, or it has none now. The next settle links it to the owner that it names. */
void owner_unlink(struct workload **owner, const uint8_t uid[static UID_BYTES])
{
        if (!*owner || memcmp((*owner)->uid, uid, UID_BYTES) == 0)
                return;
        (*owner)->children--;
        *owner = NULL;
}

static void owner_set(struct cache *w, struct controller_owner *to, const struct owner_ref *from)
{
        to->api_version = intern_text(w->names, from->api_version);
        to->kind = intern_text(w->names, from->kind);
        to->name = intern_text(w->names, from->name);
        uid_bytes(from->uid, to->uid);
}

static void workload_set(struct cache *w, struct workload *wl, const struct workload_view *v, uint64_t digest)
{
        workload_clear(w, wl);
        wl->generation = v->meta.generation;
        wl->created_ms = v->meta.created.ms;
        wl->apply_never = never_of(&v->meta, v->containers_cut, v->owners_cut);
        wl->digest = digest;
        if (v->meta.owner.kind.len)
                owner_set(w, &wl->owner_ref, &v->meta.owner);
        if (kind_runs_by_reference(kind_group(v->refers.api_version), v->refers.kind))
                owner_set(w, &workload_more_made(wl)->refers, &v->refers);
        owner_unlink(&wl->owner, workload_more(wl)->refers.kind ? workload_more(wl)->refers.uid : wl->owner_ref.uid);
        rollout_set(wl, v);
        if (workload_more(wl)->refers.kind)
                roles_set(w, wl, v);
        if (workload_is_link(wl))
                return;
        labels_join(w, wl, v);
        roles_set(w, wl, v);
        containers_set(w, wl, v);
        if (v->pod_asks[CPU].set || v->pod_asks[MEMORY].set)
                memcpy(workload_more_made(wl)->pod_asks, v->pod_asks, sizeof wl->more->pod_asks);
        struct request_readers readers = request_readers_read(w, v->container, v->containers);
        struct runtime_heaps heaps = runtime_heaps_read(w, v->container, v->containers);
        if (readers.rows)
                workload_more_made(wl)->readers = readers;
        if (heaps.rows)
                workload_more_made(wl)->heaps = heaps;
        wl->surge = v->surge;
        wl->priority_class = v->priority_class.len ? intern_text(w->names, v->priority_class) : NULL;
        if (v->replica_failure.len && memmem(v->replica_failure.p, v->replica_failure.len, "exceeded quota", 14))
                workload_more_made(wl)->refused = mem_string_n(v->replica_failure.p, v->replica_failure.len);
        wl->original = record_set_read(w, v->template_annotation.original);
        wl->applied = record_set_read(w, v->template_annotation.applied);
}

/* Take an object of a workload. `events` NULL: the object comes from the watch, not from an answer to a write. */
static int workload_take(struct cache *w, struct watched_kind *k, struct text json, uint32_t epoch,
                         const uint32_t *events, struct err *err)
{
        struct workload_view *view = arena_new(&w->scratch, sizeof *view);
        int rc = decode_workload(json, k->template_path, w->field_manager, &w->scratch, view, err);
        if (rc < 0) {
                arena_reset(&w->scratch);
                return rc;
        }
        struct workload *wl = workload_of_object(w, k, &view->meta);
        uint8_t uid[UID_BYTES];
        uid_bytes(view->meta.uid, uid);
        bool known = wl && memcmp(uid, wl->uid, UID_BYTES) == 0;
        if (!known && events) { /* an answer makes no new entry: the watch may already have seen the deletion */
                err_set(err, ERR_NOTFOUND, "%s '%.*s' was deleted meanwhile", k->kind, TEXT_ARG(view->meta.name));
                arena_reset(&w->scratch);
                return ERR_NOTFOUND;
        }
        if (wl && !known) { /* the object was deleted and made again between two events */
                workload_drop(w, wl);
                wl = NULL;
        }
        if (!wl)
                wl = workload_new(w, k, &view->meta);
        bool listed = wl->epoch != epoch; /* in a new list, which counts even if a restored etcd has an older state */
        wl->epoch = epoch;
        /* Take only a newer state: an event from before halflife's write may come after the answer, and an answer after
         * later events. */
        bool newer = listed || view->meta.generation > wl->generation, same = view->meta.generation == wl->generation;
        if (newer || (same && (!events || *events == wl->events))) {
                uint64_t was = roles_digest(w, wl);
                workload_set(w, wl, view, template_fingerprint(json, k->template_path));
                if (roles_digest(w, wl) != was)
                        ns_recount(w, wl->ns);
                w->changed = true;
        }
        wl->events += !events;
        arena_reset(&w->scratch);
        return 0;
}

int workload_upsert(struct cache *w, struct watched_kind *k, struct text json, uint32_t epoch, struct err *err)
{
        return workload_take(w, k, json, epoch, NULL, err);
}

int workload_answer(struct cache *w, struct watched_kind *k, struct text json, uint32_t epoch, uint32_t events,
                    struct err *err)
{
        return workload_take(w, k, json, epoch, &events, err);
}

void workload_remove(struct cache *w, struct watched_kind *k, struct text json)
{
        struct object_view view;
        if (decode_object(json, &w->scratch, &view, NULL) == 0) {
                struct workload *wl = workload_of_object(w, k, &view);
                if (wl)
                        workload_drop(w, wl);
        }
        arena_reset(&w->scratch);
}

void workload_swept(struct cache *w, struct watched_kind *k, uint32_t epoch)
{
        struct workload *wl;
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                if (wl->kind == k && wl->epoch != epoch)
                        workload_drop(w, wl);
}

void workload_forget(struct cache *w, const struct watched_kind *k)
{
        struct workload *wl;
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                if (wl->kind == k)
                        workload_drop(w, wl);
}

void workloads_release(struct cache *w)
{
        struct workload *wl;
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));) {
                wl->owner = NULL;
                workload_free(w, wl);
        }
        while (w->gone) {
                wl = w->gone;
                w->gone = wl->next_gone;
                wl->owner = NULL;
                workload_free(w, wl);
        }
        map_release(&w->workloads);
        map_release(&w->uids);
}

/* --- links between objects and their owners --- */

/* The owner with that UID, in the same namespace only. Anybody may name an owner in another namespace; like Kubernetes,
 * halflife ignores that one. */
static struct workload *owner_by_uid(struct cache *w, const char *ns /* interned */,
                                     const uint8_t uid[static UID_BYTES])
{
        struct workload *owner = uid_none(uid) ? NULL : map_get(&w->uids, uid_key(uid));
        return owner && owner->ns == ns ? owner : NULL;
}

/* Find a workload's owner, or the workload that it refers to. The name of the latter is looked up each time, as another
 * object may get it. */
static struct workload *owner_find(struct cache *w, const struct workload *wl)
{
        const struct controller_owner *refers = &workload_more(wl)->refers;
        if (!refers->kind)
                return owner_by_uid(w, wl->ns, wl->owner_ref.uid);
        struct text group = kind_group(text_of(refers->api_version));
        AUTO(mem_free) char *own_group = mem_string_n(group.p, group.len);
        return workload_find(w, own_group, refers->kind, wl->ns, refers->name);
}

/* Does a chain of owners lead from one workload to another? A link that would close a circle is not made, so every walk
 * up a chain ends. */
static bool workload_leads_to(const struct workload *from, const struct workload *to)
{
        while (from && from != to)
                from = from->owner;
        return from != NULL;
}

static void leave_gone(struct workload **owner)
{
        if (!*owner || !(*owner)->gone)
                return;
        (*owner)->children--;
        *owner = NULL;
}

/* Link pods and workloads to owners to which they could not be linked before. A link stays until the owner is gone, or
 * the object names another owner. */
void workloads_settle(struct cache *w)
{
        struct workload *wl;
        struct pod *p;
        for (size_t at = 0; w->gone && (wl = map_each(&w->workloads, &at));)
                leave_gone(&wl->owner);
        for (size_t at = 0; w->gone && (p = map_each(&w->pods, &at));)
                leave_gone(&p->owner);
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));) {
                struct workload *owner = wl->owner ? NULL : owner_find(w, wl);
                if (wl->more)
                        wl->more->rollout_ref = (struct rollout_ref){0};
                if (!owner || workload_leads_to(owner, wl))
                        continue;
                wl->owner = owner;
                owner->children++;
                if (!workload_is_link(wl) || workload_more(wl)->refers.kind)
                        ns_recount(w, wl->ns);
        }
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                if (workload_more(wl)->refers.kind && wl->owner)
                        rollout_ref_of(wl->owner, wl);
        for (size_t at = 0; (p = map_each(&w->pods, &at));)
                if (!p->owner && (p->owner = owner_by_uid(w, p->ns, p->owner_uid)))
                        p->owner->children++;
        for (size_t i = 0; i < w->dropped.count; i++) { /* link also pods that came and went since the last settle */
                p = w->dropped.of[i];
                if (!p->owner && (p->owner = owner_by_uid(w, p->ns, p->owner_uid)))
                        p->owner->children++;
        }
}
