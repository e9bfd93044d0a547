#include "serving/upstream.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

enum {
        ANSWER_MS = 8 * SECOND_MS /* shorter than the 10 s for which the listener waits */,
        ANSWER_MAX = 8 << 20,
        AT_ONCE = 32
};

struct upstream {
        struct http *http;
        struct http_peer peer;
        char *ca;
};

struct upstream_call {
        struct upstream *learner;
        struct http_call *http;
        struct buf body;
        upstream_answered *answered;
        void *arg;
};

static bool is_safe(const char *url)
{
        static const char *const loopback[] = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
        for (size_t i = 0; i < sizeof loopback / sizeof loopback[0]; i++) {
                size_t len = strlen(loopback[i]);
                if (strncmp(url, loopback[i], len) == 0 &&
                    strchr(":/", url[len])) /* strchr also finds the NUL at the url's end */
                        return true;
        }
        return strncmp(url, "https://", 8) == 0;
}

int upstream_new(struct loop *loop, const char *url, const char *user_agent, struct upstream **ret, struct err *err)
{
        const struct http_limits limits = {.user_agent = user_agent, .concurrency = AT_ONCE};
        if (!is_safe(url))
                return err_set(err, ERR_INVALID,
                               "upstream '%s' is refused: write https://, because requests to it carry callers' tokens",
                               url);
        if (strpbrk(url, "?#"))
                return err_set(err, ERR_INVALID, "upstream '%s' has a query: leave out what begins with '?' or '#'",
                               url);
        struct upstream *l = MEM_NEW(struct upstream);
        l->peer.base_url = url;
        l->http = http_new(loop, &limits);
        *ret = l;
        return 0;
}

void upstream_free(struct upstream *l)
{
        if (!l)
                return;
        http_free(l->http);
        mem_free(l->ca);
        mem_free(l);
}

void upstream_set_ca(struct upstream *l, const char *ca_pem)
{
        if (l->ca && strcmp(l->ca, ca_pem) == 0)
                return;
        mem_free(l->ca);
        l->peer.ca_pem = l->ca = mem_string(ca_pem);
        l->peer.revision++;
}

static void upstream_call_free(struct upstream_call *call)
{
        buf_release(&call->body);
        mem_free(call);
}

static int upstream_on_data(void *arg, const struct http_reply *head, const char *p, size_t len)
{
        struct upstream_call *call = arg;
        (void)head;
        return buf_add(&call->body, p, len) < 0 ? ERR_TOOBIG : 0;
}

static void upstream_on_done(void *arg, const struct http_reply *reply)
{
        struct upstream_call *call = arg;
        char why[ERR_TEXT_MAX + 128];
        struct server_relayed r = {(unsigned)reply->status, reply->content_type, buf_text(&call->body)};
        if (reply->err.code || !reply->whole) {
                int n = snprintf(why, sizeof why,
                                 "only the halflife that learns knows this, and it cannot be asked: %s",
                                 reply->err.text);
                r = (struct server_relayed){0, "", {why, (size_t)n < sizeof why ? (size_t)n : sizeof why - 1}};
        }
        call->answered(call->arg, &r);
        upstream_call_free(call);
}

struct upstream_call *upstream_ask(struct upstream *l, const char *token, const char *path_query,
                                   upstream_answered *answered, void *arg)
{
        struct upstream_call *call = MEM_NEW(struct upstream_call);
        *call = (struct upstream_call){.learner = l, .answered = answered, .arg = arg};
        buf_init(&call->body, ANSWER_MAX);
        const struct http_request r = {
                .method = HTTP_GET,
                .peer = &l->peer,
                .path_query = path_query,
                .bearer = token,
                .relayed = true,
                .deadline_ms = ANSWER_MS,
                .gzip = true,
                .data = upstream_on_data,
                .done = upstream_on_done,
                .arg = call,
        };
        call->http = http_start(l->http, &r);
        return call;
}

void upstream_cancel(struct upstream_call *call)
{
        http_cancel(call->learner->http, call->http);
        upstream_call_free(call);
}
