#include "serving/loop_calls.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "kube/review.h"
#include "learn/learner.h"
#include "objects/target_key.h"
#include "serving/ledger_request.h"
#include "serving/node_rows.h"
#include "serving/percentile_rows.h"
#include "serving/snapshot_from_plans.h"

_Static_assert((int)LEARNED_SOURCES == (int)TRANSFER_SOURCES, "every source is copied");
enum { SELF_AGAIN_MS = 30 * SECOND_MS };

struct loop_call {
        struct mailbox_item item;   /* in the mailbox */
        LIST_ENTRY(loop_call) link; /* in `under_way` */
        struct loop_calls *all;
        enum {
                ASKS_REVIEW,
                WITHDRAWS_REVIEW,
                ASKS_LEARNED,
                ASKS_NODES,
                ASKS_PERCENTILES,
                ASKS_LEDGER,
                ASKS_UPSTREAM,
                ASKS_OWNER
        } what;
        struct auth_key key;
        uint64_t ticket;
        char *token, *resource, *verb, *address, *ns, *group, *kind, *name;
        struct ledger_ask *ledger;
        struct review *review;
        struct upstream_call *asked;
};

struct loop_calls {
        struct loop_calls_options o;
        struct server *server;
        LIST_HEAD(, loop_call)
        under_way; /* calls that wait for the API server or upstream; only the loop's thread uses the list */
        struct owner_lookup *owners;
        bool away;                /* the log says that callers cannot be checked now */
        struct node_table *nodes; /* the last table, shared by requests that come soon; NULL: none */
        struct mono nodes_made;
        struct percentile_table *percentiles; /* the last table, shared in the same way; NULL: none */
        struct mono percentiles_made;
        struct review *self; /* asks for halflife's own user name; NULL: not now */
        struct loop_timer self_again;

        struct mailbox box;
        _Atomic uint64_t admitted[ADMISSION_RESULTS];
};

static void loop_call_free(struct loop_call *q)
{
        char *const text[] = {q->resource, q->verb, q->address, q->ns, q->group, q->kind, q->name};
        mem_wipe(q->token);
        for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
                mem_free(text[i]);
        mem_free(q->ledger);
        mem_free(q);
}

/* --- the mailbox, and the functions that the server's threads call --- */

static void drop_in(struct loop_calls *all, const struct loop_call *q)
{
        struct loop_call *copy = MEM_NEW(struct loop_call);
        *copy = *q;
        copy->all = all;
        (void)mailbox_post(&all->box, &copy->item); /* cannot fail: the mailbox is unbounded and never closed */
}

static void on_review(void *arg, const struct server_question *q)
{
        drop_in(arg, &(struct loop_call){.what = ASKS_REVIEW,
                                         .key = q->key,
                                         .token = mem_string(q->token),
                                         .resource = mem_string(q->resource),
                                         .verb = mem_string(q->verb),
                                         .ns = mem_string(q->ns),
                                         .name = mem_string(q->name)});
}

static void on_withdraw(void *arg, const struct auth_key *k)
{
        drop_in(arg, &(struct loop_call){.what = WITHDRAWS_REVIEW, .key = *k});
}

static void on_recall(void *arg, const struct server_usage_request *w)
{
        drop_in(arg, &(struct loop_call){.what = ASKS_LEARNED,
                                         .ticket = w->ticket,
                                         .ns = mem_string(w->ns),
                                         .group = mem_string(w->group),
                                         .kind = mem_string(w->kind),
                                         .name = mem_string(w->name)});
}

static void on_list_nodes(void *arg, uint64_t ticket)
{
        drop_in(arg, &(struct loop_call){.what = ASKS_NODES, .ticket = ticket});
}

static void on_try_percentiles(void *arg, uint64_t ticket)
{
        drop_in(arg, &(struct loop_call){.what = ASKS_PERCENTILES, .ticket = ticket});
}

static void on_read_ledger(void *arg, uint64_t ticket, const struct ledger_ask *ask)
{
        struct ledger_ask *copy = MEM_NEW(struct ledger_ask);
        *copy = *ask;
        drop_in(arg, &(struct loop_call){.what = ASKS_LEDGER, .ticket = ticket, .ledger = copy});
}

static void on_relay(void *arg, const struct server_proxy_request *e)
{
        drop_in(arg, &(struct loop_call){.what = ASKS_UPSTREAM,
                                         .ticket = e->ticket,
                                         .token = mem_string(e->token),
                                         .name = mem_string(e->path_query)});
}

static void on_find_owner(void *arg, const struct server_owner_lookup *k)
{
        drop_in(arg, &(struct loop_call){.what = ASKS_OWNER,
                                         .ticket = k->ticket,
                                         .address = mem_string(k->address),
                                         .ns = mem_string(k->ns),
                                         .group = mem_string(k->api_version),
                                         .kind = mem_string(k->kind),
                                         .name = mem_string(k->name)});
}

static void on_admitted(void *arg, enum admission_result r)
{
        struct loop_calls *all = arg;
        atomic_fetch_add(&all->admitted[r], 1);
}

static void on_trouble(void *arg, const struct err *why)
{
        (void)arg;
        log_warn("the certificate cannot be used, the old one is kept", KV("error", why->text));
}

static void loop_call_on_renewed(void *arg, const char *cert_file)
{
        (void)arg;
        log_info("certificate read again", KV("file", cert_file));
}

/* --- at the API server --- */

static void set_out(struct loop_call *q)
{
        LIST_INSERT_HEAD(&q->all->under_way, q, link);
}

static void come_back(struct loop_call *q)
{
        LIST_REMOVE(q, link);
        loop_call_free(q);
}

/* --- permissions of callers --- */

static void tell_away(struct loop_calls *all, const struct err *err)
{
        if ((err != NULL) == all->away)
                return;
        all->away = err != NULL;
        if (err)
                log_warn("callers cannot be checked now: only those allowed lately still are", KV("error", err->text));
        else
                log_info("callers can be checked again");
}

static void loop_call_reviewed(void *arg, enum review_verdict v, const struct err *err)
{
        static const enum server_verdict verdict[] = {[REVIEW_ALLOWED] = SERVER_ALLOWS,
                                                      [REVIEW_UNKNOWN] = SERVER_KNOWS_NOT,
                                                      [REVIEW_FORBIDDEN] = SERVER_FORBIDS,
                                                      [REVIEW_BUSY] = SERVER_BUSY,
                                                      [REVIEW_UNANSWERED] = SERVER_CANNOT_TELL};
        struct loop_call *q = arg;
        if (v != REVIEW_BUSY) /* REVIEW_BUSY: the API server was not asked */
                tell_away(q->all, v == REVIEW_UNANSWERED ? err : NULL);
        server_reviewed(q->all->server, &q->key, verdict[v]);
        q->review = NULL;
        come_back(q);
}

static void ask_review(struct loop_call *q)
{
        const struct loop_calls_options *o = &q->all->o;
        char *dot = strchr(q->resource, '.');
        if (dot)
                *dot = '\0';
        const struct review_question question = {
                .token = q->token,
                .audience = o->token_audience,
                .verb = q->verb,
                .group = dot ? dot + 1 : "",
                .resource = q->resource,
                .ns = q->ns,
                .name = q->name,
        };
        set_out(q);
        q->review = review_start(o->client, &question, loop_call_reviewed, q);
        explicit_bzero(q->token, strlen(q->token));
}

static void withdraw_review(struct loop_call *q)
{
        struct loop_call *each;
        LIST_FOREACH (each, &q->all->under_way, link)
                if (each->review && memcmp(each->key.byte, q->key.byte, sizeof q->key.byte) == 0)
                        break;
        if (each) {
                review_cancel(each->review);
                come_back(each);
        }
        loop_call_free(q);
}

/* --- learned histories --- */

static const struct target *loop_call_target_of(const struct loop_call *q)
{
        AUTO(mem_free)
        char *key = target_key_new(text_of(q->ns), text_of(q->group), text_of(q->kind), text_of(q->name));
        return map_get(&q->all->o.cache->targets, text_of(key));
}

static void copy_usage(struct learned_copy *to, const struct usage *from)
{
        to->usage = *from;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct histogram *h = &to->usage.of[r];
                double *room = to->room + (size_t)r * HISTOGRAM_SUM_BUCKETS;
                if (h->count)
                        memcpy(room, h->w, h->count * sizeof *room);
                h->w = room;
                h->cap = (uint16_t)histogram_buckets(h);
        }
        if (!from->starts)
                return;
        to->starts = *from->starts;
        to->usage.starts = &to->starts;
}

static void answer_learned(struct loop_call *q)
{
        const struct target *t = loop_call_target_of(q);
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
        server_recalled(q->all->server, q->ticket, copy, count);
        loop_call_free(q);
}

/* --- nodes --- */

/* Answer with a table of nodes, which all clients that ask within SHARED_MS share. */
static void answer_nodes(struct loop_call *q)
{
        enum { SHARED_MS = 5 * SECOND_MS };
        struct loop_calls *all = q->all;
        struct now now = loop_now(all->o.loop);
        if (!all->nodes || now.mono.ns - all->nodes_made.ns >= INT64_C(1000000) * SHARED_MS) {
                node_table_drop(all->nodes);
                all->nodes = node_rows_make(all->o.cache, all->o.live->hot_percent, now.wall,
                                            snapshot_fresh_ms(all->o.live));
                all->nodes_made = now.mono;
        }
        server_listed_nodes(all->server, q->ticket, node_table_hold(all->nodes));
        loop_call_free(q);
}

/* --- other percentiles --- */

/* Answer with a table of percentiles, shared by all clients within a cycle: learned data changes once a cycle. */
static void answer_percentiles(struct loop_call *q)
{
        struct loop_calls *all = q->all;
        struct now now = loop_now(all->o.loop);
        if (!all->percentiles ||
            now.mono.ns - all->percentiles_made.ns >= INT64_C(1000000) * all->o.live->interval_ms) {
                percentile_table_drop(all->percentiles);
                all->percentiles = percentile_rows_make(all->o.cache, now.wall);
                all->percentiles_made = now.mono;
        }
        server_tried_percentiles(all->server, q->ticket, percentile_table_hold(all->percentiles));
        loop_call_free(q);
}

/* --- the ledger --- */

static void ledger_was_read(void *arg, struct ledger_report *r, const struct err *err)
{
        struct loop_call *q = arg;
        if (err->code != 0) {
                log_warn("the ledger could not be read for a report", KV("error", err->text));
                ledger_report_free(r);
                r = NULL;
        }
        server_reported(q->all->server, q->ticket, r);
        come_back(q);
}

static void answer_ledger(struct loop_call *q)
{
        const struct loop_calls_options *o = &q->all->o;
        set_out(q);
        if (!o->cache->books.of || !o->checkpointer) {
                server_reported(q->all->server, q->ticket, NULL);
                come_back(q);
                return;
        }
        const struct prices *prices = o->learner ? learner_prices(o->learner) : NULL;
        struct ledger_report *r = ledger_request_begin(o->cache, prices, q->ledger);
        if (checkpointer_read_ledger(o->checkpointer, r, ledger_was_read, q))
                return;
        ledger_report_free(r);
        server_reported(q->all->server, q->ticket, NULL);
        come_back(q);
}

/* --- the halflife that learns --- */

static void upstream_told(void *arg, const struct server_relayed *r)
{
        struct loop_call *q = arg;
        server_relayed(q->all->server, q->ticket, r);
        q->asked = NULL;
        come_back(q);
}

static void loop_call_ask_upstream(struct loop_call *q)
{
        const struct loop_calls_options *o = &q->all->o;
        static const struct server_relayed nobody = {0, "",
                                                     TEXT("only the halflife that learns knows this, and the setting "
                                                          "upstream-url is not set")};
        if (!o->upstream) {
                server_relayed(q->all->server, q->ticket, &nobody);
                loop_call_free(q);
                return;
        }
        set_out(q);
        q->asked = upstream_ask(o->upstream, q->token, q->name, upstream_told, q);
        explicit_bzero(q->token, strlen(q->token));
}

/* --- the owner above a pod's controller --- */

static void owner_found(void *arg, struct admission_owner *owner)
{
        struct loop_call *q = arg;
        server_found_owner(q->all->server, q->ticket, owner);
        come_back(q);
}

static void loop_call_find_owner(struct loop_call *q)
{
        const struct owner_lookup_call lookup = {q->address, q->ns, q->group, q->kind, q->name, owner_found, q};
        set_out(q);
        owner_lookup_find(q->all->owners, &lookup);
}

/* --- the loop's side --- */

static void open_box(void *arg)
{
        static void (*const answer[])(struct loop_call *) = {
                [ASKS_REVIEW] = ask_review,          [WITHDRAWS_REVIEW] = withdraw_review,
                [ASKS_LEARNED] = answer_learned,     [ASKS_NODES] = answer_nodes,
                [ASKS_LEDGER] = answer_ledger,       [ASKS_UPSTREAM] = loop_call_ask_upstream,
                [ASKS_OWNER] = loop_call_find_owner, [ASKS_PERCENTILES] = answer_percentiles};
        struct loop_calls *all = arg;
        struct mailbox_items calls;
        mailbox_drain(&all->box, &calls);
        for (struct loop_call *q; (q = mailbox_items_next(&calls));)
                answer[q->what](q);
}

static void box_filled(void *arg)
{
        struct loop_calls *all = arg;
        loop_post(all->o.loop, open_box, all);
}

/* --- halflife's own user name --- */

static void ask_self(void *arg);

/* Take halflife's own user name. Ask again each hour, because halflife's credentials may become another user's. */
static void told_self(void *arg, const char *user, const struct err *err)
{
        struct loop_calls *all = arg;
        all->self = NULL;
        if (user)
                server_set_own_user(all->server, user);
        else
                log_debug("own user name not known yet", KV("error", err->text));
        loop_timer_set(all->o.loop, &all->self_again, user ? HOUR_MS : SELF_AGAIN_MS, ask_self, all);
}

static void ask_self(void *arg)
{
        struct loop_calls *all = arg;
        all->self = review_self_start(all->o.client, told_self, all);
}

void loop_calls_begin(struct loop_calls *all, struct server *server)
{
        all->server = server;
        ask_self(all);
}

struct loop_calls *loop_calls_new(const struct loop_calls_options *o)
{
        struct loop_calls *all = MEM_NEW(struct loop_calls);
        all->o = *o;
        all->owners = owner_lookup_new(o->client, o->cache);
        mailbox_init(&all->box, 0, box_filled, all);
        return all;
}

struct server_calls loop_calls_table(struct loop_calls *all)
{
        return (struct server_calls){
                .review = on_review,
                .withdraw = on_withdraw,
                .recall = all->o.replica ? NULL : on_recall,
                .list_nodes = all->o.replica ? NULL : on_list_nodes,
                .try_percentiles = all->o.replica ? NULL : on_try_percentiles,
                .read_ledger = all->o.replica ? NULL : on_read_ledger,
                .relay = all->o.replica ? on_relay : NULL,
                .find_owner = on_find_owner,
                .admitted = on_admitted,
                .trouble = on_trouble,
                .renewed = loop_call_on_renewed,
                .arg = all,
        };
}

uint64_t loop_calls_admitted(const struct loop_calls *all, enum admission_result r)
{
        return atomic_load(&all->admitted[r]);
}

uint64_t loop_calls_owner_lookups(const struct loop_calls *all, enum owner_lookup_result r)
{
        return owner_lookup_count(all->owners, r);
}

void loop_calls_free(struct loop_calls *all)
{
        if (!all)
                return;
        loop_timer_stop(all->o.loop, &all->self_again);
        if (all->self)
                review_cancel(all->self);
        owner_lookup_free(all->owners);
        node_table_drop(all->nodes);
        percentile_table_drop(all->percentiles);
        for (struct loop_call *q; (q = LIST_FIRST(&all->under_way));) {
                if (q->review)
                        review_cancel(q->review);
                if (q->asked)
                        upstream_cancel(q->asked);
                come_back(q);
        }
        struct mailbox_items calls;
        mailbox_drain(&all->box, &calls);
        for (struct loop_call *q; (q = mailbox_items_next(&calls));)
                loop_call_free(q);
        mailbox_release(&all->box);
        mem_free(all);
}
