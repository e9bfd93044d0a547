#include "kube/client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "answer_status.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/mem.h"
#include "discover.h"
#include "net/retry.h"

enum {
        TRIES_AGAIN_MAX = 10,
        TRIES_AGAIN_READ = 2, /* of a streamed list, whose owner backs off and reports failures itself */
        BODY_MAX = 4 << 20,
        ERROR_BODY_MAX = 64 << 10,
        CALL_MS = 30 * SECOND_MS,
        LIST_MS = 5 * MINUTE_MS,
        CREDENTIALS_EVERY_MS = 10 * SECOND_MS, /* between checks whether credentials are due for renewal */
        CREDENTIALS_BUSY_MS = 100,             /* between such checks while a plug-in runs */
        CREDENTIALS_WAIT_MS = 35 * SECOND_MS,  /* longest wait for a plug-in, after a 401 */
};

struct client {
        struct loop *loop;
        struct access *access;
        struct http *http;
        struct client_options o;
        char *field_manager;
        LIST_HEAD(, client_call) calls;
        struct loop_timer credentials;
        struct mono refreshed;        /* when credentials were last renewed by force */
        char complaint[ERR_TEXT_MAX]; /* the last error about credentials, reported once */
        struct discovery *discovery;
};

struct client_call {
        struct client *client;
        LIST_ENTRY(client_call) link;
        const char *verb;
        char id[9];
        char *path, *url, *content_type;
        struct http_request r;
        struct mono due; /* deadline of the call; ns 0: none */
        client_done *done;
        struct client_stream_request stream; /* callbacks of a streamed call; data NULL: the call is not streamed */
        void *arg;

        struct http_call *http;
        struct loop_timer again;
        struct retry back_off;
        int tries_again;
        bool dropped;        /* client_drop_writes is about to give this call up */
        bool renewed;        /* this call has renewed the credentials, which it does once */
        bool fed;            /* the stream's reader has seen bytes, so the request cannot be repeated */
        struct mono started; /* when this attempt began */
        unsigned revision;   /* the peer's revision at this attempt */
        struct buf body;
};

static struct now now_of(const struct client *c)
{
        return loop_now(c->loop);
}

/* --- credentials --- */

static void client_refresh(struct client *c, bool force)
{
        struct err err = {0};
        if (access_refresh(c->access, now_of(c), force, &err) == 0) {
                c->complaint[0] = '\0';
                return;
        }
        if (strcmp(c->complaint, err.text) == 0)
                return;
        memcpy(c->complaint, err.text, sizeof c->complaint);
        if (c->o.warned)
                c->o.warned(c->o.arg, access_source(c->access), err.text);
}

static void on_credentials(void *arg)
{
        struct client *c = arg;
        client_refresh(c, false);
        loop_timer_set(c->loop, &c->credentials, access_busy(c->access) ? CREDENTIALS_BUSY_MS : CREDENTIALS_EVERY_MS,
                       on_credentials, c);
}

/* --- a call's life --- */

static void client_call_free(struct client_call *k)
{
        struct client *c = k->client;
        loop_timer_stop(c->loop, &k->again);
        LIST_REMOVE(k, link);
        mem_free(k->path);
        mem_free(k->url);
        mem_free(k->content_type);
        mem_wipe_n((void *)(uintptr_t)k->r.body.p, k->r.body.len);
        buf_release(&k->body);
        mem_free(k);
}

static void call_finish(struct client_call *k, const struct client_answer *a, bool whole)
{
        if (k->stream.data)
                k->stream.done(k->arg, a, whole);
        else if (k->done)
                k->done(k->arg, a);
        client_call_free(k);
}

static int64_t left_ms(const struct client_call *k)
{
        return (k->due.ns - now_of(k->client).mono.ns) / 1000000;
}

static int client_on_data(void *arg, const struct http_reply *head, const char *p, size_t len)
{
        struct client_call *k = arg;
        if (!k->stream.data || head->status < 200 || head->status >= 300)
                return buf_add(&k->body, p, len);
        k->fed = true;
        return k->stream.data(k->arg, p, len);
}

static void on_head(void *arg, const struct http_reply *head)
{
        struct client_call *k = arg;
        if (k->stream.head && head->status >= 200 && head->status < 300)
                k->stream.head(k->arg, head->date);
}

static void client_on_done(void *arg, const struct http_reply *reply);

static void call_try(void *arg)
{
        struct client_call *k = arg;
        struct client *c = k->client;
        client_refresh(c, false);
        buf_reset(&k->body);
        struct http_request r = k->r;
        r.peer = access_peer(c->access);
        r.bearer = access_bearer(c->access);
        r.path_query = k->url;
        r.content_type = k->content_type;
        r.head = on_head;
        r.data = client_on_data;
        r.done = client_on_done;
        r.arg = k;
        if (k->due.ns) {
                r.deadline_ms = left_ms(k);
                if (r.deadline_ms < 1)
                        r.deadline_ms = 1;
        }
        k->started = now_of(c).mono;
        k->revision = r.peer->revision;
        k->http = http_start(c->http, &r);
}

/* After a 401, repeat the call once the plug-in, if one runs, has ended. */
static void client_on_renewed(void *arg)
{
        struct client_call *k = arg;
        struct client *c = k->client;
        int64_t waited_ms = (now_of(c).mono.ns - k->started.ns) / 1000000;
        if (access_busy(c->access) && waited_ms < CREDENTIALS_WAIT_MS) {
                client_refresh(c, false);
                loop_timer_set(c->loop, &k->again, CREDENTIALS_BUSY_MS, client_on_renewed, k);
                return;
        }
        call_try(k);
}

/* If the server refused the credentials, renew them, once per call, and repeat the call. Credentials that another call
 * has renewed meanwhile are used as they are. */
static bool client_renew(struct client_call *k, const struct client_answer *a)
{
        struct client *c = k->client;
        bool untrusted = a->status == 0 && a->err.code == ERR_DENIED;
        if (k->renewed || (a->status != 401 && !untrusted))
                return false;
        k->renewed = true;
        if (c->refreshed.ns <= k->started.ns) {
                c->refreshed = now_of(c).mono;
                client_refresh(c, true);
        }
        if (untrusted && access_peer(c->access)->revision == k->revision && !access_busy(c->access))
                return false;
        loop_timer_set(c->loop, &k->again, 0, client_on_renewed, k);
        return true;
}

static bool may_try_again(const struct client_call *k, const struct client_answer *a)
{
        if (k->r.stream || k->fed || k->tries_again >= (k->stream.data ? TRIES_AGAIN_READ : TRIES_AGAIN_MAX))
                return false; /* a watch's owner backs off and retries itself */
        if (k->r.method != HTTP_GET)
                return a->status == 429;
        if (a->status == 429 || a->status >= 500)
                return a->retry_after_ms >= 0;
        return a->err.code == ERR_RETRY && a->status < 300; /* there was no answer, or only part of one */
}

static bool try_again(struct client_call *k, const struct client_answer *a)
{
        if (!may_try_again(k, a))
                return false;
        int64_t delay_ms =
                retry_delay_ms(&k->back_off, now_of(k->client).mono, a->retry_after_ms > 0 ? a->retry_after_ms : 0);
        if (delay_ms >= left_ms(k))
                return false;
        k->tries_again++;
        loop_timer_set(k->client->loop, &k->again, delay_ms, call_try, k);
        return true;
}

static void tell_watchers(struct client_call *k, const struct http_reply *reply)
{
        const struct client_options *o = &k->client->o;
        int64_t took_ms = (now_of(k->client).mono.ns - k->started.ns) / 1000000;
        if (o->observe)
                o->observe(o->arg, k->verb, k->path, reply->status, took_ms, k->id);
        if (o->warned && reply->warning)
                o->warned(o->arg, k->path, reply->warning);
}

static void client_on_done(void *arg, const struct http_reply *reply)
{
        struct client_call *k = arg;
        struct client_answer a;
        k->http = NULL;
        tell_watchers(k, reply);
        AUTO(mem_free) char *what = mem_printf("%s %s", http_method_name(k->r.method), k->path);
        bool json_patch = k->content_type && strcmp(k->content_type, "application/json-patch+json") == 0;
        answer_judge(&a, reply, buf_text(&k->body), what, json_patch);
        if (a.err.code == ERR_TOOBIG && !a.unsent && !k->stream.data && reply->status < 300)
                err_set(&a.err, ERR_TOOBIG, "%s: the answer is longer than %zu bytes", what, k->body.max);
        if (a.status == 401) {
                struct err plain = a.err;
                err_set_http(&a.err, ERR_DENIED, a.status,
                             "%s; the server refuses the credentials of %s: have they expired?", plain.text,
                             access_source(k->client->access));
        }
        if (a.err.code && (client_renew(k, &a) || try_again(k, &a)))
                return;
        call_finish(k, &a, reply->whole);
}

/* --- starting --- */

static const char *verb_of(enum http_method m, const char *content_type)
{
        switch (m) {
        case HTTP_GET:
                return "get";
        case HTTP_POST:
                return "create";
        case HTTP_PUT:
                return "update";
        case HTTP_PATCH:
                return content_type && strncmp(content_type, "application/apply", 17) == 0 ? "apply" : "patch";
        case HTTP_DELETE:
                return "delete";
        }
        abort(); /* not a method */
}

static struct client_call *call_new(struct client *c, const char *path, const char *query, int64_t deadline_ms,
                                    size_t body_max)
{
        struct client_call *k = MEM_NEW(struct client_call);
        uint32_t random = 0;
        (void)!getrandom(&random, sizeof random, 0); /* the id only helps to read logs, so a failure does no harm */
        snprintf(k->id, sizeof k->id, "%08x", random);
        k->client = c;
        k->path = mem_string(path);
        k->url = query && query[0] ? mem_printf("%s?%s", path, query) : mem_string(path);
        k->back_off = (struct retry){.least_ms = 500, .most_ms = 8000, .reset_ms = HOUR_MS};
        if (deadline_ms)
                k->due.ns = now_of(c).mono.ns + deadline_ms * 1000000;
        buf_init(&k->body, body_max);
        LIST_INSERT_HEAD(&c->calls, k, link);
        return k;
}

struct client_call *client_start(struct client *c, const struct call *call, client_done *done, void *arg)
{
        struct client_call *k = call_new(c, call->path, call->query, call->deadline_ms ? call->deadline_ms : CALL_MS,
                                         call->body_max ? call->body_max : BODY_MAX);
        k->verb = verb_of(call->method, call->content_type);
        k->content_type = mem_string(call->content_type);
        k->r.method = call->method;
        k->r.accept = call->accept;
        k->r.gzip = call->gzip;
        k->r.body = (struct text){call->body.len ? mem_string_n(call->body.p, call->body.len) : NULL, call->body.len};
        k->r.urgent = call->urgent;
        k->r.queue = call->queue;
        k->done = done;
        k->arg = arg;
        call_try(k);
        return k;
}

struct client_call *client_stream(struct client *c, const struct client_stream_request *r)
{
        int64_t deadline_ms = r->watch || r->deadline_ms ? r->deadline_ms : LIST_MS;
        struct client_call *k = call_new(c, r->path, r->query, deadline_ms, ERROR_BODY_MAX);
        assert(r->data && r->done);
        k->verb = r->watch ? "watch" : "list";
        k->stream = *r;
        k->arg = r->arg;
        k->r.method = HTTP_GET;
        k->r.stream = r->watch;
        k->r.gzip = r->gzip && !r->watch;
        k->r.silence_ms = r->silence_ms;
        call_try(k);
        return k;
}

void client_cancel(struct client *c, struct client_call *k)
{
        assert(k->client == c);
        if (k->http)
                http_cancel(c->http, k->http);
        client_call_free(k);
}

static struct client_call *first_dropped(const struct client *c)
{
        struct client_call *k;
        LIST_FOREACH (k, &c->calls, link)
                if (k->dropped)
                        break;
        return k;
}

void client_drop_writes(struct client *c, const char *why)
{
        struct client_call *k;
        LIST_FOREACH (k, &c->calls, link)
                k->dropped = k->r.method != HTTP_GET && !k->r.urgent;
        while ((k = first_dropped(c))) { /* search again each time: a callback may start and cancel calls */
                struct client_answer a = {.retry_after_ms = -1};
                err_set(&a.err, ERR_RETRY, "%s %s: given up: %s", http_method_name(k->r.method), k->path, why);
                k->dropped = false;
                loop_timer_stop(c->loop, &k->again);
                if (k->http)
                        http_cancel(c->http, k->http);
                call_finish(k, &a, false);
        }
}

/* --- the client --- */

struct client *client_new(struct loop *l, struct access *a, const struct client_options *o)
{
        struct client *c = MEM_NEW(struct client);
        c->loop = l;
        c->access = a;
        c->o = *o;
        c->field_manager = mem_string(o->field_manager ? o->field_manager : "halflife");
        const struct http_limits limits = {.user_agent = o->user_agent, .rate = o->rate, .concurrency = o->concurrency};
        c->http = http_new(l, &limits);
        c->discovery = discovery_new(c);
        loop_timer_set(l, &c->credentials, CREDENTIALS_EVERY_MS, on_credentials, c);
        return c;
}

void client_free(struct client *c)
{
        if (!c)
                return;
        discovery_free(c->discovery);
        while (!LIST_EMPTY(&c->calls))
                client_cancel(c, LIST_FIRST(&c->calls));
        http_free(c->http);
        loop_timer_stop(c->loop, &c->credentials);
        mem_free(c->field_manager);
        mem_free(c);
}

struct loop *client_loop(const struct client *c)
{
        return c->loop;
}

const char *client_field_manager(const struct client *c)
{
        return c->field_manager;
}

struct discovery *client_discovery(const struct client *c)
{
        return c->discovery;
}

void client_set_limits(struct client *c, double rate, int concurrency)
{
        http_set_limits(c->http, rate, concurrency);
}

/* --- waiting for an answer --- */

struct waited {
        bool done;
        struct err err;
        char **ret_body;
        size_t *ret_len;
};

static void on_waited(void *arg, const struct client_answer *a)
{
        struct waited *w = arg;
        w->done = true;
        w->err = a->err;
        if (a->err.code)
                return;
        if (w->ret_body)
                *w->ret_body = mem_string_n(a->body.p, a->body.len);
        if (w->ret_len)
                *w->ret_len = a->body.len;
}

int client_wait(struct client *c, const struct call *call, char **ret_body, size_t *ret_len, struct err *err)
{
        struct waited w = {.ret_body = ret_body, .ret_len = ret_len};
        client_start(c, call, on_waited, &w);
        while (!w.done)
                loop_turn(c->loop, -1);
        return w.err.code ? err_copy(err, &w.err) : 0;
}
