#include "net/http.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>

#include "base/mem.h"
#include "base/rate_limit.h"
#include "curl_sockets.h"
#include "http_call.h"

/* Requests share connections only within a class, so that a stuck list delays neither a watch nor a Lease renewal. */
enum class { CLASS_SHORT, CLASS_STREAM, CLASS_URGENT };

enum { IDLE_CONNECTIONS = 8, PIONEER_MS = 500 };

/* The connections of one class to one peer at one of its revisions. */
struct pool {
        LIST_ENTRY(pool) link;
        struct http *http;
        enum class class;
        const struct http_peer *peer;
        unsigned revision;
        bool retired; /* gets no new requests; freed after the last running one */
        int running;
        CURLM *multi;
        struct tls_files files; /* made once, from the peer of this revision */
        struct curl_sockets sockets;
        struct loop_timer timer;
        /* Over TLS the first call runs alone until its first byte arrives, but at most PIONEER_MS. Later calls can then
         * share that call's HTTP/2 connection. */
        struct http_call *first_connection;
        bool open;
        struct loop_timer opening;
};

struct http {
        struct loop *loop;
        char *user_agent;
        const struct proxy_settings *proxies;
        struct rate_limit limit; /* of requests started; rate 0: no bound */
        int concurrency;
        int busy[HTTP_QUEUES]; /* running calls that count against concurrency */
        enum http_queue next;  /* the queue whose turn it is */
        int inside;            /* depth of callers' callbacks that run within libcurl */
        bool settling;
        size_t waiting[HTTP_QUEUES];
        TAILQ_HEAD(, http_call) list[CALL_LISTS];
        LIST_HEAD(, pool) pools;
        struct loop_timer pump; /* fires when a request may start, has ended or was cancelled */
};

struct loop *http_loop(const struct http *h)
{
        return h->loop;
}

const struct proxy_settings *http_proxies(const struct http *h)
{
        return h->proxies;
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
void http_kick(struct http *h)
{
        loop_timer_set(h->loop, &h->pump, 0, on_pump, h);
}

/* --- lists --- */

static bool call_waits(const struct http_call *c)
{
        return c->state >= CALL_WAITING && c->state < CALL_RUNNING;
}

static void list_add(struct http_call *c, int state)
{
        c->state = (__typeof__(c->state))state;
        TAILQ_INSERT_TAIL(&c->http->list[state], c, link);
        c->http->waiting[c->r.queue] += call_waits(c);
}

static void list_drop(struct http_call *c)
{
        TAILQ_REMOVE(&c->http->list[c->state], c, link);
        c->http->waiting[c->r.queue] -= call_waits(c);
}

static bool http_counts(const struct http_call *c)
{
        return !c->r.stream && !c->r.urgent;
}

/* --- pools: connections of libcurl on the loop --- */

static void http_settle(struct http *h);
static void http_reap(struct pool *p);

/* Lets libcurl work on its sockets, then handles the requests that ended. Within libcurl, only the callbacks `head` and
 * `data` are called; `done` is called afterwards. */
static void pool_act(void *pool, curl_socket_t fd, int events)
{
        struct pool *p = pool;
        struct http *h = p->http;
        int running;
        CURLMcode rc = curl_multi_socket_action(p->multi, fd, events, &running);
        assert(rc == CURLM_OK);
        http_reap(p);
        http_settle(h);
}

/* Mark a request whose socket cannot be watched. libcurl runs now, so the request is ended at the next turn. */
static void pool_unwatched(void *pool, CURL *easy)
{
        const struct pool *p = pool;
        char *priv = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &priv);
        struct http_call *c = (struct http_call *)(void *)priv;
        if (!c)
                return; /* a handle of libcurl's own */
        c->no_descriptor = true;
        c->broken = CURLE_COULDNT_CONNECT;
        http_kick(p->http);
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
        curl_sockets_init(&p->sockets, h->loop, p->multi, pool_act, pool_unwatched, p);
        curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
        curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
        curl_multi_setopt(p->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
        curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
        LIST_INSERT_HEAD(&h->pools, p, link);
        return p;
}

static void pool_free(struct pool *p)
{
        assert(p->running == 0);
        LIST_REMOVE(p, link);
        curl_multi_cleanup(p->multi);
        curl_sockets_release(&p->sockets);
        tls_files_release(&p->files);
        loop_timer_stop(p->http->loop, &p->timer);
        loop_timer_stop(p->http->loop, &p->opening);
        mem_free(p);
}

/* The pool of a call's class and peer. Pools of the peer's earlier revisions retire. */
static struct pool *pool_for(struct http *h, const struct http_call *c)
{
        enum class class = c->r.urgent ? CLASS_URGENT : c->r.stream ? CLASS_STREAM : CLASS_SHORT;
        struct pool *p;
        LIST_FOREACH (p, &h->pools, link) {
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
        struct pool *p, *next;
        LIST_FOREACH_SAFE (p, &h->pools, link, next)
                if (p->retired && p->running == 0)
                        pool_free(p);
}

/* --- a call's end --- */

/* The pool's other calls wait for its first call no longer. `open`: no later call has to wait either. */
static void pool_opened(struct pool *p, bool open)
{
        p->open |= open;
        p->first_connection = NULL;
        loop_timer_stop(p->http->loop, &p->opening);
}

static void on_opening_late(void *arg)
{
        struct pool *p = arg;
        pool_opened(p, true);
        http_kick(p->http);
}

/* Take a call off its list and its connection, and stop its timers. */
static void http_detach(struct http_call *c)
{
        struct http *h = c->http;
        assert(h->inside == 0 || c->state != CALL_RUNNING);
        list_drop(c);
        loop_timer_stop(h->loop, &c->deadline);
        loop_timer_stop(h->loop, &c->silence);
        loop_timer_stop(h->loop, &c->resume);
        if (c->pool) {
                CURLMcode rc = curl_multi_remove_handle(c->pool->multi, c->easy);
                assert(rc == CURLM_OK);
                if (c->pool->first_connection == c)
                        pool_opened(c->pool, c->any_byte);
                c->pool->running--;
                c->pool = NULL;
                h->busy[c->r.queue] -= http_counts(c);
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

/* Ends a call that timed out. Its connection may be dead without an error, so the whole pool gets no new requests. */
static void call_expire(struct http_call *c, int64_t after_ms, const char *what)
{
        if (c->pool)
                c->pool->retired = true;
        AUTO(mem_free) char *route = http_call_route(c);
        c->reply.unsent = !c->pool;
        if (!c->reply.err.code)
                err_set(&c->reply.err, ERR_RETRY, "%s: %s within %lld.%03lld s", route,
                        c->pool ? what : "not sent (too many requests wait)", (long long)(after_ms / 1000),
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
                call_expire(c, c->r.silence_ms, "no byte arrived");
}

/* --- starting --- */

static void call_run(struct http_call *c)
{
        struct http *h = c->http;
        struct pool *pool = pool_for(h, c);
        if (http_call_prepare(c, &pool->files, h->loop, h->user_agent) < 0) {
                call_end(c);
                return;
        }
        list_drop(c);
        list_add(c, CALL_RUNNING);
        c->pool = pool;
        if (!c->pool->open && !c->pool->first_connection) {
                c->pool->first_connection = c;
                loop_timer_set(h->loop, &c->pool->opening, PIONEER_MS, on_opening_late, c->pool);
        }
        c->pool->running++;
        h->busy[c->r.queue] += http_counts(c);
        if (c->r.silence_ms)
                loop_timer_set(h->loop, &c->silence, c->r.silence_ms, on_silence, c);
        CURLMcode rc = curl_multi_add_handle(c->pool->multi, c->easy);
        assert(rc == CURLM_OK);
}

/* Take a token of the rate limit and return 0, or return the milliseconds until there is a token. */
static int64_t take_token(struct http *h)
{
        if (h->limit.rate <= 0)
                return 0;
        int64_t wait_ms = rate_limit_wait_ms(&h->limit, loop_now(h->loop).mono);
        if (wait_ms == 0)
                rate_limit_take(&h->limit);
        return wait_ms;
}

static bool waits_for_first_connection(struct http *h, const struct http_call *c)
{
        struct pool *p = pool_for(h, c);
        if (p->first_connection && p->first_connection->any_byte)
                pool_opened(p, true);
        return p->first_connection && strncmp(c->r.peer->base_url, "https:", 6) == 0;
}

static bool queue_may_start(const struct http *h, enum http_queue q)
{
        int busy = 0, most = q == HTTP_FOR_CLIENTS ? (h->concurrency + 1) / 2 : h->concurrency;
        for (enum http_queue each = 0; each < HTTP_QUEUES; each++)
                busy += h->busy[each];
        return h->concurrency == 0 || (busy < h->concurrency && h->busy[q] < most);
}

/* The first call of the queue whose turn it is; NULL: no call may start. */
static struct http_call *http_next(const struct http *h)
{
        struct http_call *c;
        for (unsigned i = 0; i < HTTP_QUEUES; i++) {
                enum http_queue q = (enum http_queue)((h->next + i) % HTTP_QUEUES);
                if (queue_may_start(h, q) && (c = TAILQ_FIRST(&h->list[CALL_WAITING + q])))
                        return c;
        }
        return NULL;
}

static void start_what_may(struct http *h)
{
        struct http_call *c, *next;
        TAILQ_FOREACH_SAFE (c, &h->list[CALL_PROMPT], link, next)
                if (!waits_for_first_connection(h, c))
                        call_run(c);
        while ((c = http_next(h))) {
                if (waits_for_first_connection(h, c))
                        return;
                int64_t wait_ms = take_token(h);
                if (wait_ms > 0) {
                        loop_timer_set(h->loop, &h->pump, wait_ms, on_pump, h);
                        return;
                }
                h->next = (enum http_queue)((c->r.queue + 1) % HTTP_QUEUES);
                call_run(c);
        }
}

/* End the running calls that were cancelled or broke within libcurl. */
static void end_marked(struct http *h)
{
        struct http_call *c, *next;
        TAILQ_FOREACH_SAFE (c, &h->list[CALL_RUNNING], link, next) {
                if (c->cancelled) {
                        http_detach(c);
                        http_call_free(c);
                } else if (c->broken != CURLE_OK) {
                        http_call_judge(c, c->broken);
                        call_end(c);
                }
        }
}

/* Call `done` for each ended call, then start the calls that may start. Every loop callback here ends with this. */
static void http_settle(struct http *h)
{
        assert(h->inside == 0 && !h->settling);
        h->settling = true;
        for (struct http_call *c; (c = TAILQ_FIRST(&h->list[CALL_ENDED]));) {
                list_drop(c);
                if (!c->cancelled)
                        c->r.done(c->r.arg, &c->reply);
                http_call_free(c);
        }
        start_what_may(h);
        pools_sweep(h);
        h->settling = false;
        if (!TAILQ_EMPTY(&h->list[CALL_ENDED]))
                http_kick(h);
}

static void on_pump(void *arg)
{
        struct http *h = arg;
        end_marked(h);
        http_settle(h);
}

/* --- public functions --- */

/* Ignore SIGPIPE: a TLS library may write to a socket that the peer has closed; the write's result says so. */
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
        h->proxies = limits->proxies ? limits->proxies : proxy_settings_of_process();
        for (int i = 0; i < CALL_LISTS; i++)
                TAILQ_INIT(&h->list[i]);
        h->user_agent = mem_string(limits->user_agent ? limits->user_agent : "halflife");
        assert(strncmp(h->user_agent, "curl", 4) != 0); /* for a user agent curl, the API server would indent answers */
        rate_limit_init(&h->limit, limits->rate, fmax(1, limits->rate), loop_now(l).mono);
        http_set_limits(h, limits->rate, limits->concurrency);
        return h;
}

void http_set_limits(struct http *h, double rate, int concurrency)
{
        assert(rate >= 0 && concurrency >= 0);
        rate_limit_set(&h->limit, rate, fmax(1, rate));
        h->concurrency = concurrency;
        if (h->waiting[HTTP_OWN] || h->waiting[HTTP_FOR_CLIENTS])
                http_kick(h);
}

void http_free(struct http *h)
{
        if (!h)
                return;
        assert(h->inside == 0 && !h->settling);
        for (int i = 0; i < CALL_LISTS; i++)
                for (struct http_call *c; (c = TAILQ_FIRST(&h->list[i]));) {
                        http_detach(c);
                        http_call_free(c);
                }
        while (!LIST_EMPTY(&h->pools))
                pool_free(LIST_FIRST(&h->pools));
        loop_timer_stop(h->loop, &h->pump);
        mem_free(h->user_agent);
        mem_free(h);
}

/* The pump timer gives the new call to libcurl later, because http_start may run within a callback of libcurl. */
struct http_call *http_start(struct http *h, const struct http_request *r)
{
        struct http_call *c = http_call_new(h, r);
        if (http_counts(c) && h->waiting[r->queue] >= HTTP_WAITING_MAX) {
                c->reply.unsent = true;
                err_set(&c->reply.err, ERR_TOOBIG, "%d requests are already waiting", HTTP_WAITING_MAX);
                list_add(c, CALL_ENDED);
        } else {
                list_add(c, http_counts(c) ? CALL_WAITING + (int)r->queue : CALL_PROMPT);
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
