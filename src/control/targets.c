/*
 * Targets: what halflife recommends for. A target outlives its workload and its profile by the retention time, and with
 * it all it learned.
 */
#include <stdio.h>
#include <string.h>

#include "world.h"

/* A lost database, or a Lease that was another's meanwhile, shortens no cooldown: the Recommendation tells what was
 * changed last. */
static void remember_from(struct target *t, const struct published *p)
{
        if (p->applied_ms <= t->deed.changed_ms)
                return;
        t->deed.changed_ms = p->applied_ms;
        t->deed.digest = 0;
        mem_free(t->deed.containers);
        t->deed.containers = mem_string(p->applied);
        t->deed_dirty = true;
}

static void target_link_published(struct world *w, struct target *t)
{
        if (t->published) {
                remember_from(t, t->published);
                return;
        }
        char key[640];
        int len = snprintf(key, sizeof key, "%s/%s", t->ns, t->recommendation);
        struct published *p = map_get(&w->published, (struct text){key, (size_t)len});
        if (p && !p->target) {
                p->target = t;
                t->published = p;
                remember_from(t, p);
        }
}

static char *put_part(char *at, struct text part, char end)
{
        if (part.len)
                memcpy(at, part.p, part.len);
        at[part.len] = end;
        return at + part.len + 1;
}

/* "ns/group/Kind/name"; by hand, because a start makes some hundred thousand. */
static char *key_new(struct text ns, struct text group, struct text kind, struct text name)
{
        char *key = mem_new(ns.len + group.len + kind.len + name.len + 4);
        put_part(put_part(put_part(put_part(key, ns, '/'), group, '/'), kind, '/'), name, '\0');
        return key;
}

struct target *target_get(struct world *w, struct text ns, struct text group, struct text kind, struct text name)
{
        char *key = key_new(ns, group, kind, name);
        struct target *t = map_get(&w->targets, text_of(key));
        if (t) {
                mem_free(key);
                return t;
        }
        t = MEM_NEW(struct target);
        t->key = key;
        t->name = key + ns.len + group.len + kind.len + 3;
        t->ns = ns_get(w, ns)->name;
        t->group = intern_text(w->names, group);
        t->kind = intern_text(w->names, kind);
        char recommendation[KIND_NAME_MAX];
        t->recommendation = mem_string(kind_recommendation_name(group, kind, name, recommendation));
        map_put(&w->targets, text_of(t->key), t);
        return t;
}

struct history *history_find(const struct target *t, const char *container)
{
        for (int i = 0; i < t->histories; i++)
                if (t->history[i]->container == container)
                        return t->history[i];
        return NULL;
}

struct history *history_get(struct world *w, struct target *t, const char *container,
                            const struct resource_policy policy[static RESOURCES])
{
        struct history *h = history_find(t, container);
        if (h)
                return h;
        h = MEM_NEW(struct history);
        h->container = intern_text(w->names, text_of(container));
        h->target = t;
        usage_init(&h->usage, policy);
        t->history = mem_resize(t->history, (size_t)t->histories + 1, sizeof *t->history);
        t->history[t->histories++] = h;
        return h;
}

void target_set_admitted(struct world *w, struct target *t, const char *json)
{
        struct deed *d = &t->deed;
        char *kept = mem_string(json);
        mem_free(d->admitted);
        record_release(w, &d->made);
        d->admitted = kept;
        if (kept)
                d->made = record_read(w, text_of(kept));
        arena_reset(&w->scratch);
}

static void deed_release(struct world *w, struct deed *d)
{
        mem_free(d->containers);
        mem_free(d->contest);
        mem_free(d->admitted);
        record_release(w, &d->made);
        *d = (struct deed){0};
}

void target_drop_doors(struct world *w, struct target *t)
{
        for (int i = 0; i < t->doors; i++)
                intern_drop(w->names, t->door[i].container);
        mem_free(t->door);
        t->door = NULL;
        t->doors = 0;
}

void target_free(struct world *w, struct target *t)
{
        for (int i = 0; i < t->histories; i++) {
                for (int r = 0; r < RESOURCES; r++)
                        mem_free(t->history[i]->usage.of[r].w);
                intern_drop(w->names, t->history[i]->container);
                mem_free(t->history[i]);
        }
        for (struct pod *p = t->pods; p; p = p->next_of_target) {
                p->target = NULL;
                for (int i = 0; i < p->containers; i++)
                        p->container[i].history = NULL;
        }
        if (t->workload)
                t->workload->target = NULL;
        if (t->published)
                t->published->target = NULL;
        deed_release(w, &t->deed);
        mem_free(t->history);
        target_drop_doors(w, t);
        mem_free(t->recommendation);
        mem_free(t->denied);
        map_drop(&w->targets, text_of(t->key));
        w->ns_gone = true;
        mem_free(t->key);
        mem_free(t);
}

void targets_release(struct world *w)
{
        struct target *t;
        for (size_t at = 0; (t = map_each(&w->targets, &at));)
                target_free(w, t);
        map_release(&w->targets);
}

/* --- settling --- */

static void choose_profiles(struct world *w)
{
        struct workload *wl;
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                wl->chosen = profile_choose(w, wl, true);
}

/* The highest owner that a profile chose is the target of all below it. */
static bool covered_from_above(const struct workload *wl)
{
        for (const struct workload *up = wl->owner; up && !up->gone; up = up->owner)
                if (up->chosen)
                        return true;
        return false;
}

static void workload_target(struct world *w, struct workload *wl)
{
        struct profile *p = covered_from_above(wl) ? NULL : wl->chosen;
        struct target *t =
                p ? target_get(w, text_of(wl->ns), text_of(wl->kind->group), text_of(wl->kind->kind), text_of(wl->name))
                  : map_get(&w->targets, text_of(wl->key));
        wl->target = t;
        if (!t)
                return;
        t->workload = wl;
        t->version = wl->kind->version;
        t->profile = p;
        if (p)
                p->matched++;
}

/* A Recommendation whose target nobody else knows (made by an earlier life, its database lost): kept for the retention
 * time. */
static void adopt_published(struct world *w)
{
        struct published *p;
        for (size_t at = 0; (p = map_each(&w->published, &at));) {
                if (p->target || !p->target_kind || !*p->target_kind)
                        continue;
                struct text group, version, ns = {p->key, (size_t)(strchr(p->key, '/') - p->key)};
                key_split(text_of(p->target_api_version), &group, &version);
                struct target *t = target_get(w, ns, group, text_of(p->target_kind), text_of(p->target_name));
                if (strcmp(t->recommendation, p->key + ns.len + 1) != 0)
                        continue; /* somebody else's object under a name of ours */
                if (!t->version)
                        t->version = intern_text(w->names, version);
                target_link_published(w, t);
        }
}

static void targets_lifetime(struct world *w, struct now now)
{
        struct target *t;
        for (size_t at = 0; (t = map_each(&w->targets, &at));) {
                target_link_published(w, t);
                bool lives = t->workload && t->profile;
                if (lives == (t->gone_ms == 0))
                        continue;
                t->gone_ms = lives ? 0 : now.wall.ms;
                t->deed_dirty = true;
        }
}

/* A chain ends where an owner is gone: a start afterwards could not follow it any further either. */
static struct target *pod_target(const struct pod *p)
{
        struct target *highest = NULL;
        for (const struct workload *wl = p->owner; wl && !wl->gone; wl = wl->owner)
                if (wl->target && wl->target->profile)
                        highest = wl->target;
        return highest;
}

static void pod_link(struct pod *p)
{
        struct target *t = pod_target(p);
        if (t != p->target) {
                p->target = t;
                for (int i = 0; i < p->containers; i++)
                        p->container[i].history = NULL;
        }
        if (!t)
                return;
        p->next_of_target = t->pods;
        t->pods = p;
        t->pod_count++;
}

static void door_open(struct pod *p)
{
        for (int d = 0; d < p->target->doors; d++) {
                const struct stored_door *door = &p->target->door[d];
                for (int i = 0; i < p->containers && memcmp(door->uid, p->uid, UID_BYTES) == 0; i++) {
                        if (p->container[i].name != door->container)
                                continue;
                        if (door->last_ms > p->container[i].door.last_ms)
                                p->container[i].door.last_ms = door->last_ms;
                        if (door->kills_counted > p->container[i].kills_counted)
                                p->container[i].kills_counted = door->kills_counted;
                }
        }
}

static void link_pods(struct world *w)
{
        struct target *t;
        for (size_t at = 0; (t = map_each(&w->targets, &at));) {
                t->pods = NULL;
                t->pod_count = 0;
        }
        for (size_t i = 0; i < w->ordered; i++) {
                struct pod *p = w->order[i];
                pod_link(p);
                if (p->target && !p->stored) {
                        door_open(p);
                        p->stored = true;
                }
        }
        for (size_t at = 0; (t = map_each(&w->targets, &at));)
                if (t->workload) /* its pods have come: what is left was of pods that are gone */
                        target_drop_doors(w, t);
}

static void reset_counts(struct world *w)
{
        struct profile *p;
        struct target *t;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));) {
                p->matched = p->overridden = 0;
                p->by = NULL;
        }
        for (size_t at = 0; (t = map_each(&w->targets, &at));) {
                t->workload = NULL;
                t->profile = NULL;
        }
}

void world_settle(struct world *w, struct now now)
{
        struct workload *wl;
        if (!w->changed)
                return; /* all links stand */
        workloads_settle(w);
        pods_settle(w);
        hpa_settle(w);
        reset_counts(w);
        choose_profiles(w);
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                workload_target(w, wl);
        adopt_published(w);
        targets_lifetime(w, now);
        link_pods(w);
        w->changed = false;
}
