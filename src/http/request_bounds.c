#include "request_bounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "headers.h"
#include "request_step.h"

struct text http_request_caller(const struct http_request *v)
{
        struct text token;
        bool accepted = !v->admission && v->job->route.verb && headers_token(v->connection, &token);
        return accepted ? token : text_of(v->from->text);
}

/* Refuse the request of a caller whose requests hold that caller's whole share of the memory. Other callers are still
 * served. */
static void refuse_share(struct http_request *v)
{
        char why[160];
        snprintf(why, sizeof why,
                 "your requests hold %zu of the %zu bytes that one caller's large bodies and answers may hold at once: "
                 "wait for their answers",
                 v->job->caller->held, v->listener->shares.most);
        atomic_fetch_add(&v->listener->shed, 1);
        http_request_refuse(v, PROBLEM_SHARE_USED, why);
}

/* Count the request for its caller. false: the caller's share has no room for `more` bytes, and the request was
 * refused. */
static bool http_request_has_share(struct http_request *v, size_t more)
{
        if (!v->job->caller)
                v->job->caller = caller_take(&v->listener->shares, http_request_caller(v));
        if (caller_may_hold(&v->listener->shares, v->job->caller, more))
                return true;
        refuse_share(v);
        return false;
}

/* Reserve bytes in the bound on all bodies and answers, and in the caller's share of it. Admission has a separate
 * bound, of which an address may hold as much as it leaves free. Small bodies are not counted, because the number of
 * connections bounds them. false: the request was refused, for the reason `full` where the bound on all is reached. */
static bool http_request_set_aside(struct http_request *v, size_t bytes, const char *full)
{
        struct rest_listener *d = v->listener;
        struct job *j = v->job;
        if (bytes <= j->reserved || bytes <= BODY_SMALL)
                return true;
        size_t more = bytes - j->reserved, most = v->admission ? REVIEWS_MAX - v->from->reviews_held : d->o.bodies_max;
        if (!v->admission && !http_request_has_share(v, more))
                return false;
        j->held = v->admission ? &d->reviews_held : &d->bodies_held;
        if (*j->held + more > most) {
                http_request_overloaded(v, full);
                return false;
        }
        *j->held += more;
        j->reserved = bytes;
        if (j->caller)
                j->caller->held += more;
        if (v->admission) {
                v->reviews_held += more;
                v->from->reviews_held += more;
        }
        return true;
}

bool http_request_reserve(struct http_request *v, size_t bytes)
{
        if (bytes > v->body_max) {
                char why[96];
                snprintf(why, sizeof why, v->body_max ? "the body is larger than %zu bytes" : "this path takes no body",
                         v->body_max);
                http_request_refuse(v, PROBLEM_TOO_LARGE, why);
                return false;
        }
        return http_request_set_aside(v, bytes, "too many large bodies at once: try again");
}

void http_request_check_body(struct http_request *v)
{
        const char *length = headers_get(v->connection, "Content-Length"),
                   *coding = headers_get(v->connection, "Content-Encoding");
        size_t bytes =
                length ? (size_t)strtoull(length, NULL, 10) : 0; /* MHD has refused a length that is not a number */
        bool ambiguous =
                (length || headers_get(v->connection, "Transfer-Encoding")) && headers_end_ambiguous(v->connection);
        v->body_announced = bytes > 0 || headers_get(v->connection, "Transfer-Encoding") || ambiguous;
        v->body_bytes = bytes ? bytes : 1;
        if (v->step != STEP_HEADERS || !v->body_announced)
                return;
        if (ambiguous)
                http_request_refuse(v, PROBLEM_INVALID_BODY,
                                    "the headers state the length of the body twice, or in an unknown way: send one "
                                    "Content-Length, or 'Transfer-Encoding: chunked'");
        else if (coding && strcasecmp(coding, "identity") != 0)
                http_request_refuse(v, PROBLEM_UNSUPPORTED_TYPE,
                                    "Content-Encoding is not supported: send the body without it");
        else if (v->body_bytes > v->body_max)
                (void)http_request_reserve(v, v->body_bytes); /* refuses the request */
}

void http_request_count_answer(struct http_request *v)
{
        buf_release(&v->job->body);
        if (!v->admission && v->job->answer.status == MHD_HTTP_OK)
                (void)http_request_set_aside(v, v->job->answer.body.len,
                                             "too many answers are still being sent: try again");
}
