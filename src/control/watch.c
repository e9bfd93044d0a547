/*
 * What is watched: the fixed kinds, the kinds of workloads that everyone has, and those that profiles name.
 */
#include <stdio.h>
#include <string.h>

#include "controller_private.h"

enum { UNREAD_EVERY_MS = HOUR_MS, VANISHED_EVERY_MS = 5 * SECOND_MS, HINT_WAIT_MS = 10 * SECOND_MS };

/* --- owners of informers --- */

/* What is taken in tells by world.changed whether it matters; an HPA's own status, and ours of a profile, do not. */
static bool take_begin(struct controller *c)
{
        bool before = c->cache.changed;
        c->cache.changed = false;
        return before;
}

static void take_end(struct controller *c, bool before, bool hasty)
{
        if (((hasty || c->options.replica) && c->cache.changed) || c->cache.turned)
                nudge(c->leadership);
        c->cache.turned = false;
        c->cache.changed |= before;
}

/* hasty: what changes by it is decided at once, not only at the next cycle. */
#define OWNER(name, hasty)                                                                                             \
        static int name##_in(void *arg, struct text object, uint32_t epoch, struct err *err)                           \
        {                                                                                                              \
                struct watch *w = arg;                                                                                 \
                bool before = take_begin(w->controller);                                                               \
                int rc = name##_upsert(&w->controller->cache, object, epoch, err);                                     \
                take_end(w->controller, before, hasty);                                                                \
                return rc;                                                                                             \
        }                                                                                                              \
        static void name##_out(void *arg, struct text object)                                                          \
        {                                                                                                              \
                struct watch *w = arg;                                                                                 \
                bool before = take_begin(w->controller);                                                               \
                name##_remove(&w->controller->cache, object);                                                          \
                take_end(w->controller, before, hasty);                                                                \
        }                                                                                                              \
        static void name##_whole(void *arg, uint32_t epoch)                                                            \
        {                                                                                                              \
                struct watch *w = arg;                                                                                 \
                name##_swept(&w->controller->cache, epoch);                                                            \
                nudge(w->controller->leadership);                                                                      \
        }
OWNER(ns, false)
OWNER(range, false)
OWNER(quota, false)
OWNER(hpa, true)
OWNER(scaled_object, true)
OWNER(published, false)
OWNER(other_autoscaler, true)
OWNER(node, false)

/* A kill is counted and stored as it is seen: nobody else may be told of it again. */
static int pod_in(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watch *w = arg;
        bool before = take_begin(w->controller);
        int rc = pod_upsert(&w->controller->cache, object, epoch, err);
        oom_seen_now(w->controller->learner);
        take_end(w->controller, before, false);
        return rc;
}

static void pod_out(void *arg, struct text object)
{
        struct watch *w = arg;
        bool before = take_begin(w->controller);
        pod_remove(&w->controller->cache, object);
        oom_seen_now(w->controller->learner);
        take_end(w->controller, before, false);
}

static int node_oom_event_in(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watch *w = arg;
        return node_oom_event_upsert(&w->controller->cache, clock_skew_latest(w->controller->skew), object, epoch, err);
}

static void node_oom_event_out(void *arg, struct text object)
{
        struct watch *w = arg;
        node_oom_event_remove(&w->controller->cache, object);
}

static void node_oom_event_whole(void *arg, uint32_t epoch)
{
        struct watch *w = arg;
        node_oom_event_swept(&w->controller->cache, epoch);
        nudge(w->controller->leadership);
}

static int evicted_in(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watch *w = arg;
        int rc = evicted_upsert(&w->controller->cache, object, epoch, err);
        oom_seen_now(w->controller->learner);
        return rc;
}

static void evicted_out(void *arg, struct text object)
{
        struct watch *w = arg;
        evicted_remove(&w->controller->cache, object);
}

static void evicted_whole(void *arg, uint32_t epoch)
{
        struct watch *w = arg;
        evicted_swept(&w->controller->cache, epoch);
}

static void pod_whole(void *arg, uint32_t epoch)
{
        struct watch *w = arg;
        pod_swept(&w->controller->cache, epoch);
        nudge(w->controller->leadership);
}

static int profile_in(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watch *w = arg;
        bool before = take_begin(w->controller);
        int rc = profile_upsert(&w->controller->cache, w->cluster, object, epoch, err);
        take_end(w->controller, before, true);
        return rc;
}

static void profile_out(void *arg, struct text object)
{
        struct watch *w = arg;
        profile_remove(&w->controller->cache, w->cluster, object);
        nudge(w->controller->leadership);
}

static void profile_whole(void *arg, uint32_t epoch)
{
        struct watch *w = arg;
        profile_swept(&w->controller->cache, w->cluster, epoch);
        nudge(w->controller->leadership);
}

static int workload_in(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watch *w = arg;
        return workload_upsert(&w->controller->cache, w->kind, object, epoch, err);
}

static void workload_out(void *arg, struct text object)
{
        struct watch *w = arg;
        workload_remove(&w->controller->cache, w->kind, object);
        nudge(w->controller->leadership);
}

static void workload_whole(void *arg, uint32_t epoch)
{
        struct watch *w = arg;
        workload_swept(&w->controller->cache, w->kind, epoch);
        nudge(w->controller->leadership);
}

/* Every server has them; the others are asked for. */
static bool is_standard(const struct watched_kind *k)
{
        return strcmp(k->group, "apps") == 0 || strcmp(k->group, "batch") == 0;
}

static void watch_trouble(void *arg, const struct err *err)
{
        struct watch *w = arg;
        bool absent = err->code == ERR_NOTFOUND && w->kind && !is_standard(w->kind);
        if (w->kind)
                w->kind->vanished = absent; /* no failure: its definition went, or another version of it is served */
        if (err->code == 0)
                report_watch_works(w->controller->report, &w->health);
        else if (!absent)
                report_watch_fails(w->controller->report, &w->health, err);
        nudge(w->controller->leadership);
}

/* --- starting --- */

/* One that ended, else one more; NULL: there are as many as there may be. */
static struct watch *watch_free(struct controller *c)
{
        for (int i = 0; i < c->watches; i++)
                if (!c->watch[i].health.informer)
                        return &c->watch[i];
        if (c->watches == WATCHES_MAX)
                return NULL;
        struct watch *w = &c->watch[c->watches++];
        report_watch(c->report, &w->health);
        return w;
}

static struct watch *watch_selected(struct controller *c, const char *what, char *path, const char *selector,
                                    struct informer_owner owner)
{
        struct watch *w = watch_free(c);
        if (!w) {
                if (!c->watches_full)
                        log_error("too many kinds to watch: the rest is not", KV("first", what),
                                  KV_INT("most", WATCHES_MAX));
                c->watches_full = true;
                mem_free(path);
                return NULL;
        }
        *w = (struct watch){.controller = c, .health.what = what, .begun = loop_now(c->loop).mono};
        owner.trouble = watch_trouble;
        owner.arg = w;
        w->health.informer = informer_new(c->client, path, selector, &owner);
        mem_free(path);
        return w;
}

static struct watch *watch_add(struct controller *c, const char *what, char *path, struct informer_owner owner)
{
        return watch_selected(c, what, path, NULL, owner);
}

#define OWNED_BY(name) ((struct informer_owner){.upsert = name##_in, .remove = name##_out, .swept = name##_whole})

static void workloads_watch(struct controller *c, struct watched_kind *k)
{
        char *what = *k->group ? mem_printf("%s.%s", k->plural, k->group) : mem_string(k->plural);
        const char *name = intern_text(c->cache.names, text_of(what));
        mem_free(what);
        struct watch *w =
                watch_add(c, name, path_of(k->group, k->version, NULL, k->plural, NULL, NULL), OWNED_BY(workload));
        if (w) {
                w->kind = k;
                k->informer = w->health.informer;
        }
}

void watch_start(struct controller *c)
{
        struct watch *w;
        watch_guests(c);
        watch_add(c, "namespaces", path_of("", "v1", NULL, "namespaces", NULL, NULL), OWNED_BY(ns))->needed_to_apply =
                true;
        watch_add(c, "limitranges", path_of("", "v1", NULL, "limitranges", NULL, NULL), OWNED_BY(range))
                ->needed_to_apply = true;
        watch_add(c, "horizontalpodautoscalers.autoscaling",
                  path_of("autoscaling", "v2", NULL, "horizontalpodautoscalers", NULL, NULL), OWNED_BY(hpa))
                ->needed_to_apply = true;
        w = watch_add(c, "clusterprofiles.halflife.dev",
                      path_of("halflife.dev", "v1alpha1", NULL, "clusterprofiles", NULL, NULL), OWNED_BY(profile));
        w->cluster = true;
        watch_add(c, "profiles.halflife.dev", path_of("halflife.dev", "v1alpha1", NULL, "profiles", NULL, NULL),
                  OWNED_BY(profile));
        watch_add(c, "recommendations.halflife.dev",
                  path_of("halflife.dev", "v1alpha1", NULL, "recommendations", NULL, NULL), OWNED_BY(published));
        if (c->options.replica)
                return;
        watch_add(c, "resourcequotas", path_of("", "v1", NULL, "resourcequotas", NULL, NULL), OWNED_BY(quota))
                ->needed_to_apply = true;
        watch_add(c, "pods", path_of("", "v1", NULL, "pods", NULL, NULL), OWNED_BY(pod));
        watch_add(c, "nodes", path_of("", "v1", NULL, "nodes", NULL, NULL), OWNED_BY(node))->hint = true;
        static const struct {
                const char *what, *selector;
                bool of_pods;
        } events[] = {
                {"events of nodes (SystemOOM)", "fieldSelector=involvedObject.kind%3DNode%2Creason%3DSystemOOM", false},
                {"events of nodes (OOMKilling)", "fieldSelector=involvedObject.kind%3DNode%2Creason%3DOOMKilling",
                 false},
                {"events of pods (Evicted)", "fieldSelector=involvedObject.kind%3DPod%2Creason%3DEvicted", true},
        };
        for (size_t i = 0; i < sizeof events / sizeof *events; i++)
                watch_selected(c, events[i].what, path_of("", "v1", NULL, "events", NULL, NULL), events[i].selector,
                               events[i].of_pods ? OWNED_BY(evicted) : OWNED_BY(node_oom_event))
                        ->hint = true;
        for (struct watched_kind *k = c->cache.kinds; k; k = k->next)
                if (is_standard(k))
                        workloads_watch(c, k);
}

/* --- kinds that come and go --- */

static void watch_close(struct watch *w)
{
        struct controller *c = w->controller;
        c->unread_ended += informer_stats(w->health.informer)->refused;
        informer_free(w->health.informer);
        *w = (struct watch){.controller = c};
        c->watches_full = false;
}

/* As after a start: what was seen of the kind is unknown again. */
static void watch_end(struct controller *c, struct watched_kind *k, const char *why)
{
        for (int i = 0; i < c->watches; i++) {
                struct watch *w = &c->watch[i];
                if (w->kind != k || !w->health.informer)
                        continue;
                log_info("kind is watched no longer", KV("what", w->health.what), KV("why", why));
                watch_close(w);
        }
        k->informer = NULL;
        k->vanished = false;
        workload_forget(&c->cache, k);
}

struct asking {
        struct controller *controller;
        struct watched_kind *kind;
};

static void not_found(struct controller *c, struct watched_kind *k)
{
        if (k->informer)
                watch_end(c, k, "the server has it no more; asking again each cycle");
        else if (!k->missing && !(k->flags & KIND_DEFAULT))
                log_warn("a profile names a kind that the server does not have; asking again each cycle",
                         KV("group", k->group), KV("kind", k->kind));
        k->missing = true;
}

/* Another version is another path. What is found where it was is still to be told by discovery that it goes, or comes
 * back: its informer tries it again. */
static void watch_found(struct controller *c, struct watched_kind *k, const struct api_resource *r)
{
        k->missing = false;
        if (k->informer && strcmp(k->version, r->version) == 0 && strcmp(k->plural, r->plural) == 0)
                return;
        if (k->informer)
                watch_end(c, k, "the server has it by another version");
        k->version = intern_text(c->cache.names, text_of(r->version));
        k->plural = intern_text(c->cache.names, text_of(r->plural));
        workloads_watch(c, k);
}

static void watch_discovered(void *arg, const struct api_resource *r, const struct err *err)
{
        struct asking *a = arg;
        struct controller *c = a->controller;
        struct watched_kind *k = a->kind;
        mem_free(a);
        k->asking = NULL;
        if (err->code == 0)
                watch_found(c, k, r);
        else if (err->code == ERR_NOTFOUND)
                not_found(c, k);
}

static bool is_to_ask_for(const struct controller *c, const struct watched_kind *k)
{
        bool lately = (loop_now(c->loop).mono.ns - k->asked.ns) / 1000000 < VANISHED_EVERY_MS;
        return k->wanted && !k->asking && (!k->informer || (k->vanished && !lately));
}

static void ask_for(struct controller *c, struct watched_kind *k)
{
        struct asking *a = MEM_NEW(struct asking);
        if (k->vanished)
                client_undiscover(c->client, k->group, k->kind);
        k->asked = loop_now(c->loop).mono;
        *a = (struct asking){c, k};
        k->asking = a;
        if (client_discover(c->client, k->group, k->kind, watch_discovered, a) < 0) {
                k->asking = NULL;
                mem_free(a);
        }
}

static void kinds_named(struct controller *c)
{
        struct profile *p;
        for (struct watched_kind *k = c->cache.kinds; k; k = k->next)
                k->named = false;
        for (size_t at = 0; (p = map_each(&c->cache.profiles, &at));)
                for (int i = 0; p->valid && i < p->spec->targets; i++) {
                        struct text group, version;
                        struct text kind = text_of(p->spec->target[i].kind);
                        key_split(text_of(p->spec->target[i].api_version), &group, &version);
                        if (kind_dimension(group, kind) == DIMENSION_WORKLOAD) /* pods are watched anyway */
                                kind_watched(&c->cache, group, kind)->named = true;
                }
}

/* A Recommendation that stands needs its workload seen: it goes, or it is an orphan's. */
static bool is_recommended(const struct controller *c, const struct watched_kind *k)
{
        const struct target *t;
        for (size_t at = 0; (t = map_each(&c->cache.targets, &at));)
                if (t->kind == k->kind && t->group == k->group && (t->published || t->busy))
                        return true;
        return false;
}

static bool watch_is_wanted(const struct controller *c, const struct watched_kind *k)
{
        return is_standard(k) || (k->flags & KIND_DEFAULT) || k->named || is_recommended(c, k);
}

void watch_kinds(struct controller *c)
{
        kinds_named(c);
        for (struct watched_kind *k = c->cache.kinds; k; k = k->next) {
                k->wanted = watch_is_wanted(c, k);
                if (!k->wanted && k->informer)
                        watch_end(c, k, "no profile names it any more");
                else if (is_to_ask_for(c, k))
                        ask_for(c, k);
        }
}

/* --- kinds of others, that come and go with their CRDs --- */

static const struct {
        const char *group, *kind, *what;
        struct informer_owner owner;
} guests[GUESTS] = {
        {"autoscaling.k8s.io",
         "VerticalPodAutoscaler",
         "verticalpodautoscalers.autoscaling.k8s.io",
         {.upsert = other_autoscaler_in, .remove = other_autoscaler_out, .swept = other_autoscaler_whole}},
        {"keda.sh",
         "ScaledObject",
         "scaledobjects.keda.sh",
         {.upsert = scaled_object_in, .remove = scaled_object_out, .swept = scaled_object_whole}},
};

struct asking_guest {
        struct controller *controller;
        int guest;
};

/* The path that was watched is not there: the CRD is gone, or serves another version. */
static bool is_lost(const struct watch *w)
{
        return w->health.trouble[0] && w->health.trouble_code == ERR_NOTFOUND;
}

static bool is_removed(const struct watch *w)
{
        for (int i = 0; i < GUESTS; i++)
                if (w->controller->guest[i].watch == w)
                        return w->controller->guest[i].removed;
        return false;
}

/* All its objects went with it. The watch tries on: it may be installed again. */
static void guest_removed(struct controller *c, int i)
{
        struct guest *g = &c->guest[i];
        if (!g->watch || g->removed || !is_lost(g->watch))
                return;
        g->removed = true;
        guests[i].owner.swept(g->watch, 0);
}

/* path is taken over. */
static void guest_watch(struct controller *c, int i, char *path)
{
        struct guest *g = &c->guest[i];
        bool anew = g->watch != NULL;
        if (anew) {
                guests[i].owner.swept(g->watch, 0);
                report_watch_works(c->report, &g->watch->health);
                watch_close(g->watch);
        }
        mem_free(g->path);
        g->path = path;
        g->removed = false;
        g->watch = watch_add(c, guests[i].what, mem_string(path), guests[i].owner);
        if (!g->watch)
                return;
        g->watch->needed_to_apply = g->watch->guest = true;
        g->watch->anew = anew;
        log_info("watches what others have installed", KV("what", guests[i].what), KV("path", path));
}

static void guest_found(void *arg, const struct api_resource *r, const struct err *err)
{
        struct asking_guest *a = arg;
        struct controller *c = a->controller;
        int i = a->guest;
        struct guest *g = &c->guest[i];
        mem_free(a);
        g->asking = NULL;
        bool known = g->known;
        g->known |= !err->code || err->code == ERR_NOTFOUND;
        if (!known && g->known)
                nudge(c->leadership);
        snprintf(g->trouble, sizeof g->trouble, "%s", g->known ? "" : err->text);
        if (err->code == ERR_NOTFOUND)
                guest_removed(c, i);
        if (err->code)
                return;
        char *path = path_of(guests[i].group, r->version, NULL, r->plural, NULL, NULL);
        if (!g->watch || strcmp(path, g->path) != 0)
                guest_watch(c, i, path);
        else
                mem_free(path); /* discovery is still to tell that it goes, or it comes back */
}

static bool is_guest_to_ask_for(const struct controller *c, const struct guest *g)
{
        bool lately = (loop_now(c->loop).mono.ns - g->asked.ns) / 1000000 < VANISHED_EVERY_MS;
        return !g->asking && (!g->watch || (is_lost(g->watch) && !lately));
}

static void guest_ask(struct controller *c, int i)
{
        struct asking_guest *a = MEM_NEW(struct asking_guest);
        struct guest *g = &c->guest[i];
        *a = (struct asking_guest){c, i};
        g->asking = a;
        g->asked = loop_now(c->loop).mono;
        if (g->watch && !g->removed)
                client_undiscover(c->client, guests[i].group, guests[i].kind);
        if (client_discover(c->client, guests[i].group, guests[i].kind, guest_found, a) < 0) {
                g->asking = NULL;
                mem_free(a);
        }
}

void watch_guests(struct controller *c)
{
        for (int i = 0; i < GUESTS; i++) {
                struct guest *g = &c->guest[i];
                g->removed = g->removed && is_lost(g->watch);
                if (is_guest_to_ask_for(c, g))
                        guest_ask(c, i);
        }
}

void watch_guests_forget(struct controller *c)
{
        for (int i = 0; i < GUESTS; i++) {
                mem_free(c->guest[i].asking);
                mem_free(c->guest[i].path);
                c->guest[i].asking = c->guest[i].path = NULL;
        }
}

/* --- state --- */

/* A watch that may not or cannot be (403, 404, or an error again and again) keeps nobody from being ready: the rest
 * works, and it is said. */
static bool given_up(const struct watch *w)
{
        bool lasting = w->health.trouble_code != ERR_RETRY || informer_stats(w->health.informer)->failures >= 2;
        return w->health.trouble[0] && lasting && (w->kind || w->needed_to_apply || w->hint);
}

/* A request that is never answered fails after minutes only. What a hint would tell is not known until then. */
static bool is_late(const struct watch *w)
{
        int64_t waited_ms = (loop_now(w->controller->loop).mono.ns - w->begun.ns) / 1000000;
        return w->hint && !informer_stats(w->health.informer)->synced && waited_ms >= HINT_WAIT_MS;
}

bool watch_synced(struct controller *c, char *ret_waiting, size_t size)
{
        bool all = true;
        size_t at = 0;
        *ret_waiting = '\0';
        for (int i = 0; i < c->watches; i++) {
                const struct watch *w = &c->watch[i];
                if (!w->health.informer || informer_stats(w->health.informer)->synced || given_up(w) || is_late(w))
                        continue;
                all = false;
                int n = snprintf(ret_waiting + at, size - at, "%s%s", at ? ", " : "", w->health.what);
                at = n > 0 && at + (size_t)n < size ? at + (size_t)n : size - 1;
        }
        for (int i = 0; all && i < GUESTS; i++)
                if (!c->guest[i].known && !c->guest[i].trouble[0]) {
                        snprintf(ret_waiting, size, "%s", guests[i].what);
                        all = false;
                }
        return all;
}

void watch_tell_late(const struct controller *c)
{
        for (int i = 0; i < c->watches; i++) {
                const struct watch *w = &c->watch[i];
                if (w->health.informer && is_late(w) && !w->health.trouble[0])
                        log_warn("its list is not there yet: goes on without, and what killed a container may stay "
                                 "unknown until it comes",
                                 KV("what", w->health.what));
        }
}

/* A kind that came just now is read in a moment: at the start watch_synced waits for it. */
static bool is_blind(const struct watch *w)
{
        if (!w->needed_to_apply || is_removed(w))
                return false;
        return w->health.trouble[0] || ((!w->guest || w->anew) && !informer_stats(w->health.informer)->synced);
}

const char *watch_blind(const struct controller *c)
{
        for (int i = 0; i < c->watches; i++)
                if (is_blind(&c->watch[i]))
                        return c->watch[i].health.trouble[0] ? c->watch[i].health.trouble : c->watch[i].health.what;
        for (int i = 0; i < GUESTS; i++)
                if (!c->guest[i].known)
                        return c->guest[i].trouble[0] ? c->guest[i].trouble : guests[i].what;
        return NULL;
}

void watch_again(struct controller *c)
{
        for (int i = 0; i < c->watches; i++)
                if (c->watch[i].health.informer) {
                        c->watch[i].begun = loop_now(c->loop).mono;
                        informer_relist(c->watch[i].health.informer);
                }
}

uint64_t watch_unread(const struct controller *c)
{
        uint64_t count = c->unread_ended;
        for (int i = 0; i < c->watches; i++)
                if (c->watch[i].health.informer)
                        count += informer_stats(c->watch[i].health.informer)->refused;
        return count;
}

void watch_tick(struct controller *c)
{
        struct mono now = loop_now(c->loop).mono;
        for (int i = 0; i < c->watches; i++) {
                struct watch *w = &c->watch[i];
                if (!w->health.informer)
                        continue;
                const struct informer_stats *is = informer_stats(w->health.informer);
                bool lately = w->unread_told > 0 && (now.ns - w->unread_said.ns) / 1000000 < UNREAD_EVERY_MS;
                if (is->refused == w->unread_told || lately)
                        continue;
                log_warn("cannot be read, and is left as it was known; the rest goes on", KV("what", w->health.what),
                         KV_INT("times", is->refused - w->unread_told), KV("last", is->refusal.text));
                w->unread_told = is->refused;
                w->unread_said = now;
        }
}

void watch_stop(struct controller *c)
{
        for (int i = 0; i < c->watches; i++)
                informer_free(c->watch[i].health.informer);
        c->watches = 0;
}
