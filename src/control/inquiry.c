/*
 * What the server's threads ask of the loop: who may, what was learned, who owns a pod's owner. They leave their
 * questions in a box; the loop empties it and answers, at once or when the API server has.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "controller_private.h"
#include "kube/review.h"

enum {
        OWNER_MS = 900,
        OWNERS_MAX = 8,
        OWNERS_UNDER_WAY_MAX = 64,
        OWNER_BODY_MAX = 256 << 10,
        SELF_AGAIN_MS = 30 * SECOND_MS,
        NEWS_MAX = 1024,
};

struct inquiry {
        struct inquiry *before, *next;
        struct inquiries *all;
        enum { ASKS_REVIEW, ASKS_LEARNED, ASKS_OWNER, TELLS_ADMISSION } what;
        struct auth_key key;
        uint64_t ticket;
        char *token, *verb, *ns, *group, *kind, *name, *note;
        struct review *review;
        struct client_call *call;
};

struct inquiries {
        struct controller *controller;
        struct inquiry *under_way; /* at the API server; the loop's */
        int owners;                /* of them */
        bool away;                 /* told that callers cannot be told apart */
        struct review *self;       /* under way */
        struct loop_timer self_again;

        pthread_mutex_t lock; /* of the box */
        struct inquiry *box, **end;
        int boxed;
        _Atomic uint64_t admitted[ADMISSION_RESULTS];
};

static void inquiry_free(struct inquiry *q)
{
        char *const text[] = {q->token, q->verb, q->ns, q->group, q->kind, q->name, q->note};
        if (q->token)
                explicit_bzero(q->token, strlen(q->token));
        for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
                mem_free(text[i]);
        mem_free(q);
}

/* --- the box; what the server's threads call --- */

static void open_box(void *arg);

static void drop_in(struct inquiries *all, const struct inquiry *q)
{
        struct inquiry *copy = MEM_NEW(struct inquiry);
        *copy = *q;
        copy->all = all;
        pthread_mutex_lock(&all->lock);
        bool first = all->box == NULL;
        *all->end = copy;
        all->end = &copy->next;
        all->boxed++;
        pthread_mutex_unlock(&all->lock);
        if (first)
                loop_post(all->controller->loop, open_box, all);
}

static void on_review(void *arg, const struct server_question *q)
{
        drop_in(arg, &(struct inquiry){.what = ASKS_REVIEW,
                                       .key = q->key,
                                       .token = mem_string(q->token),
                                       .verb = mem_string(q->verb),
                                       .ns = mem_string(q->ns),
                                       .name = mem_string(q->name)});
}

static void on_recall(void *arg, const struct server_wish *w)
{
        drop_in(arg, &(struct inquiry){.what = ASKS_LEARNED,
                                       .ticket = w->ticket,
                                       .ns = mem_string(w->ns),
                                       .group = mem_string(w->group),
                                       .kind = mem_string(w->kind),
                                       .name = mem_string(w->name)});
}

static void on_find_owner(void *arg, const struct server_kin *k)
{
        drop_in(arg, &(struct inquiry){.what = ASKS_OWNER,
                                       .ticket = k->ticket,
                                       .ns = mem_string(k->ns),
                                       .group = mem_string(k->api_version),
                                       .kind = mem_string(k->kind),
                                       .name = mem_string(k->name)});
}

static char *string_of(struct text t)
{
        return mem_string_n(t.p, t.len);
}

/* Those who wait for an answer are as many as there are connections at most; of news there is no end. */
static bool is_full(struct inquiries *all)
{
        pthread_mutex_lock(&all->lock);
        bool full = all->boxed >= NEWS_MAX;
        pthread_mutex_unlock(&all->lock);
        return full;
}

static void on_admitted(void *arg, const struct admission_outcome *o, bool dry_run)
{
        struct inquiries *all = arg;
        atomic_fetch_add(&all->admitted[o->result], 1);
        if (o->result != ADMISSION_PATCHED || dry_run || o->kind.len == 0 || is_full(all))
                return;
        drop_in(arg, &(struct inquiry){.what = TELLS_ADMISSION,
                                       .ns = string_of(o->ns),
                                       .group = string_of(o->group),
                                       .kind = string_of(o->kind),
                                       .name = string_of(o->name),
                                       .note = mem_string(o->changes)});
}

static void on_trouble(void *arg, const struct err *why)
{
        (void)arg;
        log_warn("certificate refused, the old one is kept", KV("error", why->text));
}

static void on_renewed(void *arg, const char *cert_file)
{
        (void)arg;
        log_info("certificate read again", KV("file", cert_file));
}

/* --- at the API server --- */

static void set_out(struct inquiry *q)
{
        struct inquiries *all = q->all;
        q->before = NULL;
        q->next = all->under_way;
        if (q->next)
                q->next->before = q;
        all->under_way = q;
        all->owners += q->what == ASKS_OWNER;
}

static void come_back(struct inquiry *q)
{
        struct inquiries *all = q->all;
        *(q->before ? &q->before->next : &all->under_way) = q->next;
        if (q->next)
                q->next->before = q->before;
        all->owners -= q->what == ASKS_OWNER;
        inquiry_free(q);
}

/* --- who may --- */

static void tell_away(struct inquiries *all, const struct err *err)
{
        if ((err != NULL) == all->away)
                return;
        all->away = err != NULL;
        if (err)
                log_warn("callers cannot be told apart now: those allowed lately still are", KV("error", err->text));
        else
                log_info("callers can be told apart again");
}

static void reviewed(void *arg, enum review_verdict v, const struct err *err)
{
        static const enum server_verdict verdict[] = {[REVIEW_ALLOWED] = SERVER_ALLOWS,
                                                      [REVIEW_UNKNOWN] = SERVER_KNOWS_NOT,
                                                      [REVIEW_FORBIDDEN] = SERVER_FORBIDS,
                                                      [REVIEW_UNANSWERED] = SERVER_CANNOT_TELL};
        struct inquiry *q = arg;
        tell_away(q->all, v == REVIEW_UNANSWERED ? err : NULL);
        server_reviewed(q->all->controller->server, &q->key, verdict[v]);
        q->review = NULL;
        come_back(q);
}

static void ask_review(struct inquiry *q)
{
        struct controller *c = q->all->controller;
        const struct review_question question = {
                .token = q->token,
                .audience = c->options.token_audience,
                .verb = q->verb,
                .group = "halflife.dev",
                .resource = "recommendations",
                .ns = q->ns,
                .name = q->name,
        };
        set_out(q);
        q->review = review_start(c->client, &question, reviewed, q);
        explicit_bzero(q->token, strlen(q->token));
}

/* --- what was learned --- */

static const struct target *target_of(const struct controller *c, const struct inquiry *q)
{
        AUTO(mem_free) char *key = mem_printf("%s/%s/%s/%s", q->ns, q->group, q->kind, q->name);
        return map_get(&c->world.targets, text_of(key));
}

static void copy_usage(struct learned_copy *to, const struct usage *from)
{
        to->usage = *from;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct histogram *h = &to->usage.of[r];
                double *room = to->room + (size_t)r * HISTOGRAM_BUCKETS;
                if (h->count)
                        memcpy(room, h->w, h->count * sizeof *room);
                h->w = room;
                h->cap = HISTOGRAM_BUCKETS;
        }
}

static void answer_learned(struct inquiry *q)
{
        struct controller *c = q->all->controller;
        const struct target *t = target_of(c, q);
        const struct history *first = t ? t->histories : NULL;
        size_t count = 0, names = 0, at = 0;
        for (const struct history *h = first; h; h = h->next, count++)
                names += strlen(h->container) + 1;
        struct learned_copy *copy = count ? mem_new(count * sizeof *copy + names) : NULL;
        char *name = (char *)(copy + count);
        for (const struct history *h = first; h; h = h->next, at++) {
                copy[at].container = strcpy(name, h->container);
                name += strlen(name) + 1;
                copy_usage(&copy[at], &h->usage);
        }
        server_recalled(c->server, q->ticket, copy, count);
        inquiry_free(q);
}

/* --- who owns the owner --- */

struct text_room {
        char *at;
};

static struct text put(struct text_room *room, struct text t)
{
        struct text copy = {room->at, t.len};
        if (t.len)
                memcpy(room->at, t.p, t.len);
        room->at += t.len;
        return copy;
}

/* In one block: the top of the chain, and its labels where it is known. */
static struct admission_owner *owner_new(struct text group, struct text kind, struct text name,
                                         const struct workload *known)
{
        struct labels own = known ? workload_own_labels(known) : (struct labels){0};
        size_t size = group.len + kind.len + name.len;
        for (size_t i = 0; i < own.count; i++)
                size += own.pair[i].key.len + own.pair[i].value.len;
        struct admission_owner *o = mem_new(sizeof *o + own.count * sizeof *o->label + size);
        struct label_pair *label = (struct label_pair *)(o + 1);
        struct text_room room = {(char *)(label + own.count)};
        *o = (struct admission_owner){put(&room, group), put(&room, kind), put(&room, name), label, own.count};
        for (size_t i = 0; i < own.count; i++) {
                label[i].key = put(&room, own.pair[i].key);
                label[i].value = put(&room, own.pair[i].value);
        }
        return o;
}

/* Upwards from a workload that is known, as far as the chain is told. */
static struct admission_owner *climb(struct world *w, const struct workload *wl)
{
        for (int i = 0; i < OWNERS_MAX && wl->owner_ref.kind; i++) {
                struct text group = kind_group(text_of(wl->owner_ref.api_version));
                AUTO(mem_free) char *of = mem_string_n(group.p, group.len);
                const struct workload *up = workload_find(w, of, wl->owner_ref.kind, wl->ns, wl->owner_ref.name);
                if (!up)
                        return owner_new(group, text_of(wl->owner_ref.kind), text_of(wl->owner_ref.name), NULL);
                wl = up;
        }
        return owner_new(text_of(wl->kind->group), text_of(wl->kind->kind), text_of(wl->name), wl);
}

/* As the API server has it: the watch has not brought it yet. */
static struct admission_owner *read_owner(struct world *w, const struct inquiry *q, struct text json)
{
        struct err err = {0};
        struct object_view meta;
        struct arena arena = {0};
        struct admission_owner *found = NULL;
        if (decode_object(json, &arena, &meta, &err) == 0) {
                struct text group = kind_group(meta.owner.api_version);
                AUTO(mem_free) char *of = string_of(group), *kind = string_of(meta.owner.kind);
                AUTO(mem_free) char *name = string_of(meta.owner.name);
                const struct workload *up = *kind ? workload_find(w, of, kind, q->ns, name) : NULL;
                found = !*kind ? owner_new(kind_group(text_of(q->group)), text_of(q->kind), text_of(q->name), NULL)
                        : up   ? climb(w, up)
                               : owner_new(group, meta.owner.kind, meta.owner.name, NULL);
        }
        arena_release(&arena);
        return found;
}

static void owner_answered(void *arg, const struct answer *a)
{
        struct inquiry *q = arg;
        struct controller *c = q->all->controller;
        server_found_owner(c->server, q->ticket, a->err.code ? NULL : read_owner(&c->world, q, a->body));
        q->call = NULL;
        come_back(q);
}

static void look_up_owner(struct inquiry *q)
{
        struct controller *c = q->all->controller;
        const struct kind *k = kind_find(kind_group(text_of(q->group)), text_of(q->kind));
        if (!k || q->all->owners >= OWNERS_UNDER_WAY_MAX) {
                server_found_owner(c->server, q->ticket, NULL);
                inquiry_free(q);
                return;
        }
        AUTO(mem_free) char *path = path_of(k->group, k->version, q->ns, k->plural, q->name, NULL);
        const struct call call = {
                .method = HTTP_GET, .path = path, .deadline_ms = OWNER_MS, .body_max = OWNER_BODY_MAX, .urgent = true};
        set_out(q);
        q->call = client_start(c->client, &call, owner_answered, q);
}

static void answer_owner(struct inquiry *q)
{
        struct controller *c = q->all->controller;
        AUTO(mem_free) char *group = string_of(kind_group(text_of(q->group)));
        const struct workload *wl = workload_find(&c->world, group, q->kind, q->ns, q->name);
        if (!wl) {
                look_up_owner(q);
                return;
        }
        server_found_owner(c->server, q->ticket, climb(&c->world, wl));
        inquiry_free(q);
}

/* --- what was admitted --- */

static void tell_admission(struct inquiry *q)
{
        struct controller *c = q->all->controller;
        const struct target *t = target_of(c, q);
        AUTO(mem_free) char *note = mem_printf("admitted with %s", q->note);
        if (t)
                tell_event(c, t, false, "Admitted", note);
        inquiry_free(q);
}

/* --- the loop's side --- */

static void open_box(void *arg)
{
        static void (*const answer[])(struct inquiry *) = {[ASKS_REVIEW] = ask_review,
                                                           [ASKS_LEARNED] = answer_learned,
                                                           [ASKS_OWNER] = answer_owner,
                                                           [TELLS_ADMISSION] = tell_admission};
        struct inquiries *all = arg;
        pthread_mutex_lock(&all->lock);
        struct inquiry *q = all->box;
        all->box = NULL;
        all->end = &all->box;
        all->boxed = 0;
        pthread_mutex_unlock(&all->lock);
        for (struct inquiry *next; q; q = next) {
                next = q->next;
                answer[q->what](q);
        }
}

/* --- who we are --- */

static void ask_self(void *arg);

/* Credentials may come to be another's, if hardly ever: it is asked again now and then. */
static void told_self(void *arg, const char *user, const struct err *err)
{
        struct inquiries *all = arg;
        all->self = NULL;
        if (user)
                server_set_own_user(all->controller->server, user);
        else
                log_debug("own user name not known yet", KV("error", err->text));
        loop_timer_set(all->controller->loop, &all->self_again, user ? HOUR_MS : SELF_AGAIN_MS, ask_self, all);
}

static void ask_self(void *arg)
{
        struct inquiries *all = arg;
        all->self = review_self_start(all->controller->client, told_self, all);
}

void inquiries_begin(struct inquiries *all)
{
        ask_self(all);
}

struct inquiries *inquiries_new(struct controller *c)
{
        struct inquiries *all = MEM_NEW(struct inquiries);
        all->controller = c;
        all->end = &all->box;
        pthread_mutex_init(&all->lock, NULL);
        return all;
}

struct server_calls inquiries_calls(struct inquiries *all)
{
        return (struct server_calls){
                .review = on_review,
                .recall = on_recall,
                .find_owner = on_find_owner,
                .admitted = on_admitted,
                .trouble = on_trouble,
                .renewed = on_renewed,
                .arg = all,
        };
}

uint64_t inquiries_admitted(const struct inquiries *all, enum admission_result r)
{
        return atomic_load(&all->admitted[r]);
}

void inquiries_free(struct inquiries *all)
{
        if (!all)
                return;
        loop_timer_stop(all->controller->loop, &all->self_again);
        if (all->self)
                review_cancel(all->self);
        while (all->under_way) {
                struct inquiry *q = all->under_way;
                if (q->review)
                        review_cancel(q->review);
                if (q->call)
                        client_cancel(all->controller->client, q->call);
                come_back(q);
        }
        for (struct inquiry *q = all->box, *next; q; q = next) {
                next = q->next;
                inquiry_free(q);
        }
        pthread_mutex_destroy(&all->lock);
        mem_free(all);
}
