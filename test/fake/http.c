/* HTTP by libmicrohttpd: a thread for each connection, so that an answer may wait, drip, or stop in the middle. */
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "port.h"

enum { BODY_MAX = 3 << 20, OUT_MAX = 1 << 28, BLOCK = 64 * 1024 };

struct exchange { /* one request being read */
        struct buf body;
        bool too_big;
};

/* --- sending --- */

struct sender {
        struct fake *f;
        struct reply reply;
        struct fake_fault fault;
        struct buf out; /* of the stream, not sent yet */
        size_t sent;
};

static void wait_ms(struct fake *f, int64_t ms)
{
        int64_t until = mono_read().ns + ms * 1000000, left;
        fake_lock(f);
        while (!f->stopping && (left = (until - mono_read().ns + 999999) / 1000000) > 0)
                fake_pause(f, left);
        fake_unlock(f);
}

/* What can be sent now; len 0: the end. */
static struct text sender_next(struct sender *s)
{
        if (!s->reply.stream)
                return (struct text){s->reply.text + s->sent, s->reply.len - s->sent};
        while (s->out.len == 0 && s->reply.stream->more(s->f, s->reply.stream, &s->out))
                continue;
        return buf_text(&s->out);
}

static size_t sender_limit(const struct sender *s, size_t n)
{
        const struct fake_fault *fault = &s->fault;
        if (fault->cut && fault->cut_after - s->sent < n)
                n = fault->cut_after - s->sent;
        if (fault->split_at > s->sent && fault->split_at - s->sent < n)
                n = fault->split_at - s->sent;
        if (fault->split_every && fault->split_every < n)
                n = fault->split_every;
        return n;
}

static ssize_t sender_read(void *arg, uint64_t at, char *out, size_t max)
{
        struct sender *s = arg;
        (void)at;
        if (s->fault.cut && s->sent >= s->fault.cut_after)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        if (s->sent > 0 && s->fault.drip_ms)
                wait_ms(s->f, s->fault.drip_ms);
        struct text t = sender_next(s);
        if (t.len == 0)
                return MHD_CONTENT_READER_END_OF_STREAM;
        size_t n = sender_limit(s, t.len < max ? t.len : max);
        memcpy(out, t.p, n);
        s->sent += n;
        if (s->reply.stream)
                buf_drop(&s->out, n);
        return (ssize_t)n;
}

static void sender_free(void *arg)
{
        struct sender *s = arg;
        reply_release(s->f, &s->reply);
        buf_release(&s->out);
        mem_free(s);
}

/* Takes the reply's text or stream. */
static struct MHD_Response *response_of(struct fake *f, struct MHD_Connection *c, struct reply *rp,
                                        const struct fake_fault *fault)
{
        bool plain = !rp->stream && !fault->cut && !fault->split_at && !fault->split_every;
        if (plain) {
                struct MHD_Response *r = MHD_create_response_from_buffer(rp->len, rp->text, MHD_RESPMEM_MUST_FREE);
                rp->text = NULL;
                return r;
        }
        struct sender *s = MEM_NEW(struct sender);
        s->f = f;
        s->reply = *rp;
        s->fault = *fault;
        buf_init(&s->out, OUT_MAX);
        if (rp->stream)
                rp->stream->socket = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        bool sized = !rp->stream && fault->cut && !fault->split_every;
        *rp = (struct reply){0};
        return MHD_create_response_from_callback(sized ? s->reply.len : MHD_SIZE_UNKNOWN, BLOCK, sender_read, s,
                                                 sender_free);
}

static void add_headers(const struct fake *f, struct MHD_Response *r, const char *type, unsigned retry_after,
                        const struct fake_fault *fault)
{
        char text[64];
        int64_t date_ms = fault->date_ms ? fault->date_ms : __atomic_load_n(&f->wall_ms, __ATOMIC_RELAXED);
        MHD_add_response_header(r, "Content-Type", type);
        MHD_add_response_header(r, "Cache-Control", "no-cache, private");
        if (retry_after) {
                snprintf(text, sizeof text, "%u", retry_after);
                MHD_add_response_header(r, "Retry-After", text);
        }
        if (fault->warning) {
                AUTO(mem_free) char *warning = mem_printf("299 - \"%s\"", fault->warning);
                MHD_add_response_header(r, "Warning", warning);
        }
        if (date_ms) {
                time_t when = (time_t)(date_ms / 1000);
                struct tm tm;
                strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&when, &tm));
                MHD_add_response_header(r, "Date", text);
        }
}

/* --- answering --- */

/* head, so many x, tail: made as it is sent. */
struct filler {
        struct stream stream;
        char *head, *tail;
        size_t left;
};

static bool filler_more(struct fake *f, struct stream *s, struct buf *out)
{
        struct filler *x = (struct filler *)s;
        static const char xs[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
        (void)f;
        if (x->head)
                buf_add_text(out, x->head);
        mem_free(STEAL(&x->head));
        while (x->left > 0 && out->len < BLOCK) {
                size_t n = x->left < sizeof xs - 1 ? x->left : sizeof xs - 1;
                buf_add(out, xs, n);
                x->left -= n;
        }
        if (x->left > 0)
                return true;
        if (!x->tail)
                return false;
        buf_add_text(out, x->tail);
        mem_free(STEAL(&x->tail));
        return true;
}

static void filler_free(struct fake *f, struct stream *s)
{
        struct filler *x = (struct filler *)s;
        (void)f;
        mem_free(x->head);
        mem_free(x->tail);
        mem_free(x);
}

static void huge_reply(const struct fake_fault *fault, struct reply *rp)
{
        const char *body = fault->body ? fault->body : "\"%\"", *mark = strchr(body, '%');
        struct filler *x = MEM_NEW(struct filler);
        x->stream = (struct stream){filler_more, filler_free, -1};
        x->head = mem_string_n(body, mark ? (size_t)(mark - body) : strlen(body));
        x->tail = mem_string(mark ? mark + 1 : "");
        x->left = fault->huge;
        rp->status = fault->status ? fault->status : 200;
        rp->type = fault->type ? fault->type : "application/json";
        rp->stream = &x->stream;
}

static void fault_reply(const struct fake_fault *fault, struct reply *rp)
{
        if (fault->huge) {
                huge_reply(fault, rp);
                return;
        }
        rp->retry_after = fault->retry_after;
        if (!fault->body) {
                json_t *status = status_json(fault->status, fault->status == 429 ? "TooManyRequests" : "InternalError",
                                             "the fault asked for");
                if (fault->retry_after)
                        json_object_set_new(status, "details",
                                            json_pack("{s:i}", "retryAfterSeconds", (int)fault->retry_after));
                reply_json(rp, fault->status, status);
                return;
        }
        rp->status = fault->status;
        rp->type = fault->type ? fault->type : "application/json";
        rp->text = strdup(fault->body);
        rp->len = strlen(fault->body);
}

static bool peer_known(struct fake *f, struct MHD_Connection *c)
{
        unsigned status = 0;
        if (!f->options.client_certificate)
                return true;
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        return info && gnutls_certificate_verify_peers2(info->tls_session, &status) == 0 && status == 0;
}

static void answer(struct fake *f, struct MHD_Connection *c, struct request *rq, const struct exchange *x,
                   const struct fake_fault *fault, struct reply *rp)
{
        if (!peer_known(f, c))
                reply_error(rp, 401, "Unauthorized", "Unauthorized");
        else if (fault->status || fault->huge)
                fault_reply(fault, rp);
        else if (x->too_big)
                reply_error(rp, 413, "RequestEntityTooLarge", "Request entity too large: limit is %d", BODY_MAX);
        else
                route(f, rq, rp);
        log_request(f, rq, rp->status);
}

static enum MHD_Result send_garbage(struct MHD_Connection *c, const char *bytes)
{
        int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        send(fd, bytes, strlen(bytes), MSG_NOSIGNAL);
        return MHD_NO;
}

static void delay(struct fake *f, int64_t ms)
{
        fake_lock(f);
        f->delayed++;
        fake_notify(f);
        fake_unlock(f);
        wait_ms(f, ms);
        fake_lock(f);
        f->delayed--;
        fake_unlock(f);
}

static enum MHD_Result exchange_finish(struct fake *f, struct MHD_Connection *c, struct request *rq,
                                       const struct exchange *x)
{
        struct fake_fault fault = {0};
        struct reply rp = {0};
        route_verb(rq);
        fake_lock(f);
        bool hit = fault_match(f, rq, &fault);
        fake_unlock(f);
        if (hit && fault.delay_ms)
                delay(f, fault.delay_ms);
        if (fault.refuse || fault.garbage) {
                fake_lock(f);
                log_request(f, rq, 0);
                fake_unlock(f);
                return fault.garbage ? send_garbage(c, fault.garbage) : MHD_NO;
        }
        fake_lock(f);
        answer(f, c, rq, x, &fault, &rp);
        fake_unlock(f);
        int status = rp.status;
        unsigned retry_after = rp.retry_after;
        const char *type = rp.type;
        struct MHD_Response *r = response_of(f, c, &rp, &fault);
        add_headers(f, r, type, retry_after, &fault);
        enum MHD_Result queued = MHD_queue_response(c, (unsigned)status, r);
        MHD_destroy_response(r);
        return queued;
}

static enum MHD_Result add_query(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
        (void)kind;
        json_object_set_new(arg, name, json_string(value ? value : ""));
        return MHD_YES;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
        return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url, const char *method,
                                  const char *version, const char *data, size_t *len, void **state)
{
        struct fake *f = arg;
        struct exchange *x = *state;
        (void)version;
        if (!x) {
                *state = x = MEM_NEW(struct exchange);
                buf_init(&x->body, BODY_MAX + 1);
                return MHD_YES;
        }
        if (*len > 0) {
                x->too_big |= buf_add(&x->body, data, *len) < 0;
                *len = 0;
                return MHD_YES;
        }
        struct request rq = {
                .method = method,
                .path = url,
                .type = header(c, "Content-Type"),
                .agent = header(c, "User-Agent"),
                .encoding = header(c, "Accept-Encoding"),
                .accept = header(c, "Accept"),
                .authorization = header(c, "Authorization"),
                .query = json_object(),
                .body = buf_text(&x->body).p,
                .len = x->body.len,
        };
        MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, add_query, rq.query);
        enum MHD_Result result = exchange_finish(f, c, &rq, x);
        json_decref(rq.query);
        return result;
}

static void on_done(void *arg, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
        struct exchange *x = *state;
        (void)arg, (void)c, (void)why;
        if (x)
                buf_release(&x->body);
        mem_free(x);
        *state = NULL;
}

/* --- up and down --- */

bool fake_http_start(struct fake *f)
{
        unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC;
        struct MHD_OptionItem tls[] = {
                {MHD_OPTION_HTTPS_MEM_CERT, 0, NULL},
                {MHD_OPTION_HTTPS_MEM_KEY, 0, NULL},
                {MHD_OPTION_END, 0, NULL},
                {MHD_OPTION_END, 0, NULL},
        };
        if (f->tls) {
                flags |= MHD_USE_TLS;
                tls[0].ptr_value = (char *)(uintptr_t)tls_certificate(f->tls, true);
                tls[1].ptr_value = (char *)(uintptr_t)tls_key(f->tls, true);
                if (f->options.client_certificate)
                        tls[2] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0,
                                                         (char *)(uintptr_t)tls_ca(f->tls)};
        } else {
                tls[0] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
        }
        int fd = port_listen(f->port);
        if (fd < 0)
                return false;
        f->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_request, f, MHD_OPTION_LISTEN_SOCKET, fd,
                                     MHD_OPTION_NOTIFY_COMPLETED, on_done, NULL, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
        if (!f->daemon)
                close(fd);
        return f->daemon;
}

void fake_http_stop(struct fake *f)
{
        fake_lock(f);
        f->stopping = true;
        fake_notify(f);
        fake_unlock(f);
        if (f->daemon)
                MHD_stop_daemon(f->daemon);
        f->daemon = NULL;
}
