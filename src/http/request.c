/*
 * One request, from its headers to its answer. Who asks is looked into before any of his body is taken.
 */
#include "headers.h"
#include "rest/routes.h"
#include "rest_listener_private.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"

enum { SPARES_MAX = 64 };

static const char *http_request_header(const struct http_request *v, const char *name)
{
        return headers_get(v->connection, name);
}

/* --- jobs --- */

void job_recycle(struct rest_listener *d, struct job *j)
{
        if (!j)
                return;
        if (j->purse)
                *j->purse -= j->reserved;
        if (d->spares >= SPARES_MAX) {
                job_free(j);
                return;
        }
        job_reset(j);
        j->next = d->spare;
        d->spare = j;
        d->spares++;
}

static struct job *listener_job(struct rest_listener *d)
{
        struct job *j = d->spare;
        if (!j)
                return job_new();
        d->spare = j->next;
        d->spares--;
        j->next = NULL;
        return j;
}

/* --- problems --- */

static void http_request_refuse(struct http_request *v, enum problem p, const char *why)
{
        struct answer *a = &v->job->answer;
        buf_release(&a->body);
        *a = (struct answer){0};
        answer_problem(a, p, "%s", why);
        v->step = STEP_ANSWER;
}

static void refuse_overloaded(struct http_request *v, const char *why)
{
        atomic_fetch_add(&v->listener->shed, 1);
        http_request_refuse(v, PROBLEM_OVERLOADED, why);
}

/* Nothing is begun any more that others would have to end. */
static void refuse_at_the_end(struct http_request *v)
{
        refuse_overloaded(v, "this instance ends: try again");
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
        if (!v->lent) {
                was->ticket = 0;
        } else { /* it comes back when it is done with */
                v->lent = false;
                v->job = listener_job(v->listener);
                v->job->id = arena_text(&v->job->arena, text_of(was->id));
        }
        http_request_refuse(v, p, why);
        http_request_resume(v);
}

/* --- who asks, and may he? --- */

static void take_verdict(struct http_request *v, enum auth_say say);

/* Whether he may read all there is asked first: that is one question for everything that a pipeline reads. */
static void ask_who(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        const struct route *r = &v->job->route;
        const char *name = v->by_name ? r->recommendation : "";
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
        v->key = auth_key_of(token, r->verb, r->ns, name);
        enum auth_say say = auth_look(d->auth, &v->key, d->now.mono, &v->waiter, &ask);
        if (ask) {
                const struct server_question q = {v->key, token.p, r->verb, r->ns, name};
                atomic_fetch_add(&d->reviews, 1);
                d->o.calls.review(d->o.calls.arg, &q);
        }
        if (say == AUTH_SAYS_WAIT)
                http_request_suspend(v, STEP_VERDICT);
        else
                take_verdict(v, say);
}

static void take_verdict(struct http_request *v, enum auth_say say)
{
        switch (say) {
        case AUTH_SAYS_ALLOWED:
        case AUTH_SAYS_ALLOWED_LATELY:
                v->job->lately = say == AUTH_SAYS_ALLOWED_LATELY;
                v->step = STEP_BODY;
                break;
        case AUTH_SAYS_WHO:
                http_request_refuse(v, PROBLEM_UNAUTHENTICATED,
                                    "the API server does not know this bearer token: is it expired, or "
                                    "meant for another audience?");
                break;
        case AUTH_SAYS_FORBIDDEN:
                if (!v->by_name && v->job->route.recommendation) {
                        v->by_name = true;
                        ask_who(v);
                        break;
                }
                http_request_refuse(
                        v, PROBLEM_FORBIDDEN,
                        "this needs the permission to get, or list, recommendations.halflife.dev there; whether there "
                        "is one is not said");
                break;
        case AUTH_SAYS_LATER:
                refuse_overloaded(v, "the API server cannot be asked now who this is: try again");
                break;
        case AUTH_SAYS_WAIT:
                break;
        }
}

void http_request_judged(struct http_request *v, enum auth_say say)
{
        v->say = say;
        http_request_resume(v);
}

/* --- headers --- */

static void take_id(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        const char *id = http_request_header(v, "X-Request-Id");
        char made[24];
        if (!headers_is_sane_id(id)) {
                snprintf(made, sizeof made, "%016llx", (unsigned long long)(d->id_base + d->tickets));
                id = made;
        }
        j->id = arena_text(&j->arena, text_of(id));
}

static struct text copy_header(struct http_request *v, const char *name)
{
        const char *value = http_request_header(v, name);
        return value ? text_of(arena_text(&v->job->arena, text_of(value))) : (struct text){"", 0};
}

static void take_headers(struct http_request *v, const char *method)
{
        struct job *j = v->job;
        j->request.method = text_of(arena_text(&j->arena, text_of(method)));
        j->request.content_type = copy_header(v, "Content-Type");
        j->request.if_none_match = copy_header(v, "If-None-Match");
        j->request.at = v->listener->now.wall;
        j->gzip = accepts_gzip(http_request_header(v, "Accept-Encoding"));
        take_id(v);
        j->view = snapshot_ref_take(v->listener->views);
}

static void find_admission(struct http_request *v)
{
        struct job *j = v->job;
        v->body_max = ADMISSION_BODY_MAX;
        v->admission = true;
        if (!text_is(j->request.method, "POST")) {
                http_request_refuse(v, PROBLEM_METHOD_NOT_ALLOWED, "an AdmissionReview is POSTed");
                answer_header(&j->answer, "Allow", "POST");
        } else if (!headers_is_json(j->request.content_type)) {
                http_request_refuse(v, PROBLEM_UNSUPPORTED_TYPE, "an AdmissionReview is application/json");
        }
}

/* Which route it is, and how much it takes. */
static void find_door(struct http_request *v)
{
        struct job *j = v->job;
        if (v->listener->o.admission && text_is(j->request.path, "/admission")) {
                find_admission(v);
                return;
        }
        if (route_match(&j->request, j->view, &j->arena, &j->route, &j->answer) < 0) {
                v->step = STEP_ANSWER;
                return;
        }
        v->body_max = j->route.wants_body ? RENDER_BODY_MAX : 0;
}

/* A share of what there is for bodies and answers of all; admission has its own. What is small (there are at most so
 * many connections) is always taken. false: there is not so much left. */
static bool http_request_set_aside(struct http_request *v, size_t bytes)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        if (bytes <= j->reserved || bytes <= BODY_SMALL)
                return true;
        j->purse = v->admission ? &d->reviews_held : &d->bodies_held;
        if (*j->purse + (bytes - j->reserved) > (v->admission ? REVIEWS_MAX : d->o.bodies_max))
                return false;
        *j->purse += bytes - j->reserved;
        j->reserved = bytes;
        return true;
}

/* More of the body is to come. */
static bool http_request_reserve(struct http_request *v, size_t bytes)
{
        if (bytes > v->body_max) {
                char why[96];
                snprintf(why, sizeof why, v->body_max ? "a body may have %zu bytes here" : "there is no body here",
                         v->body_max);
                http_request_refuse(v, PROBLEM_TOO_LARGE, why);
                return false;
        }
        if (http_request_set_aside(v, bytes))
                return true;
        refuse_overloaded(v, "too many large bodies are on their way: try again");
        return false;
}

static void check_body(struct http_request *v)
{
        const char *length = http_request_header(v, "Content-Length"),
                   *coding = http_request_header(v, "Content-Encoding");
        size_t bytes = length ? (size_t)strtoull(length, NULL, 10) : 0; /* MHD has refused what is no number */
        bool ambiguous =
                (length || http_request_header(v, "Transfer-Encoding")) && headers_end_ambiguous(v->connection);
        v->body_announced = bytes > 0 || http_request_header(v, "Transfer-Encoding") || ambiguous;
        if (v->step != STEP_HEADERS || !v->body_announced)
                return;
        if (ambiguous)
                http_request_refuse(
                        v, PROBLEM_INVALID_BODY,
                        "where the body ends is said twice, or in a way that is not known: send one Content-Length, or "
                        "'Transfer-Encoding: chunked'");
        else if (coding && strcasecmp(coding, "identity") != 0)
                http_request_refuse(v, PROBLEM_UNSUPPORTED_TYPE,
                                    "bodies are taken as they are, without Content-Encoding");
        else
                (void)http_request_reserve(v, bytes ? bytes : 1);
}

static void look_at_headers(struct http_request *v, const char *method)
{
        struct job *j = v->job;
        take_headers(v, method);
        if (j->request.path.len + j->request.query.len > URI_MAX)
                http_request_refuse(v, PROBLEM_INVALID_PARAMETER, "path and query may have 8192 bytes together");
        else
                find_door(v);
        check_body(v);
        if (v->step != STEP_HEADERS)
                return;
        buf_init(&j->body, v->body_max);
        if (v->admission || !j->route.verb)
                v->step = STEP_BODY;
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

/* The same content in other bytes: the strong tag is of those that were not packed. */
static void add_weak_tag(struct MHD_Response *r, const char *tag)
{
        AUTO(mem_free) char *weak = mem_printf("W/%s", tag);
        MHD_add_response_header(r, "ETag", weak);
}

/* A 304 speaks of what a 200 would have been, as far as that is known: packed. */
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
                                        "199 halflife \"the API server cannot be asked: you were allowed this a while "
                                        "ago\"");
}

/* An answer stays until he has read it, however slowly. A deploy is never told to come again. */
static void keep_answer(struct http_request *v)
{
        buf_release(&v->job->body);
        if (!v->admission && v->job->answer.status == MHD_HTTP_OK &&
            !http_request_set_aside(v, v->job->answer.body.len))
                refuse_overloaded(v, "too many answers are not read yet: try again");
}

static enum MHD_Result http_request_send_answer(struct http_request *v)
{
        struct answer *a = &v->job->answer;
        keep_answer(v);
        size_t len = a->body.len;
        struct MHD_Response *r =
                len ? MHD_create_response_from_buffer_with_free_callback(len, buf_steal(&a->body), mem_free)
                    : MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
        if (!r)
                return MHD_NO;
        add_headers(v, r);
        v->unread = v->headers_only;
        if (v->unread) /* the body that was announced is not read: what follows is no request */
                MHD_add_response_header(r, "Connection", "close");
        unsigned digit = a->status / 100;
        atomic_fetch_add(&v->listener->answers[digit < 6 ? digit : 0], 1);
        enum MHD_Result rc = MHD_queue_response(v->connection, a->status, r);
        MHD_destroy_response(r);
        v->step = STEP_SENDING;
        return rc;
}

/* --- the work --- */

static void give_to(struct worker *w, struct http_request *v)
{
        v->job->ticket = ++v->listener->tickets;
        if (worker_give(w, v->job)) {
                v->lent = true;
                http_request_suspend(v, STEP_AWAY);
        } else {
                refuse_overloaded(v, "too much is waiting already: try again");
        }
}

static void review_read(struct http_request *v);
static void http_request_admitted(struct http_request *v);

/* What it waited for is there; perhaps there is more to wait for. */
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

/* What only the loop knows is copied for this answer. */
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
        v->job->learned = copies ? copies : mem_new(sizeof *copies); /* NULL would say that nobody could be asked */
        v->job->learned_count = count;
        do_here(v);
        http_request_resume(v);
}

/* Another process learns: it is asked in the caller's own name, and says itself what he may. */
static void http_request_ask_learner(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        struct text token;
        if (headers_get(v->connection, "X-Halflife-Relayed")) {
                http_request_refuse(
                        v, PROBLEM_UNAVAILABLE,
                        "only the halflife that learns knows this, and the setting upstream-url leads to one that does "
                        "not");
                return;
        }
        if (!headers_token(v->connection, &token)) {
                http_request_refuse(v, PROBLEM_UNAUTHENTICATED, "the bearer token is gone");
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
                (void)buf_add(&j->answer.body, r->body.p, r->body.len); /* its most is its length */
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
                give_to(d->renderer, v);
        else if (r->name == ROUTE_LIST || r->name == ROUTE_OPENAPI)
                give_to(d->lister, v);
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
                give_to(d->admitter, v);
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
        const struct server_owner_lookup kin = {
                .ticket = j->ticket,
                .ns = arena_text(&j->arena, j->admission->ns),
                .api_version = arena_text(&j->arena, o->api_version),
                .kind = arena_text(&j->arena, o->kind),
                .name = arena_text(&j->arena, o->name),
        };
        d->admissions_waiting++;
        http_request_suspend(v, STEP_AWAY);
        d->o.calls.find_owner(d->o.calls.arg, &kin);
}

bool http_request_wants_owner(const struct http_request *v)
{
        return v->suspended && v->admission && !v->lent;
}

void http_request_found_owner(struct http_request *v, struct admission_owner *owner)
{
        v->listener->admissions_waiting--;
        v->job->owner = owner;
        http_request_admit(v);
        go_on(v);
}

/* Where it was none the answer says so already. */
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
                give_to(v->listener->admitter, v);
        } else {
                do_here(v);
                review_read(v);
        }
}

static void take_body(struct http_request *v, const char *p, size_t len)
{
        struct job *j = v->job;
        if (v->step == STEP_BODY && http_request_reserve(v, j->body.len + len))
                (void)buf_add(&j->body, p, len); /* its most is body_max */
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
        v->admission = v->by_name = false;
        connections_busy(v);
        return v;
}

/* Called with the headers (and again after a wait there), with each part of the body, and after it. */
enum MHD_Result http_request_handle(void *listener, struct MHD_Connection *c, const char *url, const char *method,
                                    const char *version, const char *upload, size_t *upload_size, void **state)
{
        struct http_request *v = *state;
        (void)listener, (void)c, (void)url, (void)version;
        if (v->headers_only && *upload_size == 0) {
                if (v->step == STEP_HEADERS)
                        look_at_headers(v, method);
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
        v->unread |= v->step != STEP_SENDING; /* MHD has refused the rest of it */
        v->lent = false;
        v->job = NULL;
        v->step = STEP_NONE;
        connections_idle(v);
        *state = NULL;
}

/* MHD has no answer for who is late: it is put on the wire as it is, where nothing else was begun. */
void http_request_late(struct http_request *v)
{
        struct answer a = {0};
        char head[256];
        if (!v->job)
                return; /* of what he wants nothing is known: perhaps it is not even HTTP */
        answer_problem(&a, PROBLEM_TIMEOUT, "the request was not whole in time");
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
