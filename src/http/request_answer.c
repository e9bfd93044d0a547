#include "request_answer.h"

#include <gnutls/gnutls.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "request_bounds.h"

static bool has_header(const struct answer *a, const char *name)
{
        for (int i = 0; i < a->headers; i++)
                if (strcasecmp(a->header[i].name, name) == 0)
                        return true;
        return false;
}

/* Mark the ETag of a compressed body as weak, because the strong tag stands for the bytes of the plain body. */
static void add_weak_tag(struct MHD_Response *r, const char *tag)
{
        AUTO(mem_free) char *weak = mem_printf("W/%s", tag);
        MHD_add_response_header(r, "ETag", weak);
}

/* Whether the ETag stands for a compressed body. A 304 repeats the ETag of the 200 that it replaces, which was
 * presumably compressed. */
static bool is_packed(const struct job *j)
{
        return j->gzipped || (j->gzip && j->answer.status == MHD_HTTP_NOT_MODIFIED);
}

static void http_request_add_headers(struct http_request *v, struct MHD_Response *r)
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
        if (!has_header(a, "X-Content-Type-Options")) /* so that no browser shows objects' texts as a page */
                MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
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

enum MHD_Result http_request_send_answer(struct http_request *v)
{
        struct answer *a = &v->job->answer;
        http_request_count_answer(v);
        size_t len = a->body.len;
        struct MHD_Response *r =
                len ? MHD_create_response_from_buffer_with_free_callback(len, buf_steal(&a->body), mem_free)
                    : MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
        if (!r)
                return MHD_NO;
        http_request_add_headers(v, r);
        v->unread = v->headers_only;
        if (v->unread || v->displaced) /* unread: the next bytes are the rest of the body and no request */
                MHD_add_response_header(r, "Connection", "close");
        unsigned digit = a->status / 100;
        atomic_fetch_add(&v->listener->answers[digit < 6 ? digit : 0], 1);
        enum MHD_Result rc = MHD_queue_response(v->connection, a->status, r);
        MHD_destroy_response(r);
        v->step = STEP_SENDING;
        return rc;
}

/* MHD cannot answer an incomplete request, so the bytes of the answer are written straight to the socket. */
void http_request_late(struct http_request *v)
{
        struct answer a = {0};
        char head[256];
        if (!v->job)
                return; /* without a request line, the bytes may not be HTTP: no 408 */
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
