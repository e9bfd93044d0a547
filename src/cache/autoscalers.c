/*
 * Autoscalers: HorizontalPodAutoscalers and ScaledObjects, and which workload each of them scales.
 */
#include <string.h>

#include "cache/cache.h"

const struct autoscaler_kind
        autoscaler_hpa = {"HPA", "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", false},
        autoscaler_scaled_object = {"ScaledObject", "keda.sh", "v1alpha1", "ScaledObject", "scaledobjects", true};

static void autoscaler_clear(struct cache *w, struct autoscaler *s)
{
        intern_drop(w->names, s->target_group);
        intern_drop(w->names, s->target_kind);
        intern_drop(w->names, s->owner.api_version);
        intern_drop(w->names, s->owner.kind);
        intern_drop(w->names, s->owner.name);
        intern_drop(w->names, s->applier);
        intern_drop(w->names, s->writer);
        for (int i = 0; i < s->metrics; i++) {
                intern_drop(w->names, s->metric[i].container);
                intern_drop(w->names, s->metric[i].name);
        }
        mem_free(s->metric);
        mem_free(s->target_name);
        s->metric = NULL;
        s->target_name = NULL;
}

static void leave_workload(struct autoscaler *s)
{
        struct autoscaler **link = s->workload ? &s->workload->autoscaler : NULL;
        while (link && *link && *link != s)
                link = &(*link)->next;
        if (link && *link)
                *link = s->next;
        s->workload = NULL;
        s->next = NULL;
}

/* Unlink an autoscaler, before it is freed, from workloads whose pods it counts. The next cache_relink counts anew. */
static void autoscaler_uncount(struct cache *w, const struct autoscaler *s)
{
        struct workload *wl;
        ns_recount(w, s->ns);
        for (size_t at = 0; s->others && (wl = map_each(&w->workloads, &at));)
                for (enum resource r = CPU; wl->more && r < RESOURCES; r++)
                        if (wl->more->counted_by[r] == s)
                                wl->more->counted_by[r] = NULL;
}

static void autoscaler_free(struct cache *w, struct autoscaler *s)
{
        leave_workload(s);
        autoscaler_clear(w, s);
        intern_drop(w->names, s->name);
        mem_free(s->denied);
        mem_free(s->other);
        mem_free(s->key);
        mem_free(s);
}

/* Names contain no '/', so keys of the two kinds cannot collide. */
static struct text autoscaler_key_of(struct cache *w, const struct autoscaler_kind *k, struct text ns, struct text name)
{
        bool hpa = k == &autoscaler_hpa;
        AUTO(mem_free)
        char *key = mem_printf("%.*s/%.*s%s%s", TEXT_ARG(ns), TEXT_ARG(name), hpa ? "" : "/", hpa ? "" : k->kind);
        return text_of(arena_text(&w->scratch, text_of(key)));
}

static struct autoscaler *autoscaler_get(struct cache *w, const struct autoscaler_kind *k,
                                         const struct object_view *meta)
{
        struct text key = autoscaler_key_of(w, k, meta->ns, meta->name);
        struct autoscaler *s = map_get(&w->autoscalers, key);
        if (s)
                return s;
        s = MEM_NEW(struct autoscaler);
        s->kind = k;
        s->key = mem_string_n(key.p, key.len);
        s->ns = ns_get(w, meta->ns)->name;
        s->name = intern_text(w->names, meta->name);
        map_put(&w->autoscalers, text_of(s->key), s);
        w->changed = true;
        return s;
}

/* The interned text; NULL: the text is empty. */
static const char *autoscaler_interned(struct cache *w, struct text t)
{
        return t.len ? intern_text(w->names, t) : NULL;
}

static void set_owner(struct cache *w, const struct owner_ref *from, struct controller_owner *to)
{
        *to = (struct controller_owner){.kind = autoscaler_interned(w, from->kind)};
        if (!to->kind)
                return;
        to->api_version = intern_text(w->names, from->api_version);
        to->name = intern_text(w->names, from->name);
        uid_bytes(from->uid, to->uid);
}

static void set_metrics(struct cache *w, const struct autoscaler_view *v, struct autoscaler *s)
{
        s->metric = mem_new_array((size_t)v->metrics + 1, sizeof *s->metric);
        for (int i = 0; i < v->metrics; i++)
                s->metric[i] = (struct autoscaler_metric){
                        .source = v->metric[i].source,
                        .resource = v->metric[i].resource,
                        .target = v->metric[i].target,
                        .container = autoscaler_interned(w, v->metric[i].container),
                        .name = autoscaler_interned(w, v->metric[i].name),
                        .percent = v->metric[i].percent,
                };
        s->metrics = v->metrics;
}

static struct autoscaler_metric *metric_of(struct autoscaler *s, const struct recorded_target *t)
{
        for (int i = 0; i < s->metrics; i++) {
                struct autoscaler_metric *m = &s->metric[i];
                if (autoscaler_moves(m) && m->resource == t->resource &&
                    text_is(t->container, m->container ? m->container : ""))
                        return m;
        }
        return NULL;
}

/* Copy the target percentages in a halflife annotation to their metrics. Returns how many the annotation has. */
static int set_records(struct cache *w, struct text annotation, struct autoscaler *s, bool original)
{
        struct recorded_target *row = arena_new(&w->scratch, VIEW_METRICS * sizeof *row);
        int rows = annotation.len ? record_targets_read(annotation, &w->scratch, row, NULL) : 0;
        s->broken |= rows < 0;
        for (int i = 0; i < rows; i++) {
                struct autoscaler_metric *m = metric_of(s, &row[i]);
                if (m)
                        *(original ? &m->recorded : &m->applied) = (struct amount){true, row[i].percent};
        }
        return rows < 0 ? 0 : rows;
}

/* Whether `a` and `b` differ in nothing that decisions depend on. Interned names are compared by address. */
static bool autoscaler_is_same(const struct autoscaler *a, const struct autoscaler *b)
{
        bool same = a->target_group == b->target_group && a->target_kind == b->target_kind && a->target_name &&
                    strcmp(a->target_name, b->target_name) == 0 && a->applier == b->applier &&
                    a->owner.kind == b->owner.kind && a->owner.name == b->owner.name && a->metrics == b->metrics &&
                    a->records == b->records && a->broken == b->broken;
        for (int i = 0; same && i < a->metrics; i++) {
                const struct autoscaler_metric *x = &a->metric[i], *y = &b->metric[i];
                same = x->source == y->source && x->resource == y->resource && x->target == y->target &&
                       x->container == y->container && x->name == y->name && x->percent == y->percent &&
                       amount_equal(x->recorded, y->recorded) && amount_equal(x->applied, y->applied);
        }
        return same;
}

/* Only a change of the workload or of the metrics marks the cache as changed: an HPA's status changes every few
 * seconds. */
static void autoscaler_set(struct cache *w, const struct autoscaler_view *v, struct autoscaler *s)
{
        struct text group, version;
        struct autoscaler was = *s;
        key_split(v->target.api_version, &group, &version);
        s->target_group = intern_text(w->names, group);
        s->target_kind = intern_text(w->names, v->target.kind);
        s->target_name = mem_string_n(v->target.name.p, v->target.name.len);
        s->applier = autoscaler_interned(w, v->applier);
        s->writer = autoscaler_interned(w, v->writer);
        set_owner(w, &v->meta.owner, &s->owner);
        set_metrics(w, v, s);
        s->broken = false;
        s->records = set_records(w, v->meta.annotation.targets, s, true);
        int applied = set_records(w, v->meta.annotation.targets_applied, s, false);
        s->records = applied > s->records ? applied : s->records;
        if (!autoscaler_is_same(&was, s)) {
                ns_recount(w, s->ns);
                w->changed = true;
        }
        autoscaler_clear(w, &was);
}

static int autoscaler_decode(struct cache *w, const struct autoscaler_kind *k, struct text json,
                             struct autoscaler_view *view, struct err *err)
{
        return k == &autoscaler_hpa ? decode_hpa(json, w->field_manager, &w->scratch, view, err)
                                    : decode_scaled_object(json, w->field_manager, &w->scratch, view, err);
}

static int autoscaler_upsert(struct cache *w, const struct autoscaler_kind *k, struct text json, uint32_t epoch,
                             struct err *err)
{
        struct autoscaler_view *view = arena_new(&w->scratch, sizeof *view);
        int rc = autoscaler_decode(w, k, json, view, err);
        if (rc == 0) {
                struct autoscaler *s = autoscaler_get(w, k, &view->meta);
                s->epoch = epoch;
                s->events++;
                autoscaler_set(w, view, s);
        }
        arena_reset(&w->scratch);
        return rc;
}

int autoscaler_answer(struct cache *w, const struct autoscaler_kind *k, struct text json, uint32_t events,
                      struct err *err)
{
        struct autoscaler_view *view = arena_new(&w->scratch, sizeof *view);
        int rc = autoscaler_decode(w, k, json, view, err);
        struct autoscaler *s =
                rc == 0 ? map_get(&w->autoscalers, autoscaler_key_of(w, k, view->meta.ns, view->meta.name)) : NULL;
        if (rc == 0 && !s)
                rc = err_set(err, ERR_NOTFOUND, "%s '%.*s' is gone", k->kind, TEXT_ARG(view->meta.name));
        if (s && s->events == events)
                autoscaler_set(w, view, s);
        arena_reset(&w->scratch);
        return rc;
}

static void autoscaler_drop(struct cache *w, const struct autoscaler_kind *k, struct text json)
{
        struct object_view view;
        if (decode_object(json, &w->scratch, &view, NULL) == 0) {
                struct autoscaler *s = map_drop(&w->autoscalers, autoscaler_key_of(w, k, view.ns, view.name));
                if (s) {
                        autoscaler_uncount(w, s);
                        autoscaler_free(w, s);
                }
                w->changed = true;
        }
        arena_reset(&w->scratch);
}

static void autoscaler_sweep(struct cache *w, const struct autoscaler_kind *k, uint32_t epoch)
{
        struct autoscaler *s;
        for (size_t at = 0; (s = map_each(&w->autoscalers, &at));)
                if (s->kind == k && s->epoch != epoch) {
                        map_drop(&w->autoscalers, text_of(s->key));
                        autoscaler_uncount(w, s);
                        autoscaler_free(w, s);
                        w->changed = true;
                }
}

int hpa_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        return autoscaler_upsert(w, &autoscaler_hpa, json, epoch, err);
}

void hpa_remove(struct cache *w, struct text json)
{
        autoscaler_drop(w, &autoscaler_hpa, json);
}

void hpa_swept(struct cache *w, uint32_t epoch)
{
        autoscaler_sweep(w, &autoscaler_hpa, epoch);
}

int scaled_object_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        return autoscaler_upsert(w, &autoscaler_scaled_object, json, epoch, err);
}

void scaled_object_remove(struct cache *w, struct text json)
{
        autoscaler_drop(w, &autoscaler_scaled_object, json);
}

void scaled_object_swept(struct cache *w, uint32_t epoch)
{
        autoscaler_sweep(w, &autoscaler_scaled_object, epoch);
}

void autoscalers_release(struct cache *w)
{
        struct autoscaler *s;
        for (size_t at = 0; (s = map_each(&w->autoscalers, &at));)
                autoscaler_free(w, s);
        map_release(&w->autoscalers);
}

/* --- links between autoscalers and workloads --- */

void autoscalers_forget(struct workload *wl)
{
        while (wl->autoscaler)
                leave_workload(wl->autoscaler);
}

/* A workload's autoscalers are sorted by name, so that messages name the same autoscaler after a restart. */
static void link_to(struct workload *wl, struct autoscaler *s)
{
        struct autoscaler **link = &wl->autoscaler;
        while (*link && strcmp((*link)->name, s->name) < 0)
                link = &(*link)->next;
        s->next = *link;
        s->workload = wl;
        *link = s;
}

bool autoscaler_spoken_for(const struct cache *w, const struct autoscaler *s)
{
        if (s->kind != &autoscaler_hpa || !s->owner.kind || strcmp(s->owner.kind, autoscaler_scaled_object.kind) != 0)
                return false;
        AUTO(mem_free) char *key = mem_printf("%s/%s/%s", s->ns, s->owner.name, autoscaler_scaled_object.kind);
        return map_get(&w->autoscalers, text_of(key)) != NULL;
}

void autoscalers_settle(struct cache *w)
{
        struct autoscaler *s;
        for (size_t at = 0; (s = map_each(&w->autoscalers, &at));) {
                struct workload *wl = workload_find(w, s->target_group, s->target_kind, s->ns, s->target_name);
                if (wl && workload_more(wl)->refers.kind && wl->owner)
                        wl = wl->owner; /* wl is a Rollout that runs the template of wl->owner */
                if (autoscaler_spoken_for(w, s))
                        wl = NULL;
                if (wl == s->workload)
                        continue;
                ns_recount(w, s->ns);
                leave_workload(s);
                if (wl)
                        link_to(wl, s);
        }
}

bool autoscaler_moves(const struct autoscaler_metric *m)
{
        return m->target == TARGET_UTILIZATION && m->resource < RESOURCES &&
               (m->source == METRIC_RESOURCE || m->source == METRIC_CONTAINER);
}

static bool metric_may_utilize(const struct autoscaler_metric *m, enum resource r)
{
        return m->source == METRIC_UNKNOWN ||
               (m->resource == r && (m->target == TARGET_UTILIZATION || m->target == TARGET_UNKNOWN));
}

bool autoscaler_utilizes(const struct autoscaler *s, enum resource r)
{
        for (int i = 0; i < s->metrics; i++)
                if (metric_may_utilize(&s->metric[i], r))
                        return true;
        return false;
}

void autoscaler_denied(struct autoscaler *s, struct wall at, const char *why)
{
        mem_free(s->denied);
        s->denied = mem_string(why);
        s->denied_ms = at.ms;
        s->permitted = false;
}

void autoscaler_permitted(struct autoscaler *s)
{
        mem_free(s->denied);
        s->denied = NULL;
        s->permitted = true;
}
