#include "net/http.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

#include "base/mem.h"
#include "http_call.h"

/* Connections are shared within a class only, so that a stuck list costs neither a watch nor a lease. */
enum class { CLASS_SHORT, CLASS_STREAM, CLASS_URGENT };

enum { IDLE_CONNECTIONS = 8, PIONEER_MS = 500 };

/* The connections of one class to one peer as it was at one revision. */
struct pool {
        struct pool *next;
        struct http *http;
        enum class class;
        const struct http_peer *peer;
        unsigned revision;
        bool retired; /* takes no new requests; freed with its last one */
        int running;
        CURLM *multi;
        struct loop_timer timer;
        /* Over TLS the first call goes alone until it is answered, or for a moment: then others can share its
         * connection. */
        struct http_call *pioneer;
        bool open;
        struct loop_timer opening;
};

struct list {
        struct http_call *first, *last;
};

struct http {
        struct loop *loop;
        char *user_agent;
        double rate, tokens;
        struct mono filled; /* when tokens were counted last */
        int concurrency;
        int busy;   /* running calls that count against concurrency */
        int inside; /* callbacks of libcurl under way */
        bool settling;
        size_t waiting;
        struct list list[CALL_LISTS];
        struct pool *pool;
        struct loop_timer pump; /* something may start, has ended, or was cancelled */
};

struct loop *http_loop(const struct http *h)
{
        return h->loop;
}

void http_enter(struct http *h)
{
        h->inside++;
}

void http_leave(struct http *h)
{
        h->inside--;
}

static void on_pump(void *arg);
static void http_kick(struct http *h)
{
        loop_timer_set(h->loop, &h->pump, 0, on_pump, h);
}

/* --- lists --- */

static void list_add(struct http_call *c, int state)
{
        struct list *to = &c->http->list[state];
        c->state = (__typeof__(c->state))state;
        c->before = to->last;
        c->after = NULL;
        *(to->last ? &to->last->after : &to->first) = c;
        to->last = c;
        c->http->waiting += state == CALL_WAITING;
}

static void list_drop(struct http_call *c)
{
        struct list *from = &c->http->list[c->state];
        *(c->before ? &c->before->after : &from->first) = c->after;
        *(c->after ? &c->after->before : &from->last) = c->before;
        c->before = c->after = NULL;
        c->http->waiting -= c->state == CALL_WAITING;
}

static bool http_counts(const struct http_call *c)
{
        return !c->r.stream && !c->r.urgent;
}

/* --- pools: libcurl's sockets and timer on the loop --- */

static void http_settle(struct http *h);
static void http_reap(struct pool *p);

/* Turn libcurl, then see what has ended: nothing of ours is called while libcurl is on the stack but data. */
static void pool_act(struct pool *p, curl_socket_t fd, int events)
{
        struct http *h = p->http;
        int running;
        CURLMcode rc = curl_multi_socket_action(p->multi, fd, events, &running);
        assert(rc == CURLM_OK);
        http_reap(p);
        http_settle(h);
}

static void on_ready(void *arg, int fd, uint32_t events)
{
        int bits = 0;
        if (events & EPOLLIN)
                bits |= CURL_CSELECT_IN;
        if (events & EPOLLOUT)
                bits |= CURL_CSELECT_OUT;
        if (events & (EPOLLERR | EPOLLHUP))
                bits |= CURL_CSELECT_ERR;
        pool_act(arg, fd, bits);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
        struct pool *p = arg;
        (void)easy, (void)socket_arg;
        uint32_t events = 0; /* CURL_POLL_REMOVE, CURL_POLL_NONE */
        if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
                events |= EPOLLIN;
        if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
                events |= EPOLLOUT;
        /* An error here would end every request of this pool; unwatched, only this socket's meet their deadlines. */
        (void)loop_watch(p->http->loop, fd, events, on_ready, p);
        return 0;
}

static void on_timer(void *arg)
{
        pool_act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer_wanted(CURLM *multi, long after_ms, void *arg)
{
        struct pool *p = arg;
        (void)multi;
        if (after_ms < 0)
                loop_timer_stop(p->http->loop, &p->timer);
        else
                loop_timer_set(p->http->loop, &p->timer, after_ms, on_timer, p);
        return 0;
}

static struct pool *pool_new(struct http *h, enum class class, const struct http_peer *peer)
{
        struct pool *p = MEM_NEW(struct pool);
        p->http = h;
        p->class = class;
        p->peer = peer;
        p->revision = peer->revision;
        p->multi = curl_multi_init();
        assert(p->multi);
        curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
        curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
        curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
        curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
        curl_multi_setopt(p->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
        curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
        p->next = h->pool;
        h->pool = p;
        return p;
}

static void pool_free(struct pool *p)
{
        assert(p->running == 0);
        struct pool **at = &p->http->pool;
        while (*at != p)
                at = &(*at)->next;
        *at = p->next;
        curl_multi_cleanup(p->multi);
        loop_timer_stop(p->http->loop, &p->timer);
        loop_timer_stop(p->http->loop, &p->opening);
        mem_free(p);
}

/* The pool of a call's class and peer; pools of the peer's earlier revisions take nothing more. */
static struct pool *pool_for(struct http *h, const struct http_call *c)
{
        enum class class = c->r.urgent ? CLASS_URGENT : c->r.stream ? CLASS_STREAM : CLASS_SHORT;
        for (struct pool *p = h->pool; p; p = p->next) {
                if (p->retired || p->class != class || p->peer != c->r.peer)
                        continue;
                if (p->revision == c->r.peer->revision)
                        return p;
                p->retired = true;
        }
        return pool_new(h, class, c->r.peer);
}

static void pools_sweep(struct http *h)
{
        for (struct pool *p = h->pool, *next; p; p = next) {
                next = p->next;
                if (p->retired && p->running == 0)
                        pool_free(p);
        }
}

/* --- a call's end --- */

/* Others need not wait for the pioneer any more; open: nor will later ones. */
static void pool_opened(struct pool *p, bool open)
{
        p->open |= open;
        p->pioneer = NULL;
        loop_timer_stop(p->http->loop, &p->opening);
}

static void on_opening_late(void *arg)
{
        struct pool *p = arg;
        pool_opened(p, true);
        http_kick(p->http);
}

/* Off its list, its timers and its connection. */
static void http_detach(struct http_call *c)
{
        struct http *h = c->http;
        assert(h->inside == 0 || c->state != CALL_RUNNING);
        list_drop(c);
        loop_timer_stop(h->loop, &c->deadline);
        loop_timer_stop(h->loop, &c->silence);
        if (c->pool) {
                CURLMcode rc = curl_multi_remove_handle(c->pool->multi, c->easy);
                assert(rc == CURLM_OK);
                if (c->pool->pioneer == c)
                        pool_opened(c->pool, c->any_byte);
                c->pool->running--;
                c->pool = NULL;
                h->busy -= http_counts(c);
        }
}

static void call_end(struct http_call *c)
{
        http_detach(c);
        list_add(c, CALL_ENDED);
}

static void http_reap(struct pool *p)
{
        int left;
        for (CURLMsg *m; (m = curl_multi_info_read(p->multi, &left));) {
                if (m->msg != CURLMSG_DONE)
                        continue;
                CURLcode rc = m->data.result;
                char *priv = NULL;
                curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &priv);
                struct http_call *c = (struct http_call *)(void *)priv;
                http_call_judge(c, rc);
                call_end(c);
        }
}

/* A connection on which nothing came in time may be dead without anyone having said so: no more requests on it. */
static void call_expire(struct http_call *c, int64_t after_ms, const char *what)
{
        if (c->pool)
                c->pool->retired = true;
        if (!c->reply.err.code)
                err_set(&c->reply.err, ERR_RETRY, "%s: %s within %lld.%03lld s", c->r.peer->base_url,
                        c->pool ? what : "too many requests wait, not sent", (long long)(after_ms / 1000),
                        (long long)(after_ms % 1000));
        struct http *h = c->http;
        call_end(c);
        http_settle(h);
}

static void on_deadline(void *arg)
{
        struct http_call *c = arg;
        call_expire(c, c->r.deadline_ms, c->any_byte ? "the answer did not end" : "no answer");
}

static void on_silence(void *arg)
{
        struct http_call *c = arg;
        struct loop *l = c->http->loop;
        int64_t idle_ms = (loop_now(l).mono.ns - c->last_byte.ns) / 1000000;
        if (idle_ms < c->r.silence_ms)
                loop_timer_set(l, &c->silence, c->r.silence_ms - idle_ms, on_silence, c);
        else
                call_expire(c, c->r.silence_ms, "not a byte came");
}

/* --- starting --- */

static void call_run(struct http_call *c)
{
        struct http *h = c->http;
        if (http_call_prepare(c, h->loop, h->user_agent) < 0) {
                call_end(c);
                return;
        }
        list_drop(c);
        list_add(c, CALL_RUNNING);
        c->pool = pool_for(h, c);
        if (!c->pool->open && !c->pool->pioneer) {
                c->pool->pioneer = c;
                loop_timer_set(h->loop, &c->pool->opening, PIONEER_MS, on_opening_late, c->pool);
        }
        c->pool->running++;
        h->busy += http_counts(c);
        if (c->r.silence_ms)
                loop_timer_set(h->loop, &c->silence, c->r.silence_ms, on_silence, c);
        CURLMcode rc = curl_multi_add_handle(c->pool->multi, c->easy);
        assert(rc == CURLM_OK);
}

static double http_burst(const struct http *h)
{
        return fmax(1, h->rate);
}

/* Take a token; else the milliseconds until there is one. */
static int64_t take_token(struct http *h)
{
        if (h->rate <= 0)
                return 0;
        struct mono now = loop_now(h->loop).mono;
        h->tokens = fmin(http_burst(h), h->tokens + (double)(now.ns - h->filled.ns) * 1e-9 * h->rate);
        h->filled = now;
        if (h->tokens < 1)
                return (int64_t)((1 - h->tokens) / h->rate * 1000) + 1;
        h->tokens -= 1;
        return 0;
}

static bool waits_for_pioneer(struct http *h, const struct http_call *c)
{
        struct pool *p = pool_for(h, c);
        if (p->pioneer && p->pioneer->any_byte)
                pool_opened(p, true);
        return p->pioneer && strncmp(c->r.peer->base_url, "https:", 6) == 0;
}

static void start_what_may(struct http *h)
{
        for (struct http_call *c = h->list[CALL_PROMPT].first, *next; c; c = next) {
                next = c->after;
                if (!waits_for_pioneer(h, c))
                        call_run(c);
        }
        while (h->list[CALL_WAITING].first && (h->concurrency == 0 || h->busy < h->concurrency)) {
                if (waits_for_pioneer(h, h->list[CALL_WAITING].first))
                        return;
                int64_t wait_ms = take_token(h);
                if (wait_ms > 0) {
                        loop_timer_set(h->loop, &h->pump, wait_ms, on_pump, h);
                        return;
                }
                call_run(h->list[CALL_WAITING].first);
        }
}

static void drop_cancelled(struct http *h)
{
        for (struct http_call *c = h->list[CALL_RUNNING].first, *next; c; c = next) {
                next = c->after;
                if (c->cancelled) {
                        http_detach(c);
                        http_call_free(c);
                }
        }
}

/* Tell the owners of calls that ended, start what may start now. Called last by whatever the loop calls. */
static void http_settle(struct http *h)
{
        assert(h->inside == 0 && !h->settling);
        h->settling = true;
        for (struct http_call *c; (c = h->list[CALL_ENDED].first);) {
                list_drop(c);
                if (!c->cancelled)
                        c->r.done(c->r.arg, &c->reply);
                http_call_free(c);
        }
        start_what_may(h);
        pools_sweep(h);
        h->settling = false;
        if (h->list[CALL_ENDED].first)
                http_kick(h);
}

static void on_pump(void *arg)
{
        struct http *h = arg;
        drop_cancelled(h);
        http_settle(h);
}

/* --- outside --- */

/* OpenSSL writes to sockets whose other end may have gone; what that tells is in its result. */
static void curl_once(void)
{
        signal(SIGPIPE, SIG_IGN);
        CURLcode rc = curl_global_init(CURL_GLOBAL_DEFAULT);
        assert(rc == CURLE_OK);
}

struct http *http_new(struct loop *l, const struct http_limits *limits)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, curl_once);
        struct http *h = MEM_NEW(struct http);
        h->loop = l;
        h->user_agent = mem_string(limits->user_agent ? limits->user_agent : "halflife");
        assert(strncmp(h->user_agent, "curl", 4) != 0); /* the API server indents its answers for those */
        h->filled = loop_now(l).mono;
        http_set_limits(h, limits->rate, limits->concurrency);
        h->tokens = http_burst(h);
        return h;
}

void http_set_limits(struct http *h, double rate, int concurrency)
{
        assert(rate >= 0 && concurrency >= 0);
        h->rate = rate;
        h->concurrency = concurrency;
        h->tokens = fmin(h->tokens, http_burst(h));
        if (h->list[CALL_WAITING].first)
                http_kick(h);
}

void http_free(struct http *h)
{
        if (!h)
                return;
        assert(h->inside == 0 && !h->settling);
        for (int i = 0; i < CALL_LISTS; i++)
                for (struct http_call *c; (c = h->list[i].first);) {
                        http_detach(c);
                        http_call_free(c);
                }
        while (h->pool)
                pool_free(h->pool);
        loop_timer_stop(h->loop, &h->pump);
        mem_free(h->user_agent);
        mem_free(h);
}

/* Nothing is given to libcurl here: the caller may stand within one of its callbacks. */
struct http_call *http_start(struct http *h, const struct http_request *r)
{
        struct http_call *c = http_call_new(h, r);
        if (http_counts(c) && h->waiting >= HTTP_WAITING_MAX) {
                err_set(&c->reply.err, ERR_TOOBIG, "%d requests wait already", HTTP_WAITING_MAX);
                list_add(c, CALL_ENDED);
        } else {
                list_add(c, http_counts(c) ? CALL_WAITING : CALL_PROMPT);
                if (c->r.deadline_ms)
                        loop_timer_set(h->loop, &c->deadline, c->r.deadline_ms, on_deadline, c);
        }
        http_kick(h);
        return c;
}

void http_cancel(struct http *h, struct http_call *c)
{
        assert(c->http == h && !c->cancelled);
        http_kick(h);
        if (h->inside > 0 && c->state == CALL_RUNNING) {
                c->cancelled = true;
                return;
        }
        http_detach(c);
        http_call_free(c);
}
