#include "request_work.h"

#include <stdio.h>

#include "base/mem.h"
#include "headers.h"
#include "request_bounds.h"
#include "request_step.h"
#include "rest/routes.h"
#include "turns.h"

static void http_request_take_client(struct http_request *v)
{
        uint8_t id[32];
        caller_id(http_request_caller(v), id);
        v->job->client = (struct text){(const char *)id, sizeof id};
        v->job->client.p = arena_text(&v->job->arena, v->job->client);
}

static void http_request_wait_for_turn(struct http_request *v, struct turns *t)
{
        static const char full[] = "too many requests are waiting already: try again";
        http_request_take_client(v);
        struct http_request *displaced = turns_displaced(t, v);
        if (displaced) {
                atomic_fetch_add(&v->listener->shed, 1);
                http_request_give_up(displaced, PROBLEM_OVERLOADED, full);
        }
        if (turns_have_room(t, v)) {
                http_request_suspend(v, STEP_AWAY);
                turns_join(t, v);
        } else {
                http_request_overloaded(v, full);
        }
}

static void http_request_review_read(struct http_request *v);
static void http_request_admitted(struct http_request *v);

/* Resume the connection if the answer is made; else the request waits for something more. */
static void http_request_go_on(struct http_request *v)
{
        if (v->step == STEP_ANSWER)
                http_request_resume(v);
}

void http_request_worked(struct http_request *v)
{
        v->lent = false;
        v->step = STEP_ANSWER;
        if (v->admission && v->job->answer.status == 0)
                http_request_review_read(v);
        else if (v->admission)
                http_request_admitted(v);
        http_request_go_on(v);
}

static void http_request_do_here(struct http_request *v)
{
        job_do(v->job, &v->listener->gzip);
        v->step = STEP_ANSWER;
}

/* Suspend the request until the loop answers. Returns the ticket by which the answer finds the request. */
static uint64_t http_request_await(struct http_request *v)
{
        v->job->ticket = ++v->listener->tickets;
        http_request_suspend(v, STEP_AWAY);
        return v->job->ticket;
}

/* Ask the loop to copy the workload's histories, because only the loop may read them. */
static void http_request_ask_loop(struct http_request *v)
{
        const struct server_calls *calls = &v->listener->o.calls;
        const struct route *r = &v->job->route;
        const struct server_usage_request w = {http_request_await(v), r->ns, r->group, r->kind, r->workload};
        calls->recall(calls->arg, &w);
}

void http_request_recalled(struct http_request *v, struct learned_copy *copies, size_t count)
{
        v->job->learned =
                copies ? copies
                       : mem_new(sizeof *copies); /* NULL would mean that the halflife that learns cannot be asked */
        v->job->learned_count = count;
        http_request_do_here(v);
        http_request_resume(v);
}

/* Ask the loop for the table of nodes, because only the loop has their usage. */
static void http_request_ask_nodes(struct http_request *v)
{
        const struct server_calls *calls = &v->listener->o.calls;
        calls->list_nodes(calls->arg, http_request_await(v));
}

static void http_request_ask_percentiles(struct http_request *v)
{
        const struct server_calls *calls = &v->listener->o.calls;
        calls->try_percentiles(calls->arg, http_request_await(v));
}

/* Ask the loop for a report of the ledger, because only the loop has the ledger. */
static void http_request_ask_ledger(struct http_request *v)
{
        const struct server_calls *calls = &v->listener->o.calls;
        calls->read_ledger(calls->arg, http_request_await(v), v->job->route.ledger);
}

/* With the loop's answer in the job, wait for the thread that writes long answers. */
static void http_request_list(struct http_request *v)
{
        http_request_wait_for_turn(v, &v->listener->lists);
        http_request_go_on(v);
}

/* Thousands of nodes make a long answer, so another thread writes it. */
void http_request_listed_nodes(struct http_request *v, struct node_table *t)
{
        v->job->nodes = t;
        http_request_list(v);
}

/* The table has all workloads, so another thread writes the long answer. */
void http_request_tried_percentiles(struct http_request *v, struct percentile_table *t)
{
        v->job->percentiles = t;
        http_request_list(v);
}

void http_request_reported(struct http_request *v, struct ledger_report *r)
{
        v->job->report = r;
        http_request_list(v);
}

/* Forward the request to the halflife that learns, with the caller's token; that halflife authorizes the caller itself.
 */
static void http_request_ask_learner(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        struct text token;
        if (headers_get(v->connection, "X-Halflife-Relayed")) {
                http_request_refuse(
                        v, PROBLEM_UNAVAILABLE,
                        "only the halflife that learns knows this, and the setting upstream-url leads to one that does "
                        "not learn");
                return;
        }
        if (!headers_token(v->connection, &token)) {
                http_request_refuse(v, PROBLEM_UNAUTHENTICATED, "the request no longer has its bearer token");
                return;
        }
        const char *target = arena_text(&j->arena, j->target);
        const struct server_proxy_request e = {http_request_await(v), token.p, target};
        d->o.calls.relay(d->o.calls.arg, &e);
}

void http_request_relayed(struct http_request *v, const struct server_relayed *r)
{
        struct job *j = v->job;
        if (r->status == 0) {
                AUTO(mem_free) char *why = mem_string_n(r->body.p, r->body.len);
                http_request_refuse(v, PROBLEM_UNAVAILABLE, why);
        } else {
                j->answer = (struct answer){.status = r->status, .type = arena_text(&j->arena, text_of(r->type))};
                buf_init(&j->answer.body, r->body.len + 1);
                (void)buf_add(&j->answer.body, r->body.p,
                              r->body.len); /* cannot fail: the buffer's bound is this length */
                if (r->status == MHD_HTTP_OK)
                        answer_tag(&j->answer, j->request.if_none_match, &j->arena);
                else if (r->status == MHD_HTTP_UNAUTHORIZED)
                        answer_header(&j->answer, "WWW-Authenticate", "Bearer");
                else if (r->status == MHD_HTTP_SERVICE_UNAVAILABLE)
                        answer_header(&j->answer, "Retry-After", "5");
                j->gzipped = j->gzip && gzip_body(&v->listener->gzip, &j->answer.body);
                v->step = STEP_ANSWER;
        }
        http_request_resume(v);
}

static void http_request_not_ready(struct http_request *v)
{
        char why[320];
        const char *waiting = v->job->view->waiting_for;
        snprintf(why, sizeof why, "the cluster is still being read: %.200s", waiting ? waiting : "the first cycle");
        http_request_refuse(v, PROBLEM_UNAVAILABLE, why);
}

void http_request_work(struct http_request *v)
{
        const struct rest_listener *d = v->listener;
        const struct route *r = &v->job->route;
        if (d->ending)
                http_request_refuse_at_the_end(v);
        else if (r->verb && !v->job->view->ready)
                http_request_not_ready(v);
        else if (r->name == ROUTE_RENDER)
                http_request_wait_for_turn(v, &v->listener->renders);
        else if (r->name == ROUTE_NODES && d->o.calls.list_nodes)
                http_request_ask_nodes(v);
        else if (r->name == ROUTE_WHAT_IF && d->o.calls.try_percentiles)
                http_request_ask_percentiles(v);
        else if (r->ledger && d->o.calls.read_ledger)
                http_request_ask_ledger(v);
        else if (r->wants_learned && !d->o.calls.recall && d->o.calls.relay)
                http_request_ask_learner(v);
        else if (r->wants_worker)
                http_request_wait_for_turn(v, &v->listener->lists);
        else if (r->wants_learned && d->o.calls.recall)
                http_request_ask_loop(v);
        else
                http_request_do_here(v);
}

/* --- admission --- */

static void http_request_admitted(struct http_request *v)
{
        const struct rest_listener *d = v->listener;
        if (v->job->admission && d->o.calls.admitted)
                d->o.calls.admitted(d->o.calls.arg, v->job->admitted);
}

static bool http_request_is_large(const struct http_request *v)
{
        return v->job->body.len > BODY_SMALL && !v->listener->ending;
}

static void http_request_admit(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        j->own_user = d->own_user ? arena_text(&j->arena, text_of(d->own_user)) : NULL;
        if (http_request_is_large(v)) {
                http_request_wait_for_turn(v, &v->listener->reviews_read);
        } else {
                http_request_do_here(v);
                http_request_admitted(v);
        }
}

static void http_request_ask_owner(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        const struct owner_ref *o = &j->admission->owner;
        struct server_owner_lookup lookup = {
                .address = v->from->text,
                .ns = arena_text(&j->arena, j->admission->ns),
                .api_version = arena_text(&j->arena, o->api_version),
                .kind = arena_text(&j->arena, o->kind),
                .name = arena_text(&j->arena, o->name),
        };
        d->admissions_waiting++;
        lookup.ticket = http_request_await(v);
        d->o.calls.find_owner(d->o.calls.arg, &lookup);
}

bool http_request_wants_owner(const struct http_request *v)
{
        return v->suspended && v->admission && !v->lent && !v->waits_at;
}

void http_request_found_owner(struct http_request *v, struct admission_owner *owner)
{
        v->listener->admissions_waiting--;
        v->job->owner = owner;
        http_request_admit(v);
        http_request_go_on(v);
}

/* Continue with a parsed AdmissionReview: look up the pod's owner or admit. An invalid review has its answer
 * already. */
static void http_request_review_read(struct http_request *v)
{
        const struct admission *a = v->job->admission;
        if (a && admission_wants_owner(a, v->job->view) && v->listener->o.calls.find_owner && !v->listener->ending)
                http_request_ask_owner(v);
        else if (a)
                http_request_admit(v);
}

void http_request_work_admission(struct http_request *v)
{
        v->job->review = true;
        if (http_request_is_large(v)) {
                http_request_wait_for_turn(v, &v->listener->reviews_read);
        } else {
                http_request_do_here(v);
                http_request_review_read(v);
        }
}
