#include "serving/owner_lookup.h"

#include <string.h>

enum {
        LOOK_MS = 900, /* all steps together */
        STEPS_MAX = 3,
        CLIMB_MAX = 8,
        UNDER_WAY_MAX = 64,
        LOOKS_A_SECOND = 200, /* whoever reaches the door may send reviews: not all are the API server's */
        LOOKS_BURST = 400,
        BODY_MAX = 256 << 10,
        KEPT_MAX = 1024, /* of at most some 100 KiB of labels each */
        KEPT_MS = MINUTE_MS,
};

struct kept {
        char *key; /* "ns/apiVersion/Kind/name" of the one below */
        struct admission_owner *owner;
        struct mono at;
};

struct quest {
        struct quest *before, *next;
        struct owner_lookup *kin;
        char *key, *ns;
        char *group, *version, *kind, *name; /* the one that is asked for */
        struct admission_owner *best;
        int steps;
        struct mono began;
        struct client_call *call;
        void (*found)(void *arg, struct admission_owner *owner);
        void *arg;
};

struct owner_lookup {
        struct client *client;
        struct cache *cache;
        struct quest *under_way;
        int quests;
        double looks; /* that may begin at once */
        struct mono refilled;
        struct map kept;
};

/* --- owners in one block --- */

struct text_room {
        char *at;
};

static struct text owner_put(struct text_room *room, struct text t)
{
        struct text copy = {room->at, t.len};
        if (t.len)
                memcpy(room->at, t.p, t.len);
        room->at += t.len;
        return copy;
}

static struct admission_owner *owner_copy(const struct admission_owner *o)
{
        size_t size = o->group.len + o->kind.len + o->name.len;
        for (size_t i = 0; i < o->labels; i++)
                size += o->label[i].key.len + o->label[i].value.len;
        struct admission_owner *copy = mem_new(sizeof *copy + o->labels * sizeof *o->label + size);
        struct label_pair *label = (struct label_pair *)(copy + 1);
        struct text_room room = {(char *)(label + o->labels)};
        *copy = (struct admission_owner){owner_put(&room, o->group),
                                         owner_put(&room, o->kind),
                                         owner_put(&room, o->name),
                                         label,
                                         o->labels,
                                         o->apply_never,
                                         o->unseen};
        for (size_t i = 0; i < o->labels; i++) {
                label[i].key = owner_put(&room, o->label[i].key);
                label[i].value = owner_put(&room, o->label[i].value);
        }
        return copy;
}

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

/* --- what the watches brought --- */

/* Does it hold a template that a profile may mean? What an operator owns by a kind of its own is the top itself. */
static bool is_ours(const struct cache *w, struct text group, struct text kind)
{
        for (const struct watched_kind *k = w->kinds; k; k = k->next)
                if (text_is(group, k->group) && text_is(kind, k->kind))
                        return true;
        return false;
}

static const struct workload *owner_known(struct cache *w, struct text group, struct text kind, const char *ns,
                                          struct text name)
{
        AUTO(mem_free) char *own_group = mem_string_n(group.p, group.len);
        AUTO(mem_free) char *own_kind = mem_string_n(kind.p, kind.len);
        AUTO(mem_free) char *own_name = mem_string_n(name.p, name.len);
        return workload_find(w, own_group, own_kind, ns, own_name);
}

/* Whoever holds the template that it runs, else its controller. */
static const struct controller_owner *owner_above(const struct workload *wl)
{
        const struct controller_owner *refers = &workload_more(wl)->refers;
        return refers->kind ? refers : &wl->owner_ref;
}

/* Upwards from a workload that is known, as far as the chain is told. */
static struct admission_owner *owner_climb(struct cache *w, const struct workload *wl)
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

/* --- those kept --- */

static void kept_free(struct kept *k)
{
        mem_free(k->key);
        mem_free(k->owner);
        mem_free(k);
}

static void kept_clear(struct owner_lookup *k)
{
        struct kept *each;
        for (size_t at = 0; (each = map_each(&k->kept, &at));)
                kept_free(each);
        map_release(&k->kept);
        k->kept = (struct map){0};
}

static void owner_keep(struct owner_lookup *k, const char *key, const struct admission_owner *owner, struct mono now)
{
        struct kept *old = map_drop(&k->kept, text_of(key));
        if (old)
                kept_free(old);
        if (k->kept.count >= KEPT_MAX)
                kept_clear(k);
        struct kept *fresh = MEM_NEW(struct kept);
        *fresh = (struct kept){mem_string(key), owner_copy(owner), now};
        map_put(&k->kept, text_of(fresh->key), fresh);
}

static const struct admission_owner *kept_find(const struct owner_lookup *k, const char *key, struct mono now)
{
        const struct kept *kept = map_get(&k->kept, text_of(key));
        return kept && now.ns - kept->at.ns < (int64_t)KEPT_MS * 1000000 ? kept->owner : NULL;
}

/* --- at the API server --- */

static void quest_free(struct quest *q)
{
        char *const text[] = {q->key, q->ns, q->group, q->version, q->kind, q->name};
        for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
                mem_free(text[i]);
        mem_free(q->best);
        mem_free(q);
}

static void quest_take_out(struct quest *q)
{
        *(q->before ? &q->before->next : &q->kin->under_way) = q->next;
        if (q->next)
                q->next->before = q->before;
        q->kin->quests--;
        quest_free(q);
}

static void quest_end(struct quest *q)
{
        struct mono now = loop_now(client_loop(q->kin->client)).mono;
        if (q->best && !q->best->unseen)
                owner_keep(q->kin, q->key, q->best, now);
        q->found(q->arg, STEAL(&q->best));
        quest_take_out(q);
}

static void quest_end_unseen(struct quest *q)
{
        if (q->best)
                q->best->unseen = true;
        quest_end(q);
}

static void owner_better(struct quest *q, struct admission_owner *owner)
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

static void owner_ask(struct quest *q);

static void owner_step_up(struct quest *q, const struct owner_ref *to, struct text group)
{
        struct cache *w = q->kin->cache;
        const struct workload *up = owner_known(w, group, to->kind, q->ns, to->name);
        if (up) {
                owner_better(q, owner_climb(w, up));
                quest_end(q);
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

static void owner_take(struct quest *q, const struct object_view *meta, const struct owner_ref *up)
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
                                                             .apply_never = meta->annotation.apply.len > 0}));
        arena_release(&arena);
        if (up->kind.len && is_ours(q->kin->cache, group, up->kind))
                owner_step_up(q, up, group);
        else
                quest_end(q);
}

/* Of a Rollout its workloadRef, where it has one; of all others the controller. */
static struct owner_ref read_above(const struct quest *q, struct text body, const struct object_view *meta,
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
        struct quest *q = arg;
        struct arena arena = {0};
        struct object_view meta;
        q->call = NULL;
        if (a->err.code == 0 && decode_object(a->body, &arena, &meta, NULL) == 0) {
                const struct owner_ref up = read_above(q, a->body, &meta, &arena);
                owner_take(q, &meta, &up);
        } else if (a->err.code == ERR_NOTFOUND)
                quest_end(q); /* gone: it has no word in it any more */
        else
                quest_end_unseen(q);
        arena_release(&arena);
}

/* One more step, where its kind is of the table and there is time; else what was found so far is the answer. */
static void owner_ask(struct quest *q)
{
        const struct kind *k = kind_find(text_of(q->group), text_of(q->kind));
        int64_t left = LOOK_MS - (loop_now(client_loop(q->kin->client)).mono.ns - q->began.ns) / 1000000;
        if (!k || q->steps++ >= STEPS_MAX) {
                quest_end(q);
                return;
        }
        if (left <= 0) {
                quest_end_unseen(q);
                return;
        }
        AUTO(mem_free) char *path = path_of(k->group, q->version, q->ns, k->plural, q->name, NULL);
        const struct call call = {
                .method = HTTP_GET, .path = path, .deadline_ms = left, .body_max = BODY_MAX, .urgent = true};
        q->call = client_start(q->kin->client, &call, owner_answered, q);
}

static struct quest *quest_new(struct owner_lookup *k, const struct owner_lookup_call *from, struct text group,
                               const char *key)
{
        struct quest *q = MEM_NEW(struct quest);
        *q = (struct quest){
                .next = k->under_way,
                .kin = k,
                .key = mem_string(key),
                .ns = mem_string(from->ns),
                .group = mem_string_n(group.p, group.len),
                .version = version_of(text_of(from->api_version)),
                .kind = mem_string(from->kind),
                .name = mem_string(from->name),
                .began = loop_now(client_loop(k->client)).mono,
                .found = from->found,
                .arg = from->arg,
        };
        if (q->next)
                q->next->before = q;
        k->under_way = q;
        k->quests++;
        return q;
}

static bool may_look(struct owner_lookup *k, struct mono now)
{
        double looks = k->looks + (double)(now.ns - k->refilled.ns) / 1e9 * LOOKS_A_SECOND;
        k->looks = looks < LOOKS_BURST ? looks : LOOKS_BURST;
        k->refilled = now;
        if (k->quests >= UNDER_WAY_MAX || k->looks < 1)
                return false;
        k->looks -= 1;
        return true;
}

void owner_lookup_find(struct owner_lookup *k, const struct owner_lookup_call *from)
{
        struct text group = kind_group(text_of(from->api_version));
        const struct workload *wl = owner_known(k->cache, group, text_of(from->kind), from->ns, text_of(from->name));
        AUTO(mem_free) char *key = mem_printf("%s/%s/%s/%s", from->ns, from->api_version, from->kind, from->name);
        struct mono now = loop_now(client_loop(k->client)).mono;
        const struct admission_owner *kept = kept_find(k, key, now);
        if (wl)
                from->found(from->arg, owner_climb(k->cache, wl));
        else if (kept)
                from->found(from->arg, owner_copy(kept));
        else if (may_look(k, now))
                owner_ask(quest_new(k, from, group, key));
        else
                from->found(from->arg, NULL);
}

struct owner_lookup *owner_lookup_new(struct client *c, struct cache *w)
{
        struct owner_lookup *k = MEM_NEW(struct owner_lookup);
        k->client = c;
        k->cache = w;
        return k;
}

void owner_lookup_free(struct owner_lookup *k)
{
        if (!k)
                return;
        while (k->under_way) {
                struct quest *q = k->under_way;
                if (q->call)
                        client_cancel(k->client, q->call);
                quest_take_out(q);
        }
        kept_clear(k);
        mem_free(k);
}
