/*
 * The guard's state of a target: its pods before the watched change, and the change taken back last.
 */
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "cache/guard_state.h"

/* --- making and freeing a guard state --- */

struct guard_state *target_guard_state(struct target *t)
{
        if (!t->apply_state.guard)
                t->apply_state.guard = MEM_NEW(struct guard_state);
        return t->apply_state.guard;
}

void guard_state_end(struct target *t)
{
        struct guard_state *g = t->apply_state.guard;
        if (!g)
                return;
        mem_free(g->had);
        g->had = NULL;
        g->hads = 0;
        g->change_ms = g->by_limit = g->below_ms = g->released_ms = 0;
        g->before = (struct guard_pods){0};
        g->kill = (struct guard_kill){0};
        g->released = false;
        if (g->cause == GUARD_NONE)
                target_drop_guard_state(t);
}

void guard_state_forget(struct target *t)
{
        t->apply_state.guard->cause = GUARD_NONE;
        guard_state_end(t);
}

void guard_state_free(struct guard_state *g)
{
        if (!g)
                return;
        mem_free(g->had);
        mem_free(g->why);
        mem_free(g);
}

void target_drop_guard_state(struct target *t)
{
        guard_state_free(t->apply_state.guard);
        t->apply_state.guard = NULL;
}

/* --- events of a watched change --- */

void guard_state_released(struct target *t, struct wall at)
{
        target_guard_state(t)->released_ms = at.ms;
}

void guard_state_killed(struct target *t, const struct guard_kill *kill, bool released)
{
        struct guard_state *g = target_guard_state(t);
        g->kill = *kill;
        g->released = released;
}

void guard_state_set_below(struct guard_state *g, int64_t since_ms)
{
        g->below_ms = since_ms;
}

void guard_state_fired(struct guard_state *g, enum guard_cause cause, char *why, struct wall at)
{
        mem_free(g->why);
        g->why = why;
        g->cause = cause;
        g->step_ms = guard_step_ms(g->step_ms);
        g->fired_ms = at.ms;
        g->until_ms = at.ms + g->step_ms;
}

/* --- a target's pods before and since the change --- */

static uint32_t pod_digest(const struct pod *p)
{
        return (uint32_t)digest_bytes(0, p->uid, sizeof p->uid);
}

static void guard_state_remember(struct guard_state *g, const struct pod *p)
{
        for (int i = 0; i < g->hads && i < GUARD_PODS_MAX; i++)
                if (g->had[i].pod == pod_digest(p)) {
                        g->had[i].restarts = p->restarts;
                        return;
                }
        if (g->hads++ >= GUARD_PODS_MAX)
                return;
        g->had = mem_resize(g->had, (size_t)g->hads, sizeof *g->had);
        g->had[g->hads - 1] = (struct guard_restarts){pod_digest(p), p->restarts};
}

struct guard_state *guard_state_survey(const struct target *t)
{
        struct guard_state *g = MEM_NEW(struct guard_state);
        for (const struct pod *p = t->pods; p; p = target_next_pod(t, p)) {
                if (!p->running)
                        continue;
                if (p->restarts)
                        guard_state_remember(g, p);
                if (pod_is_unheard(p)) /* nobody knows whether this pod is ready */
                        continue;
                g->before.count++;
                g->before.ready += p->ready;
        }
        return g;
}

void guard_state_begin(struct target *t, struct guard_state *seen)
{
        guard_state_end(t);
        struct guard_state *g = target_guard_state(t);
        g->change_ms = guard_state_set_ms(t);
        g->before = seen->before;
        g->hads = seen->hads;
        g->had = STEAL(&seen->had);
        guard_state_free(seen);
}

/* A pod's restarts before the change. If more pods had restarted than have rows, these are all restarts of an older pod
 * without a row. */
static uint16_t guard_state_restarts_before(const struct guard_state *g, const struct pod *p)
{
        uint32_t digest = pod_digest(p);
        for (int i = 0; i < g->hads && i < GUARD_PODS_MAX; i++)
                if (g->had[i].pod == digest)
                        return g->had[i].restarts;
        return g->hads > GUARD_PODS_MAX && p->created_ms <= g->change_ms ? p->restarts : 0;
}

void guard_state_add_by_limit(struct guard_state *g, const struct pod *p, int64_t untold)
{
        int64_t since = (int64_t)p->restarts - guard_state_restarts_before(g, p) - 1;
        if (untold > since)
                untold = since > 0 ? since : 0;
        g->by_limit += 1 + untold;
}

/* A restart is reported seconds after the process ended, so a restart from before the change may be reported after it.
 */
void guard_state_hear(struct target *t)
{
        struct guard_state *g = t->apply_state.guard;
        int64_t change_s = whole_second(g->change_ms) / SECOND_MS;
        for (const struct pod *p = t->pods; p; p = target_next_pod(t, p))
                if (p->running && p->ours && p->ended_s && p->ended_s < change_s &&
                    p->restarts != guard_state_restarts_before(g, p))
                        guard_state_remember(g, p);
}

int64_t guard_state_restarts(const struct target *t)
{
        const struct guard_state *g = t->apply_state.guard;
        int64_t sum = 0;
        for (const struct pod *p = t->pods; p; p = target_next_pod(t, p)) {
                bool counts = p->running && p->ours && p->restarts && !pod_is_unheard(p) && !pod_tells_of_kill(p);
                uint16_t before = counts ? guard_state_restarts_before(g, p) : p->restarts;
                sum += p->restarts > before ? p->restarts - before : 0;
        }
        return sum > g->by_limit ? sum - g->by_limit : 0;
}

/* Since when the pod has been unready. The time while its kubelet was away does not count: the pod may have been ready.
 */
static int64_t not_ready_since(const struct pod *p)
{
        int64_t turned_ms = (int64_t)p->ready_turned_s * SECOND_MS, back_ms = p->node ? p->node->turned_ms : 0;
        return turned_ms > back_ms ? turned_ms : back_ms;
}

struct guard_pods guard_state_pods(const struct target *t, int64_t created_before_ms, int64_t *ret_turned_ms)
{
        struct guard_pods pods = {0};
        bool new_ones = true;
        *ret_turned_ms = 0;
        for (const struct pod *p = t->pods; p; p = target_next_pod(t, p)) {
                if (!p->running || !p->ours || pod_is_unheard(p) || (!p->ready && p->created_ms > created_before_ms))
                        continue;
                int64_t turned_ms = not_ready_since(p);
                pods.count++;
                pods.ready += p->ready;
                if (p->ready)
                        continue;
                new_ones &= p->created_ms >= whole_second(guard_state_set_ms(t));
                if (turned_ms > *ret_turned_ms)
                        *ret_turned_ms = turned_ms;
        }
        if (!new_ones)
                *ret_turned_ms = 0;
        return pods;
}

/* --- JSON for the store --- */

static json_t *had_print(const struct guard_state *g)
{
        json_t *list = json_array();
        for (int i = 0; i < g->hads && i < GUARD_PODS_MAX; i++)
                json_array_append_new(list, json_pack("[I, i]", (json_int_t)g->had[i].pod, (int)g->had[i].restarts));
        return list;
}

json_t *guard_state_print(const struct guard_state *g)
{
        json_t *o = json_pack("{s:I, s:I, s:I, s:o, s:i, s:I}", "change", (json_int_t)g->change_ms, "pods",
                              (json_int_t)g->before.count, "ready", (json_int_t)g->before.ready, "had", had_print(g),
                              "hads", g->hads, "byLimit", (json_int_t)g->by_limit);
        if (g->kill.at.ms) {
                json_object_set_new(o, "killed", json_integer(g->kill.at.ms));
                json_object_set_new(o, "killedSince", json_integer(g->kill.since.ms));
                json_object_set_new(o, "evicted", json_boolean(g->kill.cause == KILL_EVICTION));
                json_object_set_new(o, "unknown", json_boolean(g->kill.cause == KILL_UNKNOWN));
                json_object_set_new(o, "released", json_boolean(g->released));
        }
        if (g->cause != GUARD_NONE) {
                json_object_set_new(o, "cause", json_string(guard_cause_name(g->cause)));
                json_object_set_new(o, "why", json_string(g->why ? g->why : ""));
                json_object_set_new(o, "fired", json_integer(g->fired_ms));
                json_object_set_new(o, "until", json_integer(g->until_ms));
                json_object_set_new(o, "step", json_integer(g->step_ms));
        }
        return o;
}

static int64_t integer_of(const json_t *o, const char *key)
{
        return (int64_t)json_integer_value(json_object_get(o, key));
}

/* Read the rows. A stored `hads` may be any number, so it is only taken as whether more pods than GUARD_PODS_MAX had
 * restarted. */
static void had_read(struct guard_state *g, const json_t *list, int64_t hads)
{
        size_t i;
        json_t *row;
        g->had = mem_new_array(json_array_size(list) + 1, sizeof *g->had);
        json_array_foreach(list, i, row) g->had[i] =
                (struct guard_restarts){(uint32_t)json_integer_value(json_array_get(row, 0)),
                                        (uint16_t)json_integer_value(json_array_get(row, 1))};
        g->hads = (int)i + (i == GUARD_PODS_MAX && hads > GUARD_PODS_MAX);
}

void guard_state_read(struct target *t, const json_t *from)
{
        target_drop_guard_state(t);
        if (!json_is_object(from) || json_array_size(json_object_get(from, "had")) > GUARD_PODS_MAX)
                return;
        struct guard_state *g = target_guard_state(t);
        const char *cause = json_string_value(json_object_get(from, "cause"));
        g->change_ms = time_kept(from, "change");
        g->before = (struct guard_pods){integer_of(from, "pods"), integer_of(from, "ready")};
        had_read(g, json_object_get(from, "had"), integer_of(from, "hads"));
        g->by_limit = time_kept(from, "byLimit"); /* a count, not a time, but time_kept bounds it as needed */
        g->kill = (struct guard_kill){{time_kept(from, "killed")},
                                      {time_kept(from, "killedSince")},
                                      json_is_true(json_object_get(from, "evicted"))   ? KILL_EVICTION
                                      : json_is_true(json_object_get(from, "unknown")) ? KILL_UNKNOWN
                                                                                       : KILL_ROOM};
        g->released = json_is_true(json_object_get(from, "released"));
        g->cause = guard_cause_find(cause ? cause : "");
        g->why = mem_string(json_string_value(json_object_get(from, "why")));
        g->fired_ms = time_kept(from, "fired");
        g->until_ms = time_kept(from, "until");
        g->step_ms = guard_step_bound(time_kept(from, "step"));
}
