/*
 * Reads one HTTP request: its headers, then its body. The caller is authorized before any of the body is read.
 */
#include <stdio.h>

#include "base/mem.h"
#include "headers.h"
#include "request_answer.h"
#include "request_authorization.h"
#include "request_bounds.h"
#include "request_step.h"
#include "request_work.h"
#include "rest/routes.h"
#include "spare_jobs.h"

/* --- headers --- */

static void http_request_take_id(struct http_request *v)
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

static struct text http_request_copy_header(struct http_request *v, const char *name)
{
        const char *value = headers_get(v->connection, name);
        return value ? text_of(arena_text(&v->job->arena, text_of(value))) : (struct text){"", 0};
}

static void http_request_take_headers(struct http_request *v, const char *method)
{
        struct job *j = v->job;
        j->request.method = text_of(arena_text(&j->arena, text_of(method)));
        j->request.content_type = http_request_copy_header(v, "Content-Type");
        j->request.if_none_match = http_request_copy_header(v, "If-None-Match");
        j->request.at = v->listener->now.wall;
        j->gzip = accepts_gzip(headers_get(v->connection, "Accept-Encoding"));
        http_request_take_id(v);
        j->view = snapshot_ref_take(v->listener->views);
}

static void http_request_find_admission(struct http_request *v)
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
static void http_request_find_endpoint(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        bool posts = text_is(j->request.method, "POST"), at_root = text_is(j->request.path, "/");
        if (d->o.admission && (posts || !at_root) && admission_paths_has(&d->paths, j->request.path)) {
                http_request_find_admission(v);
                return;
        }
        if (route_match(&j->request, j->view, &j->arena, &j->route, &j->answer) < 0) {
                atomic_fetch_add(&d->astray, d->o.admission && posts && j->answer.status == MHD_HTTP_NOT_FOUND);
                v->step = STEP_ANSWER;
                return;
        }
        v->body_max = j->route.wants_body ? RENDER_BODY_MAX : 0;
}

static void http_request_look_at_headers(struct http_request *v, const char *method, const char *version)
{
        struct job *j = v->job;
        const char *malformed = headers_malformed(v->connection, version);
        http_request_take_headers(v, method);
        if (malformed) {
                v->body_announced = true; /* perhaps: the length may be what is malformed, so the connection ends */
                http_request_refuse(v, PROBLEM_INVALID_HEADER, malformed);
                return;
        }
        if (j->request.path.len + j->request.query.len > URI_MAX)
                http_request_refuse(v, PROBLEM_INVALID_PARAMETER, "path and query are longer than 8192 bytes together");
        else
                http_request_find_endpoint(v);
        http_request_check_body(v);
        if (v->step != STEP_HEADERS)
                return;
        buf_init(&j->body, v->body_max);
        if (v->admission || !j->route.verb)
                http_request_allow(v);
        else
                http_request_authorize(v);
}

static void http_request_take_body(struct http_request *v, const char *p, size_t len)
{
        struct job *j = v->job;
        if (v->step == STEP_BODY && http_request_reserve(v, j->body.len + len))
                (void)buf_add(&j->body, p, len); /* cannot fail: the buffer's bound is body_max */
}

/* --- what MHD calls --- */

void *http_request_begin(void *listener, const char *uri, struct MHD_Connection *c)
{
        struct http_request *v = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
        struct job *j = v->job = spare_jobs_take(listener);
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

/* MHD calls this function with the headers, again after a wait for the verdict, with each part of the body, and at the
 * body's end. */
enum MHD_Result http_request_handle(void *listener, struct MHD_Connection *c, const char *url, const char *method,
                                    const char *version, const char *upload, size_t *upload_size, void **state)
{
        struct http_request *v = *state;
        (void)listener, (void)c, (void)url;
        if (v->ended)
                return MHD_NO; /* halflife has shut this connection down, so its requests get no answer */
        if (v->headers_only && *upload_size == 0) {
                if (v->step == STEP_HEADERS)
                        http_request_look_at_headers(v, method, version);
                else if (v->step == STEP_VERDICT)
                        http_request_take_verdict(v, v->say);
                if (v->suspended)
                        return MHD_YES;
                if (v->step == STEP_ANSWER && v->body_announced)
                        return http_request_send_answer(v);
                v->headers_only = false;
                return MHD_YES;
        }
        if (*upload_size > 0) {
                http_request_take_body(v, upload, *upload_size);
                *upload_size = 0;
                return MHD_YES;
        }
        if (v->step == STEP_BODY)
                v->admission ? http_request_work_admission(v) : http_request_work(v);
        return v->step == STEP_ANSWER && !v->suspended ? http_request_send_answer(v) : MHD_YES;
}

void http_request_end(void *listener, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
        struct http_request *v = *state;
        (void)c, (void)why;
        if (!v)
                return;
        if (!v->lent)
                spare_jobs_put(listener, v->job);
        v->from->reviews_held -= v->reviews_held;
        v->reviews_held = 0;
        v->unread |= v->step != STEP_SENDING; /* MHD has refused the rest of the request */
        v->lent = false;
        v->job = NULL;
        v->step = STEP_NONE;
        connections_idle(v);
        *state = NULL;
}
