/*
 * Pods: which run, their owners, and the facts of each container that are kept between samples. pod_kills.c reads from
 * their statuses how processes ended.
 */
#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"
#include "cache/pod_namespace_targets.h"

static struct pod *pod_new(struct cache *w, const struct object_view *meta, int containers)
{
        struct text key = key_of_object(w, meta);
        struct pod *p = mem_new(sizeof *p + (size_t)containers * sizeof p->container[0] + key.len + 1);
        char *behind = (char *)(p->container + containers);
        memcpy(behind, key.p, key.len);
        p->name = behind + meta->ns.len + 1;
        p->ns = ns_get(w, meta->ns)->name;
        uid_bytes(meta->uid, p->uid);
        p->containers = (uint8_t)containers;
        return p;
}

static void resizing_free(struct pod *p)
{
        if (!p->resizing)
                return;
        mem_free(p->resizing->message);
        mem_free(p->resizing->refused);
        mem_free(p->resizing);
        p->resizing = NULL;
}

struct resizing *pod_resizing(struct pod *p)
{
        if (!p->resizing)
                p->resizing = mem_new(sizeof *p->resizing +
                                      (size_t)p->containers * RESOURCES * sizeof p->resizing->raising[0]);
        return p->resizing;
}

/* Most pods are never raised: these get no struct resizing, to save memory. */
void pod_set_raised(struct pod *p, struct text annotation)
{
        struct wall at = {0};
        if (annotation.len)
                (void)wall_parse(annotation.p, annotation.len, &at);
        if (p->resizing || at.ms)
                pod_resizing(p)->raised_ms = at.ms;
}

/* Take a resize's progress and message, and the time of the last raise. Most pods have none, and get no resizing. */
static void resize_set(struct pod *p, const struct pod_view *v)
{
        p->ours = v->meta.annotation.applied.len > 0;
        p->resize = v->resize & 0x7u;
        pod_set_raised(p, v->meta.annotation.raised);
        if (!p->resizing && !v->resize_message.len)
                return;
        struct resizing *kept = pod_resizing(p);
        mem_free(kept->message);
        kept->message = v->resize_message.len ? mem_string_n(v->resize_message.p, v->resize_message.len) : NULL;
}

static void pod_free(struct cache *w, struct pod *p)
{
        pod_more_free(w, p);
        for (int i = 0; i < p->containers; i++) {
                intern_drop(w->names, p->container[i].name);
                mem_free(p->container[i].kills);
                mem_free(p->container[i].ends);
        }
        if (p->told)
                labels_release(&w->label_sets, &p->told->labels);
        mem_free(p->told);
        node_give(w, p);
        if (p->owner)
                p->owner->children--;
        intern_drop(w->names, p->original);
        resizing_free(p);
        mem_free(p);
}

void pod_changes(struct cache *w, struct pod *p)
{
        if (w->books.before_change)
                w->books.before_change(w->books.of, p);
}

static void pod_turns(struct cache *w, const struct pod *p)
{
        const struct ns *ns = map_get(&w->namespaces, text_of(p->ns));
        w->turned |= ns && ns->retunes;
}

/* Mark a pod as gone. It leaves cache.order at the next settle only, as a poll may be walking along it (pod_at). */
static void pod_drop(struct cache *w, struct pod *p)
{
        pod_changes(w, p);
        p->gone = true;
        if (p->running)
                pod_turns(w, p);
        p->running = false; /* the pod stays in its target's list until the next settle */
        map_drop(&w->pods, text_of(pod_key(p)));
        struct pod_list *to = &w->dropped;
        if (to->count == to->cap)
                to->of = mem_resize(to->of, to->cap = to->cap * 2 + 64, sizeof(struct pod *));
        to->of[to->count++] = p;
        w->changed = true;
}

static void pod_keep(struct cache *w, struct pod *p)
{
        map_put(&w->pods, text_of(pod_key(p)), p);
        if (w->freshes == w->fresh_cap)
                w->fresh = mem_resize(w->fresh, w->fresh_cap = w->fresh_cap * 2 + 64, sizeof *w->fresh);
        w->fresh[w->freshes++] = p;
        w->changed = true;
}

static const struct container_status_view *status_of(const struct pod_view *v, struct text name)
{
        for (int i = 0; i < v->statuses; i++)
                if (text_equal(v->status[i].name, name))
                        return &v->status[i];
        return NULL;
}

void pod_measured(struct pod *p, const struct pod_metrics_view *m)
{
        enum { NANO = 1000000 };
        int64_t nano = 0;
        for (int i = 0; i < m->containers; i++)
                if (m->container[i].has[CPU] && m->container[i].cpu_nano > 0)
                        nano = add_saturated(nano, m->container[i].cpu_nano);
        p->cpu_milli = nano / NANO < UINT32_MAX ? (uint32_t)(nano / NANO) : UINT32_MAX;
        p->measured_s = seconds_of(m->at.ms);
}

void pod_sampled(struct pod_container *c, struct wall at, const struct pod_metrics_container_view *v)
{
        if (!v->has[MEMORY] || v->memory_bytes <= 0)
                return;
        c->last_memory = v->memory_bytes;
        c->sampled_s = seconds_of(at.ms);
}

static uint32_t pod_stopped(const struct container_status_view *s)
{
        int64_t at_ms = s->now.at.ms > s->last.at.ms ? s->now.at.ms : s->last.at.ms;
        if (!s->stopped)
                return 0;
        return at_ms ? seconds_of(at_ms) : 1;
}

static void container_set(struct cache *w, struct pod_container *c, const struct container_view *v,
                          const struct container_status_view *s)
{
        if (!c->name)
                c->name = intern_text(w->names, v->name);
        c->role = (uint8_t)v->role;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                c->request[r] = amount_pack(v->request[r]);
                c->limit[r] = amount_pack(v->limit[r]);
        }
        c->restarts = (uint8_t)(v->restarts[CPU] << CPU | v->restarts[MEMORY] << MEMORY) & 0x3u;
        c->probed = v->probed || v->restarts[CPU] || v->restarts[MEMORY] || v->role == ROLE_SIDECAR;
        if (!s)
                return;
        c->has_status = true;
        if (c->ends || pod_kills_restarts(s) || pod_stopped(s)) {
                restart_count_keep(pod_ends(c), s);
                pod_ends(c)->restarts = pod_kills_restarts(s);
                pod_ends(c)->began_s = seconds_of(s->running_since.ms);
                pod_ends(c)->stopped_s = pod_stopped(s);
        }
        pod_kills_read(c, s);
}

/* When the kubelet took the pod, or when it was created, in seconds since 1970. */
static int64_t pod_base_s(const struct pod *p)
{
        return p->started_s ? p->started_s : p->created_ms / SECOND_MS;
}

/* began_after_s reaches 18 hours. If a container begins later, as after days without its image, `ends` has the time. */
static void container_began(const struct pod *p, struct pod_container *c, const struct container_status_view *s)
{
        if (!s || s->running_since.ms <= 0)
                return;
        int64_t after_s = s->running_since.ms / SECOND_MS - pod_base_s(p);
        c->began_after_s = (uint16_t)(after_s < 0 ? 1 : after_s < UINT16_MAX ? after_s + 1 : UINT16_MAX);
        if (c->began_after_s == UINT16_MAX)
                pod_ends(c)->began_s = seconds_of(s->running_since.ms);
}

int64_t pod_container_began_ms(const struct pod *p, const struct pod_container *c)
{
        if (pod_ended(c).began_s)
                return (int64_t)c->ends->began_s * SECOND_MS;
        return (pod_base_s(p) + (c->began_after_s ? c->began_after_s - 1 : 0)) * SECOND_MS;
}

int64_t pod_began_ms(const struct pod *p)
{
        int64_t began_ms = p->started_s ? pod_started_ms(p) : p->created_ms;
        for (int i = 0; i < p->containers; i++) {
                const struct pod_ends ends = pod_ended(&p->container[i]);
                int64_t ms = (int64_t)ends.began_s * SECOND_MS;
                if (p->container[i].role != ROLE_INIT && ends.restarts > 0 && ms > began_ms)
                        began_ms = ms;
        }
        return began_ms;
}

struct pod_told *pod_tell(struct pod *p)
{
        if (p->told)
                return p->told;
        p->told = mem_new(sizeof *p->told + (size_t)p->containers * sizeof p->told->cpu[0]);
        for (int i = 0; i < p->containers; i++)
                p->told->cpu[i] = -1;
        return p->told;
}

void pod_remember(struct cache *w, struct pod *p, struct text original)
{
        const char *was = p->original;
        p->original = original.len ? intern_text(w->names, original) : NULL;
        intern_drop(w->names, was);
}

/* Take what custom metrics need of a pod: its utilization basis, originals and labels. */
static void pod_describe(struct cache *w, struct pod *p, const struct object_view *meta)
{
        p->basis = basis_read(meta->annotation.basis) & 0x7u;
        pod_remember(w, p, meta->annotation.original);
        if (!w->pod_labels)
                return;
        struct label_pair *pair = arena_new(&w->scratch, (size_t)meta->labels * sizeof *pair);
        for (int i = 0; i < meta->labels; i++)
                pair[i] = (struct label_pair){meta->label[i].key, meta->label[i].value};
        labels_set(&w->label_sets, &pod_tell(p)->labels, pair, (size_t)meta->labels);
}

/* A container's restarts without those by node shutdowns. lastState shows a shutdown until the next restart: count it
 * once. */
static uint32_t own_restarts(struct pod_container *c, const struct container_status_view *s)
{
        uint32_t restarts = pod_kills_restarts(s), ends = restarts + (s->waits ? 1 : 0);
        struct pod_ends *e = pod_ends(c);
        if (s->last.node_down && ends > e->node_restarted) {
                e->node_restarts++;
                e->node_restarted = ends;
        }
        return restarts > e->node_restarts ? restarts - e->node_restarts : 0;
}

/* Sum a pod's restarts, without those of init containers that run to completion. Restarts with the originals go to
 * start_restarts: no lower request caused them. */
static void count_restarts(struct pod *p, const struct pod_view *v)
{
        int64_t sum = 0, ended_ms = 0;
        for (int i = 0; i < p->containers; i++) {
                const struct container_status_view *s = status_of(v, v->container[i].name);
                if (!s || pod_kills_restarts(s) == 0 || p->container[i].role == ROLE_INIT)
                        continue;
                sum = add_saturated(sum, own_restarts(&p->container[i], s));
                if (s->last.at.ms > ended_ms)
                        ended_ms = s->last.at.ms;
        }
        sum = sum < UINT16_MAX ? sum : UINT16_MAX;
        if (pod_has_originals(p) && sum > p->restarts + p->start_restarts)
                p->start_restarts = (uint16_t)(sum - p->restarts);
        p->restarts = sum > p->start_restarts ? (uint16_t)(sum - p->start_restarts) : 0;
        p->ended_s = seconds_of(ended_ms);
}

static void pod_set(struct cache *w, struct pod *p, struct pod_view *v, uint32_t epoch)
{
        pod_changes(w, p);
        restart_counts_continue(p, v);
        p->epoch = epoch;
        p->created_ms = v->meta.created.ms;
        p->started_s = seconds_of(v->started.ms);
        bool running = v->running && v->meta.deleted.ms == 0;
        if (running != p->running)
                pod_turns(w, p);
        p->running = running;
        p->runs = v->running;
        p->finished = v->finished;
        p->deleting = v->meta.deleted.ms != 0;
        p->lacks_room = v->lacks_room && !p->deleting && !v->running && !v->finished;
        p->node_pressure = v->node_pressure;
        p->labels_cut = v->meta.labels_cut;
        p->containers_cut = v->containers_cut;
        p->stopped = v->stopped;
        p->ready = v->ready;
        p->ready_turned_s = seconds_of(v->ready_turned.ms);
        if (v->node.len && !p->node) /* a pod stays on its first node */
                node_take(w, p, v->node);
        pod_describe(w, p, &v->meta);
        resize_set(p, v);
        for (int i = 0; i < v->containers; i++)
                container_set(w, &p->container[i], &v->container[i], status_of(v, v->container[i].name));
        for (int i = 0; i < v->containers; i++)
                container_began(p, &p->container[i], status_of(v, v->container[i].name));
        count_restarts(p, v);
        pod_kills_read_eviction(p, &v->eviction);
        uint8_t owner[UID_BYTES] = {0};
        if (v->meta.owner.kind.len)
                uid_bytes(v->meta.owner.uid, owner);
        if (memcmp(owner, p->owner_uid, UID_BYTES) != 0) {
                memcpy(p->owner_uid, owner, UID_BYTES);
                owner_unlink(&p->owner, owner);
                w->changed = true;
        }
}

static bool pod_same(const struct pod *p, const struct pod_view *v)
{
        uint8_t uid[UID_BYTES];
        uid_bytes(v->meta.uid, uid);
        if (memcmp(uid, p->uid, UID_BYTES) != 0 || p->containers != v->containers)
                return false;
        for (int i = 0; i < v->containers; i++)
                if (!text_is(v->container[i].name, p->container[i].name))
                        return false;
        return true;
}

/* A pod that vanished without a last status has ended, so evictions that Events reported count. */
static void pod_vanish(struct cache *w, struct pod *p)
{
        pod_kills_believe_events(p);
        w->kills |= pod_tells_of_kill(p);
        pod_drop(w, p);
}

int pod_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        w->killed = NULL;
        struct pod_view *view = arena_new(&w->scratch, sizeof *view);
        int rc = decode_pod(json, &w->scratch, view, err);
        if (rc == 0) {
                struct pod *p = map_get(&w->pods, key_of_object(w, &view->meta));
                if (p && !pod_same(p, view)) { /* the pod was deleted and made again between two events */
                        pod_vanish(w, p);
                        p = NULL;
                }
                if (!p) {
                        p = pod_new(w, &view->meta, view->containers);
                        p->admitted = view->meta.annotation.applied.len > 0;
                        if (p->admitted)
                                pod_born_read(w, p, view);
                        pod_keep(w, p);
                }
                pod_set(w, p, view, epoch);
                pod_more_read(w, p, view);
                pod_kills_tell(w, p);
        }
        arena_reset(&w->scratch);
        return rc;
}

/* The last object of a deleted pod may report a kill that no earlier one reported. So the object is read first, and the
 * pod freed after the next settle. */
void pod_remove(struct cache *w, struct text json)
{
        w->killed = NULL;
        struct pod_view *view = arena_new(&w->scratch, sizeof *view);
        if (decode_pod(json, &w->scratch, view, NULL) == 0) {
                struct pod *p = map_get(&w->pods, key_of_object(w, &view->meta));
                if (p && pod_same(p, view)) {
                        pod_set(w, p, view, p->epoch);
                        pod_drop(w, p);
                        pod_kills_tell(w, p);
                }
        }
        arena_reset(&w->scratch);
}

void pod_swept(struct cache *w, uint32_t epoch)
{
        struct pod *p;
        for (size_t at = 0; (p = map_each(&w->pods, &at));)
                if (p->epoch != epoch)
                        pod_vanish(w, p);
}

/* --- the order of pods (cache.order) --- */

static int pod_compare(const struct pod *a, const struct pod *b)
{
        int way = a->ns == b->ns ? 0 : strcmp(a->ns, b->ns);
        return way ? way : strcmp(a->name, b->name);
}

static int pod_compare_at(const void *a, const void *b)
{
        return pod_compare(*(struct pod *const *)a, *(struct pod *const *)b);
}

/* Remove gone pods from cache.order, sort new ones and merge them in from the back. Takes time linear in the number of
 * pods, and none if no pod came or went. */
void pods_settle(struct cache *w)
{
        if (w->dropped.count) {
                size_t ordered = w->ordered, freshes = w->freshes;
                w->ordered = w->freshes = 0;
                for (size_t i = 0; i < ordered; i++)
                        if (!w->order[i]->gone)
                                w->order[w->ordered++] = w->order[i];
                for (size_t i = 0; i < freshes; i++)
                        if (!w->fresh[i]->gone)
                                w->fresh[w->freshes++] = w->fresh[i];
        }
        if (w->freshes) {
                qsort(w->fresh, w->freshes, sizeof *w->fresh, pod_compare_at);
                if (w->ordered + w->freshes > w->order_cap) {
                        w->order_cap = (w->ordered + w->freshes) * 5 / 4 + 64;
                        w->order = mem_resize(w->order, w->order_cap, sizeof *w->order);
                }
                size_t a = w->ordered, b = w->freshes, to = a + b;
                while (b > 0)
                        w->order[--to] = a > 0 && pod_compare(w->order[a - 1], w->fresh[b - 1]) > 0 ? w->order[--a]
                                                                                                    : w->fresh[--b];
                w->ordered += w->freshes;
                w->freshes = 0;
        }
}

size_t pods_from(const struct cache *w, const char *ns)
{
        size_t low = 0, high = w->ordered;
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                if (strcmp(w->order[mid]->ns, ns) < 0)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

/* The kills of the gone pods were counted, so these pods may be freed. */
void pods_free_dropped(struct cache *w)
{
        for (size_t i = 0; i < w->dropped.count; i++)
                pod_free(w, w->dropped.of[i]);
        w->dropped.count = 0;
}

/*
 * The pod that metrics are about. Metrics are sorted like cache.order, so the pod is nearly always at the cursor or a
 * few places further. If not (other order, unknown pods), the pod is looked up in the map.
 */
struct pod *pod_at(const struct cache *w, struct text ns, struct text name, size_t *cursor)
{
        for (size_t i = *cursor; i < w->ordered && i < *cursor + 4; i++) {
                struct pod *p = w->order[i];
                if (text_is(name, p->name) && text_is(ns, p->ns)) {
                        *cursor = i + 1;
                        return p->gone ? NULL : p;
                }
        }
        char key[512];
        if (ns.len + 1 + name.len > sizeof key)
                return NULL;
        memcpy(key, ns.p, ns.len);
        key[ns.len] = '/';
        memcpy(key + ns.len + 1, name.p, name.len);
        struct pod *p = map_get(&w->pods, (struct text){key, ns.len + 1 + name.len});
        if (!p)
                return NULL;
        size_t low = 0, high = w->ordered; /* find the pod's place, so that the walk goes on from there */
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                if (pod_compare(w->order[mid], p) < 0)
                        low = mid + 1;
                else
                        high = mid;
        }
        *cursor = low + 1;
        return p;
}

void pods_release(struct cache *w)
{
        struct pod *p;
        pods_free_dropped(w);
        for (size_t at = 0; (p = map_each(&w->pods, &at));) {
                map_drop(&w->pods, text_of(pod_key(p)));
                pod_free(w, p);
        }
        map_release(&w->pods);
        mem_free(w->order);
        mem_free(w->fresh);
        mem_free(w->dropped.of);
}
