/*
 * Kills for lack of memory, and evictions, as statuses and Events of a pod report them. A kill is counted once per (pod
 * UID, container, restart count). In a container's status, state describes the present process, and lastState the one
 * before. If the restart count rose by more than one, nothing reports how the processes between these two ended.
 */
#include <string.h>

#include "cache/cache.h"

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

/* The kill with that number; an unknown kill is inserted in order. Too many kills: the oldest is dropped. NULL: the new
 * kill would be the oldest. */
static struct pod_kill *pod_kill_numbered(struct pod_container *c, int64_t number)
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

static void pod_kill_note(struct pod_container *c, int64_t number, const struct kill_view *told, bool latest)
{
        struct pod_kill *k = number > pod_ended(c).kills_counted ? pod_kill_numbered(c, number) : NULL;
        if (!k)
                return;
        k->at_ms = told->at.ms ? told->at.ms : k->at_ms;
        k->started_ms = told->started.ms;
        k->exit_code = told->exit_code;
        k->latest = latest;
}

/* How many processes of a container have ended. While it waits to restart, its restart count lacks the last end. */
static int64_t pod_kills_ends(const struct container_status_view *s)
{
        return s->restarts + (s->waits ? 1 : 0);
}

uint32_t pod_kills_restarts(const struct container_status_view *s)
{
        return s->last.lost && s->restarts ? (uint32_t)s->restarts - 1 : (uint32_t)s->restarts;
}

static void pod_kills_told_end(struct pod_container *c, int64_t number)
{
        if (number > pod_ended(c).told)
                pod_ends(c)->told = number;
}

/* A kill in `state` gets the number that it will have in `lastState` once the container has restarted. */
void pod_kills_read(struct pod_container *c, const struct container_status_view *s)
{
        for (int i = 0; c->kills && i < c->kills->count; i++)
                c->kills->kill[i].latest &= c->kills->kill[i].number > pod_kills_restarts(s);
        if (s->last.seen)
                pod_kill_note(c, pod_kills_ends(s), &s->last, false);
        if (s->last.at.ms)
                pod_kills_told_end(c, pod_kills_ends(s));
        if (s->now.seen)
                pod_kill_note(c, s->restarts + 1, &s->now, true);
        if (s->now.at.ms)
                pod_kills_told_end(c, s->restarts + 1);
}

static int64_t above_request(const struct pod_container *c)
{
        return c->last_memory - pod_request(c, MEMORY).value;
}

/* The container that counts as the cause of an eviction for memory: the one furthest above its request, by the
 * kubelet's message, else by the last samples. *ret_used: the container's bytes by the message; 0: not in it. */
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
                if (c->evicted || pod_ended(c).evicted_s) /* chosen by an earlier status or Event */
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

/* A container's restarts before an eviction. The kubelet may leave out the container's status when it evicts a pod;
 * then the last status or the last counted kill has the number. */
static int64_t pod_restarts_before(const struct pod_container *c)
{
        const struct pod_ends e = pod_ended(c);
        return c->has_status || e.kills_counted < 0 ? e.restarts : e.kills_counted;
}

/* An evicted pod does not start again, so the eviction ends the present process. A kill of that process and each report
 * of the eviction (status, condition, Event) therefore get the same number, and count once. */
static void note_eviction(struct pod_container *c, struct wall at)
{
        if (c->evicted && !c->kills &&
            !c->has_status) /* the kill that was counted last may be this eviction, which must not count twice */
                return;
        c->evicted = true;
        int64_t number = pod_restarts_before(c) + 1;
        const struct pod_kill *newest = c->kills ? &c->kills->kill[c->kills->count - 1] : NULL;
        if (!newest || (!newest->latest && newest->number != number))
                pod_kill_note(c, number, &(struct kill_view){.at = at, .exit_code = KILL_EXIT_UNTOLD}, true);
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

/* Take evictions from Events, but not the usage in them: anybody who may write in the namespace may write Events. */
void pod_kills_believe_events(struct pod *p)
{
        for (int i = 0; i < p->containers; i++)
                if (pod_ended(&p->container[i]).evicted_s)
                        note_eviction(&p->container[i],
                                      (struct wall){(int64_t)p->container[i].ends->evicted_s * SECOND_MS});
}

void pod_kills_read_eviction(struct pod *p, const struct eviction_view *v)
{
        if (v->seen)
                pod_evicted(p, v->message, v->at);
        else if (p->finished || p->deleting)
                pod_kills_believe_events(p);
}

bool pod_tells_of_kill(const struct pod *p)
{
        for (int i = 0; i < p->containers; i++)
                if (p->container[i].kills)
                        return true;
        return false;
}

void pod_kills_tell(struct cache *w, struct pod *p)
{
        w->killed = pod_tells_of_kill(p) ? p : NULL;
        w->kills |= w->killed != NULL;
}

/* Take an Event about an eviction, which may come before or after the pod's status. */
static void event_evicted(struct cache *w, struct pod *p, const struct event_view *e)
{
        int64_t used;
        struct pod_container *c = evicted_container(p, e->message, &used);
        if (!c || e->at.ms < pod_started_ms(p))
                return;
        pod_ends(c)->evicted_s = seconds_of(e->at.ms);
        if (p->finished || p->deleting)
                pod_kills_believe_events(p);
        pod_kills_tell(w, p);
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
