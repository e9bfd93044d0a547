#include "serving/owner_lookup.h"

#include <assert.h>
#include <string.h>

#include "base/list.h"
#include "core/pod_owner_name.h"
#include "kept_owners.h"
#include "lookup_budget.h"

enum {
        LOOK_MS = 900, /* time for the wait and all steps of a look-up together */
        TICK_MS = 20,  /* between checks of look-ups that wait */
        STEPS_MAX = 3,
        CLIMB_MAX = 8,
        WAITING_MAX = 2048, /* look-ups; more than the listener has connections */
        NAME_LONGEST = 253, /* bytes of an object's name: no object has a longer one */
        VERSION_MOST = 317, /* bytes of an apiVersion: a group, '/' and a version */
        BODY_MAX = 256 << 10,
        ABSENT_MAX = 4096, /* absent owners remembered, in each of two generations */
        ABSENT_MS = 10 * SECOND_MS,
};

enum budget { BUDGET_EXPECTED, BUDGET_STRANGE, BUDGETS };

static const struct {
        double a_second, burst;
        int at_once;
} budgets[BUDGETS] = {[BUDGET_EXPECTED] = {200, 400, 64}, [BUDGET_STRANGE] = {50, 100, 16}};

struct owner_search {
        TAILQ_ENTRY(owner_search) link; /* in `waiting` or `asking` */
        struct owner_lookup *lookup;
        struct lookup_budget *budget;
        bool asks;    /* the search has had its turn, and asks the API server */
        bool absent;  /* the API server did not have the owner seconds ago, and is not asked again */
        bool watched; /* informers watch the owner's kind, so the cache may have the owner soon */
        char *tenant; /* address and namespace of the client; the address is its first part */
        struct lookup_client client;
        char *key, *ns;
        char *group, *version, *kind, *name; /* the object to ask for next */
        struct admission_owner *best;
        int steps;
        struct mono began;
        struct client_call *call;
        void (*found)(void *arg, struct admission_owner *owner);
        void *arg;
};

struct owner_lookup {
        struct client *client;
        const struct cache *cache;
        TAILQ_HEAD(owner_searches, owner_search) waiting, asking; /* oldest first */
        int waits;                                                /* length of `waiting` */
        struct loop_timer tick;                                   /* set while a search waits */
        struct lookup_budget budget[BUDGETS];
        struct kept_owners kept;
        struct recent_count absent; /* keys of owners that the API server did not have */
        uint64_t counts[OWNER_LOOKUP_RESULTS];
};

/* --- the cache --- */

static struct admission_owner *owner_named(struct text group, struct text kind, struct text name)
{
        return owner_copy(&(struct admission_owner){.group = group, .kind = kind, .name = name});
}

static struct admission_owner *owner_of_workload(const struct workload *wl)
{
        struct labels own = workload_own_labels(wl);
        return owner_copy(&(struct admission_owner){.group = text_of(wl->kind->group),
                                                    .kind = text_of(wl->kind->kind),
                                                    .name = text_of(wl->name),
                                                    .label = own.pair,
                                                    .labels = own.count,
                                                    .apply_never = wl->apply_never});
}

/* Whether profiles may select the kind. They cannot select most operators' own kinds: there the workload below is the
 * top. */
static bool is_ours(const struct cache *w, struct text group, struct text kind)
{
        return watched_kind_find(w, group, kind) != NULL;
}

static const struct workload *owner_known(const struct cache *w, struct text group, struct text kind, const char *ns,
                                          struct text name)
{
        AUTO(mem_free) char *own_group = mem_string_n(group.p, group.len);
        AUTO(mem_free) char *own_kind = mem_string_n(kind.p, kind.len);
        AUTO(mem_free) char *own_name = mem_string_n(name.p, name.len);
        return workload_find(w, own_group, own_kind, ns, own_name);
}

/* The object above a workload: for a Rollout that refers to another workload's pod template, that workload; else the
 * controller. */
static const struct controller_owner *owner_above(const struct workload *wl)
{
        const struct controller_owner *refers = &workload_more(wl)->refers;
        return refers->kind ? refers : &wl->owner_ref;
}

/* The owner at the top of the chain above a workload in the cache, as far as the cache knows the chain. */
static struct admission_owner *owner_walk_up(const struct cache *w, const struct workload *wl)
{
        for (int i = 0; i < CLIMB_MAX && owner_above(wl)->kind; i++) {
                struct text group = kind_group(text_of(owner_above(wl)->api_version)),
                            kind = text_of(owner_above(wl)->kind);
                struct text name = text_of(owner_above(wl)->name);
                const struct workload *up = owner_known(w, group, kind, wl->ns, name);
                if (!up && is_ours(w, group, kind))
                        return owner_named(group, kind, name);
                if (!up)
                        break;
                wl = up;
        }
        return owner_of_workload(wl);
}

/* --- at the API server --- */

static void owner_search_free(struct owner_search *q)
{
        char *const text[] = {q->tenant, q->key, q->ns, q->group, q->version, q->kind, q->name};
        for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
                mem_free(text[i]);
        mem_free(q->best);
        mem_free(q);
}

static void owner_search_take_out(struct owner_search *q)
{
        struct owner_lookup *k = q->lookup;
        if (q->asks) {
                TAILQ_REMOVE(&k->asking, q, link);
                lookup_budget_end(q->budget);
        } else {
                TAILQ_REMOVE(&k->waiting, q, link);
                k->waits--;
        }
        owner_search_free(q);
}

static void owner_search_end(struct owner_search *q, enum owner_lookup_result r)
{
        q->lookup->counts[r]++;
        q->found(q->arg, STEAL(&q->best));
        owner_search_take_out(q);
}

static struct mono owner_lookup_now(const struct owner_lookup *k)
{
        return loop_now(client_loop(k->client)).mono;
}

/* End the search: the best owner found is the top, or there is none. An expected owner's absence is not remembered,
 * because anybody can guess a future Job's name. */
static void owner_search_end_at_top(struct owner_search *q)
{
        struct owner_lookup *k = q->lookup;
        if (q->best)
                kept_owners_put(&k->kept, q->key, q->best, owner_lookup_now(k));
        else if (q->budget == &k->budget[BUDGET_STRANGE])
                recent_count_add(&k->absent, text_of(q->key), 1, owner_lookup_now(k));
        owner_search_end(q, q->best ? OWNER_LOOKUP_FOUND : OWNER_LOOKUP_ABSENT);
}

static void owner_search_end_unseen(struct owner_search *q)
{
        if (q->best)
                q->best->unseen = true;
        owner_search_end(q, OWNER_LOOKUP_FAILED);
}

static void owner_better(struct owner_search *q, struct admission_owner *owner)
{
        mem_free(q->best);
        q->best = owner;
}

static char *version_of(struct text api_version)
{
        struct text group, version;
        key_split(api_version, &group, &version);
        return mem_string_n(version.p, version.len);
}

static void owner_ask(struct owner_search *q);

static void owner_step_up(struct owner_search *q, const struct owner_ref *to, struct text group)
{
        const struct cache *w = q->lookup->cache;
        const struct workload *up = owner_known(w, group, to->kind, q->ns, to->name);
        if (up) {
                owner_better(q, owner_walk_up(w, up));
                owner_search_end_at_top(q);
                return;
        }
        owner_better(q, owner_named(group, to->kind, to->name));
        mem_free(q->group);
        mem_free(q->version);
        mem_free(q->kind);
        mem_free(q->name);
        q->group = mem_string_n(group.p, group.len);
        q->version = version_of(to->api_version);
        q->kind = mem_string_n(to->kind.p, to->kind.len);
        q->name = mem_string_n(to->name.p, to->name.len);
        owner_ask(q);
}

static void owner_take(struct owner_search *q, const struct object_view *meta, const struct owner_ref *up)
{
        struct arena arena = {0};
        struct label_pair *label = arena_new(&arena, (size_t)(meta->labels + 1) * sizeof *label);
        struct text group = kind_group(up->api_version);
        for (int i = 0; i < meta->labels; i++)
                label[i] = (struct label_pair){meta->label[i].key, meta->label[i].value};
        owner_better(q, owner_copy(&(struct admission_owner){.group = text_of(q->group),
                                                             .kind = text_of(q->kind),
                                                             .name = text_of(q->name),
                                                             .label = label,
                                                             .labels = (size_t)meta->labels,
                                                             .apply_never = meta->labels_cut ||
                                                                            meta->annotation.apply.len > 0}));
        arena_release(&arena);
        if (up->kind.len && is_ours(q->lookup->cache, group, up->kind))
                owner_step_up(q, up, group);
        else
                owner_search_end_at_top(q);
}

/* The next object upwards: for a Rollout with a workloadRef, the object that it refers to; else the controller. */
static struct owner_ref read_above(const struct owner_search *q, struct text body, const struct object_view *meta,
                                   struct arena *a)
{
        const struct kind *k = kind_find(text_of(q->group), text_of(q->kind));
        struct workload_view *view = k && k->flags & KIND_PHASED ? arena_new(a, sizeof *view) : NULL;
        bool refers = view && decode_workload(body, k->template_path, "", a, view, NULL) == 0 &&
                      kind_runs_by_reference(kind_group(view->refers.api_version), view->refers.kind);
        return refers ? view->refers : meta->owner;
}

static void owner_answered(void *arg, const struct client_answer *a)
{
        struct owner_search *q = arg;
        struct arena arena = {0};
        struct object_view meta;
        q->call = NULL;
        if (a->err.code == 0 && decode_object(a->body, &arena, &meta, NULL) == 0) {
                const struct owner_ref up = read_above(q, a->body, &meta, &arena);
                owner_take(q, &meta, &up);
        } else if (a->err.code == ERR_NOTFOUND)
                owner_search_end_at_top(q); /* deleted: the owner found so far is the top */
        else
                owner_search_end_unseen(q);
        arena_release(&arena);
}

static int64_t owner_search_age_ms(const struct owner_search *q)
{
        return (owner_lookup_now(q->lookup).ns - q->began.ns) / 1000000;
}

/* Ask the API server for the next object, if its kind is in core/kind.h and time is left. Else end with the owner found
 * so far. */
static void owner_ask(struct owner_search *q)
{
        const struct kind *k = kind_find(text_of(q->group), text_of(q->kind));
        int64_t left = LOOK_MS - owner_search_age_ms(q);
        if (!k || q->steps++ >= STEPS_MAX) {
                owner_search_end_at_top(q);
                return;
        }
        if (left <= 0) {
                owner_search_end_unseen(q);
                return;
        }
        AUTO(mem_free) char *path = path_of(k->group, q->version, q->ns, k->plural, q->name, NULL);
        const struct call call = {
                .method = HTTP_GET, .path = path, .deadline_ms = left, .body_max = BODY_MAX, .urgent = true};
        q->call = client_start(q->lookup->client, &call, owner_answered, q);
}

/* --- whose turn it is --- */

static bool owner_lookup_has_target(const struct cache *w, const struct kind *k, const char *ns, struct text name)
{
        char recommendation[KIND_NAME_MAX];
        kind_recommendation_name(text_of(k->group), text_of(k->kind), name, recommendation);
        AUTO(mem_free) char *key = mem_printf("%s/%s", ns, recommendation);
        return map_get(&w->published, text_of(key)) ||
               owner_known(w, text_of(k->group), text_of(k->kind), ns, name) != NULL;
}

/* Whether the owner is named after a workload that the cache knows: a ReplicaSet <Deployment>-<hash>, a Job
 * <CronJob>-<minute>. A replica knows workloads by their Recommendations. */
static bool is_expected(const struct cache *w, const struct owner_lookup_call *from)
{
        const char *cut = strrchr(from->name, '-');
        bool set = strcmp(from->kind, "ReplicaSet") == 0, job = strcmp(from->kind, "Job") == 0;
        if (!cut || (!set && !job))
                return false;
        struct text above = {from->name, (size_t)(cut - from->name)};
        for (size_t i = 0; i < kinds_count; i++)
                if (pod_naming_of(text_of(kinds[i].kind), set ? POD_BY_TEMPLATE : POD_BY_RUN) &&
                    owner_lookup_has_target(w, &kinds[i], from->ns, above))
                        return true;
        return false;
}

static void owner_search_ask(struct owner_search *q, struct mono now)
{
        struct owner_lookup *k = q->lookup;
        TAILQ_REMOVE(&k->waiting, q, link);
        k->waits--;
        TAILQ_INSERT_TAIL(&k->asking, q, link);
        q->asks = true;
        lookup_budget_begin(q->budget, &q->client, now);
        owner_ask(q);
}

/* The search whose turn it is in a budget: the one with the lowest rank, then the oldest. NULL: no search wants to
 * ask. */
static struct owner_search *owner_lookup_next(struct owner_lookup *k, struct lookup_budget *b, struct mono now)
{
        struct owner_search *q, *next = NULL;
        uint64_t least = UINT64_MAX;
        TAILQ_FOREACH (q, &k->waiting, link) {
                if (q->budget != b || q->absent)
                        continue;
                uint64_t rank = lookup_budget_rank(b, &q->client, now);
                if (rank < least) {
                        least = rank;
                        next = q;
                }
        }
        return next;
}

static void owner_lookup_give_turns(struct owner_lookup *k, struct mono now)
{
        for (struct lookup_budget *b = k->budget; b < k->budget + BUDGETS; b++)
                for (struct owner_search *q; lookup_budget_has(b, now) && (q = owner_lookup_next(k, b, now));)
                        owner_search_ask(q, now);
}

/* Find the owner in the cache or among kept answers, without a request. The caller frees the owner. NULL: neither has
 * it. */
static struct admission_owner *owner_recall(const struct owner_lookup *k, struct text group, const char *kind,
                                            const char *ns, const char *name, const char *key)
{
        const struct workload *wl = owner_known(k->cache, group, text_of(kind), ns, text_of(name));
        const struct admission_owner *kept = wl ? NULL : kept_owners_find(&k->kept, key, owner_lookup_now(k));
        return wl ? owner_walk_up(k->cache, wl) : kept ? owner_copy(kept) : NULL;
}

static void owner_search_look_again(struct owner_search *q)
{
        q->best = owner_recall(q->lookup, text_of(q->group), q->kind, q->ns, q->name, q->key);
        if (q->best)
                owner_search_end(q, OWNER_LOOKUP_KNOWN);
        else if (owner_search_age_ms(q) >= LOOK_MS)
                owner_search_end(q, q->absent ? OWNER_LOOKUP_REPEATED : OWNER_LOOKUP_CROWDED);
}

static void owner_lookup_tick(void *arg)
{
        struct owner_lookup *k = arg;
        struct owner_search *q, *next;
        TAILQ_FOREACH_SAFE (q, &k->waiting, link, next)
                owner_search_look_again(q);
        owner_lookup_give_turns(k, owner_lookup_now(k));
        if (!TAILQ_EMPTY(&k->waiting))
                loop_timer_set(client_loop(k->client), &k->tick, TICK_MS, owner_lookup_tick, k);
}

/* --- from outside --- */

static struct owner_search *owner_search_new(struct owner_lookup *k, const struct owner_lookup_call *from,
                                             struct text group, const char *key)
{
        struct owner_search *q = MEM_NEW(struct owner_search);
        const struct watched_kind *kind = watched_kind_find(k->cache, group, text_of(from->kind));
        bool expected = is_expected(k->cache, from);
        *q = (struct owner_search){
                .lookup = k,
                .budget = &k->budget[expected ? BUDGET_EXPECTED : BUDGET_STRANGE],
                .absent = !expected && recent_count_get(&k->absent, text_of(key), owner_lookup_now(k)) > 0,
                .watched = kind && kind->informer,
                .tenant = mem_printf("%s %s", from->address, from->ns),
                .key = mem_string(key),
                .ns = mem_string(from->ns),
                .group = mem_string_n(group.p, group.len),
                .version = version_of(text_of(from->api_version)),
                .kind = mem_string(from->kind),
                .name = mem_string(from->name),
                .began = owner_lookup_now(k),
                .found = from->found,
                .arg = from->arg,
        };
        q->client = (struct lookup_client){{q->tenant, strlen(from->address)}, text_of(q->tenant)};
        TAILQ_INSERT_TAIL(&k->waiting, q, link);
        k->waits++;
        return q;
}

/* Let the search ask or wait. End it at once if its owner was absent and no informer watches the kind: waiting would
 * find nothing. */
static void owner_search_begin(struct owner_search *q)
{
        struct owner_lookup *k = q->lookup;
        if (q->absent && !q->watched) {
                owner_search_end(q, OWNER_LOOKUP_REPEATED);
                return;
        }
        owner_lookup_give_turns(k, owner_lookup_now(k));
        if (!TAILQ_EMPTY(&k->waiting) && !k->tick.place)
                loop_timer_set(client_loop(k->client), &k->tick, TICK_MS, owner_lookup_tick, k);
}

static void owner_lookup_answer(struct owner_lookup *k, const struct owner_lookup_call *from,
                                enum owner_lookup_result r, struct admission_owner *owner)
{
        k->counts[r]++;
        from->found(from->arg, owner);
}

void owner_lookup_find(struct owner_lookup *k, const struct owner_lookup_call *from)
{
        struct text group = kind_group(text_of(from->api_version));
        if (strlen(from->name) > NAME_LONGEST || strlen(from->api_version) > VERSION_MOST) {
                owner_lookup_answer(k, from, OWNER_LOOKUP_ABSENT, NULL);
                return;
        }
        AUTO(mem_free) char *key = mem_printf("%s/%s/%s/%s", from->ns, from->api_version, from->kind, from->name);
        struct admission_owner *owner = owner_recall(k, group, from->kind, from->ns, from->name, key);
        if (owner)
                owner_lookup_answer(k, from, OWNER_LOOKUP_KNOWN, owner);
        else if (k->waits >= WAITING_MAX)
                owner_lookup_answer(k, from, OWNER_LOOKUP_CROWDED, NULL);
        else
                owner_search_begin(owner_search_new(k, from, group, key));
}

struct owner_lookup *owner_lookup_new(struct client *c, const struct cache *w)
{
        struct owner_lookup *k = MEM_NEW(struct owner_lookup);
        struct mono now = loop_now(client_loop(c)).mono;
        k->client = c;
        k->cache = w;
        TAILQ_INIT(&k->waiting);
        TAILQ_INIT(&k->asking);
        for (enum budget b = 0; b < BUDGETS; b++)
                lookup_budget_init(&k->budget[b], budgets[b].a_second, budgets[b].burst, budgets[b].at_once, now);
        recent_count_init(&k->absent, ABSENT_MS, ABSENT_MAX, now);
        return k;
}

const char *owner_lookup_result_name(enum owner_lookup_result r)
{
        static const char *const name[OWNER_LOOKUP_RESULTS] = {
                [OWNER_LOOKUP_KNOWN] = "known",   [OWNER_LOOKUP_FOUND] = "found",
                [OWNER_LOOKUP_ABSENT] = "absent", [OWNER_LOOKUP_REPEATED] = "repeated",
                [OWNER_LOOKUP_FAILED] = "failed", [OWNER_LOOKUP_CROWDED] = "crowded",
        };
        assert(r < OWNER_LOOKUP_RESULTS);
        return name[r];
}

uint64_t owner_lookup_count(const struct owner_lookup *k, enum owner_lookup_result r)
{
        return k->counts[r];
}

void owner_lookup_free(struct owner_lookup *k)
{
        if (!k)
                return;
        loop_timer_stop(client_loop(k->client), &k->tick);
        for (struct owner_search *q; (q = TAILQ_FIRST(&k->asking));) {
                if (q->call)
                        client_cancel(k->client, q->call);
                owner_search_take_out(q);
        }
        for (struct owner_search *q; (q = TAILQ_FIRST(&k->waiting));)
                owner_search_take_out(q);
        for (struct lookup_budget *b = k->budget; b < k->budget + BUDGETS; b++)
                lookup_budget_release(b);
        recent_count_release(&k->absent);
        kept_owners_clear(&k->kept);
        mem_free(k);
}
