#include "replica.h"

#include <stdio.h>
#include <string.h>

#include "controller_private.h"

enum { SYNC_LOOK_MS = 100, PASS_SHARE = 4 /* one part of the time is for passes */ };

/* --- what cannot be seen --- */

/* What is shown is as it was when the API server could last be asked. */
static void look_at_source(struct controller *c)
{
        const struct watch *away = NULL;
        for (int i = 0; i < c->watches && !away; i++)
                if (c->watch[i].trouble[0] && c->watch[i].trouble_code == ERR_RETRY)
                        away = &c->watch[i];
        if (away && !c->source_away) {
                c->source_since_ms = loop_now(c->loop).wall.ms;
                snprintf(c->source_error, sizeof c->source_error, "%.*s", (int)sizeof c->source_error - 1,
                         away->trouble);
        }
        c->source_away = away != NULL;
}

/* --- rows --- */

static const struct view_profile *profile_of(const struct world *w, const struct published *p, struct text ns)
{
        bool own = strcmp(p->profile_kind, "Profile") == 0;
        AUTO(mem_free) char *key = mem_printf("%.*s/%s", own ? (int)ns.len : 0, ns.p, p->profile_name);
        const struct profile *profile = map_get(&w->profiles, text_of(key));
        return profile && profile->valid ? profile->shown : NULL;
}

/* The workload's own annotation is not seen here: its Recommendation tells of it. */
static bool opted_out(const struct published *p)
{
        for (int i = 0; i < p->conditions; i++)
                if (p->condition[i].status && strcmp(p->condition[i].type, "OptedOut") == 0)
                        return true;
        return false;
}

static char *scaled_key(struct arena *a, struct text ns, struct text group, const char *kind, const char *name)
{
        AUTO(mem_free) char *key = mem_printf("%.*s/%.*s/%s/%s", TEXT_ARG(ns), TEXT_ARG(group), kind, name);
        return arena_text(a, text_of(key));
}

/* Workloads by what an HPA scales them on: bool[RESOURCES] under "ns/group/Kind/name". */
static void scaled_read(struct world *w, struct arena *a, struct map *ret)
{
        const struct hpa *h;
        for (size_t at = 0; (h = map_each(&w->hpas, &at));) {
                char *key = scaled_key(a, text_of(h->ns), text_of(h->target_group), h->target_kind, h->target_name);
                bool *on = map_get(ret, text_of(key));
                if (!on) {
                        on = arena_new(a, RESOURCES * sizeof *on);
                        map_put(ret, text_of(key), on);
                }
                for (enum resource r = CPU; r < RESOURCES; r++)
                        on[r] |= h->utilization[r];
        }
}

static void show_row(struct controller *c, const struct published *p, const struct map *scaled)
{
        struct view *v = c->next_view;
        const char *slash = strchr(p->key, '/');
        struct text ns = {p->key, (size_t)(slash - p->key)}, group, version;
        key_split(text_of(p->target_api_version), &group, &version);
        AUTO(mem_free) char *own_ns = mem_string_n(ns.p, ns.len);
        AUTO(mem_free) char *own_group = mem_string_n(group.p, group.len);
        AUTO(mem_free) char *own_version = mem_string_n(version.p, version.len);
        struct view_target *to = show_row_new(
                v, &(struct show_name){own_ns, own_group, own_version, p->target_kind, p->target_name, slash + 1});
        to->hold = p->hold ? arena_text(&v->arena, text_of(p->hold)) : NULL;
        to->profile = profile_of(&c->world, p, ns);
        to->apply_never = opted_out(p);
        if (scaled->count) {
                char *key = scaled_key(&c->plans, ns, group, p->target_kind, p->target_name);
                const bool *on = map_get(scaled, text_of(key));
                if (on)
                        memcpy(to->hpa_holds, on, sizeof to->hpa_holds);
        }
        show_published(v, p, to, false);
        c->by_state[to->state]++;
        for (enum resource r = CPU; r < RESOURCES; r++)
                c->saving[r] = add_saturated(c->saving[r], p->saving[r]);
}

static void show_rows(struct controller *c)
{
        struct map scaled = {0};
        const struct published *p;
        memset(c->by_state, 0, sizeof c->by_state);
        memset(c->saving, 0, sizeof c->saving);
        scaled_read(&c->world, &c->plans, &scaled);
        for (size_t at = 0; (p = map_each(&c->world.published, &at));)
                if (p->known && *p->target_name)
                        show_row(c, p, &scaled);
        map_release(&scaled);
        arena_reset(&c->plans);
}

/* --- passes --- */

void replica_pass(void *arg)
{
        struct controller *c = arg;
        struct mono began = mono_read();
        char waiting[256];
        if (c->stopping)
                return;
        c->nudged = false;
        if (!c->synced) {
                c->synced = watch_synced(c, waiting, sizeof waiting);
                if (c->synced)
                        log_info("caches synced", KV_INT("recommendations", c->world.published.count));
        }
        namespaces_sweep(&c->world);
        look_at_source(c);
        show_begin(c);
        show_rows(c);
        telemetry_publish(c);
        c->count.last_cycle_seconds = (double)(mono_read().ns - began.ns) / 1e9;
        c->pass_ms = (int64_t)(c->count.last_cycle_seconds * 1000 * PASS_SHARE);
}

void replica_cycle(void *arg)
{
        struct controller *c = arg;
        if (c->stopping)
                return;
        watch_tick(c);
        replica_pass(c);
        loop_timer_set(c->loop, &c->cycle_timer, c->synced ? c->options.interval_ms : SYNC_LOOK_MS, replica_cycle, c);
}
