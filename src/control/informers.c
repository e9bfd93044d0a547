#include <stdio.h>
#include <string.h>

#include "informers_private.h"

enum { UNREAD_EVERY_MS = HOUR_MS, VANISHED_EVERY_MS = 5 * SECOND_MS, HINT_WAIT_MS = 10 * SECOND_MS };

/* --- owners of informers --- */

/* What is taken in tells by world.changed whether it matters; an HPA's own status, and ours of a profile, do not. */
static bool take_begin(struct informers *all)
{
        bool before = all->parts->cache.changed;
        all->parts->cache.changed = false;
        return before;
}

static void take_end(struct informers *all, bool before, bool hasty)
{
        if (((hasty || all->parts->options.replica) && all->parts->cache.changed) || all->parts->cache.turned)
                nudge(all->parts->leadership);
        all->parts->cache.turned = false;
        all->parts->cache.changed |= before;
}

/* hasty: what changes by it is decided at once, not only at the next cycle. */
#define OWNER(name, hasty)                                                                                             \
        static int name##_in(void *arg, struct text object, uint32_t epoch, struct err *err)                           \
        {                                                                                                              \
                struct watch *w = arg;                                                                                 \
                bool before = take_begin(w->all);                                                                      \
                int rc = name##_upsert(&w->all->parts->cache, object, epoch, err);                                     \
                take_end(w->all, before, hasty);                                                                       \
                return rc;                                                                                             \
        }                                                                                                              \
        static void name##_out(void *arg, struct text object)                                                          \
        {                                                                                                              \
                struct watch *w = arg;                                                                                 \
                bool before = take_begin(w->all);                                                                      \
                name##_remove(&w->all->parts->cache, object);                                                          \
                take_end(w->all, before, hasty);                                                                       \
        }                                                                                                              \
        static void name##_whole(void *arg, uint32_t epoch)                                                            \
        {                                                                                                              \
                struct watch *w = arg;                                                                                 \
                name##_swept(&w->all->parts->cache, epoch);                                                            \
                nudge(w->all->parts->leadership);                                                                      \
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
        bool before = take_begin(w->all);
        int rc = pod_upsert(&w->all->parts->cache, object, epoch, err);
        oom_seen_now(w->all->parts->learner);
        take_end(w->all, before, false);
        return rc;
}

static void pod_out(void *arg, struct text object)
{
        struct watch *w = arg;
        bool before = take_begin(w->all);
        pod_remove(&w->all->parts->cache, object);
        oom_seen_now(w->all->parts->learner);
        take_end(w->all, before, false);
}

static int node_oom_event_in(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watch *w = arg;
        return node_oom_event_upsert(&w->all->parts->cache, clock_skew_latest(w->all->parts->skew), object, epoch, err);
}

static void node_oom_event_out(void *arg, struct text object)
{
        struct watch *w = arg;
        node_oom_event_remove(&w->all->parts->cache, object);
}

static void node_oom_event_whole(void *arg, uint32_t epoch)
{
        struct watch *w = arg;
        node_oom_event_swept(&w->all->parts->cache, epoch);
        nudge(w->all->parts->leadership);
}

static int evicted_in(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watch *w = arg;
        int rc = evicted_upsert(&w->all->parts->cache, object, epoch, err);
        oom_seen_now(w->all->parts->learner);
        return rc;
}

static void evicted_out(void *arg, struct text object)
{
        struct watch *w = arg;
        evicted_remove(&w->all->parts->cache, object);
}

static void evicted_whole(void *arg, uint32_t epoch)
{
        struct watch *w = arg;
        evicted_swept(&w->all->parts->cache, epoch);
}

static void pod_whole(void *arg, uint32_t epoch)
{
        struct watch *w = arg;
        pod_swept(&w->all->parts->cache, epoch);
        nudge(w->all->parts->leadership);
}

static int profile_in(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watch *w = arg;
        bool before = take_begin(w->all);
        int rc = profile_upsert(&w->all->parts->cache, w->cluster, object, epoch, err);
        take_end(w->all, before, true);
        return rc;
}

static void profile_out(void *arg, struct text object)
{
        struct watch *w = arg;
        profile_remove(&w->all->parts->cache, w->cluster, object);
        nudge(w->all->parts->leadership);
}

static void profile_whole(void *arg, uint32_t epoch)
{
        struct watch *w = arg;
        profile_swept(&w->all->parts->cache, w->cluster, epoch);
        nudge(w->all->parts->leadership);
}

static int workload_in(void *arg, struct text object, uint32_t epoch, struct err *err)
{
        struct watch *w = arg;
        return workload_upsert(&w->all->parts->cache, w->kind, object, epoch, err);
}

static void workload_out(void *arg, struct text object)
{
        struct watch *w = arg;
        workload_remove(&w->all->parts->cache, w->kind, object);
        nudge(w->all->parts->leadership);
}

static void workload_whole(void *arg, uint32_t epoch)
{
        struct watch *w = arg;
        workload_swept(&w->all->parts->cache, w->kind, epoch);
        nudge(w->all->parts->leadership);
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
                report_watch_works(w->all->parts->report, &w->health);
        else if (!absent)
                report_watch_fails(w->all->parts->report, &w->health, err);
        nudge(w->all->parts->leadership);
}

/* --- starting --- */

/* One that ended, else one more; NULL: there are as many as there may be. */
static struct watch *watch_free(struct informers *all)
{
        for (int i = 0; i < all->watches; i++)
                if (!all->watch[i].health.informer)
                        return &all->watch[i];
        if (all->watches == WATCHES_MAX)
                return NULL;
        struct watch *w = &all->watch[all->watches++];
        report_watch(all->parts->report, &w->health);
        return w;
}

static struct watch *watch_selected(struct informers *all, const char *what, char *path, const char *selector,
                                    struct informer_owner owner)
{
        struct watch *w = watch_free(all);
        if (!w) {
                if (!all->watches_full)
                        log_error("too many kinds to watch: the rest is not", KV("first", what),
                                  KV_INT("most", WATCHES_MAX));
                all->watches_full = true;
                mem_free(path);
                return NULL;
        }
        *w = (struct watch){.all = all, .health.what = what, .begun = loop_now(all->parts->loop).mono};
        owner.trouble = watch_trouble;
        owner.arg = w;
        w->health.informer = informer_new(all->parts->client, path, selector, &owner);
        mem_free(path);
        return w;
}

static struct watch *watch_add(struct informers *all, const char *what, char *path, struct informer_owner owner)
{
        return watch_selected(all, what, path, NULL, owner);
}

#define OWNED_BY(name) ((struct informer_owner){.upsert = name##_in, .remove = name##_out, .swept = name##_whole})

static void workloads_watch(struct informers *all, struct watched_kind *k)
{
        char *what = *k->group ? mem_printf("%s.%s", k->plural, k->group) : mem_string(k->plural);
        const char *name = intern_text(all->parts->cache.names, text_of(what));
        mem_free(what);
        struct watch *w =
                watch_add(all, name, path_of(k->group, k->version, NULL, k->plural, NULL, NULL), OWNED_BY(workload));
        if (w) {
                w->kind = k;
                k->informer = w->health.informer;
        }
}

void informers_start(struct informers *all)
{
        struct watch *w;
        informers_foreign(all);
        watch_add(all, "namespaces", path_of("", "v1", NULL, "namespaces", NULL, NULL), OWNED_BY(ns))->needed_to_apply =
                true;
        watch_add(all, "limitranges", path_of("", "v1", NULL, "limitranges", NULL, NULL), OWNED_BY(range))
                ->needed_to_apply = true;
        watch_add(all, "horizontalpodautoscalers.autoscaling",
                  path_of("autoscaling", "v2", NULL, "horizontalpodautoscalers", NULL, NULL), OWNED_BY(hpa))
                ->needed_to_apply = true;
        w = watch_add(all, "clusterprofiles.halflife.dev",
                      path_of("halflife.dev", "v1alpha1", NULL, "clusterprofiles", NULL, NULL), OWNED_BY(profile));
        w->cluster = true;
        watch_add(all, "profiles.halflife.dev", path_of("halflife.dev", "v1alpha1", NULL, "profiles", NULL, NULL),
                  OWNED_BY(profile));
        watch_add(all, "recommendations.halflife.dev",
                  path_of("halflife.dev", "v1alpha1", NULL, "recommendations", NULL, NULL), OWNED_BY(published));
        if (all->parts->options.replica)
                return;
        watch_add(all, "resourcequotas", path_of("", "v1", NULL, "resourcequotas", NULL, NULL), OWNED_BY(quota))
                ->needed_to_apply = true;
        watch_add(all, "pods", path_of("", "v1", NULL, "pods", NULL, NULL), OWNED_BY(pod));
        watch_add(all, "nodes", path_of("", "v1", NULL, "nodes", NULL, NULL), OWNED_BY(node))->hint = true;
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
                watch_selected(all, events[i].what, path_of("", "v1", NULL, "events", NULL, NULL), events[i].selector,
                               events[i].of_pods ? OWNED_BY(evicted) : OWNED_BY(node_oom_event))
                        ->hint = true;
        for (struct watched_kind *k = all->parts->cache.kinds; k; k = k->next)
                if (is_standard(k))
                        workloads_watch(all, k);
}

/* --- kinds that come and go --- */

static void watch_close(struct watch *w)
{
        struct informers *all = w->all;
        all->unread_ended += informer_stats(w->health.informer)->refused;
        informer_free(w->health.informer);
        *w = (struct watch){.all = all};
        all->watches_full = false;
}

/* As after a start: what was seen of the kind is unknown again. */
static void watch_end(struct informers *all, struct watched_kind *k, const char *why)
{
        for (int i = 0; i < all->watches; i++) {
                struct watch *w = &all->watch[i];
                if (w->kind != k || !w->health.informer)
                        continue;
                log_info("kind is watched no longer", KV("what", w->health.what), KV("why", why));
                watch_close(w);
        }
        k->informer = NULL;
        k->vanished = false;
        workload_forget(&all->parts->cache, k);
}

struct asking {
        struct informers *all;
        struct watched_kind *kind;
};

static void not_found(struct informers *all, struct watched_kind *k)
{
        if (k->informer)
                watch_end(all, k, "the server has it no more; asking again each cycle");
        else if (!k->missing && !(k->flags & KIND_DEFAULT))
                log_warn("a profile names a kind that the server does not have; asking again each cycle",
                         KV("group", k->group), KV("kind", k->kind));
        k->missing = true;
}

/* Another version is another path. What is found where it was is still to be told by discovery that it goes, or comes
 * back: its informer tries it again. */
static void watch_found(struct informers *all, struct watched_kind *k, const struct api_resource *r)
{
        k->missing = false;
        if (k->informer && strcmp(k->version, r->version) == 0 && strcmp(k->plural, r->plural) == 0)
                return;
        if (k->informer)
                watch_end(all, k, "the server has it by another version");
        k->version = intern_text(all->parts->cache.names, text_of(r->version));
        k->plural = intern_text(all->parts->cache.names, text_of(r->plural));
        workloads_watch(all, k);
}

static void watch_discovered(void *arg, const struct api_resource *r, const struct err *err)
{
        struct asking *a = arg;
        struct informers *all = a->all;
        struct watched_kind *k = a->kind;
        mem_free(a);
        k->asking = NULL;
        if (err->code == 0)
                watch_found(all, k, r);
        else if (err->code == ERR_NOTFOUND)
                not_found(all, k);
}

static bool is_to_ask_for(const struct informers *all, const struct watched_kind *k)
{
        bool lately = (loop_now(all->parts->loop).mono.ns - k->asked.ns) / 1000000 < VANISHED_EVERY_MS;
        return k->wanted && !k->asking && (!k->informer || (k->vanished && !lately));
}

static void ask_for(struct informers *all, struct watched_kind *k)
{
        struct asking *a = MEM_NEW(struct asking);
        if (k->vanished)
                client_undiscover(all->parts->client, k->group, k->kind);
        k->asked = loop_now(all->parts->loop).mono;
        *a = (struct asking){all, k};
        k->asking = a;
        if (client_discover(all->parts->client, k->group, k->kind, watch_discovered, a) < 0) {
                k->asking = NULL;
                mem_free(a);
        }
}

static void kinds_named(struct informers *all)
{
        struct profile *p;
        for (struct watched_kind *k = all->parts->cache.kinds; k; k = k->next)
                k->named = false;
        for (size_t at = 0; (p = map_each(&all->parts->cache.profiles, &at));)
                for (int i = 0; p->valid && i < p->spec->targets; i++) {
                        struct text group, version;
                        struct text kind = text_of(p->spec->target[i].kind);
                        key_split(text_of(p->spec->target[i].api_version), &group, &version);
                        if (kind_dimension(group, kind) == DIMENSION_WORKLOAD) /* pods are watched anyway */
                                kind_watched(&all->parts->cache, group, kind)->named = true;
                }
}

/* A Recommendation that stands needs its workload seen: it goes, or it is an orphan's. */
static bool is_recommended(const struct informers *all, const struct watched_kind *k)
{
        const struct target *t;
        for (size_t at = 0; (t = map_each(&all->parts->cache.targets, &at));)
                if (t->kind == k->kind && t->group == k->group && (t->published || t->busy))
                        return true;
        return false;
}

static bool watch_is_wanted(const struct informers *all, const struct watched_kind *k)
{
        return is_standard(k) || (k->flags & KIND_DEFAULT) || k->named || is_recommended(all, k);
}

void informers_kinds(struct informers *all)
{
        kinds_named(all);
        for (struct watched_kind *k = all->parts->cache.kinds; k; k = k->next) {
                k->wanted = watch_is_wanted(all, k);
                if (!k->wanted && k->informer)
                        watch_end(all, k, "no profile names it any more");
                else if (is_to_ask_for(all, k))
                        ask_for(all, k);
        }
}

/* --- kinds of others, that come and go with their CRDs --- */

static const struct {
        const char *group, *kind, *what;
        struct informer_owner owner;
} foreign_kinds[FOREIGN_KINDS] = {
        {"autoscaling.k8s.io",
         "VerticalPodAutoscaler",
         "verticalpodautoscalers.autoscaling.k8s.io",
         {.upsert = other_autoscaler_in, .remove = other_autoscaler_out, .swept = other_autoscaler_whole}},
        {"keda.sh",
         "ScaledObject",
         "scaledobjects.keda.sh",
         {.upsert = scaled_object_in, .remove = scaled_object_out, .swept = scaled_object_whole}},
};

struct asking_foreign {
        struct informers *all;
        int kind;
};

/* The path that was watched is not there: the CRD is gone, or serves another version. */
static bool is_lost(const struct watch *w)
{
        return w->health.trouble[0] && w->health.trouble_code == ERR_NOTFOUND;
}

static bool is_removed(const struct watch *w)
{
        for (int i = 0; i < FOREIGN_KINDS; i++)
                if (w->all->foreign[i].watch == w)
                        return w->all->foreign[i].removed;
        return false;
}

/* All its objects went with it. The watch tries on: it may be installed again. */
static void foreign_removed(struct informers *all, int i)
{
        struct foreign_kind *g = &all->foreign[i];
        if (!g->watch || g->removed || !is_lost(g->watch))
                return;
        g->removed = true;
        foreign_kinds[i].owner.swept(g->watch, 0);
}

/* path is taken over. */
static void foreign_watch(struct informers *all, int i, char *path)
{
        struct foreign_kind *g = &all->foreign[i];
        bool anew = g->watch != NULL;
        if (anew) {
                foreign_kinds[i].owner.swept(g->watch, 0);
                report_watch_works(all->parts->report, &g->watch->health);
                watch_close(g->watch);
        }
        mem_free(g->path);
        g->path = path;
        g->removed = false;
        g->watch = watch_add(all, foreign_kinds[i].what, mem_string(path), foreign_kinds[i].owner);
        if (!g->watch)
                return;
        g->watch->needed_to_apply = g->watch->foreign = true;
        g->watch->anew = anew;
        log_info("watches what others have installed", KV("what", foreign_kinds[i].what), KV("path", path));
}

static void foreign_found(void *arg, const struct api_resource *r, const struct err *err)
{
        struct asking_foreign *a = arg;
        struct informers *all = a->all;
        int i = a->kind;
        struct foreign_kind *g = &all->foreign[i];
        mem_free(a);
        g->asking = NULL;
        bool known = g->known;
        g->known |= !err->code || err->code == ERR_NOTFOUND;
        if (!known && g->known)
                nudge(all->parts->leadership);
        snprintf(g->trouble, sizeof g->trouble, "%s", g->known ? "" : err->text);
        if (err->code == ERR_NOTFOUND)
                foreign_removed(all, i);
        if (err->code)
                return;
        char *path = path_of(foreign_kinds[i].group, r->version, NULL, r->plural, NULL, NULL);
        if (!g->watch || strcmp(path, g->path) != 0)
                foreign_watch(all, i, path);
        else
                mem_free(path); /* discovery is still to tell that it goes, or it comes back */
}

static bool is_foreign_to_ask_for(const struct informers *all, const struct foreign_kind *g)
{
        bool lately = (loop_now(all->parts->loop).mono.ns - g->asked.ns) / 1000000 < VANISHED_EVERY_MS;
        return !g->asking && (!g->watch || (is_lost(g->watch) && !lately));
}

static void foreign_ask(struct informers *all, int i)
{
        struct asking_foreign *a = MEM_NEW(struct asking_foreign);
        struct foreign_kind *g = &all->foreign[i];
        *a = (struct asking_foreign){all, i};
        g->asking = a;
        g->asked = loop_now(all->parts->loop).mono;
        if (g->watch && !g->removed)
                client_undiscover(all->parts->client, foreign_kinds[i].group, foreign_kinds[i].kind);
        if (client_discover(all->parts->client, foreign_kinds[i].group, foreign_kinds[i].kind, foreign_found, a) < 0) {
                g->asking = NULL;
                mem_free(a);
        }
}

void informers_foreign(struct informers *all)
{
        for (int i = 0; i < FOREIGN_KINDS; i++) {
                struct foreign_kind *g = &all->foreign[i];
                g->removed = g->removed && is_lost(g->watch);
                if (is_foreign_to_ask_for(all, g))
                        foreign_ask(all, i);
        }
}

struct informers *informers_new(struct parts *parts)
{
        struct informers *all = MEM_NEW(struct informers);
        all->parts = parts;
        return all;
}

void informers_free(struct informers *all)
{
        if (!all)
                return;
        for (int i = 0; i < FOREIGN_KINDS; i++) {
                mem_free(all->foreign[i].asking);
                mem_free(all->foreign[i].path);
        }
        mem_free(all);
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
        int64_t waited_ms = (loop_now(w->all->parts->loop).mono.ns - w->begun.ns) / 1000000;
        return w->hint && !informer_stats(w->health.informer)->synced && waited_ms >= HINT_WAIT_MS;
}

bool informers_synced(struct informers *all, char *ret_waiting, size_t size)
{
        bool synced = true;
        size_t at = 0;
        *ret_waiting = '\0';
        for (int i = 0; i < all->watches; i++) {
                const struct watch *w = &all->watch[i];
                if (!w->health.informer || informer_stats(w->health.informer)->synced || given_up(w) || is_late(w))
                        continue;
                synced = false;
                int n = snprintf(ret_waiting + at, size - at, "%s%s", at ? ", " : "", w->health.what);
                at = n > 0 && at + (size_t)n < size ? at + (size_t)n : size - 1;
        }
        for (int i = 0; synced && i < FOREIGN_KINDS; i++)
                if (!all->foreign[i].known && !all->foreign[i].trouble[0]) {
                        snprintf(ret_waiting, size, "%s", foreign_kinds[i].what);
                        synced = false;
                }
        return synced;
}

void informers_tell_late(const struct informers *all)
{
        for (int i = 0; i < all->watches; i++) {
                const struct watch *w = &all->watch[i];
                if (w->health.informer && is_late(w) && !w->health.trouble[0])
                        log_warn("its list is not there yet: goes on without, and what killed a container may stay "
                                 "unknown until it comes",
                                 KV("what", w->health.what));
        }
}

/* A kind that came just now is read in a moment: at the start informers_synced waits for it. */
static bool is_blind(const struct watch *w)
{
        if (!w->needed_to_apply || is_removed(w))
                return false;
        return w->health.trouble[0] || ((!w->foreign || w->anew) && !informer_stats(w->health.informer)->synced);
}

const char *informers_blind(const struct informers *all)
{
        for (int i = 0; i < all->watches; i++)
                if (is_blind(&all->watch[i]))
                        return all->watch[i].health.trouble[0] ? all->watch[i].health.trouble
                                                               : all->watch[i].health.what;
        for (int i = 0; i < FOREIGN_KINDS; i++)
                if (!all->foreign[i].known)
                        return all->foreign[i].trouble[0] ? all->foreign[i].trouble : foreign_kinds[i].what;
        return NULL;
}

void informers_again(struct informers *all)
{
        for (int i = 0; i < all->watches; i++)
                if (all->watch[i].health.informer) {
                        all->watch[i].begun = loop_now(all->parts->loop).mono;
                        informer_relist(all->watch[i].health.informer);
                }
}

const char *informers_unanswered(const struct informers *all)
{
        for (int i = 0; i < all->watches; i++)
                if (all->watch[i].health.trouble[0] && all->watch[i].health.trouble_code == ERR_RETRY)
                        return all->watch[i].health.trouble;
        return NULL;
}

uint64_t informers_unread(const struct informers *all)
{
        uint64_t count = all->unread_ended;
        for (int i = 0; i < all->watches; i++)
                if (all->watch[i].health.informer)
                        count += informer_stats(all->watch[i].health.informer)->refused;
        return count;
}

void informers_tick(struct informers *all)
{
        struct mono now = loop_now(all->parts->loop).mono;
        for (int i = 0; i < all->watches; i++) {
                struct watch *w = &all->watch[i];
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

void informers_stop(struct informers *all)
{
        for (int i = 0; i < all->watches; i++)
                informer_free(all->watch[i].health.informer);
        all->watches = 0;
}
