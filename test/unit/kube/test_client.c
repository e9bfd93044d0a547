#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "../net/peer.h"
#include "base/buf.h"
#include "base/mem.h"
#include "kube/answer_status.h"
#include "kube/client.h"
#include "kube/kind_lookup.h"

/* --- a client of a scripted server -------------------------------------------------------- */

struct cache {
        char dir[64];
        struct loop *loop;
        struct peer *peer;
        struct access *access;
        struct client *client;
        int observed, last_status;
        char verbs[256], warnings[256], id[16];
};

static void put(const struct cache *w, const char *name, const char *text)
{
        AUTO(mem_free) char *path = mem_printf("%s/%s", w->dir, name);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(chmod(path, 0700), 0);
}

static void on_observe(void *arg, const char *verb, const char *path, int status, int64_t took_ms, const char *id)
{
        struct cache *w = arg;
        assert_true(took_ms >= 0 && path[0] == '/' && strlen(id) == 8);
        w->observed++;
        w->last_status = status;
        snprintf(w->id, sizeof w->id, "%s", id);
        strncat(w->verbs, verb, sizeof w->verbs - strlen(w->verbs) - 1);
        strncat(w->verbs, " ", sizeof w->verbs - strlen(w->verbs) - 1);
}

static void on_warned(void *arg, const char *path, const char *text)
{
        struct cache *w = arg;
        (void)path;
        strncat(w->warnings, text, sizeof w->warnings - strlen(w->warnings) - 1);
        strncat(w->warnings, "|", sizeof w->warnings - strlen(w->warnings) - 1);
}

/* user: the YAML of the kubeconfig's user. */
static void world_begin(struct cache *w, peer_script *script, void *arg, const char *user)
{
        *w = (struct cache){.dir = "/tmp/halflife-client-XXXXXX", .loop = loop_new()};
        w->peer = peer_start(script, arg, NULL);
        assert_non_null(mkdtemp(w->dir));
        AUTO(mem_free)
        char *config = mem_printf("clusters: [{name: c, cluster: {server: '%s'}}]\n"
                                  "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                                  "users: [{name: u, user: %s}]\ncurrent-context: x\n",
                                  w->peer->url, user);
        put(w, "config", config);
        put(w, "token", "old");
        AUTO(mem_free) char *path = mem_printf("%s/config", w->dir);
        struct err err = {0};
        int rc = access_load(&(struct access_options){.kubeconfig = path}, &w->access, &err);
        if (rc < 0)
                print_error("%s\n", err.text);
        assert_int_equal(rc, 0);
        const struct client_options o = {.user_agent = "halflife/test",
                                         .field_manager = "halflife",
                                         .concurrency = 8,
                                         .observe = on_observe,
                                         .warned = on_warned,
                                         .arg = w};
        w->client = client_new(w->loop, w->access, &o);
}

static void world_end(struct cache *w)
{
        client_free(w->client);
        access_free(w->access);
        loop_free(w->loop);
        peer_stop(w->peer);
        AUTO(mem_free) char *line = mem_printf("rm -rf '%s'", w->dir);
        assert_int_equal(system(line), 0);
}

static int wait_call(struct cache *w, struct call call, char **body, struct err *err)
{
        *err = (struct err){0};
        *body = NULL;
        call.path = call.path ? call.path : "/api/v1/pods";
        return client_wait(w->client, &call, body, NULL, err);
}

/* --- what answers mean -------------------------------------------------------------------- */

#define STATUS(code, reason, message, more)                                                                            \
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"" message     \
        "\",\"reason\":\"" reason "\"" more ",\"code\":" #code "}"

static void answers_are_judged(void **state)
{
        (void)state;
        static const struct {
                int status;
                const char *body;
                bool json_patch;
                int64_t after_ms;
                int code;
                const char *says;
                int64_t want_after_ms;
        } row[] = {
                {200, "{}", false, -1, 0, "", -1},
                {201, "{}", true, -1, 0, "", -1},
                {302, "", false, -1, ERR_INVALID, "HTTP 302: redirects are not followed", -1},
                {400, STATUS(400, "BadRequest", "the body is bad", ""), false, -1, ERR_INVALID,
                 "HTTP 400: the body is bad", -1},
                {401, STATUS(401, "Unauthorized", "Unauthorized", ""), false, -1, ERR_DENIED,
                 "GET /x: HTTP 401: Unauthorized", -1},
                {403,
                 STATUS(403, "Forbidden",
                        "pods is forbidden: User \\\"u\\\" cannot list resource \\\"pods\\\" in API group \\\"\\\" at "
                        "the cluster scope",
                        ""),
                 false, -1, ERR_DENIED, "User \"u\" cannot list resource \"pods\"", -1},
                {404, "404 page not found\n", false, -1, ERR_NOTFOUND, "HTTP 404: 404 page not found", -1},
                {409, STATUS(409, "Conflict", "the object has been modified", ",\"details\":{\"name\":\"shop\"}"),
                 false, -1, ERR_STALE, "has been modified", -1},
                {409, STATUS(409, "AlreadyExists", "it exists", ""), false, -1, ERR_CONFLICT, "it exists", -1},
                {409,
                 STATUS(409, "Conflict", "Apply failed with 1 conflict",
                        ",\"details\":{\"causes\":[{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with "
                        "\\\"argo\\\"\",\"field\":\".spec\"}]}"),
                 false, -1, ERR_CONFLICT, "Apply failed", -1},
                {410, STATUS(410, "Expired", "too old resource version", ""), false, -1, ERR_GONE, "too old", -1},
                {413, "", false, -1, ERR_TOOBIG, "HTTP 413", -1},
                {422,
                 STATUS(422, "Invalid", "the server rejected our request due to an error in our request",
                        ",\"details\":{}"),
                 true, -1, ERR_STALE, "rejected", -1},
                {422,
                 STATUS(422, "Invalid", "the server rejected our request due to an error in our request",
                        ",\"details\":{}"),
                 false, -1, ERR_INVALID, "rejected", -1},
                {422,
                 STATUS(422, "Invalid", "Deployment shop is invalid",
                        ",\"details\":{\"name\":\"shop\",\"kind\":\"Deployment\",\"causes\":[{\"reason\":"
                        "\"FieldValueInvalid\"}]}"),
                 true, -1, ERR_INVALID, "is invalid", -1},
                {429, "Too many requests, please try again later.\n", false, 1000, ERR_RETRY,
                 "HTTP 429, retry after 1 s: Too many requests, please try again later.", 1000},
                {429, "", false, -1, ERR_RETRY, "HTTP 429", -1},
                {500, STATUS(500, "InternalError", "boom", ""), false, -1, ERR_RETRY, "HTTP 500: boom", -1},
                {503, "no healthy upstream\r\nsecond line", false, -1, ERR_RETRY,
                 "HTTP 503: no healthy upstream  second line", -1},
                {504,
                 STATUS(504, "Timeout", "Too large resource version",
                        ",\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}],\"retryAfterSeconds\":1}"),
                 false, -1, ERR_RETRY, "retry after 1 s", 1000},
                {504, STATUS(504, "Timeout", "x", ",\"details\":{\"retryAfterSeconds\":1000000000000}"), false, -1,
                 ERR_RETRY, "HTTP 504, retry after 300 s: x", 300000},
                {504, STATUS(504, "Timeout", "x", ",\"details\":{\"retryAfterSeconds\":-5}"), false, -1, ERR_RETRY,
                 "HTTP 504: x", -1},
                {500, "{\"kind\":\"Status\",\"mess", false, -1, ERR_RETRY, "HTTP 500: {\"kind\"", -1},
                {500, "{\"message\":{\"a\":1},\"details\":[],\"reason\":7}", false, -1, ERR_RETRY, "HTTP 500", -1},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct client_answer a;
                struct http_reply reply = {.status = row[i].status, .retry_after_ms = row[i].after_ms, .whole = true};
                answer_judge(&a, &reply, text_of(row[i].body), "GET /x", row[i].json_patch);
                if (a.err.code != row[i].code || !strstr(a.err.text, row[i].says))
                        print_error("row %zu: %d %s\n", i, a.err.code, a.err.text);
                assert_int_equal(a.err.code, row[i].code);
                assert_non_null(strstr(a.err.text, row[i].says));
                assert_int_equal(a.retry_after_ms, row[i].want_after_ms);
        }
}

/* --- calls -------------------------------------------------------------------------------- */

static bool answer_ok(struct conn *c, void *arg)
{
        (void)arg;
        return conn_answer(c, 200, "Warning: 299 - \"v1beta1 is deprecated\"\r\n", c->request);
}

static void a_call_is_sent_observed_and_answered(void **state)
{
        (void)state;
        struct cache w;
        struct err err;
        char *body;
        world_begin(&w, answer_ok, NULL, "{token: t0k}");
        assert_int_equal(wait_call(&w, (struct call){.query = "a=b"}, &body, &err), 0);
        assert_non_null(strstr(body, "GET /api/v1/pods?a=b "));
        assert_non_null(strstr(body, "Authorization: Bearer t0k"));
        assert_non_null(strstr(body, "User-Agent: halflife/test"));
        mem_free(body);
        static const struct call other[] = {
                {.method = HTTP_POST, .path = "/a", .body = {"{}", 2}},
                {.method = HTTP_PUT, .path = "/a", .body = {"{}", 2}},
                {.method = HTTP_PATCH, .path = "/a", .body = {"[]", 2}, .content_type = "application/json-patch+json"},
                {.method = HTTP_PATCH, .path = "/a", .body = {"{}", 2}, .content_type = "application/apply-patch+yaml"},
                {.method = HTTP_DELETE, .path = "/a", .urgent = true},
        };
        for (int i = 0; i < 5; i++) {
                assert_int_equal(wait_call(&w, other[i], &body, &err), 0);
                mem_free(body);
        }
        assert_string_equal(w.verbs, "get create update patch apply delete ");
        assert_int_equal(w.last_status, 200);
        assert_non_null(strstr(w.warnings, "v1beta1 is deprecated|"));
        world_end(&w);
}

/* Says each of a row of answers in turn, the last one for ever. */
struct story {
        struct {
                int status; /* 0: a 200 that is cut */
                const char *headers, *body;
        } answer[8]; /* up to the first without a body */
        _Atomic int told;
};

static bool tell_story(struct conn *c, void *arg)
{
        struct story *s = arg;
        int at = s->told++;
        at = at < 7 ? at : 7;
        while (!s->answer[at].body)
                at--;
        if (s->answer[at].status == 0)
                return conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{") && false;
        return conn_answer(c, s->answer[at].status, s->answer[at].headers, s->answer[at].body);
}

static void what_may_be_tried_again_is(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                struct story story;
                enum http_method method;
                int code, requests;
        } row[] = {
                {"429 then 200", {{{429, "Retry-After: 0\r\n", "busy"}, {200, NULL, "{}"}}, 0}, HTTP_GET, 0, 2},
                {"429 to a write", {{{429, "Retry-After: 0\r\n", "busy"}, {200, NULL, "{}"}}, 0}, HTTP_PATCH, 0, 2},
                {"503 with Retry-After", {{{503, "Retry-After: 0\r\n", "busy"}, {200, NULL, "{}"}}, 0}, HTTP_GET, 0, 2},
                {"503 to a write",
                 {{{503, "Retry-After: 0\r\n", "busy"}, {200, NULL, "{}"}}, 0},
                 HTTP_POST,
                 ERR_RETRY,
                 1},
                {"503 without", {{{503, NULL, "busy"}, {200, NULL, "{}"}}, 0}, HTTP_GET, ERR_RETRY, 1},
                {"500 without", {{{500, NULL, "boom"}}, 0}, HTTP_GET, ERR_RETRY, 1},
                {"cut", {{{0, NULL, ""}, {200, NULL, "{}"}}, 0}, HTTP_GET, 0, 2},
                {"cut write", {{{0, NULL, ""}, {200, NULL, "{}"}}, 0}, HTTP_PUT, ERR_RETRY, 1},
                {"too long to wait", {{{429, "Retry-After: 3000\r\n", "busy"}}, 0}, HTTP_GET, ERR_RETRY, 1},
                {"404", {{{404, NULL, "no"}}, 0}, HTTP_GET, ERR_NOTFOUND, 1},
                {"409", {{{409, NULL, "stale"}}, 0}, HTTP_GET, ERR_STALE, 1},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct story story = row[i].story;
                struct cache w;
                struct err err;
                char *body;
                world_begin(&w, tell_story, &story, "{}");
                int rc = wait_call(&w, (struct call){.method = row[i].method}, &body, &err);
                if (rc != row[i].code || story.told != row[i].requests)
                        print_error("%s: %d %s, %d requests\n", row[i].name, rc, err.text, story.told);
                assert_int_equal(rc, row[i].code);
                assert_int_equal(story.told, row[i].requests);
                assert_int_equal(w.observed, row[i].requests);
                mem_free(body);
                world_end(&w);
        }
}

static void a_server_that_is_away_is_waited_for_until_the_deadline(void **state)
{
        (void)state;
        struct cache w;
        struct err err;
        char *body;
        world_begin(&w, answer_ok, NULL, "{}");
        peer_leave(w.peer);
        struct mono before = mono_read();
        assert_int_equal(wait_call(&w, (struct call){.deadline_ms = 2500}, &body, &err), ERR_RETRY);
        assert_true((mono_read().ns - before.ns) / 1000000 <= 2600);
        assert_in_range(w.observed, 2, 4);
        assert_non_null(strstr(err.text, "GET /api/v1/pods: http://127.0.0.1"));
        w.observed = 0;
        assert_int_equal(wait_call(&w, (struct call){.method = HTTP_PATCH, .deadline_ms = 2000}, &body, &err),
                         ERR_RETRY);
        assert_int_equal(w.observed, 1);
        world_end(&w);
}

/* --- credentials -------------------------------------------------------------------------- */

static bool want_new(struct conn *c, void *arg)
{
        (void)arg;
        return conn_asks(c, "Bearer new") ? conn_answer(c, 200, NULL, "{}") : conn_answer(c, 401, NULL, "Unauthorized");
}

static void a_401_renews_the_token_once(void **state)
{
        (void)state;
        struct cache w;
        struct err err;
        char *body;
        world_begin(&w, want_new, NULL, "{tokenFile: token, token: spare}");
        put(&w, "token", "new");
        assert_int_equal(wait_call(&w, (struct call){.method = HTTP_POST}, &body, &err), 0);
        assert_int_equal(w.peer->requests, 2);
        mem_free(body);

        put(&w, "token", "wrong");
        assert_int_equal(access_refresh(w.access, loop_now(w.loop), true, &err), 0);
        assert_int_equal(wait_call(&w, (struct call){0}, &body, &err), ERR_DENIED);
        assert_non_null(strstr(err.text, "HTTP 401: Unauthorized"));
        assert_non_null(strstr(err.text, "credentials of context 'x'"));
        assert_int_equal(w.peer->requests, 4);
        world_end(&w);
}

static void count_done(void *arg, const struct client_answer *a)
{
        assert_int_equal(a->err.code, 0);
        ++*(int *)arg;
}

/* Several calls meet a 401 at once: the plug-in runs once more, beside the loop, and all wait for it. */
static void a_401_runs_the_plug_in_once_for_all(void **state)
{
        (void)state;
        char plug_in[] = "/tmp/halflife-plug-in-XXXXXX";
        int fd = mkstemp(plug_in), done = 0;
        assert_true(fd >= 0);
        assert_int_equal(dprintf(fd, "#!/bin/sh\necho run >>\"$0.runs\"\n"
                                     "[ $(wc -l <\"$0.runs\") = 2 ] && t=new || t=old\n"
                                     "echo '{\"apiVersion\":\"v\",\"status\":{\"token\":\"'$t'\"}}'\n") > 0,
                         1);
        assert_int_equal(fchmod(fd, 0700), 0);
        close(fd);
        AUTO(mem_free) char *user = mem_printf("{exec: {apiVersion: v, command: %s}}", plug_in);
        struct cache w;
        world_begin(&w, want_new, NULL, user);
        assert_string_equal(access_bearer(w.access), "old");
        for (int i = 0; i < 5; i++)
                client_start(w.client, &(struct call){.path = "/x"}, count_done, &done);
        while (done < 5)
                loop_turn(w.loop, 1000);
        assert_string_equal(access_bearer(w.access), "new");
        assert_int_equal(w.peer->requests, 10);
        world_end(&w);
        AUTO(mem_free) char *runs = mem_printf("%s.runs", plug_in);
        assert_int_equal(unlink(runs) | unlink(plug_in), 0);
}

static void credentials_that_fail_are_told_once(void **state)
{
        (void)state;
        struct cache w;
        struct err err;
        char *body;
        world_begin(&w, want_new, NULL, "{tokenFile: token}");
        AUTO(mem_free) char *path = mem_printf("%s/token", w.dir);
        assert_int_equal(unlink(path), 0);
        for (int i = 0; i < 3; i++)
                assert_int_equal(wait_call(&w, (struct call){0}, &body, &err), ERR_DENIED);
        char *first = strstr(w.warnings, "token");
        assert_non_null(first);
        assert_null(strchr(strchr(first, '|') + 1, '|'));
        world_end(&w);
}

/* --- streams ------------------------------------------------------------------------------ */

struct flow {
        struct cache *w;
        struct buf body;
        int done, refuse, heads;
        bool whole;
        struct client_answer answer;
        struct client_call *cancel;
};

static int on_flow(void *arg, const char *p, size_t len)
{
        struct flow *f = arg;
        if (f->cancel) {
                client_cancel(f->w->client, f->cancel);
                f->cancel = NULL;
                f->done = -1;
                return 0;
        }
        assert_int_equal(buf_add(&f->body, p, len), 0);
        return f->refuse;
}

static void on_head(void *arg, struct wall date)
{
        struct flow *f = arg;
        assert_int_equal(f->body.len, 0);
        f->heads++;
        assert_int_equal(date.ms, 1795262042000);
}

static void on_flow_done(void *arg, const struct client_answer *a, bool whole)
{
        struct flow *f = arg;
        f->done = 1;
        f->whole = whole;
        f->answer = *a;
}

static struct client_call *open_flow(struct cache *w, struct flow *f, bool watch)
{
        f->w = w;
        buf_init(&f->body, 1 << 20);
        const struct client_stream_request r = {.path = "/api/v1/pods",
                                                .query = "watch=1",
                                                .watch = watch,
                                                .head = on_head,
                                                .data = on_flow,
                                                .done = on_flow_done,
                                                .arg = f};
        return client_stream(w->client, &r);
}

static void streams_end_as_they_should(void **state)
{
        (void)state;
#define DATED "Date: Sat, 21 Nov 2026 11:54:02 GMT\r\n"
        static const struct {
                const char *name;
                struct story story;
                bool watch;
                int refuse, status, code, requests;
                bool whole;
                const char *body;
        } row[] = {
                {"a list", {{{200, DATED, "abc"}}, 0}, false, 0, 200, 0, 1, true, "abc"},
                {"a watch", {{{200, DATED, "abc"}}, 0}, true, 0, 200, 0, 1, true, "abc"},
                {"a reader that refuses",
                 {{{200, DATED, "abc"}}, 0},
                 false,
                 ERR_INVALID,
                 200,
                 ERR_INVALID,
                 1,
                 false,
                 "abc"},
                {"410",
                 {{{410, DATED, STATUS(410, "Expired", "too old", "")}}, 0},
                 true,
                 0,
                 410,
                 ERR_GONE,
                 1,
                 true,
                 ""},
                {"a busy list",
                 {{{429, "Retry-After: 0\r\n", "busy"}, {200, DATED, "abc"}}, 0},
                 false,
                 0,
                 200,
                 0,
                 2,
                 true,
                 "abc"},
                {"a busy watch",
                 {{{429, "Retry-After: 0\r\n", "busy"}, {200, DATED, "abc"}}, 0},
                 true,
                 0,
                 429,
                 ERR_RETRY,
                 1,
                 true,
                 ""},
                {"403", {{{403, NULL, STATUS(403, "Forbidden", "no", "")}}, 0}, false, 0, 403, ERR_DENIED, 1, true, ""},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct story story = row[i].story;
                struct flow f = {.refuse = row[i].refuse};
                struct cache w;
                world_begin(&w, tell_story, &story, "{}");
                open_flow(&w, &f, row[i].watch);
                while (!f.done)
                        loop_turn(w.loop, 1000);
                if (f.answer.err.code != row[i].code || story.told != row[i].requests)
                        print_error("%s: %d %s, %d requests\n", row[i].name, f.answer.err.code, f.answer.err.text,
                                    story.told);
                assert_int_equal(f.answer.err.code, row[i].code);
                assert_int_equal(f.answer.status, row[i].status);
                assert_int_equal(f.whole, row[i].whole);
                assert_int_equal(story.told, row[i].requests);
                assert_true(text_is(buf_text(&f.body), row[i].body));
                assert_int_equal(f.heads, row[i].status == 200);
                assert_string_equal(w.verbs, row[i].watch ? "watch " : row[i].requests == 2 ? "list list " : "list ");
                buf_release(&f.body);
                world_end(&w);
        }
}

static bool cut_after_some(struct conn *c, void *arg)
{
        (void)arg;
        return conn_say(c, "HTTP/1.1 200 OK\r\n" DATED "Content-Length: 99\r\n\r\n{") && false;
}

/* What a reader has seen cannot be begun anew behind its back. */
static void a_cut_list_is_not_begun_anew(void **state)
{
        (void)state;
        struct flow f = {0};
        struct cache w;
        world_begin(&w, cut_after_some, NULL, "{}");
        open_flow(&w, &f, false);
        while (!f.done)
                loop_turn(w.loop, 1000);
        assert_int_equal(f.answer.err.code, ERR_RETRY);
        assert_int_equal(f.answer.status, 200);
        assert_false(f.whole);
        assert_int_equal(w.peer->requests, 1);
        buf_release(&f.body);
        world_end(&w);
}

static bool say_and_stay(struct conn *c, void *arg)
{
        (void)arg;
        (void)conn_say(c, "HTTP/1.1 200 OK\r\n" DATED "Content-Length: 99\r\n\r\n{");
        while (!conn_wait_gone(c, 1000) && !c->peer->stopping)
                ;
        return false;
}

static void streams_can_be_cancelled_and_left(void **state)
{
        (void)state;
        struct flow own = {0}, other = {0}, left = {0};
        struct cache w;
        world_begin(&w, say_and_stay, NULL, "{}");
        own.cancel = open_flow(&w, &own, true); /* from its own data */
        while (!own.done)
                loop_turn(w.loop, 1000);
        struct client_call *k = open_flow(&w, &other, true);
        while (other.body.len == 0)
                loop_turn(w.loop, 1000);
        client_cancel(w.client, k);
        open_flow(&w, &left, true);
        while (left.body.len == 0)
                loop_turn(w.loop, 1000);
        buf_release(&own.body);
        buf_release(&other.body);
        buf_release(&left.body);
        world_end(&w); /* with one under way */
        assert_int_equal(own.done, -1);
        assert_false(other.done || left.done);
}

struct dropped {
        int ends[5], code; /* how often each ended */
};
struct dropped_call {
        struct dropped *of;
        int number;
};

static void on_dropped(void *arg, const struct client_answer *a)
{
        struct dropped_call *k = arg;
        struct dropped *d = k->of;
        d->ends[k->number]++;
        d->code = a->err.code;
        assert_int_equal(a->status, 0);
        assert_non_null(strstr(a->err.text, "given up: no more"));
}

static bool say_nothing(struct conn *c, void *arg)
{
        (void)arg;
        conn_wait_gone(c, 10000);
        return false;
}

/* One is under way, one waits for its turn; reads and what is urgent go on. */
static void writes_are_dropped_at_once(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, say_nothing, NULL, "{}");
        client_set_limits(w.client, 0, 2);
        struct dropped d = {.code = 0};
        struct dropped_call k[5];
        const struct call calls[5] = {
                {.method = HTTP_PATCH, .path = "/a", .body = text_of("{}")},
                {.method = HTTP_GET, .path = "/b"},
                {.method = HTTP_POST, .path = "/c", .body = text_of("{}")},
                {.method = HTTP_DELETE, .path = "/d"},
                {.method = HTTP_PUT, .path = "/lease", .body = text_of("{}"), .urgent = true},
        };
        for (int i = 0; i < 5; i++) {
                k[i] = (struct dropped_call){&d, i};
                client_start(w.client, &calls[i], on_dropped, &k[i]);
        }
        while (w.peer->requests < 3) /* the first two and the urgent one */
                loop_turn(w.loop, 10);
        client_drop_writes(w.client, "no more");
        static const int want[5] = {1, 0, 1, 1, 0};
        assert_memory_equal(d.ends, want, sizeof want);
        assert_int_equal(d.code, ERR_RETRY);
        client_drop_writes(w.client, "no more");
        assert_memory_equal(d.ends, want, sizeof want);
        loop_turn(w.loop, 10);
        assert_int_equal(w.peer->requests, 3);
        world_end(&w);
}

static bool send_much(struct conn *c, void *arg)
{
        (void)arg;
        static const char block[65536] = "";
        (void)conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n\r\n", 300LL << 20);
        for (int i = 0; i < 300 * 16 && conn_send(c, block, sizeof block); i++)
                ;
        return false;
}

static void an_answer_that_is_too_big_is_said_so(void **state)
{
        (void)state;
        struct cache w;
        struct err err;
        char *body;
        world_begin(&w, send_much, NULL, "{}");
        assert_int_equal(wait_call(&w, (struct call){.body_max = 1 << 20}, &body, &err), ERR_TOOBIG);
        assert_non_null(strstr(err.text, "longer than 1048576 bytes"));
        assert_int_equal(w.peer->requests, 1);
        world_end(&w);
}

/* --- paths and kinds ---------------------------------------------------------------------- */

static void paths_are_built_and_escaped(void **state)
{
        (void)state;
        static const struct {
                const char *part[6], *want;
        } row[] = {
                {{"", "v1", NULL, "pods"}, "/api/v1/pods"},
                {{"", "v1", "web", "pods", "a", "resize"}, "/api/v1/namespaces/web/pods/a/resize"},
                {{"apps", "v1", "web", "deployments", "shop", NULL}, "/apis/apps/v1/namespaces/web/deployments/shop"},
                {{"halflife.dev", "v1alpha1", NULL, "clusterprofiles", "p", "status"},
                 "/apis/halflife.dev/v1alpha1/clusterprofiles/p/status"},
                {{"apps", "v1"}, "/apis/apps/v1"},
                {{"", "v1", "a b", "x", "../..?q=1#%", NULL}, "/api/v1/namespaces/a%20b/x/..%2F..%3Fq%3D1%23%25"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const char *const *p = row[i].part;
                AUTO(mem_free) char *path = path_of(p[0], p[1], p[2], p[3], p[4], p[5]);
                assert_string_equal(path, row[i].want);
        }
        AUTO(mem_free) char *rune = path_escape("caf\xc3\xa9=a,b");
        assert_string_equal(rune, "caf%C3%A9%3Da%2Cb");
}

struct found {
        int done, code;
        struct api_resource r;
        char text[ERR_TEXT_MAX];
};

static void on_found(void *arg, const struct api_resource *r, const struct err *err)
{
        struct found *f = arg;
        f->done++;
        f->code = err->code;
        snprintf(f->text, sizeof f->text, "%s", err->text);
        assert_int_equal(r == NULL, err->code != 0);
        if (r)
                f->r = *r;
}

static struct found discover(struct cache *w, const char *group, const char *kind)
{
        struct found f = {0};
        assert_int_equal(client_discover(w->client, group, kind, on_found, &f), 0);
        assert_int_equal(f.done, 0);
        while (!f.done)
                loop_turn(w->loop, 1000);
        return f;
}

static const char discovered[] =
        "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"ex.io\"},\"versions\":["
        "{\"version\":\"v2\",\"resources\":[{\"resource\":\"things\",\"responseKind\":{\"kind\":\"Thing\"}},"
        "{\"resource\":\"globes\",\"responseKind\":{\"kind\":\"Globe\"}}]},"
        "{\"version\":\"v1\",\"resources\":[{\"resource\":\"olds\",\"responseKind\":{\"kind\":\"Old\"}},"
        "{\"resource\":\"things1\",\"responseKind\":{\"kind\":\"Thing\"}}]}]},"
        "{\"metadata\":{\"name\":\"sick.io\"},\"versions\":[{\"version\":\"v1\",\"freshness\":\"Stale\"}]}]}";
static const char discovered_core[] =
        "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"versions\":[{\"version\":\"v1\",\"resources\":["
        "{\"resource\":\"pods\",\"responseKind\":{\"kind\":\"Pod\"}}]}]}]}";

static bool discovery(struct conn *c, void *arg)
{
        const char *const *odd = arg; /* another answer; NULL: none */
        if (conn_asks(c, "GET /api "))
                return conn_answer(c, 200, NULL, discovered_core);
        if (!conn_asks(c, "GET /apis ") || !conn_asks(c, "as=APIGroupDiscoveryList"))
                return conn_answer(c, 404, NULL, "404 page not found");
        return odd && *odd ? conn_answer(c, **odd ? 200 : 500, NULL, **odd ? *odd : "boom")
                           : conn_answer(c, 200, NULL, discovered);
}

static void kinds_are_found_and_remembered(void **state)
{
        (void)state;
        static const struct {
                const char *group, *kind;
                int code, requests;
                const char *plural, *version;
        } row[] = {
                {"ex.io", "Thing", 0, 1, "things", "v2"},  {"ex.io", "Globe", 0, 0, "globes", "v2"},
                {"ex.io", "Old", 0, 0, "olds", "v1"},      {"ex.io", "Thing", 0, 0, "things", "v2"},
                {"", "Pod", 0, 1, "pods", "v1"},           {"ex.io", "None", ERR_NOTFOUND, 0, "", ""},
                {"gone.io", "X", ERR_NOTFOUND, 0, "", ""}, {"", "X", ERR_NOTFOUND, 0, "", ""},
                {"sick.io", "X", ERR_RETRY, 0, "", ""},
        };
        struct cache w;
        world_begin(&w, discovery, NULL, "{}");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int before = w.peer->requests;
                struct found f = discover(&w, row[i].group, row[i].kind);
                if (f.code != row[i].code || w.peer->requests - before != row[i].requests)
                        print_error("row %zu: %d %s, %d requests\n", i, f.code, f.text, w.peer->requests - before);
                assert_int_equal(f.code, row[i].code);
                assert_int_equal(w.peer->requests - before, row[i].requests);
                assert_string_equal(f.r.plural, row[i].plural);
                assert_string_equal(f.r.version, row[i].version);
        }
        world_end(&w);
}

/* An old answer stands for kinds that it has while the server gives none; of other kinds nothing is known. */
static void an_answer_that_is_none(void **state)
{
        (void)state;
        static const struct {
                const char *answer, *kind;
                int code;
        } row[] = {
                {"{\"kind\":\"APIGroupList\",\"groups\":[]}", "Thing", ERR_RETRY},
                {NULL, "Thing", 0},
                {"", "Thing", 0},
                {"", "None", ERR_RETRY},
        };
        const char *answer = NULL;
        struct cache w;
        world_begin(&w, discovery, &answer, "{}");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                answer = row[i].answer;
                client_undiscover(w.client, "ex.io");
                struct found f = discover(&w, "ex.io", row[i].kind);
                if (f.code != row[i].code)
                        fail_msg("row %zu: %d %s", i, f.code, f.text);
        }
        world_end(&w);
}

/* Those that wait for the answer, that have it already, and that another's callback gives up. */
static void a_lookup_is_given_up(void **state)
{
        (void)state;
        static const char *const v1[] = {"v1", NULL};
        struct cache w;
        world_begin(&w, discovery, NULL, "{}");
        for (int again = 0; again < 2; again++) {
                struct found given_up = {0}, kept = {0};
                assert_int_equal(client_discover(w.client, "ex.io", "Thing", on_found, &given_up), 0);
                assert_int_equal(client_discover_version(w.client, "ex.io", "Thing", v1, on_found, &kept), 0);
                client_discover_cancel(w.client, "ex.io", &given_up);
                while (!kept.done)
                        loop_turn(w.loop, 1000);
                assert_string_equal(kept.r.plural, "things1");
                assert_int_equal(given_up.done, 0);
        }
        world_end(&w);
}

struct gives_up {
        struct client *client;
        struct found *other;
        int done;
};

static void on_found_give_up(void *arg, const struct api_resource *r, const struct err *err)
{
        struct gives_up *g = arg;
        (void)r;
        (void)err;
        g->done++;
        client_discover_cancel(g->client, "ex.io", g->other);
}

static void a_lookup_is_given_up_by_another(void **state)
{
        (void)state;
        struct cache w;
        struct found other = {0};
        world_begin(&w, discovery, NULL, "{}");
        struct gives_up g = {w.client, &other, 0};
        assert_int_equal(client_discover(w.client, "ex.io", "Thing", on_found_give_up, &g), 0);
        assert_int_equal(client_discover(w.client, "ex.io", "Thing", on_found, &other), 0);
        while (!g.done)
                loop_turn(w.loop, 1000);
        for (int i = 0; i < 3; i++)
                loop_turn(w.loop, 1);
        assert_int_equal(other.done, 0);
        world_end(&w);
}

static void on_answer(struct kind_lookup *l, enum kind_lookup_state before, const struct api_resource *r,
                      const struct err *err)
{
        struct found *f = l->arg;
        (void)before;
        on_found(f, r, err);
        if (r && l->state == LOOKUP_UNKNOWN)
                kind_lookup_began(l);
}

/* One kind after another is looked up, watched and lost. */
static void a_lookup_asks_while_it_has_to(void **state)
{
        (void)state;
        enum does { ASK, FAIL, WORK, WAIT, END };
        static const struct {
                const char *kind;
                enum does does;
                int answers, requests;
                enum kind_lookup_state then;
        } row[] = {
                {"None", ASK, 1, 1, LOOKUP_MISSING},   {"None", ASK, 1, 0, LOOKUP_MISSING},
                {"None", ASK, 0, 0, LOOKUP_MISSING}, /* nothing was read since */
                {"Thing", ASK, 1, 0, LOOKUP_WATCHED},  {"Thing", ASK, 0, 0, LOOKUP_WATCHED},
                {"Thing", FAIL, 0, 0, LOOKUP_LOST},    {"Thing", ASK, 0, 0, LOOKUP_LOST}, /* it was just asked */
                {"Thing", WAIT, 0, 0, LOOKUP_LOST},    {"Thing", ASK, 1, 1, LOOKUP_LOST}, /* its watch tries on */
                {"Thing", WORK, 0, 0, LOOKUP_WATCHED}, {"Thing", FAIL, 0, 0, LOOKUP_LOST},
                {"Thing", END, 0, 0, LOOKUP_UNKNOWN},  {"Thing", ASK, 1, 0, LOOKUP_WATCHED},
        };
        struct cache w;
        struct kind_lookup l = {0};
        struct found f = {0};
        world_begin(&w, discovery, NULL, "{}");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int before = w.peer->requests, done = f.done;
                if (i > 0 && strcmp(row[i].kind, row[i - 1].kind) != 0)
                        l = (struct kind_lookup){0};
                if (row[i].does == ASK)
                        kind_lookup_ask(&l, w.client, "ex.io", row[i].kind, on_answer, &f);
                else if (row[i].does == WAIT)
                        l.asked.ns -= INT64_C(6000000000);
                else if (row[i].does == END)
                        kind_lookup_ended(&l);
                else
                        kind_lookup_heard(&l, row[i].does == FAIL ? ERR_NOTFOUND : 0);
                while (l.asking)
                        loop_turn(w.loop, 1000);
                loop_turn(w.loop, 1); /* the next asks later */
                if (f.done - done != row[i].answers || w.peer->requests - before != row[i].requests ||
                    l.state != row[i].then)
                        fail_msg("row %zu: %d answers, %d requests, state %d", i, f.done - done,
                                 w.peer->requests - before, (int)l.state);
        }
        world_end(&w);
}

/* A kind that goes while its watch is lost, and comes back. */
static void a_lookup_believes_a_watch_that_works(void **state)
{
        (void)state;
        struct cache w;
        struct kind_lookup l = {.state = LOOKUP_LOST};
        struct found f = {0};
        world_begin(&w, discovery, NULL, "{}");
        for (int works = 0; works < 2; works++) {
                l.state = LOOKUP_LOST;
                l.asked = (struct mono){0};
                kind_lookup_ask(&l, w.client, "ex.io", "None", on_answer, &f);
                if (works)
                        kind_lookup_heard(&l, 0);
                while (l.asking)
                        loop_turn(w.loop, 1000);
                assert_int_equal(l.state, works ? LOOKUP_WATCHED : LOOKUP_REMOVED);
                assert_int_equal(f.code, ERR_NOTFOUND);
        }
        l.state = LOOKUP_REMOVED;
        kind_lookup_ended(&l);
        assert_int_equal(l.state, LOOKUP_MISSING);
        world_end(&w);
}

/* However many kinds are named, known or not, the server is asked once; and then, at most once in 5 s. */
static void many_ask_once(void **state)
{
        (void)state;
        enum { MANY = 3000 };
        struct cache w;
        struct found *f = mem_new_array(MANY, sizeof *f), left = {0};
        char name[200];
        world_begin(&w, discovery, NULL, "{}");
        for (int again = 0; again < 2; again++) {
                for (int i = 0; i < MANY; i++) {
                        snprintf(name, sizeof name, "Kind%d", i);
                        assert_int_equal(
                                client_discover(w.client, i % 2 ? "ex.io" : name, i ? name : "Thing", on_found, &f[i]),
                                0);
                }
                while (f[MANY - 1].done <= again)
                        loop_turn(w.loop, 1000);
                for (int i = 0; i < MANY; i++)
                        assert_int_equal(f[i].done, again + 1);
        }
        assert_int_equal(w.peer->requests, 1);
        for (int i = 1; i < 4; i++) { /* the budget allows four at once */
                client_undiscover(w.client, "ex.io");
                (void)discover(&w, "ex.io", "Thing");
        }
        client_undiscover(w.client, "ex.io");
        assert_int_equal(client_discover(w.client, "ex.io", "Thing", on_found, &left), 0);
        for (int i = 0; i < 3; i++)
                loop_turn(w.loop, 100);
        assert_int_equal(w.peer->requests, 4);

        memset(name, 'x', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        assert_int_equal(client_discover(w.client, "ex.io", name, on_found, &left), ERR_INVALID);
        assert_int_equal(client_discover(w.client, name, "Thing", on_found, &left), ERR_INVALID);
        world_end(&w); /* with one that waits */
        assert_int_equal(left.done, 0);
        mem_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(answers_are_judged),
                cmocka_unit_test(a_call_is_sent_observed_and_answered),
                cmocka_unit_test(what_may_be_tried_again_is),
                cmocka_unit_test(a_server_that_is_away_is_waited_for_until_the_deadline),
                cmocka_unit_test(a_401_renews_the_token_once),
                cmocka_unit_test(a_401_runs_the_plug_in_once_for_all),
                cmocka_unit_test(credentials_that_fail_are_told_once),
                cmocka_unit_test(streams_end_as_they_should),
                cmocka_unit_test(a_cut_list_is_not_begun_anew),
                cmocka_unit_test(streams_can_be_cancelled_and_left),
                cmocka_unit_test(writes_are_dropped_at_once),
                cmocka_unit_test(an_answer_that_is_too_big_is_said_so),
                cmocka_unit_test(paths_are_built_and_escaped),
                cmocka_unit_test(kinds_are_found_and_remembered),
                cmocka_unit_test(a_lookup_is_given_up),
                cmocka_unit_test(a_lookup_is_given_up_by_another),
                cmocka_unit_test(an_answer_that_is_none),
                cmocka_unit_test(a_lookup_asks_while_it_has_to),
                cmocka_unit_test(a_lookup_believes_a_watch_that_works),
                cmocka_unit_test(many_ask_once),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
