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
#include "serving/owner_lookup.h"

_Static_assert((int)LEARNED_SOURCES == (int)TRANSFER_SOURCES, "all of them are told");
enum { SELF_AGAIN_MS = 30 * SECOND_MS };

struct inquiry {
        struct inquiry *before, *next;
        struct inquiries *all;
        enum { ASKS_REVIEW, ASKS_LEARNED, ASKS_LEARNER, ASKS_OWNER } what;
        struct auth_key key;
        uint64_t ticket;
        char *token, *verb, *ns, *group, *kind, *name;
        struct review *review;
        struct upstream_call *asked;
};

struct inquiries {
        struct controller *controller;
        struct inquiry *under_way; /* at the API server; the loop's */
        struct owner_lookup *kin;
        bool away;           /* told that callers cannot be told apart */
        struct review *self; /* under way */
        struct loop_timer self_again;

        pthread_mutex_t lock; /* of the box */
        struct inquiry *box, **end;
        _Atomic uint64_t admitted[ADMISSION_RESULTS];
};

static void inquiry_free(struct inquiry *q)
{
        char *const text[] = {q->token, q->verb, q->ns, q->group, q->kind, q->name};
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

static void on_recall(void *arg, const struct server_usage_request *w)
{
        drop_in(arg, &(struct inquiry){.what = ASKS_LEARNED,
                                       .ticket = w->ticket,
                                       .ns = mem_string(w->ns),
                                       .group = mem_string(w->group),
                                       .kind = mem_string(w->kind),
                                       .name = mem_string(w->name)});
}

static void on_relay(void *arg, const struct server_proxy_request *e)
{
        drop_in(arg, &(struct inquiry){.what = ASKS_LEARNER,
                                       .ticket = e->ticket,
                                       .token = mem_string(e->token),
                                       .name = mem_string(e->path_query)});
}

static void on_find_owner(void *arg, const struct server_owner_lookup *k)
{
        drop_in(arg, &(struct inquiry){.what = ASKS_OWNER,
                                       .ticket = k->ticket,
                                       .ns = mem_string(k->ns),
                                       .group = mem_string(k->api_version),
                                       .kind = mem_string(k->kind),
                                       .name = mem_string(k->name)});
}

static void on_admitted(void *arg, enum admission_result r)
{
        struct inquiries *all = arg;
        atomic_fetch_add(&all->admitted[r], 1);
}

static void on_trouble(void *arg, const struct err *why)
{
        (void)arg;
        log_warn("certificate refused, the old one is kept", KV("error", why->text));
}

static void inquiry_on_renewed(void *arg, const char *cert_file)
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
}

static void come_back(struct inquiry *q)
{
        struct inquiries *all = q->all;
        *(q->before ? &q->before->next : &all->under_way) = q->next;
        if (q->next)
                q->next->before = q->before;
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

static void inquiry_reviewed(void *arg, enum review_verdict v, const struct err *err)
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
        q->review = review_start(c->client, &question, inquiry_reviewed, q);
        explicit_bzero(q->token, strlen(q->token));
}

/* --- what was learned --- */

static const struct target *inquiry_target_of(const struct controller *c, const struct inquiry *q)
{
        AUTO(mem_free) char *key = mem_printf("%s/%s/%s/%s", q->ns, q->group, q->kind, q->name);
        return map_get(&c->cache.targets, text_of(key));
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
        const struct target *t = inquiry_target_of(c, q);
        const struct history *first = t ? t->histories : NULL;
        size_t count = 0, names = 0, at = 0;
        for (const struct history *h = first; h; h = h->next, count++)
                names += strlen(h->container) + 1;
        struct learned_copy *copy = count ? mem_new(count * sizeof *copy + names) : NULL;
        char *name = copy ? (char *)(copy + count) : NULL;
        for (const struct history *h = first; h; h = h->next, at++) {
                copy[at].container = strcpy(name, h->container);
                name += strlen(name) + 1;
                copy_usage(&copy[at], &h->usage);
                copy[at].sources = import_sources(h, copy[at].source);
        }
        server_recalled(c->server, q->ticket, copy, count);
        inquiry_free(q);
}

static void upstream_told(void *arg, const struct server_relayed *r)
{
        struct inquiry *q = arg;
        server_relayed(q->all->controller->server, q->ticket, r);
        q->asked = NULL;
        come_back(q);
}

static void inquiry_ask_learner(struct inquiry *q)
{
        struct controller *c = q->all->controller;
        static const struct server_relayed nobody = {
                0, "",
                TEXT("only the halflife that learns knows this, and the setting learner-url does not say where it is")};
        if (!c->upstream) {
                server_relayed(c->server, q->ticket, &nobody);
                inquiry_free(q);
                return;
        }
        set_out(q);
        q->asked = upstream_ask(c->upstream, q->token, q->name, upstream_told, q);
        explicit_bzero(q->token, strlen(q->token));
}

/* --- who owns the owner --- */

static void owner_found(void *arg, struct admission_owner *owner)
{
        struct inquiry *q = arg;
        server_found_owner(q->all->controller->server, q->ticket, owner);
        come_back(q);
}

static void inquiry_find_owner(struct inquiry *q)
{
        const struct owner_lookup_call quest = {q->ns, q->group, q->kind, q->name, owner_found, q};
        set_out(q);
        owner_lookup_find(q->all->kin, &quest);
}

/* --- the loop's side --- */

static void open_box(void *arg)
{
        static void (*const answer[])(struct inquiry *) = {[ASKS_REVIEW] = ask_review,
                                                           [ASKS_LEARNED] = answer_learned,
                                                           [ASKS_LEARNER] = inquiry_ask_learner,
                                                           [ASKS_OWNER] = inquiry_find_owner};
        struct inquiries *all = arg;
        pthread_mutex_lock(&all->lock);
        struct inquiry *q = all->box;
        all->box = NULL;
        all->end = &all->box;
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
        all->kin = owner_lookup_new(c->client, &c->cache);
        all->end = &all->box;
        pthread_mutex_init(&all->lock, NULL);
        return all;
}

struct server_calls inquiries_calls(struct inquiries *all)
{
        return (struct server_calls){
                .review = on_review,
                .recall = all->controller->options.replica ? NULL : on_recall,
                .relay = all->controller->options.replica ? on_relay : NULL,
                .find_owner = on_find_owner,
                .admitted = on_admitted,
                .trouble = on_trouble,
                .renewed = inquiry_on_renewed,
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
        owner_lookup_free(all->kin);
        while (all->under_way) {
                struct inquiry *q = all->under_way;
                if (q->review)
                        review_cancel(q->review);
                if (q->asked)
                        upstream_cancel(q->asked);
                come_back(q);
        }
        for (struct inquiry *q = all->box, *next; q; q = next) {
                next = q->next;
                inquiry_free(q);
        }
        pthread_mutex_destroy(&all->lock);
        mem_free(all);
}
