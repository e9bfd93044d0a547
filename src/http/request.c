/*
 * One request, from its headers to its answer. The caller is authorized before any of the body is read.
 */
#include "headers.h"
#include "request_bounds.h"
#include "rest/routes.h"
#include "rest_listener_private.h"
#include "turns.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"

enum { SPARES_MAX = 64 };

/* --- jobs --- */

void job_recycle(struct rest_listener *d, struct job *j)
{
        if (!j)
                return;
        if (j->held)
                *j->held -= j->reserved;
        caller_give(&d->shares, j->caller, j->reserved);
        if (d->spares >= SPARES_MAX) {
                job_free(j);
                return;
        }
        job_reset(j);
        j->spare = d->spare;
        d->spare = j;
        d->spares++;
}

static struct job *listener_job(struct rest_listener *d)
{
        struct job *j = d->spare;
        if (!j)
                return job_new();
        d->spare = STEAL(&j->spare);
        d->spares--;
        return j;
}

/* --- problems --- */

/* The listener stops, so a request no longer starts work on another thread. */
static void refuse_at_the_end(struct http_request *v)
{
        http_request_overloaded(v, "this instance is shutting down: try again");
}

static void http_request_suspend(struct http_request *v, enum http_request_step step)
{
        v->step = step;
        if (!v->suspended)
                MHD_suspend_connection(v->connection);
        v->suspended = true;
}

static void http_request_resume(struct http_request *v)
{
        v->suspended = false;
        MHD_resume_connection(v->connection);
}

void http_request_give_up(struct http_request *v, enum problem p, const char *why)
{
        struct job *was = v->job;
        if (v->step == STEP_VERDICT)
                auth_leave(v->listener->auth, &v->key, &v->waiter);
        turns_leave(v);
        if (!v->lent) {
                was->ticket = 0;
        } else { /* the worker still has the job, and returns it when done */
                v->lent = false;
                v->job = listener_job(v->listener);
                v->job->id = arena_text(&v->job->arena, text_of(was->id));
        }
        http_request_refuse(v, p, why);
        http_request_resume(v);
}

/* --- authorization --- */

static void take_verdict(struct http_request *v, enum auth_say say);
static void http_request_allow(struct http_request *v);

void http_requests_judged(struct auth_waiter *w, enum auth_say say)
{
        while (w) {
                struct auth_waiter *next = w->next;
                struct http_request *v = (struct http_request *)((char *)w - offsetof(struct http_request, waiter));
                v->say = say;
                http_request_resume(v);
                w = next;
        }
}

/* Ask about the key, or say why not. An address that has no question under way gets a place for one. */
static enum auth_say look_up(struct http_request *v, struct text token, bool *ret_ask)
{
        struct rest_listener *d = v->listener;
        struct auth_asker by = {text_of(v->from->text), token};
        struct auth_key withdrawn;
        struct auth_waiter *waiting;
        enum auth_say say = auth_look(d->auth, &v->key, by, d->now.mono, &v->waiter, ret_ask);
        if (say != AUTH_SAYS_SHARE_USED || !auth_withdraw(d->auth, by.address, d->now.mono, &withdrawn, &waiting))
                return say;
        if (d->o.calls.withdraw)
                d->o.calls.withdraw(d->o.calls.arg, &withdrawn);
        http_requests_judged(waiting, AUTH_SAYS_SHARE_USED);
        return auth_look(d->auth, &v->key, by, d->now.mono, &v->waiter, ret_ask);
}

/* Ask first about every Recommendation of the namespace: one verdict then serves all requests of a pipeline. Of nodes
 * the first question is whether the caller may list them, the second whether their workloads may be named. */
static void ask_who(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        const struct route *r = &v->job->route;
        const char *name = v->by_name ? r->recommendation : "";
        bool of_nodes = r->name == ROUTE_NODES && !v->for_names;
        const char *resource = of_nodes ? "nodes" : "recommendations.halflife.dev", *ns = of_nodes ? "" : r->ns;
        struct text token;
        bool ask;
        if (d->ending) {
                refuse_at_the_end(v);
                return;
        }
        if (!headers_token(v->connection, &token)) {
                http_request_refuse(v, PROBLEM_UNAUTHENTICATED,
                                    "send a bearer token that the API server knows, as in "
                                    "'Authorization: Bearer TOKEN'");
                return;
        }
        v->key = auth_key_of(token, resource, r->verb, ns, name);
        enum auth_say say = look_up(v, token, &ask);
        if (ask) {
                const struct server_question q = {v->key, token.p, resource, r->verb, ns, name};
                atomic_fetch_add(&d->reviews, 1);
                d->o.calls.review(d->o.calls.arg, &q);
        }
        if (say == AUTH_SAYS_WAIT)
                http_request_suspend(v, STEP_VERDICT);
        else
                take_verdict(v, say);
}

/* A replica forwards the request, and the halflife that learns asks for names itself. */
static bool wants_names(const struct http_request *v)
{
        return v->job->route.name == ROUTE_NODES && !v->for_names && v->listener->o.calls.list_nodes;
}

static void take_permission(struct http_request *v, bool lately)
{
        v->job->lately |= lately;
        v->job->names = v->for_names;
        if (wants_names(v)) {
                v->for_names = true;
                ask_who(v);
        } else {
                http_request_allow(v);
        }
}

static void take_refusal(struct http_request *v)
{
        if (v->for_names) {
                http_request_allow(v); /* to all but the names */
        } else if (!v->by_name && v->job->route.recommendation) {
                v->by_name = true;
                ask_who(v);
        } else if (v->job->route.name == ROUTE_NODES) {
                http_request_refuse(v, PROBLEM_FORBIDDEN, "this needs permission to list nodes");
        } else {
                http_request_refuse(
                        v, PROBLEM_FORBIDDEN,
                        "this needs permission to get or list recommendations.halflife.dev in the namespace; the "
                        "answer is the same whether the object exists or not");
        }
}

static void take_verdict(struct http_request *v, enum auth_say say)
{
        switch (say) {
        case AUTH_SAYS_ALLOWED:
        case AUTH_SAYS_ALLOWED_LATELY:
                take_permission(v, say == AUTH_SAYS_ALLOWED_LATELY);
                break;
        case AUTH_SAYS_WHO:
                http_request_refuse(v, PROBLEM_UNAUTHENTICATED,
                                    "the API server does not know this bearer token: is it expired, or "
                                    "meant for another audience?");
                break;
        case AUTH_SAYS_FORBIDDEN:
                take_refusal(v);
                break;
        case AUTH_SAYS_LATER:
                http_request_overloaded(v, "the API server cannot be asked about this token now: try again");
                break;
        case AUTH_SAYS_BUSY:
                http_request_overloaded(v, "too many questions to the API server wait: try again");
                break;
        case AUTH_SAYS_SHARE_USED:
                http_request_overloaded(v, "too many new tokens come from this address, or from all: its share of the "
                                           "questions to the API server is used up: try again");
                break;
        case AUTH_SAYS_WAIT:
                break;
        }
}

/* --- headers --- */

static void take_id(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        const char *id = headers_get(v->connection, "X-Request-Id");
        char made[24];
        if (!headers_is_sane_id(id)) {
                snprintf(made, sizeof made, "%016llx", (unsigned long long)(d->id_base + d->tickets));
                id = made;
        }
        j->id = arena_text(&j->arena, text_of(id));
}

static struct text copy_header(struct http_request *v, const char *name)
{
        const char *value = headers_get(v->connection, name);
        return value ? text_of(arena_text(&v->job->arena, text_of(value))) : (struct text){"", 0};
}

static void take_headers(struct http_request *v, const char *method)
{
        struct job *j = v->job;
        j->request.method = text_of(arena_text(&j->arena, text_of(method)));
        j->request.content_type = copy_header(v, "Content-Type");
        j->request.if_none_match = copy_header(v, "If-None-Match");
        j->request.at = v->listener->now.wall;
        j->gzip = accepts_gzip(headers_get(v->connection, "Accept-Encoding"));
        take_id(v);
        j->view = snapshot_ref_take(v->listener->views);
}

static void find_admission(struct http_request *v)
{
        struct job *j = v->job;
        v->body_max = ADMISSION_BODY_MAX;
        v->admission = true;
        if (!text_is(j->request.method, "POST")) {
                http_request_refuse(v, PROBLEM_METHOD_NOT_ALLOWED, "admission takes POST only");
                answer_header(&j->answer, "Allow", "POST");
        } else if (!headers_is_json(j->request.content_type)) {
                http_request_refuse(v, PROBLEM_UNSUPPORTED_TYPE, "admission takes application/json only");
        }
}

/* Find the endpoint of the request, and the size that its body may have. */
static void find_endpoint(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        bool posts = text_is(j->request.method, "POST"), at_root = text_is(j->request.path, "/");
        if (d->o.admission && (posts || !at_root) && admission_paths_has(&d->paths, j->request.path)) {
                find_admission(v);
                return;
        }
        if (route_match(&j->request, j->view, &j->arena, &j->route, &j->answer) < 0) {
                atomic_fetch_add(&d->astray, d->o.admission && posts && j->answer.status == MHD_HTTP_NOT_FOUND);
                v->step = STEP_ANSWER;
                return;
        }
        v->body_max = j->route.wants_body ? RENDER_BODY_MAX : 0;
}

/* The request is allowed, so its body may come. */
static void http_request_allow(struct http_request *v)
{
        v->step = STEP_BODY;
        if (v->body_announced)
                (void)http_request_reserve(v, v->body_bytes);
}

static void look_at_headers(struct http_request *v, const char *method, const char *version)
{
        struct job *j = v->job;
        const char *malformed = headers_malformed(v->connection, version);
        take_headers(v, method);
        if (malformed) {
                v->body_announced = true; /* perhaps: its length may be what is malformed, so the connection ends */
                http_request_refuse(v, PROBLEM_INVALID_HEADER, malformed);
                return;
        }
        if (j->request.path.len + j->request.query.len > URI_MAX)
                http_request_refuse(v, PROBLEM_INVALID_PARAMETER, "path and query are longer than 8192 bytes together");
        else
                find_endpoint(v);
        http_request_check_body(v);
        if (v->step != STEP_HEADERS)
                return;
        buf_init(&j->body, v->body_max);
        if (v->admission || !j->route.verb)
                http_request_allow(v);
        else
                ask_who(v);
}

/* --- the answer --- */

static bool has_header(const struct answer *a, const char *name)
{
        for (int i = 0; i < a->headers; i++)
                if (strcasecmp(a->header[i].name, name) == 0)
                        return true;
        return false;
}

/* A compressed body has other bytes than the strong tag stands for, so its tag is weak. */
static void add_weak_tag(struct MHD_Response *r, const char *tag)
{
        AUTO(mem_free) char *weak = mem_printf("W/%s", tag);
        MHD_add_response_header(r, "ETag", weak);
}

/* Whether the ETag is of a compressed body. A 304 has the tag of the 200 that it replaces, presumably compressed. */
static bool is_packed(const struct job *j)
{
        return j->gzipped || (j->gzip && j->answer.status == MHD_HTTP_NOT_MODIFIED);
}

static void add_headers(struct http_request *v, struct MHD_Response *r)
{
        const struct job *j = v->job;
        const struct answer *a = &j->answer;
        if (a->type)
                MHD_add_response_header(r, "Content-Type", a->type);
        for (int i = 0; i < a->headers; i++)
                if (is_packed(j) && strcasecmp(a->header[i].name, "ETag") == 0)
                        add_weak_tag(r, a->header[i].value);
                else
                        MHD_add_response_header(r, a->header[i].name, a->header[i].value);
        MHD_add_response_header(r, "X-Request-Id", j->id);
        if (!has_header(a, "Cache-Control"))
                MHD_add_response_header(r, "Cache-Control", "private, no-cache");
        if (!has_header(a, "Vary"))
                MHD_add_response_header(r, "Vary", "Accept-Encoding, Authorization, X-Halflife-Authorization");
        if (j->gzipped)
                MHD_add_response_header(r, "Content-Encoding", "gzip");
        if (j->lately)
                MHD_add_response_header(r, "Warning",
                                        "199 halflife \"the API server cannot be asked: an earlier permission is "
                                        "used\"");
}

static enum MHD_Result http_request_send_answer(struct http_request *v)
{
        struct answer *a = &v->job->answer;
        http_request_count_answer(v);
        size_t len = a->body.len;
        struct MHD_Response *r =
                len ? MHD_create_response_from_buffer_with_free_callback(len, buf_steal(&a->body), mem_free)
                    : MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
        if (!r)
                return MHD_NO;
        add_headers(v, r);
        v->unread = v->headers_only;
        if (v->unread || v->displaced) /* unread: the announced body is not read, so the next bytes are no request */
                MHD_add_response_header(r, "Connection", "close");
        unsigned digit = a->status / 100;
        atomic_fetch_add(&v->listener->answers[digit < 6 ? digit : 0], 1);
        enum MHD_Result rc = MHD_queue_response(v->connection, a->status, r);
        MHD_destroy_response(r);
        v->step = STEP_SENDING;
        return rc;
}

/* --- the work --- */

/* Name the client for turns: by its accepted token, or by its address for admission and routes open to everybody. */
static void take_client(struct http_request *v)
{
        struct job *j = v->job;
        struct text token;
        uint8_t id[32];
        bool known = !v->admission && j->route.verb && headers_token(v->connection, &token);
        if (known)
                caller_id(token, id);
        j->client = known ? (struct text){(const char *)id, sizeof id} : text_of(v->from->text);
        j->client.p = arena_text(&j->arena, j->client);
}

static void wait_for_turn(struct http_request *v, struct turns *t)
{
        static const char full[] = "too many requests are waiting already: try again";
        take_client(v);
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

static void review_read(struct http_request *v);
static void http_request_admitted(struct http_request *v);

/* Resume the connection if the answer is made; else the request waits for something more. */
static void go_on(struct http_request *v)
{
        if (v->step == STEP_ANSWER)
                http_request_resume(v);
}

void http_request_worked(struct http_request *v)
{
        v->lent = false;
        v->step = STEP_ANSWER;
        if (v->admission && v->job->answer.status == 0)
                review_read(v);
        else if (v->admission)
                http_request_admitted(v);
        go_on(v);
}

static void do_here(struct http_request *v)
{
        job_do(v->job, &v->listener->gzip);
        v->step = STEP_ANSWER;
}

/* Only the loop may read histories, so it copies them for this answer. */
static void ask_loop(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        const struct route *r = &j->route;
        j->ticket = ++d->tickets;
        const struct server_usage_request w = {j->ticket, r->ns, r->group, r->kind, r->workload};
        http_request_suspend(v, STEP_AWAY);
        d->o.calls.recall(d->o.calls.arg, &w);
}

void http_request_recalled(struct http_request *v, struct learned_copy *copies, size_t count)
{
        v->job->learned =
                copies ? copies
                       : mem_new(sizeof *copies); /* NULL would mean that the halflife that learns cannot be asked */
        v->job->learned_count = count;
        do_here(v);
        http_request_resume(v);
}

/* Only the loop has the nodes' usage. */
static void ask_nodes(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        v->job->ticket = ++d->tickets;
        http_request_suspend(v, STEP_AWAY);
        d->o.calls.list_nodes(d->o.calls.arg, v->job->ticket);
}

/* Thousands of nodes make a long answer. */
void http_request_listed_nodes(struct http_request *v, struct node_table *t)
{
        v->job->nodes = t;
        wait_for_turn(v, &v->listener->lists);
        go_on(v);
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
        j->ticket = ++d->tickets;
        const struct server_proxy_request e = {j->ticket, token.p, arena_text(&j->arena, j->target)};
        http_request_suspend(v, STEP_AWAY);
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

static void not_ready(struct http_request *v)
{
        char why[320];
        const char *waiting = v->job->view->waiting_for;
        snprintf(why, sizeof why, "the cluster is still being read: %.200s", waiting ? waiting : "the first cycle");
        http_request_refuse(v, PROBLEM_UNAVAILABLE, why);
}

static void http_request_work(struct http_request *v)
{
        const struct rest_listener *d = v->listener;
        const struct route *r = &v->job->route;
        if (d->ending)
                refuse_at_the_end(v);
        else if (r->verb && !v->job->view->ready)
                not_ready(v);
        else if (r->name == ROUTE_RENDER)
                wait_for_turn(v, &v->listener->renders);
        else if (r->name == ROUTE_NODES && d->o.calls.list_nodes)
                ask_nodes(v);
        else if (r->wants_worker)
                wait_for_turn(v, &v->listener->lists);
        else if (r->wants_learned && d->o.calls.recall)
                ask_loop(v);
        else if (r->wants_learned && d->o.calls.relay)
                http_request_ask_learner(v);
        else
                do_here(v);
}

/* --- admission --- */

static void http_request_admitted(struct http_request *v)
{
        const struct rest_listener *d = v->listener;
        if (v->job->admission && d->o.calls.admitted)
                d->o.calls.admitted(d->o.calls.arg, v->job->admitted);
}

static bool is_large(const struct http_request *v)
{
        return v->job->body.len > BODY_SMALL && !v->listener->ending;
}

static void http_request_admit(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        j->own_user = d->own_user ? arena_text(&j->arena, text_of(d->own_user)) : NULL;
        if (is_large(v)) {
                wait_for_turn(v, &v->listener->reviews_read);
        } else {
                do_here(v);
                http_request_admitted(v);
        }
}

static void ask_owner(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        const struct owner_ref *o = &j->admission->owner;
        j->ticket = ++d->tickets;
        const struct server_owner_lookup lookup = {
                .ticket = j->ticket,
                .address = v->from->text,
                .ns = arena_text(&j->arena, j->admission->ns),
                .api_version = arena_text(&j->arena, o->api_version),
                .kind = arena_text(&j->arena, o->kind),
                .name = arena_text(&j->arena, o->name),
        };
        d->admissions_waiting++;
        http_request_suspend(v, STEP_AWAY);
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
        go_on(v);
}

/* Continue with a parsed review. An invalid review has its answer already. */
static void review_read(struct http_request *v)
{
        const struct admission *a = v->job->admission;
        if (a && admission_wants_owner(a, v->job->view) && v->listener->o.calls.find_owner && !v->listener->ending)
                ask_owner(v);
        else if (a)
                http_request_admit(v);
}

static void work_admission(struct http_request *v)
{
        v->job->review = true;
        if (is_large(v)) {
                wait_for_turn(v, &v->listener->reviews_read);
        } else {
                do_here(v);
                review_read(v);
        }
}

static void take_body(struct http_request *v, const char *p, size_t len)
{
        struct job *j = v->job;
        if (v->step == STEP_BODY && http_request_reserve(v, j->body.len + len))
                (void)buf_add(&j->body, p, len); /* cannot fail: the buffer's bound is body_max */
}

/* --- what MHD calls --- */

void *http_request_begin(void *listener, const char *uri, struct MHD_Connection *c)
{
        struct http_request *v = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
        struct job *j = v->job = listener_job(listener);
        struct text all = text_of(arena_text(&j->arena, headers_origin_form(uri)));
        const char *mark = memchr(all.p, '?', all.len);
        j->target = all;
        j->request.path = mark ? (struct text){all.p, (size_t)(mark - all.p)} : all;
        if (mark)
                j->request.query = (struct text){mark + 1, all.len - (size_t)(mark + 1 - all.p)};
        v->listener->tickets++;
        v->step = STEP_HEADERS;
        v->headers_only = true;
        v->admission = v->by_name = v->for_names = false;
        connections_busy(v);
        return v;
}

/* MHD calls this with the headers (again after a wait for the verdict), with each part of the body, and at its end. */
enum MHD_Result http_request_handle(void *listener, struct MHD_Connection *c, const char *url, const char *method,
                                    const char *version, const char *upload, size_t *upload_size, void **state)
{
        struct http_request *v = *state;
        (void)listener, (void)c, (void)url;
        if (v->ended)
                return MHD_NO; /* the request came with the end of the connection, and must not keep it */
        if (v->headers_only && *upload_size == 0) {
                if (v->step == STEP_HEADERS)
                        look_at_headers(v, method, version);
                else if (v->step == STEP_VERDICT)
                        take_verdict(v, v->say);
                if (v->suspended)
                        return MHD_YES;
                if (v->step == STEP_ANSWER && v->body_announced)
                        return http_request_send_answer(v);
                v->headers_only = false;
                return MHD_YES;
        }
        if (*upload_size > 0) {
                take_body(v, upload, *upload_size);
                *upload_size = 0;
                return MHD_YES;
        }
        if (v->step == STEP_BODY)
                v->admission ? work_admission(v) : http_request_work(v);
        return v->step == STEP_ANSWER && !v->suspended ? http_request_send_answer(v) : MHD_YES;
}

void http_request_end(void *listener, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
        struct http_request *v = *state;
        (void)c, (void)why;
        if (!v)
                return;
        if (!v->lent)
                job_recycle(listener, v->job);
        v->from->reviews_held -= v->reviews_held;
        v->reviews_held = 0;
        v->unread |= v->step != STEP_SENDING; /* MHD has refused the rest of the request */
        v->lent = false;
        v->job = NULL;
        v->step = STEP_NONE;
        connections_idle(v);
        *state = NULL;
}

/* MHD cannot answer an incomplete request, so the bytes of the answer are written straight to the socket. */
void http_request_late(struct http_request *v)
{
        struct answer a = {0};
        char head[256];
        if (!v->job)
                return; /* no request line yet, so 408 cannot be answered: the bytes may not be HTTP */
        answer_problem(&a, PROBLEM_TIMEOUT, "the request was not complete in time");
        int len = snprintf(head, sizeof head,
                           "HTTP/1.1 408 Request Timeout\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                           "Connection: close\r\n\r\n",
                           a.type, a.body.len);
        if (v->listener->certificate) {
                gnutls_session_t s =
                        MHD_get_connection_info(v->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
                (void)gnutls_record_send(s, head, (size_t)len);
                (void)gnutls_record_send(s, a.body.data, a.body.len);
        } else {
                (void)send(v->fd, head, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE);
                (void)send(v->fd, a.body.data, a.body.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        buf_release(&a.body);
}
