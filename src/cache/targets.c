/* Targets: what recommendations are about. A target and its histories outlive the workload and the profile
 * (target_retention.c). */
#include <stdio.h>
#include <string.h>

#include "cache/cache.h"
#include "cache/guard_state.h"
#include "cache/pod_canary.h"
#include "cache/pod_namespace_targets.h"
#include "objects/target_key.h"

/* Take a later hold of the guard from a Recommendation's status, whose times are whole seconds. The halflife that wrote
 * the status knew all kills until then. */
static void guard_from(struct target *t, const struct status_guard *g)
{
        if (!g || (t->apply_state.guard && t->apply_state.guard->until_ms / SECOND_MS >= g->until_ms / SECOND_MS))
                return;
        struct guard_state *to = target_guard_state(t);
        if (to->kill.at.ms / SECOND_MS <= g->fired_ms / SECOND_MS)
                to->kill = (struct guard_kill){0};
        mem_free(to->why);
        to->cause = g->cause;
        to->why = mem_string(g->message);
        to->fired_ms = g->fired_ms;
        to->until_ms = g->until_ms;
        to->step_ms = guard_step_bound(g->until_ms - g->fired_ms);
        t->apply_state_dirty = true;
}

/* Take a later change than the one known from a Recommendation's status, so that no cooldown gets shorter after a lost
 * database or another leader. The guard stops watching the older change. */
static void remember_from(struct cache *w, struct target *t, const struct recommendation_status *s)
{
        guard_from(t, s->guard);
        if (s->applied_ms <= t->apply_state.changed_ms)
                return;
        t->apply_state.changed_ms = s->applied_ms;
        t->apply_state.digest = 0;
        guard_state_end(t);
        target_set_applied(w, t, mem_string(s->applied), s->applied_mode == APPLY_IN_PLACE);
        target_set_admitted_rows(w, t, s->admitted);
        if (s->rest && t->apply_state.in_place)
                pod_canary_begin(w, t, mem_string(s->rest));
        t->apply_state.passed_ms = 0;
        t->apply_state_dirty = true;
}

/* Take over the hold, or the lack of one, that the target's Recommendation has now. */
static void target_hold_seen(struct target *t)
{
        const char *hold = t->published->hold;
        if (hold == t->hold || (hold && t->hold && strcmp(hold, t->hold) == 0))
                return;
        mem_free(t->hold);
        t->hold = mem_string(hold);
        t->apply_state_dirty = true;
}

static void target_link_published(struct cache *w, struct target *t)
{
        if (t->published) {
                target_hold_seen(t);
                remember_from(w, t, &t->published->status);
                return;
        }
        char key[640];
        int len = snprintf(key, sizeof key, "%s/%s", t->ns, t->recommendation);
        if (len < 0 || (size_t)len >= sizeof key)
                return; /* no Recommendation has such a long name */
        struct published *p = map_get(&w->published, (struct text){key, (size_t)len});
        if (p && !p->target) {
                p->target = t;
                t->published = p;
                target_hold_seen(t);
                remember_from(w, t, &p->status);
        }
}

/* Make a target. Its key and its Recommendation's name are in the same memory block. */
static struct target *target_new(struct cache *w, struct text key, struct text ns, struct text group, struct text kind,
                                 struct text name)
{
        char text[KIND_NAME_MAX];
        struct text recommendation = text_of(kind_recommendation_name(group, kind, name, text));
        struct target *t = mem_new(sizeof *t + key.len + 1 + recommendation.len + 1);
        memcpy(t->key, key.p, key.len);
        t->recommendation = memcpy(t->key + key.len + 1, recommendation.p, recommendation.len);
        t->name = t->key + key.len - name.len;
        t->ns = ns_get(w, ns)->name;
        t->group = intern_text(w->names, group);
        t->kind = intern_text(w->names, kind);
        t->dimension = (uint8_t)kind_dimension(group, kind);
        w->others[t->dimension]++;
        map_put(&w->targets, (struct text){t->key, key.len}, t);
        return t;
}

struct target *target_get(struct cache *w, struct text ns, struct text group, struct text kind, struct text name)
{
        AUTO(mem_free) char *key = target_key_new(ns, group, kind, name);
        struct target *t = map_get(&w->targets, text_of(key));
        return t ? t : target_new(w, text_of(key), ns, group, kind, name);
}

struct history *history_find(const struct target *t, const char *container)
{
        struct history *h = t->histories;
        while (h && h->container != container)
                h = h->next;
        return h;
}

struct history *history_get(struct target *t, const char *container,
                            const struct resource_policy policy[static RESOURCES])
{
        struct history *h = history_find(t, container);
        if (h)
                return h;
        h = MEM_NEW(struct history);
        h->container = intern_keep(container);
        h->target = t;
        usage_init(&h->usage, policy);
        if (target_is_sum(t))
                usage_make_sum(&h->usage);
        struct history **last = &t->histories;
        while (*last)
                last = &(*last)->next;
        *last = h;
        return h;
}

static void apply_state_release(struct cache *w, struct target *t)
{
        struct apply_state *d = &t->apply_state;
        pod_canary_end(w, t);
        guard_state_free(d->guard);
        mem_free(d->containers);
        mem_free(d->contest);
        mem_free(d->admitted);
        record_set_release(w, &d->made);
        record_set_release(w, &d->set);
        *d = (struct apply_state){0};
}

/* Free the watermarks and kills that were loaded from the store. */
static void drop_loaded(struct cache *w, struct target *t)
{
        for (struct history *h = t->histories; h; h = h->next) {
                mem_free(h->watermark);
                h->watermark = NULL;
                h->watermarks = 0;
        }
        for (int i = 0; i < t->kills; i++)
                intern_drop(w->names, t->killed[i].container);
        mem_free(t->killed);
        t->killed = NULL;
        t->kills = 0;
}

void history_free(struct cache *w, struct history *h)
{
        for (int r = 0; r < RESOURCES; r++)
                mem_free(h->usage.of[r].w);
        mem_free(h->usage.starts);
        mem_free(h->original);
        intern_drop(w->names, h->container);
        mem_free(h);
}

void target_free(struct cache *w, struct target *t)
{
        drop_loaded(w, t);
        for (struct history *h; (h = t->histories);) {
                t->histories = h->next;
                history_free(w, h);
        }
        for (struct pod *p = t->dimension ? NULL : t->pods; p; p = p->next_of_target) {
                p->target = NULL;
                for (int i = 0; i < p->containers; i++)
                        p->container[i].history = NULL;
        }
        if (t->workload)
                t->workload->target = NULL;
        if (t->dimension)
                dimension_forget(w, t);
        if (t->published)
                t->published->target = NULL;
        apply_state_release(w, t);
        mem_free(t->denied);
        mem_free(t->hold);
        sample_refusals_forget(t);
        imported_forget(w, t);
        limit_harms_forget(w, t);
        map_drop(&w->targets, text_of(t->key));
        w->ns_gone = true;
        mem_free(t);
}

bool target_is_seen(const struct cache *w, const struct target *t)
{
        const struct watched_kind *k = watched_kind_find(w, text_of(t->group), text_of(t->kind));
        return !k || k->lookup.state == LOOKUP_MISSING || !watched_kind_is_wanted(k) ||
               (k->informer && informer_stats(k->informer)->synced);
}

void targets_release(struct cache *w)
{
        struct target *t;
        for (size_t at = 0; (t = map_each(&w->targets, &at));)
                target_free(w, t);
        map_release(&w->targets);
}

/* --- finding the targets and what belongs to them --- */

static void choose_profiles(struct cache *w)
{
        struct workload *wl;
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));) {
                const struct profile_subject s = profile_subject_of(w, wl, DIMENSION_WORKLOAD);
                wl->chosen = workload_is_link(wl) ? NULL : profile_choose(w, &s, workload_more(wl)->rollout_ref.kind);
        }
}

/* Does a profile select some owner of the workload? The highest such owner is the target for all workloads below it. */
static bool covered_from_above(const struct workload *wl)
{
        for (const struct workload *up = wl->owner; up && !up->gone; up = up->owner)
                if (up->chosen)
                        return true;
        return false;
}

static void workload_target(struct cache *w, struct workload *wl)
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

/* Make a target for a Recommendation that has none, as after the database was lost. */
static void adopt_published(struct cache *w)
{
        struct published *p;
        for (size_t at = 0; (p = map_each(&w->published, &at));) {
                if (p->target || !p->target_kind || !*p->target_kind)
                        continue;
                struct text group, version, ns = {p->key, (size_t)(strchr(p->key, '/') - p->key)};
                key_split(text_of(p->target_api_version), &group, &version);
                struct target *t = target_get(w, ns, group, text_of(p->target_kind), text_of(p->target_name));
                if (strcmp(t->recommendation, p->key + ns.len + 1) != 0)
                        continue; /* its name does not belong to this target: somebody else made the Recommendation */
                if (!t->version)
                        t->version = intern_text(w->names, version);
                target_link_published(w, t);
        }
}

static void targets_lifetime(struct cache *w, struct now now)
{
        struct target *t;
        for (size_t at = 0; (t = map_each(&w->targets, &at));) {
                target_link_published(w, t);
                bool lives = t->workload && t->profile;
                if (lives == (t->gone_ms == 0))
                        continue;
                t->gone_ms = lives ? 0 : now.wall.ms;
                t->surplus = false;
                t->apply_state_dirty = true;
        }
}

/* The target of a pod: that of its highest owner with one. A gone owner ends the chain, as it would after a restart. */
static struct target *pod_target(const struct pod *p)
{
        struct target *highest = NULL;
        for (const struct workload *wl = p->owner; wl && !wl->gone; wl = wl->owner)
                if (wl->target && (wl->target->profile || wl->target->apply_state.in_place))
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

/* Give a pod's container the watermark and kills that were loaded from the store. */
static void container_recall(const struct pod *p, struct pod_container *c)
{
        const struct target *t = p->target;
        const struct history *h = history_find(t, c->name);
        for (size_t i = 0; h && i < h->watermarks; i++)
                if (h->watermark[i].last_ms > c->watermark.last_ms &&
                    memcmp(h->watermark[i].uid, p->uid, UID_BYTES) == 0)
                        c->watermark.last_ms = h->watermark[i].last_ms;
        for (int i = 0; i < t->kills; i++) {
                const struct loaded_kill *k = &t->killed[i];
                if (k->container == c->name && k->restarts > pod_ended(c).kills_counted &&
                    memcmp(k->uid, p->uid, UID_BYTES) == 0)
                        pod_kill_counted(c, k->restarts, k->at_ms);
        }
}

/* Link pods that came and went between two settles too, because they may have kills. */
static void link_dropped(struct cache *w)
{
        for (size_t i = 0; i < w->dropped.count; i++) {
                struct pod *p = w->dropped.of[i];
                if (p->target)
                        continue;
                p->target = pod_target(p);
                for (int k = 0; p->target && k < p->containers; k++)
                        container_recall(p, &p->container[k]);
        }
}

static void link_pods(struct cache *w)
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
                        for (int k = 0; k < p->containers; k++)
                                container_recall(p, &p->container[k]);
                        p->stored = true;
                }
                if (p->more)
                        dimension_link(p);
        }
        link_dropped(w);
        for (size_t at = 0; (t = map_each(&w->targets, &at));)
                if (t->workload) /* the pods are listed, so what is still loaded belongs to pods that are gone */
                        drop_loaded(w, t);
}

static void reset_counts(struct cache *w)
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
                t->retuned = false;
        }
}

/* An autoscaler whose workload is gone still has target percentages by halflife: mark that workload's target. */
static void mark_left_retuned(struct cache *w, const struct autoscaler *s)
{
        AUTO(mem_free)
        char *key = target_key_new(text_of(s->ns), text_of(s->target_group), text_of(s->target_kind),
                                   text_of(s->target_name));
        struct target *t = map_get(&w->targets, text_of(key));
        if (t)
                t->retuned = true;
}

/* Mark namespaces with autoscalers whose target percentages depend on pods' requests, so that a pod's start or end has
 * the percentages computed again. */
static void mark_retuned(struct cache *w)
{
        struct ns *ns;
        const struct autoscaler *s;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                ns->retunes = false;
        for (size_t at = 0; (s = map_each(&w->autoscalers, &at));) {
                const struct target *t = s->workload ? s->workload->target : NULL;
                bool retuned = t && t->profile && t->profile->spec->apply.hpa == HPA_RETUNE;
                if (retuned || s->records)
                        ns_get(w, text_of(s->ns))->retunes = true;
                if (s->records && !s->workload)
                        mark_left_retuned(w, s);
        }
}

void targets_choose(struct cache *w)
{
        struct workload *wl;
        reset_counts(w);
        profile_bounds_settle(w);
        choose_profiles(w);
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                workload_target(w, wl);
        dimension_settle(w);
}

void targets_link(struct cache *w, struct now now)
{
        adopt_published(w);
        targets_lifetime(w, now);
        link_pods(w);
        mark_retuned(w);
}
