#include "page_server.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "http/listen_socket.h"
#include "page_guard.h"
#include "page_objects.h"
#include "rest/routes.h"
#include "terminal.h"

enum {
        CONNECTIONS = 64,
        CONNECTION_BYTES = 32 << 10,
        IDLE_SECONDS = 60,
        ANSWER_BYTES = 64 << 20,
        ANSWER_MS = 20 * SECOND_MS,
        LOOK_MS = 500,
        PORT_TEXT = 8
};

struct page_request {
        TAILQ_ENTRY(page_request) link; /* in the list of requests that wait for objects or for halflife */
        struct page_server *server;
        struct MHD_Connection *connection;
        struct arena arena;
        struct text path, query; /* as the browser sent them, still percent-encoded */
        struct request request;  /* the request, with the path behind the prefix */
        struct route route;
        struct answer answer;
        struct http_call *call; /* NULL: the request does not wait for halflife */
        struct buf body;
        bool begun, waits, for_objects;
};
TAILQ_HEAD(page_request_list, page_request);

struct page_server {
        struct page_server_options o;
        struct loop *loop;
        struct MHD_Daemon *daemon;
        struct page_guard guard;
        struct page_objects objects;
        struct page_request_list waiting;
        struct loop_timer timer;
        char url[128];
};

/* --- answers --- */

static enum MHD_Result page_request_send(struct page_request *r)
{
        struct answer *a = &r->answer;
        size_t len = a->body.len;
        struct MHD_Response *m =
                len ? MHD_create_response_from_buffer_with_free_callback(len, buf_steal(&a->body), mem_free)
                    : MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
        if (!m)
                return MHD_NO;
        if (a->type)
                MHD_add_response_header(m, "Content-Type", a->type);
        for (int i = 0; i < a->headers; i++)
                MHD_add_response_header(m, a->header[i].name, a->header[i].value);
        if (r->route.name != ROUTE_PAGE || a->status >= 400) {
                MHD_add_response_header(m, "Cache-Control", "private, no-cache");
                MHD_add_response_header(m, "X-Content-Type-Options", "nosniff");
        }
        enum MHD_Result rc = MHD_queue_response(r->connection, a->status, m);
        MHD_destroy_response(m);
        return rc;
}

static enum MHD_Result page_request_refuse(struct page_request *r, unsigned status, const char *why)
{
        struct MHD_Response *m =
                MHD_create_response_from_buffer(strlen(why), (void *)(uintptr_t)why, MHD_RESPMEM_PERSISTENT);
        if (!m)
                return MHD_NO;
        MHD_add_response_header(m, "Content-Type", "text/plain; charset=utf-8");
        MHD_add_response_header(m, "Cache-Control", "no-store");
        MHD_add_response_header(m, "X-Content-Type-Options", "nosniff");
        if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
                MHD_add_response_header(m, "Allow", "GET, HEAD");
        enum MHD_Result rc = MHD_queue_response(r->connection, status, m);
        MHD_destroy_response(m);
        return rc;
}

static void page_request_wait(struct page_request *r)
{
        r->waits = true;
        TAILQ_INSERT_TAIL(&r->server->waiting, r, link);
        MHD_suspend_connection(r->connection);
}

static void page_request_go_on(struct page_request *r)
{
        r->waits = false;
        TAILQ_REMOVE(&r->server->waiting, r, link);
        MHD_resume_connection(r->connection);
}

/* --- objects, from the API server --- */

static void page_request_answer_objects(struct page_request *r, const struct page_objects_entry *e)
{
        if (e->view) {
                /* match the route again: now the objects tell how kinds of other API groups are spelled */
                if (route_match(&r->request, e->view, &r->arena, &r->route, &r->answer) < 0)
                        return;
                r->route.only_known = true;
                route_answer(&r->route, &r->request, e->view, NULL, 0, &r->arena, &r->answer);
                return;
        }
        answer_problem(&r->answer, e->why.code == ERR_DENIED ? PROBLEM_FORBIDDEN : PROBLEM_UNAVAILABLE,
                       "the API server does not show you the Recommendations%s%s: %s", *e->ns ? " of " : "", e->ns,
                       e->why.text);
}

static void page_request_ask_objects(struct page_request *r)
{
        const struct page_objects_entry *e =
                page_objects_find(&r->server->objects, r->route.ns, loop_now(r->server->loop).mono);
        if (e) {
                page_request_answer_objects(r, e);
                return;
        }
        r->for_objects = true;
        page_request_wait(r);
}

/* Read the namespace of the first waiting request; the result answers all requests that wait for this namespace. */
void page_server_work(struct page_server *s)
{
        struct page_request *r, *next;
        TAILQ_FOREACH (r, &s->waiting, link)
                if (r->for_objects)
                        break;
        if (!r)
                return;
        char ns[sizeof r->route.ns];
        snprintf(ns, sizeof ns, "%s", r->route.ns);
        const struct page_objects_entry *e = page_objects_read(&s->objects, ns);
        for (r = TAILQ_FIRST(&s->waiting); r; r = next) {
                next = TAILQ_NEXT(r, link);
                if (!r->for_objects || strcmp(r->route.ns, ns) != 0)
                        continue;
                r->for_objects = false;
                page_request_answer_objects(r, e);
                page_request_go_on(r);
        }
        MHD_run(s->daemon);
}

/* --- what was learned, from a halflife --- */

static int page_request_data(void *arg, const struct http_reply *head, const char *p, size_t len)
{
        (void)head;
        return buf_add(&((struct page_request *)arg)->body, p, len);
}

static const char *page_request_words(const json_t *answer)
{
        const char *detail = json_string_value(json_object_get(answer, "detail"));
        const char *message = json_string_value(json_object_get(answer, "message"));
        return detail ? detail : message ? message : "it did not say why";
}

/* Answer with a problem document, since the API server's proxy refuses with a Status, which the page cannot read. */
static void page_request_tell(struct page_request *r, const struct http_reply *reply)
{
        AUTO(json_decref) json_t *told = json_loadb(buf_text(&r->body).p, r->body.len, 0, NULL);
        AUTO(mem_free) char *words = terminal_tame(mem_string(page_request_words(told)));
        bool refused = reply->status == 401 || reply->status == 403;
        answer_problem(&r->answer, refused ? PROBLEM_FORBIDDEN : PROBLEM_UNAVAILABLE,
                       "what was learned is asked of the Service halflife through the API server, which says: %s. "
                       "--halflife-namespace names the Service's namespace, --server asks halflife directly%s",
                       words,
                       refused ? ", and the Role halflife-rest-proxy grants the way through the API server" : "");
}

static void page_request_done(void *arg, const struct http_reply *reply)
{
        struct page_request *r = arg;
        r->call = NULL;
        bool problem = strncmp(reply->content_type ? reply->content_type : "", "application/problem+json", 24) == 0;
        if (reply->err.code) {
                answer_problem(&r->answer, PROBLEM_UNAVAILABLE, "halflife cannot be asked: %s", reply->err.text);
        } else if (reply->status >= 400 && !problem) {
                page_request_tell(r, reply);
        } else {
                r->answer = (struct answer){.status = (unsigned)reply->status,
                                            .type = arena_text(&r->arena, text_of(reply->content_type))};
                buf_init(&r->answer.body, r->body.len + 1);
                (void)buf_add(&r->answer.body, buf_text(&r->body).p, r->body.len);
                if (strncmp(reply->content_type ? reply->content_type : "", "text/csv", 8) == 0)
                        answer_header(&r->answer, "Content-Disposition", "attachment; filename=\"halflife.csv\"");
                if (reply->status == 200)
                        answer_tag(&r->answer, r->request.if_none_match, &r->arena);
        }
        page_request_go_on(r);
        MHD_run(r->server->daemon);
}

static void page_request_forward(struct page_request *r)
{
        struct page_server *s = r->server;
        struct api_client *client = s->o.client;
        if (s->o.no_token) {
                answer_problem(&r->answer, PROBLEM_UNAUTHENTICATED,
                               "what halflife learned is shown to whom it knows, and the API server does not pass your "
                               "credentials on to it. End this with Ctrl-C and start it with a token: "
                               "HALFLIFE_TOKEN=$(kubectl create token ACCOUNT -n NAMESPACE) kubectl halflife ui");
                return;
        }
        AUTO(mem_free)
        char *url = mem_printf("%s%.*s%s%.*s", client->prefix ? client->prefix : "", TEXT_ARG(r->request.path),
                               r->query.len ? "?" : "", TEXT_ARG(r->query));
        const char *bearer = client->prefix ? access_bearer(s->o.session->access) : client->bearer;
        const struct http_request q = {.peer = &client->peer,
                                       .path_query = url,
                                       .bearer = bearer,
                                       .passed = client->passed,
                                       .accept = "*/*",
                                       .gzip = true,
                                       .deadline_ms = ANSWER_MS,
                                       .data = page_request_data,
                                       .done = page_request_done,
                                       .arg = r};
        buf_init(&r->body, ANSWER_BYTES);
        r->call = http_start(client->http, &q);
        page_request_wait(r);
}

/* --- requests --- */

static bool page_is_of_objects(const struct route *route)
{
        return route->name == ROUTE_LIST || route->name == ROUTE_WORKLOAD || route->name == ROUTE_SUMMARY ||
               route->name == ROUTE_PROFILES;
}

static void page_request_answer(struct page_request *r)
{
        if (route_match(&r->request, NULL, &r->arena, &r->route, &r->answer) < 0)
                return;
        if (r->route.name == ROUTE_PAGE)
                route_answer(&r->route, &r->request, NULL, NULL, 0, &r->arena, &r->answer);
        else if (r->server->o.objects && page_is_of_objects(&r->route))
                page_request_ask_objects(r);
        else
                page_request_forward(r);
}

struct page_headers {
        const char *host;
        int hosts;
};

static enum MHD_Result page_see_header(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
        struct page_headers *h = arg;
        (void)kind;
        if (strcasecmp(key, "Host") == 0) {
                h->host = value;
                h->hosts++;
        }
        return MHD_YES;
}

static const char *page_request_header(struct page_request *r, const char *name)
{
        return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result page_request_judge(struct page_request *r, const char *method)
{
        struct page_headers headers = {0};
        const char *why;
        struct text path;
        MHD_get_connection_values(r->connection, MHD_HEADER_KIND, page_see_header, &headers);
        const struct page_question q = {.method = text_of(method),
                                        .path = r->path,
                                        .host = headers.hosts == 1 ? headers.host : NULL,
                                        .origin = page_request_header(r, "Origin"),
                                        .site = page_request_header(r, "Sec-Fetch-Site"),
                                        .mode = page_request_header(r, "Sec-Fetch-Mode")};
        unsigned refused = page_guard_judge(&r->server->guard, &q, &path, &why);
        if (refused)
                return page_request_refuse(r, refused, why);
        const char *known = page_request_header(r, "If-None-Match");
        r->request = (struct request){.method = text_of(arena_text(&r->arena, text_of(method))),
                                      .path = path,
                                      .query = r->query,
                                      .at = loop_now(r->server->loop).wall};
        if (known)
                r->request.if_none_match = text_of(arena_text(&r->arena, text_of(known)));
        page_request_answer(r);
        return r->waits ? MHD_YES : page_request_send(r);
}

static void *page_request_begin(void *arg, const char *uri, struct MHD_Connection *c)
{
        struct page_request *r = MEM_NEW(struct page_request);
        r->server = arg;
        r->connection = c;
        struct text all = text_of(arena_text(&r->arena, text_of(uri)));
        const char *mark = all.len ? memchr(all.p, '?', all.len) : NULL;
        r->path = mark ? (struct text){all.p, (size_t)(mark - all.p)} : all;
        r->query = mark ? text_of(mark + 1) : (struct text){"", 0};
        return r;
}

static enum MHD_Result page_request_handle(void *arg, struct MHD_Connection *c, const char *url, const char *method,
                                           const char *version, const char *upload, size_t *upload_size, void **state)
{
        struct page_request *r = *state;
        (void)arg, (void)c, (void)url, (void)version, (void)upload;
        if (!r->begun || *upload_size > 0) { /* a request's body is ignored, but must end before the answer */
                r->begun = true;
                *upload_size = 0;
                return MHD_YES;
        }
        return r->answer.status ? page_request_send(r) : page_request_judge(r, method);
}

static void page_request_end(void *arg, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
        struct page_request *r = *state;
        (void)arg, (void)c, (void)why;
        if (!r)
                return;
        assert(!r->waits); /* a suspended connection does not end */
        buf_release(&r->answer.body);
        buf_release(&r->body);
        arena_release(&r->arena);
        mem_free(r);
        *state = NULL;
}

/* --- from start to stop --- */

static void page_server_ready(void *arg, int fd, uint32_t events)
{
        struct page_server *s = arg;
        (void)fd, (void)events;
        MHD_run(s->daemon);
}

/* Run the HTTP server regularly, so that it closes connections that are idle for too long. */
static void page_server_look(void *arg)
{
        struct page_server *s = arg;
        MHD_run(s->daemon);
        loop_timer_set(s->loop, &s->timer, LOOK_MS, page_server_look, s);
}

static int page_server_start(struct page_server *s, struct err *err)
{
        AUTO(mem_free) char *at = mem_printf("127.0.0.1:%s", s->o.port ? s->o.port : "0");
        unsigned char random[16];
        char bound[64];
        int fd = socket_listen(at, err);
        if (fd < 0)
                return fd;
        socket_describe(fd, bound, sizeof bound);
        if (getrandom(random, sizeof random, 0) != sizeof random) {
                close(fd);
                return err_set(err, ERR_IO, "the system gives no random bytes: %m");
        }
        page_guard_init(&s->guard, strrchr(bound, ':') + 1, random);
        snprintf(s->url, sizeof s->url, "http://%s%s/ui", bound, s->guard.prefix);
        s->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, page_request_handle, s,
                                     MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
                                     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
                                     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
                                     MHD_OPTION_URI_LOG_CALLBACK, page_request_begin, s, MHD_OPTION_NOTIFY_COMPLETED,
                                     page_request_end, s, MHD_OPTION_END);
        if (!s->daemon) {
                close(fd);
                return err_set(err, ERR_IO, "the HTTP server cannot start: %m");
        }
        int ready = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
        if (loop_watch(s->loop, ready, EPOLLIN, page_server_ready, s) < 0)
                return err_set(err, ERR_IO, "the HTTP server cannot be watched: %m");
        page_server_look(s);
        return 0;
}

int page_server_open(const struct page_server_options *o, struct page_server **ret, struct err *err)
{
        struct page_server *s = MEM_NEW(struct page_server);
        s->o = *o;
        s->loop = o->client->loop;
        s->objects.session = o->session;
        TAILQ_INIT(&s->waiting);
        int rc = page_server_start(s, err);
        if (rc < 0) {
                page_server_close(s);
                return rc;
        }
        *ret = s;
        return 0;
}

const char *page_server_url(const struct page_server *s)
{
        return s->url;
}

void page_server_close(struct page_server *s)
{
        if (!s)
                return;
        for (struct page_request *r; (r = TAILQ_FIRST(&s->waiting));) {
                if (r->call)
                        http_cancel(s->o.client->http, r->call);
                answer_problem(&r->answer, PROBLEM_UNAVAILABLE, "kubectl halflife ui has ended");
                page_request_go_on(r);
        }
        if (s->daemon) {
                loop_watch(s->loop, MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, 0, NULL, NULL);
                loop_timer_stop(s->loop, &s->timer);
                MHD_run(s->daemon);
                MHD_stop_daemon(s->daemon);
        }
        page_objects_release(&s->objects);
        mem_free(s);
}
