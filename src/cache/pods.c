/*
 * Pods: which run, their owners, and the facts of each container that are kept between samples.
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

/* Takes no memory for a pod that was never raised, as most are. */
void pod_set_raised(struct pod *p, struct text annotation)
{
        struct wall at = {0};
        if (annotation.len)
                (void)wall_parse(annotation.p, annotation.len, &at);
        if (p->resizing || at.ms)
                pod_resizing(p)->raised_ms = at.ms;
}

/* Take the progress of a resize, and the time of the last raise; most pods have neither. */
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
                labels_release(&p->told->labels);
        mem_free(p->told);
        node_give(w, p);
        if (p->owner)
                p->owner->children--;
        intern_drop(w->names, p->original);
        resizing_free(p);
        mem_free(p);
}

static void pod_turns(struct cache *w, const struct pod *p)
{
        const struct ns *ns = map_get(&w->namespaces, text_of(p->ns));
        w->turned |= ns && ns->retunes;
}

/* Pods leave the order at the next settle only, because the metrics may be walking beside it. */
static void pod_drop(struct cache *w, struct pod *p)
{
        p->gone = true;
        if (p->running)
                pod_turns(w, p);
        p->running = false; /* it stays in its target's list until the next settle */
        map_drop(&w->pods, text_of(pod_key(p)));
        if (w->droppeds == w->dropped_cap)
                w->dropped = mem_resize(w->dropped, w->dropped_cap = w->dropped_cap * 2 + 64, sizeof *w->dropped);
        w->dropped[w->droppeds++] = p;
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

struct pod_ends *pod_ends(struct pod_container *c)
{
        if (!c->ends) {
                c->ends = MEM_NEW(struct pod_ends);
                c->ends->kills_counted = -1;
        }
        return c->ends;
}

void pod_kill_counted(struct pod_container *c, int64_t number, int64_t at_ms)
{
        pod_ends(c)->kills_counted = number;
        pod_ends(c)->counted_ms = at_ms;
}

void pod_kills_forget(struct pod_container *c, int first)
{
        struct pod_kills *k = c->kills;
        if (!k || first == 0)
                return;
        if (first < k->count) {
                memmove(k->kill, k->kill + first, (size_t)(k->count -= first) * sizeof *k->kill);
                return;
        }
        mem_free(k);
        c->kills = NULL;
}

/* The kill with that number; a new one is inserted in order. If there are too many, the oldest is dropped. NULL: the
 * new kill would itself be the oldest. */
static struct pod_kill *kill_numbered(struct pod_container *c, int64_t number)
{
        int count = c->kills ? c->kills->count : 0, at = count;
        while (at > 0 && c->kills->kill[at - 1].number >= number)
                at--;
        if (at < count && c->kills->kill[at].number == number)
                return &c->kills->kill[at];
        if (count == POD_KILLS_MAX) {
                if (at == 0)
                        return NULL;
                pod_kills_forget(c, 1);
                count--;
                at--;
        }
        c->kills = mem_resize(c->kills, 1, sizeof *c->kills + (size_t)(count + 1) * sizeof *c->kills->kill);
        struct pod_kill *k = c->kills->kill + at;
        memmove(k + 1, k, (size_t)(count - at) * sizeof *k);
        *k = (struct pod_kill){.number = number, .told_before = pod_ended(c).told};
        c->kills->count = count + 1;
        return k;
}

static void note_kill(struct pod_container *c, int64_t number, const struct kill_view *told, bool latest)
{
        struct pod_kill *k = number > pod_ended(c).kills_counted ? kill_numbered(c, number) : NULL;
        if (!k)
                return;
        k->at_ms = told->at.ms ? told->at.ms : k->at_ms;
        k->started_ms = told->started.ms;
        k->exit_code = told->exit_code;
        k->latest = latest;
}

/*
 * A kill is counted once per (pod UID, container, restart count). lastState describes the process before the present
 * one, and state the present one. If the restart count jumped, nothing reports how the processes between them ended.
 */
/* How many processes have ended. While a container waits to restart, its restart count lacks the last end. */
static int64_t ends_of(const struct container_status_view *s)
{
        return s->restarts + (s->waits ? 1 : 0);
}

/* The restart count without a false restart: a kubelet counts one when it lost track of a process, as after an
 * eviction. */
static uint32_t restarts_told(const struct container_status_view *s)
{
        return s->last.lost && s->restarts ? (uint32_t)s->restarts - 1 : (uint32_t)s->restarts;
}

static void told_end(struct pod_container *c, int64_t number)
{
        if (number > pod_ended(c).told)
                pod_ends(c)->told = number;
}

/* Take kills from a status. By the next status, the present process is the last one; its kill keeps its number. */
static void container_kill(struct pod_container *c, const struct container_status_view *s)
{
        for (int i = 0; c->kills && i < c->kills->count; i++)
                c->kills->kill[i].latest &= c->kills->kill[i].number > restarts_told(s);
        if (s->last.seen)
                note_kill(c, ends_of(s), &s->last, false);
        if (s->last.at.ms)
                told_end(c, ends_of(s));
        if (s->now.seen)
                note_kill(c, s->restarts + 1, &s->now, true);
        if (s->now.at.ms)
                told_end(c, s->restarts + 1);
}

static int64_t above_request(const struct pod_container *c)
{
        return c->last_memory - pod_request(c, MEMORY).value;
}

/* The container that counts as the cause of an eviction for memory: the one furthest above its request, by the
 * kubelet's message, else by the last samples. *ret_used: its bytes by the message; 0: not in the message. */
static struct pod_container *evicted_container(struct pod *p, struct text message, int64_t *ret_used)
{
        struct pod_container *worst = NULL;
        struct text name;
        int64_t used;
        bool told = decode_eviction(message, &name, &used);
        *ret_used = 0;
        for (int i = 0; i < p->containers; i++) {
                struct pod_container *c = &p->container[i];
                if (c->role == ROLE_INIT)
                        continue;
                if (c->evicted || pod_ended(c).evicted_s) /* as in an earlier status or Event */
                        return c;
                if (told && text_is(name, c->name)) {
                        *ret_used = used;
                        return c;
                }
                if (!worst || above_request(c) > above_request(worst))
                        worst = c;
        }
        return worst;
}

/* The restarts before an eviction. The kubelet may leave out the container's status when it evicts; then the last
 * status or the last counted kill has the number. */
static int64_t pod_restarts_before(const struct pod_container *c)
{
        const struct pod_ends e = pod_ended(c);
        return c->has_status || e.kills_counted < 0 ? e.restarts : e.kills_counted;
}

/* An evicted pod does not start again, so the eviction ends the present process. A kill of that process and each report
 * of the eviction (status, condition, Event) therefore get the same number, and count once. */
static void note_eviction(struct pod_container *c, struct wall at)
{
        if (c->evicted && !c->kills && !c->has_status) /* the counted kill may be this eviction */
                return;
        c->evicted = true;
        int64_t number = pod_restarts_before(c) + 1;
        const struct pod_kill *newest = c->kills ? &c->kills->kill[c->kills->count - 1] : NULL;
        if (!newest || (!newest->latest && newest->number != number))
                note_kill(c, number, &(struct kill_view){.at = at, .exit_code = KILL_EXIT_UNTOLD}, true);
}

static void pod_evicted(struct pod *p, struct text message, struct wall at)
{
        int64_t used;
        struct pod_container *c = evicted_container(p, message, &used);
        if (!c)
                return;
        if (used > c->last_memory)
                c->last_memory = used;
        note_eviction(c, at);
}

/* Take evictions from Events. Anybody who may write in the namespace may write Events. So an Event counts only for a
 * pod that has ended or is being deleted, and its usage figure does not count. */
static void believe_events(struct pod *p)
{
        for (int i = 0; i < p->containers; i++)
                if (pod_ended(&p->container[i]).evicted_s)
                        note_eviction(&p->container[i],
                                      (struct wall){(int64_t)p->container[i].ends->evicted_s * SECOND_MS});
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
        if (c->ends || restarts_told(s) || pod_stopped(s)) {
                restart_count_keep(pod_ends(c), s);
                pod_ends(c)->restarts = restarts_told(s);
                pod_ends(c)->began_s = seconds_of(s->running_since.ms);
                pod_ends(c)->stopped_s = pod_stopped(s);
        }
        container_kill(c, s);
}

/* When the kubelet took the pod, or when it was created, in seconds since 1970. */
static int64_t pod_base_s(const struct pod *p)
{
        return p->started_s ? p->started_s : p->created_ms / SECOND_MS;
}

/* A container began at most 18 hours after its pod, or its first minutes are over by far. */
static void container_began(const struct pod *p, struct pod_container *c, const struct container_status_view *s)
{
        if (!s || s->running_since.ms <= 0)
                return;
        int64_t after_s = s->running_since.ms / SECOND_MS - pod_base_s(p);
        c->began_after_s = (uint16_t)(after_s < 0 ? 1 : after_s < UINT16_MAX ? after_s + 1 : UINT16_MAX);
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
        labels_set(&pod_tell(p)->labels, pair, (size_t)meta->labels);
}

/* Restarts without those by node shutdowns. lastState shows such a restart until the next one, but it counts once. */
static uint32_t own_restarts(struct pod_container *c, const struct container_status_view *s)
{
        uint32_t restarts = restarts_told(s), ends = restarts + (s->waits ? 1 : 0);
        struct pod_ends *e = pod_ends(c);
        if (s->last.node_down && ends > e->node_restarted) {
                e->node_restarts++;
                e->node_restarted = ends;
        }
        return restarts > e->node_restarts ? restarts - e->node_restarts : 0;
}

/* Sum the restarts of a pod, without those of init containers that run to completion. A restart with the originals is
 * no harm by a lower request. */
static void count_restarts(struct pod *p, const struct pod_view *v)
{
        int64_t sum = 0, ended_ms = 0;
        for (int i = 0; i < p->containers; i++) {
                const struct container_status_view *s = status_of(v, v->container[i].name);
                if (!s || restarts_told(s) == 0 || p->container[i].role == ROLE_INIT)
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
        restart_counts_continue(p, v);
        p->epoch = epoch;
        p->created_ms = v->meta.created.ms;
        p->started_s = seconds_of(v->started.ms);
        bool running = v->running && v->meta.deleted.ms == 0;
        if (running != p->running)
                pod_turns(w, p);
        p->running = running;
        p->finished = v->finished;
        p->deleting = v->meta.deleted.ms != 0;
        p->lacks_room = v->lacks_room && !p->deleting && !v->running && !v->finished;
        p->node_pressure = v->node_pressure;
        p->stopped = v->stopped;
        p->ready = v->ready;
        p->ready_turned_s = seconds_of(v->ready_turned.ms);
        if (v->node.len && !p->node) /* a pod never changes its node */
                node_take(w, p, v->node);
        pod_describe(w, p, &v->meta);
        resize_set(p, v);
        for (int i = 0; i < v->containers; i++)
                container_set(w, &p->container[i], &v->container[i], status_of(v, v->container[i].name));
        for (int i = 0; i < v->containers; i++)
                container_began(p, &p->container[i], status_of(v, v->container[i].name));
        count_restarts(p, v);
        if (v->eviction.seen)
                pod_evicted(p, v->eviction.message, v->eviction.at);
        else if (p->finished || p->deleting)
                believe_events(p);
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

bool pod_tells_of_kill(const struct pod *p)
{
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].kills)
                        return true;
        return false;
}

static void note_killed(struct cache *w, struct pod *p)
{
        w->killed = pod_tells_of_kill(p) ? p : NULL;
        w->kills |= w->killed != NULL;
}

/* The pod vanished without a last status: it has ended. */
static void pod_vanish(struct cache *w, struct pod *p)
{
        believe_events(p);
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
                if (p && !pod_same(p, view)) { /* deleted and made again between two events */
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
                note_killed(w, p);
        }
        arena_reset(&w->scratch);
        return rc;
}

/* An Event about an eviction. It may come before or after the pod's status. */
static void event_evicted(struct cache *w, struct pod *p, const struct event_view *e)
{
        int64_t used;
        struct pod_container *c = evicted_container(p, e->message, &used);
        if (!c || e->at.ms < pod_started_ms(p))
                return;
        pod_ends(c)->evicted_s = seconds_of(e->at.ms);
        if (p->finished || p->deleting)
                believe_events(p);
        note_killed(w, p);
}

int evicted_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        struct event_view e;
        uint8_t uid[UID_BYTES];
        (void)epoch;
        w->killed = NULL;
        int rc = decode_event(json, &w->scratch, &e, err);
        bool tells = rc == 0 && text_is(e.kind, "Pod") && text_is(e.reason, "Evicted") && e.uid.len &&
                     decode_eviction_is_for_memory(e.message);
        const struct object_view of = {.ns = e.ns, .name = e.name};
        struct pod *p = tells ? map_get(&w->pods, key_of_object(w, &of)) : NULL;
        if (p)
                uid_bytes(e.uid, uid);
        if (p && memcmp(uid, p->uid, UID_BYTES) == 0)
                event_evicted(w, p, &e);
        arena_reset(&w->scratch);
        return rc;
}

void evicted_remove(struct cache *w, struct text json)
{
        (void)w, (void)json;
}

void evicted_swept(struct cache *w, uint32_t epoch)
{
        (void)w, (void)epoch;
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
                        note_killed(w, p);
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

/* --- the order --- */

static int pod_compare(const struct pod *a, const struct pod *b)
{
        int way = a->ns == b->ns ? 0 : strcmp(a->ns, b->ns);
        return way ? way : strcmp(a->name, b->name);
}

static int pod_compare_at(const void *a, const void *b)
{
        return pod_compare(*(struct pod *const *)a, *(struct pod *const *)b);
}

/* Remove gone pods, sort new ones and merge them from the back: linear in the number of pods, and free if none came or
 * went. */
void pods_settle(struct cache *w)
{
        if (w->droppeds) {
                size_t kept = 0;
                for (size_t i = 0; i < w->ordered; i++)
                        if (!w->order[i]->gone)
                                w->order[kept++] = w->order[i];
                w->ordered = kept;
                kept = 0;
                for (size_t i = 0; i < w->freshes; i++)
                        if (!w->fresh[i]->gone)
                                w->fresh[kept++] = w->fresh[i];
                w->freshes = kept;
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

/* The kills of pods that are gone were counted: they may be freed. */
void pods_free_dropped(struct cache *w)
{
        for (size_t i = 0; i < w->droppeds; i++)
                pod_free(w, w->dropped[i]);
        w->droppeds = 0;
}

/*
 * The pod of a metrics item. Metrics are sorted like cache.order, so the pod is nearly always at the cursor or a few
 * places further. If not (other order, unknown pods), it is looked up in the map.
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
        size_t low = 0, high = w->ordered; /* find its place, so that the walk goes on from there */
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
        mem_free(w->dropped);
}
