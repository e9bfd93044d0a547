#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "net/http.h"
#include "peer.h"

/* One request's fate. */
struct member_edit {
        struct loop *loop;
        struct http *http;
        int done;
        struct http_reply reply;
        char content_type[256], warning[1024];
        struct buf body;
        int refuse_after; /* bytes after which data says ERR_TOOBIG; 0: never */
        struct http_call *cancel_in_data, *cancel_in_done, *cancel_in_head;
        int heads, head_status;
};

static void on_head(void *arg, const struct http_reply *head)
{
        struct member_edit *f = arg;
        assert_true(f->body.len == 0 && !f->done);
        f->heads++;
        f->head_status = head->status;
        if (f->cancel_in_head)
                http_cancel(f->http, f->cancel_in_head);
}

static int on_data(void *arg, const struct http_reply *head, const char *p, size_t len)
{
        struct member_edit *f = arg;
        assert_true(head->status > 0);
        assert_false(f->done);
        if (f->cancel_in_data) {
                http_cancel(f->http, f->cancel_in_data);
                f->cancel_in_data = NULL;
                f->done = -1;
                return 0;
        }
        assert_int_equal(buf_add(&f->body, p, len), 0);
        return f->refuse_after && f->body.len >= (size_t)f->refuse_after ? ERR_TOOBIG : 0;
}

static void on_done(void *arg, const struct http_reply *reply)
{
        struct member_edit *f = arg;
        assert_int_equal(f->done, 0);
        f->done = 1;
        f->reply = *reply;
        snprintf(f->content_type, sizeof f->content_type, "%s", reply->content_type);
        snprintf(f->warning, sizeof f->warning, "%s", reply->warning ? reply->warning : "");
        if (f->cancel_in_done)
                http_cancel(f->http, f->cancel_in_done);
}

struct cache {
        struct loop *loop;
        struct http *http;
        struct peer *peer;
        struct http_peer to;
};

static void world_begin(struct cache *w, peer_script *script, void *arg, const struct identity *server,
                        const struct identity *ca)
{
        *w = (struct cache){.loop = loop_new(), .peer = peer_start(script, arg, server)};
        w->http = http_new(w->loop, &(struct http_limits){.user_agent = "halflife/test", .concurrency = 8});
        w->to = (struct http_peer){.base_url = w->peer->url, .ca_pem = ca ? ca->crt_pem : NULL};
}

static void world_end(struct cache *w)
{
        http_free(w->http);
        loop_free(w->loop);
        peer_stop(w->peer);
}

static struct http_call *start(struct cache *w, struct member_edit *f, struct http_request r)
{
        f->loop = w->loop;
        f->http = w->http;
        buf_init(&f->body, 8 << 20);
        r.peer = &w->to;
        r.path_query = r.path_query ? r.path_query : "/x";
        r.head = on_head;
        r.data = on_data;
        r.done = on_done;
        r.arg = f;
        return http_start(w->http, &r);
}

static void wait_for(struct cache *w, struct member_edit *f)
{
        while (!f->done)
                loop_turn(w->loop, 1000);
}

static struct member_edit ask(struct cache *w, struct http_request r)
{
        static struct member_edit f;
        f = (struct member_edit){0};
        start(w, &f, r);
        wait_for(w, &f);
        buf_release(&f.body);
        return f;
}

/* --- what goes out ------------------------------------------------------------------------ */

static bool echo(struct conn *c, void *arg)
{
        (void)arg;
        return conn_answer(c, 200, NULL, c->request);
}

static void requests_are_what_they_should_be(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, echo, NULL, NULL, NULL);
        static const struct {
                struct http_request r;
                const char *has[5], *hasnt[4];
        } row[] = {
                {{.path_query = "/api/v1/pods?limit=5&fieldSelector=a%3Db"},
                 {"GET /api/v1/pods?limit=5&fieldSelector=a%3Db HTTP/1.1", "User-Agent: halflife/test",
                  "Accept: application/json"},
                 {"Accept-Encoding", "Authorization", "Expect", "Content-Type"}},
                {{.path_query = "/a/../b//c", .bearer = "abc", .gzip = true},
                 {"GET /a/../b//c ", "Authorization: Bearer abc\r\n", "Accept-Encoding: gzip"},
                 {NULL}},
                {{.stream = true, .gzip = true}, {"GET /x "}, {"Accept-Encoding"}},
                {{.method = HTTP_POST, .body = {"{\"a\":1}", 7}},
                 {"POST /x ", "Content-Type: application/json", "Content-Length: 7", "\r\n\r\n{\"a\":1}"},
                 {"Expect"}},
                {{.method = HTTP_PATCH,
                  .body = {"[]", 2},
                  .content_type = "application/json-patch+json",
                  .accept = "application/yaml"},
                 {"PATCH /x ", "Content-Type: application/json-patch+json", "\r\n\r\n[]", "Accept: application/yaml"},
                 {"application/json\r"}},
                {{.method = HTTP_PUT, .body = {"{}", 2}}, {"PUT /x ", "\r\n\r\n{}"}, {NULL}},
                {{.method = HTTP_DELETE}, {"DELETE /x "}, {"Content-Length", "Content-Type"}},
                {{.method = HTTP_DELETE, .body = {"{}", 2}}, {"DELETE /x ", "Content-Length: 2", "\r\n\r\n{}"}, {NULL}},
                {{.method = HTTP_POST}, {"POST /x ", "Content-Length: 0"}, {NULL}},
                {{.basic = "reader:se:cret"}, {"GET /x ", "Authorization: Basic cmVhZGVyOnNlOmNyZXQ=\r\n"}, {"Bearer"}},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct member_edit f = {0};
                start(&w, &f, row[i].r);
                wait_for(&w, &f);
                assert_int_equal(f.reply.err.code, 0);
                for (int k = 0; k < 5 && row[i].has[k]; k++) {
                        if (!strstr(f.body.data, row[i].has[k]))
                                print_error("row %zu lacks '%s' in\n%s\n", i, row[i].has[k], f.body.data);
                        assert_non_null(strstr(f.body.data, row[i].has[k]));
                }
                for (int k = 0; k < 4 && row[i].hasnt[k]; k++) {
                        if (strstr(f.body.data, row[i].hasnt[k]))
                                print_error("row %zu has '%s' in\n%s\n", i, row[i].hasnt[k], f.body.data);
                        assert_null(strstr(f.body.data, row[i].hasnt[k]));
                }
                buf_release(&f.body);
        }
        w.to.no_gzip = true;
        struct member_edit f = {0};
        start(&w, &f, (struct http_request){.gzip = true});
        wait_for(&w, &f);
        assert_null(strstr(f.body.data, "Accept-Encoding"));
        buf_release(&f.body);
        world_end(&w);
}

/* --- what comes back ---------------------------------------------------------------------- */

static bool say_text(struct conn *c, void *arg)
{
        const char *text = *(const char *_Atomic *)arg;
        return conn_send(c, text, strlen(text)) && false;
}

static void replies_are_read(void **state)
{
        (void)state;
        static const struct {
                const char *says;
                int status, code;
                bool whole;
                int64_t date_ms, retry_after_ms;
                const char *type, *warning;
        } row[] = {
                {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\nDate: Sat, 21 Nov 2026 "
                 "11:54:02 GMT\r\n\r\n{}",
                 200, 0, true, 1795262042000, -1, "application/json", ""},
                {"HTTP/1.1 429 Too Many\r\nretry-after: 5\r\nContent-Length: 0\r\n\r\n", 429, 0, true, 0, 5000, "", ""},
                {"HTTP/1.1 503 No\r\nDate: Sat, 21 Nov 2026 11:54:02 GMT\r\nRetry-After: Sat, 21 Nov 2026 11:54:32 "
                 "GMT\r\nContent-Length: 0\r\n\r\n",
                 503, 0, true, 1795262042000, 30000, "", ""},
                {"HTTP/1.1 503 No\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n", 503, 0, true, 0,
                 300000, "", ""},
                {"HTTP/1.1 503 No\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n", 503, 0, true, 0, 300000, "", ""},
                {"HTTP/1.1 503 No\r\nRetry-After: -99999999999999999999\r\nContent-Length: 0\r\n\r\n", 503, 0, true, 0,
                 0, "", ""},
                {"HTTP/1.1 503 No\r\nRetry-After: -3\r\nContent-Length: 0\r\n\r\n", 503, 0, true, 0, 0, "", ""},
                {"HTTP/1.1 503 No\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", 503, 0, true, 0, -1, "", ""},
                {"HTTP/1.1 200 OK\r\nWarning: 199 - \"no\"\r\nWarning: 299 - \"it is \\\"old\\\"\"\r\nWarning: 299 - "
                 "\"second\"\r\nContent-Length: 0\r\n\r\n",
                 200, 0, true, 0, -1, "", "it is \"old\""},
                {"HTTP/1.1 200 OK\r\nWarning: 299\r\nContent-Length: 0\r\n\r\n", 200, 0, true, 0, -1, "", ""},
                {"HTTP/1.1 103 Early\r\nContent-Type: x\r\nRetry-After: 3\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
                 "0\r\n\r\n",
                 200, 0, true, 0, -1, "", ""},
                {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 302, 0, true, 0,
                 -1, "", ""},
                {"HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, 0, true, 0, -1, "", ""},
                {"HTTP/1.1 200 OK\r\nDate: yesterday\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200, 0,
                 true, 0, -1, "", ""},
                /* cut */
                {"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"kind\":", 200, ERR_RETRY, false, 0, -1, "", ""},
                {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", 200, ERR_RETRY, false, 0, -1, "",
                 ""},
                {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{}", 200, ERR_RETRY, false, 0, -1, "", ""},
                {"", 0, ERR_RETRY, false, 0, -1, "", ""},
                {"SSH-2.0-OpenSSH\r\n", 0, ERR_RETRY, false, 0, -1, "", ""},
        };
        const char *_Atomic says;
        struct cache w;
        world_begin(&w, say_text, &says, NULL, NULL);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                says = row[i].says;
                struct member_edit f = ask(&w, (struct http_request){0});
                if (f.reply.status != row[i].status || f.reply.err.code != row[i].code ||
                    f.reply.retry_after_ms != row[i].retry_after_ms)
                        print_error("row %zu: status %d, code %d %s, retry %lld\n", i, f.reply.status, f.reply.err.code,
                                    f.reply.err.text, (long long)f.reply.retry_after_ms);
                assert_int_equal(f.reply.status, row[i].status);
                assert_int_equal(f.reply.err.code, row[i].code);
                assert_int_equal(f.reply.whole, row[i].whole);
                assert_int_equal(f.reply.date.ms, row[i].date_ms);
                assert_int_equal(f.reply.retry_after_ms, row[i].retry_after_ms);
                assert_string_equal(f.content_type, row[i].type);
                assert_string_equal(f.warning, row[i].warning);
        }
        world_end(&w);
}

static bool endless_headers(struct conn *c, void *arg)
{
        (void)arg;
        if (!conn_say(c, "HTTP/1.1 200 OK\r\n"))
                return false;
        while (conn_say(c, "X-Some-Header: 0123456789012345678901234567890123456789\r\n"))
                ;
        return false;
}

static bool endless_body(struct conn *c, void *arg)
{
        (void)arg;
        static const char block[65536] = "";
        if (!conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n\r\n", 300LL << 20))
                return false;
        for (int i = 0; i < 300 * 16 && conn_send(c, block, sizeof block); i++)
                ;
        return false;
}

static void what_is_too_big_ends_early(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, endless_headers, NULL, NULL, NULL);
        struct member_edit f = ask(&w, (struct http_request){0});
        assert_int_equal(f.reply.err.code, ERR_TOOBIG);
        assert_non_null(strstr(f.reply.err.text, "headers"));
        world_end(&w);

        world_begin(&w, endless_body, NULL, NULL, NULL);
        struct member_edit big = {.refuse_after = 1 << 20};
        start(&w, &big, (struct http_request){0});
        wait_for(&w, &big);
        assert_int_equal(big.reply.err.code, ERR_TOOBIG);
        assert_int_equal(big.reply.status, 200);
        assert_true(big.body.len < 2 << 20);
        buf_release(&big.body);
        assert_true(w.peer->sent < 100 << 20); /* the rest was never sent */
        world_end(&w);
}

/* --- time --------------------------------------------------------------------------------- */

static bool say_nothing(struct conn *c, void *arg)
{
        (void)arg;
        while (!conn_wait_gone(c, 1000) && !c->peer->stopping)
                ;
        return false;
}

static bool say_half(struct conn *c, void *arg)
{
        (void)conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
        return say_nothing(c, arg);
}

static bool trickle(struct conn *c, void *arg)
{
        (void)arg;
        (void)conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        while (!conn_wait_gone(c, 5) && conn_say(c, "x"))
                ;
        return false;
}

/* --- bodies that are compressed --- */

enum { BLANKS = 64 << 20, FED = 4 << 20 };

/* Of a gzip of so many blanks, packed so often. */
struct packed {
        char *p;
        size_t len;
        int times;
};

static struct packed pack(const char *p, size_t len, int times)
{
        enum { GZIP_FORMAT = 16 };
        z_stream z = {0};
        size_t room = compressBound(len) + 64;
        char *out = mem_new_array(room, 1);
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + GZIP_FORMAT, 8, Z_DEFAULT_STRATEGY), Z_OK);
        z.next_in = (z_const Bytef *)(uintptr_t)p;
        z.avail_in = (uInt)len;
        z.next_out = (Bytef *)out;
        z.avail_out = (uInt)room;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        size_t packed = z.total_out;
        deflateEnd(&z);
        return (struct packed){out, packed, times};
}

static bool say_packed(struct conn *c, void *arg)
{
        const struct packed *body = arg;
        return conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nContent-Encoding: gzip%s\r\n\r\n", body->len,
                        body->times > 1 ? ",gzip" : "") &&
               conn_send(c, body->p, body->len);
}

/* What a turn of the loop hands over. */
struct gulps {
        size_t turn, most, all;
        int done;
        struct err err;
};

static int on_gulp(void *arg, const struct http_reply *head, const char *p, size_t len)
{
        struct gulps *g = arg;
        (void)head;
        assert_int_equal(p[0], ' ');
        g->turn += len;
        g->all += len;
        return 0;
}

static void on_swallowed(void *arg, const struct http_reply *reply)
{
        struct gulps *g = arg;
        g->done = 1;
        g->err = reply->err;
}

static struct gulps swallow(struct cache *w, bool gzip)
{
        struct gulps g = {0};
        http_start(w->http, &(struct http_request){.peer = &w->to,
                                                   .path_query = "/",
                                                   .gzip = gzip,
                                                   .data = on_gulp,
                                                   .done = on_swallowed,
                                                   .arg = &g});
        while (!g.done) {
                g.turn = 0;
                loop_turn(w->loop, 1000);
                g.most = g.turn > g.most ? g.turn : g.most;
        }
        return g;
}

/* A body that is nothing on the wire comes a few megabytes a turn, so that it does not hold up the loop. */
static void a_turn_unpacks_only_so_much(void **state)
{
        (void)state;
        struct cache w;
        char *blanks = mem_new_array(BLANKS, 1);
        memset(blanks, ' ', BLANKS);
        struct packed once = pack(blanks, BLANKS, 1), twice = pack(once.p, once.len, 2); /* a few hundred bytes */
        world_begin(&w, say_packed, &once, NULL, NULL);
        struct gulps g = swallow(&w, true);
        assert_int_equal(g.err.code, 0);
        assert_int_equal(g.all, BLANKS);
        assert_in_range(g.most, 1, FED);
        world_end(&w);
        world_begin(&w, say_packed, &twice, NULL, NULL);
        g = swallow(&w, true);
        assert_int_equal(g.err.code, ERR_INVALID);
        assert_string_equal(g.err.text, "the answer is compressed more than once");
        assert_int_equal(g.all, 0);
        world_end(&w);
        mem_free(blanks);
        mem_free(once.p);
        mem_free(twice.p);
}

static bool say_blanks(struct conn *c, void *arg)
{
        return conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BLANKS) && conn_send(c, arg, BLANKS);
}

/* Nor does a fast one. */
static void a_turn_reads_only_so_much(void **state)
{
        (void)state;
        struct cache w;
        char *blanks = mem_new_array(BLANKS, 1);
        memset(blanks, ' ', BLANKS);
        world_begin(&w, say_blanks, blanks, NULL, NULL);
        struct gulps g = swallow(&w, false);
        assert_int_equal(g.err.code, 0);
        assert_int_equal(g.all, BLANKS);
        assert_in_range(g.most, 1, FED);
        world_end(&w);
        mem_free(blanks);
}

static void time_runs_out(void **state)
{
        (void)state;
        static const struct {
                peer_script *script;
                struct http_request r;
                int status;
                const char *says;
                int64_t least_ms;
        } row[] = {
                {say_nothing, {.deadline_ms = 40}, 0, "no answer within 0.040 s", 40},
                {say_half, {.deadline_ms = 900}, 200, "the answer did not end within 0.900 s", 900},
                {trickle, {.deadline_ms = 900}, 200, "the answer did not end within", 900},
                {say_nothing, {.stream = true, .silence_ms = 40}, 0, "no byte arrived within 0.040 s", 40},
                {say_half, {.stream = true, .silence_ms = 900}, 200, "no byte arrived within 0.900 s", 900},
                {say_half, {.deadline_ms = 60000, .silence_ms = 900}, 200, "no byte arrived within 0.900 s", 900},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                world_begin(&w, row[i].script, NULL, NULL, NULL);
                struct mono before = mono_read();
                struct member_edit f = ask(&w, row[i].r);
                int64_t took_ms = (mono_read().ns - before.ns) / 1000000;
                if (f.reply.err.code != ERR_RETRY || !strstr(f.reply.err.text, row[i].says))
                        print_error("row %zu: %d %s\n", i, f.reply.err.code, f.reply.err.text);
                assert_int_equal(f.reply.err.code, ERR_RETRY);
                assert_non_null(strstr(f.reply.err.text, row[i].says));
                assert_int_equal(f.reply.status, row[i].status);
                assert_true(took_ms >= row[i].least_ms);
                world_end(&w);
        }
}

/* A stream that has a byte now and then lives on, longer than its silence. */
static bool now_and_then(struct conn *c, void *arg)
{
        (void)arg;
        (void)conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n");
        for (int i = 0; i < 30 && !conn_wait_gone(c, 50); i++)
                (void)conn_say(c, "x");
        return true;
}

static void bytes_break_the_silence(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, now_and_then, NULL, NULL, NULL);
        struct member_edit f = ask(&w, (struct http_request){.stream = true, .silence_ms = 1000});
        assert_int_equal(f.reply.err.code, 0);
        assert_true(f.reply.whole);
        world_end(&w);
}

/* --- trust -------------------------------------------------------------------------------- */

static void certificates_are_verified(void **state)
{
        (void)state;
        struct identity *ca = identity_new(NULL, "our ca", 10), *other = identity_new(NULL, "other ca", 10);
        struct identity *good = identity_new(ca, "127.0.0.1", 10), *expired = identity_new(ca, "127.0.0.1", 0);
        struct identity *named = identity_new(ca, "kubernetes.example", 10);
        struct identity *client = identity_new_for(ca, "127.0.0.1", 10, GNUTLS_KP_TLS_WWW_CLIENT);
        struct identity *server = identity_new_for(ca, "127.0.0.1", 10, GNUTLS_KP_TLS_WWW_SERVER);
        const struct {
                const struct identity *server, *trusted;
                const char *ca_text, *server_name;
                bool insecure;
                int code;
                const char *says;
        } row[] = {
                {good, ca, NULL, NULL, false, 0, ""},
                {good, other, NULL, NULL, false, ERR_DENIED, "certificate"},
                {good, NULL, NULL, NULL, false, ERR_DENIED, "certificate"}, /* the system's */
                {good, other, NULL, NULL, true, 0, ""},
                {expired, ca, NULL, NULL, false, ERR_DENIED, "expired"},
                {named, ca, NULL, NULL, false, ERR_DENIED, "127.0.0.1"},
                {named, ca, NULL, "kubernetes.example", false, 0, ""},
                {named, ca, NULL, "other.example", false, ERR_DENIED, "other.example"},
                {good, ca, NULL, "kubernetes.example", false, ERR_DENIED, "kubernetes.example"},
                {server, ca, NULL, NULL, false, 0, ""},
                {client, ca, NULL, NULL, false, ERR_DENIED, "certificate"}, /* the CA's, but somebody else's */
                {client, ca, NULL, NULL, true, 0, ""},
                {good, NULL, "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n", NULL, false,
                 ERR_INVALID, "readable PEM certificate"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                world_begin(&w, echo, NULL, row[i].server, row[i].trusted);
                if (row[i].ca_text)
                        w.to.ca_pem = row[i].ca_text;
                w.to.server_name = row[i].server_name;
                w.to.insecure = row[i].insecure;
                struct member_edit f = {0};
                start(&w, &f, (struct http_request){.bearer = "secret"});
                wait_for(&w, &f);
                if (f.reply.err.code != row[i].code || !strstr(f.reply.err.text, row[i].says))
                        print_error("row %zu: %d %s\n", i, f.reply.err.code, f.reply.err.text);
                assert_int_equal(f.reply.err.code, row[i].code);
                assert_non_null(strstr(f.reply.err.text, row[i].says));
                assert_int_equal(w.peer->requests, row[i].code == 0);
                if (row[i].code == 0) /* the Host is where we go, whatever name is verified */
                        assert_non_null(strstr(f.body.data, strstr(w.peer->url, "127")));
                buf_release(&f.body);
                world_end(&w);
        }
        struct identity *all[] = {ca, other, good, expired, named, client, server};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
                identity_free(all[i]);
}

static bool tell_client(struct conn *c, void *arg)
{
        (void)arg;
        unsigned count = 0;
        (void)gnutls_certificate_get_peers(c->tls, &count);
        return conn_answer(c, 200, NULL, count ? "certificate" : "nobody");
}

static void client_certificates_are_shown(void **state)
{
        (void)state;
        struct identity *ca = identity_new(NULL, "our ca", 10), *server = identity_new(ca, "127.0.0.1", 10);
        struct identity *client = identity_new(ca, "someone", 10);
        struct cache w;
        world_begin(&w, tell_client, NULL, server, ca);
        struct member_edit f = {0};
        start(&w, &f, (struct http_request){0});
        wait_for(&w, &f);
        assert_string_equal(f.body.data, "nobody");
        buf_release(&f.body);

        /* new credentials at a new revision: a new connection */
        w.to.cert_pem = client->crt_pem;
        w.to.key_pem = client->key_pem;
        w.to.revision++;
        f = (struct member_edit){0};
        start(&w, &f, (struct http_request){0});
        wait_for(&w, &f);
        assert_int_equal(f.reply.err.code, 0);
        assert_string_equal(f.body.data, "certificate");
        buf_release(&f.body);

        w.to.key_pem = server->key_pem; /* of another certificate */
        w.to.revision++;
        struct member_edit bad = ask(&w, (struct http_request){0});
        assert_int_equal(bad.reply.err.code, ERR_INVALID);
        assert_non_null(strstr(bad.reply.err.text, "belong together"));
        world_end(&w);
        identity_free(client);
        identity_free(server);
        identity_free(ca);
}

static bool refuse_proxy(struct conn *c, void *arg)
{
        (void)arg;
        return conn_answer(c, conn_asks(c, "Authorization: Bearer") ? 500 : 403, "Retry-After: 9\r\n", "no");
}

/* w's client with proxies of a test's own. */
static void take_proxies(struct cache *w, const struct proxy_settings *proxies)
{
        http_free(w->http);
        w->http = http_new(w->loop, &(struct http_limits){.user_agent = "halflife/test", .proxies = proxies});
}

#define ASIDE  "http://prometheus.example.com:9090"
#define SECRET "hunter2"

/* libcurl reads the environment by a rule of its own, which knows ALL_PROXY and must not be asked. */
static void the_rule_for_proxies_is_ours(void **state)
{
        (void)state;
        char dead[64];
        int held = dead_url(dead);
        static const char *const name[] = {"http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"};
        static const struct proxy_settings none;
        struct cache w;
        for (size_t i = 0; i < sizeof name / sizeof name[0]; i++)
                setenv(name[i], dead, 1);
        world_begin(&w, echo, NULL, NULL, NULL);
        take_proxies(&w, &none);
        assert_int_equal(ask(&w, (struct http_request){0}).reply.status, 200);
        for (size_t i = 0; i < sizeof name / sizeof name[0]; i++)
                unsetenv(name[i]);
        setenv("NO_PROXY", "*", 1);
        w.to.proxy_url = w.to.base_url;
        w.to.base_url = ASIDE;
        w.to.revision++;
        assert_int_equal(ask(&w, (struct http_request){0}).reply.status, 200);
        unsetenv("NO_PROXY");
        world_end(&w);
        close(held);
}

static void proxies_of_the_environment_are_taken(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, echo, NULL, NULL, NULL);
        AUTO(mem_free) char *url = mem_printf("http://me:p%%40ss:" SECRET "@%s", w.to.base_url + strlen("http://"));
        const struct proxy_settings proxies = {.http = {"HTTP_PROXY", url}};
        take_proxies(&w, &proxies);
        w.to.base_url = ASIDE;
        struct member_edit f = {0};
        start(&w, &f, (struct http_request){.path_query = "/api/v1/query"});
        wait_for(&w, &f);
        assert_int_equal(f.reply.status, 200);
        assert_non_null(strstr(f.body.data, "GET " ASIDE "/api/v1/query HTTP/1.1\r\n"));
        /* base64 of "me:p@ss:hunter2" */
        assert_non_null(strstr(f.body.data, "Proxy-Authorization: Basic bWU6cEBzczpodW50ZXIy\r\n"));
        buf_release(&f.body);
        world_end(&w);
}

/* What goes wrong names the proxy and the variable, and never the password. */
static void errors_name_the_proxy(void **state)
{
        (void)state;
        char dead[64];
        int held = dead_url(dead);
        AUTO(mem_free) char *away = mem_printf("http://me:" SECRET "@%s", dead + strlen("http://"));
        AUTO(mem_free) char *socks = mem_printf("socks5://me:" SECRET "@%s", dead + strlen("http://"));
        AUTO(mem_free) char *by_variable = mem_printf("through proxy %s (http_proxy)", dead);
        AUTO(mem_free) char *by_socks = mem_printf("through proxy socks5h://%s (", dead + strlen("http://"));
        const struct {
                const char *variable, *given;
                int code;
                const char *says;
        } row[] = {
                {away, NULL, ERR_RETRY, by_variable},
                {socks, NULL, ERR_RETRY, by_socks},
                {away, socks, ERR_RETRY, by_socks},
                {"ftp://me:" SECRET "@a", NULL, ERR_INVALID, "http_proxy cannot be used: a proxy begins with http://"},
                {"http://me:" SECRET "%@a", NULL, ERR_INVALID, "http_proxy cannot be used: its user or password"},
                {NULL, "http://me:" SECRET "@a:b", ERR_INVALID, "the proxy-url cannot be used: its port"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                const struct proxy_settings proxies = {.http = {"http_proxy", row[i].variable}};
                world_begin(&w, echo, NULL, NULL, NULL);
                take_proxies(&w, &proxies);
                w.to.base_url = ASIDE;
                w.to.proxy_url = row[i].given;
                struct member_edit f = ask(&w, (struct http_request){0});
                assert_int_equal(f.reply.err.code, row[i].code);
                if (strncmp(f.reply.err.text, ASIDE, strlen(ASIDE)) != 0 || !strstr(f.reply.err.text, row[i].says) ||
                    strstr(f.reply.err.text, SECRET))
                        fail_msg("row %zu: %s", i, f.reply.err.text);
                world_end(&w);
        }
        close(held);
}

/* As with Go, a peer's CA may have issued its proxy's certificate too. */
static void an_https_proxy_is_verified(void **state)
{
        (void)state;
        struct identity *ca = identity_new(NULL, "test ca", 30), *other = identity_new(NULL, "other ca", 1);
        struct identity *proxy = identity_new(ca, "127.0.0.1", 30);
        const struct {
                const struct identity *ca;
                bool insecure;
                int status;
        } row[] = {{ca, false, 200}, {other, false, 0}, {NULL, false, 0}, {NULL, true, 200}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                world_begin(&w, echo, NULL, proxy, row[i].ca);
                w.to.proxy_url = w.to.base_url;
                w.to.base_url = ASIDE;
                w.to.insecure = row[i].insecure;
                struct member_edit f = ask(&w, (struct http_request){0});
                if (f.reply.status != row[i].status)
                        fail_msg("row %zu: %d %s", i, f.reply.status, f.reply.err.text);
                world_end(&w);
        }
        identity_free(proxy);
        identity_free(other);
        identity_free(ca);
}

static void an_exception_is_told(void **state)
{
        (void)state;
        char dead[64];
        int held = dead_url(dead);
        struct cache w;
        const struct proxy_settings proxies = {.http = {"HTTP_PROXY", "proxy.example.com"}};
        world_begin(&w, echo, NULL, NULL, NULL);
        take_proxies(&w, &proxies);
        w.to.base_url = dead;
        struct member_edit f = ask(&w, (struct http_request){0});
        assert_int_equal(f.reply.err.code, ERR_RETRY);
        assert_non_null(strstr(f.reply.err.text, "directly in spite of HTTP_PROXY"));
        world_end(&w);
        close(held);
}

/* A proxy's refusal is no answer of the server, and the server's credentials are not for it. */
static void a_proxy_that_refuses_is_no_answer(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, refuse_proxy, NULL, NULL, NULL);
        w.to.proxy_url = w.to.base_url;
        w.to.base_url = "https://10.255.255.1:6443";
        struct member_edit f = ask(&w, (struct http_request){.bearer = "secret"});
        assert_int_equal(f.reply.err.code, ERR_RETRY);
        assert_int_equal(f.reply.status, 0);
        assert_int_equal(f.reply.retry_after_ms, -1);
        assert_non_null(strstr(f.reply.err.text, "403"));
        world_end(&w);
}

static void peers_that_cannot_be(void **state)
{
        (void)state;
        static const struct {
                const char *url, *name;
                int code;
        } row[] = {
                {"https://", NULL, ERR_INVALID},
                {"file:///etc", NULL, ERR_INVALID},
                {"ftp://127.0.0.1:1", NULL, ERR_INVALID},
                {"https://[::1", "x.example", ERR_INVALID},
        };
        struct cache w;
        world_begin(&w, echo, NULL, NULL, NULL);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                w.to.base_url = row[i].url;
                w.to.server_name = row[i].name;
                struct member_edit f = ask(&w, (struct http_request){0});
                if (f.reply.err.code != row[i].code)
                        print_error("row %zu: %d %s\n", i, f.reply.err.code, f.reply.err.text);
                assert_int_equal(f.reply.err.code, row[i].code);
        }
        char dead[64];
        int held = dead_url(dead);
        w.to = (struct http_peer){.base_url = dead};
        struct member_edit f = ask(&w, (struct http_request){0});
        assert_int_equal(f.reply.err.code, ERR_RETRY);
        assert_non_null(strstr(f.reply.err.text, dead));
        world_end(&w);
        close(held);
}

/* --- connections -------------------------------------------------------------------------- */

static bool tell_connection(struct conn *c, void *arg)
{
        (void)arg;
        char number[16];
        snprintf(number, sizeof number, "%d", c->number);
        return conn_answer(c, 200, NULL, number);
}

static int connection_of(struct cache *w, struct http_request r)
{
        struct member_edit f = {0};
        start(w, &f, r);
        wait_for(w, &f);
        assert_int_equal(f.reply.err.code, 0);
        int number = atoi(f.body.data);
        buf_release(&f.body);
        return number;
}

/* The client's own limit is not the server's fault, and the error says so. */
static void a_socket_that_cannot_be_had_is_told(void **state)
{
        (void)state;
        struct cache w;
        struct rlimit was;
        world_begin(&w, echo, NULL, NULL, NULL);
        assert_int_equal(ask(&w, (struct http_request){.method = HTTP_GET}).reply.status,
                         200); /* the server has its own */
        int next = dup(STDIN_FILENO);
        close(next);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next, was.rlim_max}), 0);
        struct member_edit f = ask(&w, (struct http_request){.method = HTTP_GET, .urgent = true});
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
        assert_int_equal(f.reply.err.code, ERR_RETRY);
        assert_non_null(strstr(f.reply.err.text, "too many files are open in this process"));
        f = ask(&w, (struct http_request){.method = HTTP_GET, .urgent = true});
        assert_int_equal(f.reply.status, 200);
        world_end(&w);
}

static bool hang_half_or_answer(struct conn *c, void *arg)
{
        return conn_asks(c, "/hang") ? say_half(c, arg) : conn_answer(c, 200, NULL, "{}");
}

/* Nor is it where the socket can be had, but no second descriptor to watch it by: the request ends at once, and with
 * descriptors again the next one is answered. */
static void a_socket_that_cannot_be_watched_is_told(void **state)
{
        (void)state;
        static const struct http_request row[] = {{.deadline_ms = 60000}, {.stream = true}, {.urgent = true}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                struct rlimit was;
                struct member_edit hung = {0};
                struct http_request hang = row[i];
                hang.path_query = "/hang";
                world_begin(&w, hang_half_or_answer, NULL, NULL, NULL);
                start(&w, &hung, hang); /* libcurl and the server have their own, and its connection is taken */
                while (hung.heads == 0)
                        loop_turn(w.loop, 1000);
                int next = dup(STDIN_FILENO);
                close(next);
                assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
                assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next + 1, was.rlim_max}), 0);
                struct member_edit f = ask(&w, row[i]);
                assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
                if (f.reply.err.code != ERR_RETRY || !strstr(f.reply.err.text, "too many files are open"))
                        fail_msg("row %zu: %d, %s", i, f.reply.err.code, f.reply.err.text);
                assert_int_equal(ask(&w, row[i]).reply.status, 200);
                assert_false(hung.done); /* nor does another request end for it */
                buf_release(&hung.body);
                world_end(&w);
        }
}

static void classes_and_revisions_have_connections_of_their_own(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, tell_connection, NULL, NULL, NULL);
        assert_int_equal(connection_of(&w, (struct http_request){0}), 1);
        assert_int_equal(connection_of(&w, (struct http_request){0}), 1);
        assert_int_equal(connection_of(&w, (struct http_request){.stream = true}), 2);
        assert_int_equal(connection_of(&w, (struct http_request){.urgent = true}), 3);
        assert_int_equal(connection_of(&w, (struct http_request){.method = HTTP_POST}), 1);
        assert_int_equal(connection_of(&w, (struct http_request){.urgent = true}), 3);
        assert_int_equal(connection_of(&w, (struct http_request){.stream = true}), 2);
        w.to.revision++;
        assert_int_equal(connection_of(&w, (struct http_request){0}), 4);
        assert_int_equal(connection_of(&w, (struct http_request){.stream = true}), 5);
        world_end(&w);
}

/* Answers the first request of a connection, and closes at the second as if it had been idle too long. */
static bool close_at_second(struct conn *c, void *arg)
{
        if (c->requests > 1)
                return false;
        if (conn_asks(c, "POST"))
                ++*(_Atomic int *)arg;
        return conn_answer(c, 200, NULL, "{}");
}

static bool count_posts_and_close(struct conn *c, void *arg)
{
        if (conn_asks(c, "POST"))
                ++*(_Atomic int *)arg;
        return !conn_asks(c, "POST") && close_at_second(c, arg);
}

static void a_write_is_sent_once(void **state)
{
        (void)state;
        _Atomic int posts = 0;
        struct cache w;
        world_begin(&w, count_posts_and_close, &posts, NULL, NULL);
        assert_int_equal(ask(&w, (struct http_request){0}).reply.err.code, 0);
        assert_int_equal(ask(&w, (struct http_request){0}).reply.err.code, 0); /* libcurl takes a new connection */
        struct member_edit f = ask(&w, (struct http_request){.method = HTTP_POST});
        assert_int_equal(f.reply.err.code, ERR_RETRY);
        assert_non_null(strstr(f.reply.err.text, "may have executed it"));
        assert_int_equal(posts, 1);
        world_end(&w);
}

/* After a request without any answer the connection is not trusted again. */
static bool silent_first(struct conn *c, void *arg)
{
        return c->number == 1 ? say_nothing(c, arg) : tell_connection(c, arg);
}

static void a_dead_connection_is_left(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, silent_first, NULL, NULL, NULL);
        assert_int_equal(ask(&w, (struct http_request){.deadline_ms = 900}).reply.err.code, ERR_RETRY);
        assert_int_equal(connection_of(&w, (struct http_request){0}), 2);
        world_end(&w);
}

/* HTTP/1.1: a request without an answer yet holds up no other, with TLS or without. */
static bool hang_or_tell(struct conn *c, void *arg)
{
        return conn_asks(c, "/hang") ? say_nothing(c, arg) : tell_connection(c, arg);
}

static void a_silent_stream_holds_up_no_other(void **state)
{
        (void)state;
        struct identity *ca = identity_new(NULL, "our ca", 10), *server = identity_new(ca, "127.0.0.1", 10);
        for (int tls = 0; tls < 2; tls++) {
                struct cache w;
                struct member_edit hung = {0};
                world_begin(&w, hang_or_tell, NULL, tls ? server : NULL, tls ? ca : NULL);
                start(&w, &hung, (struct http_request){.path_query = "/hang", .stream = true});
                struct member_edit f = ask(&w, (struct http_request){.stream = true, .silence_ms = 5000});
                assert_int_equal(f.reply.err.code, 0);
                assert_false(hung.done);
                world_end(&w);
        }
        identity_free(server);
        identity_free(ca);
}

/* --- limits ------------------------------------------------------------------------------- */

static bool answer_slowly(struct conn *c, void *arg)
{
        (void)arg;
        (void)conn_wait_gone(c, 20);
        return conn_answer(c, 200, NULL, "{}");
}

static void concurrency_is_bounded(void **state)
{
        (void)state;
        enum { COUNT = 30 };
        struct cache w;
        world_begin(&w, answer_slowly, NULL, NULL, NULL);
        http_set_limits(w.http, 0, 3);
        struct member_edit f[COUNT] = {0};
        for (int i = 0; i < COUNT; i++)
                start(&w, &f[i], (struct http_request){0});
        for (int i = 0; i < COUNT; i++) {
                wait_for(&w, &f[i]);
                assert_int_equal(f[i].reply.status, 200);
                buf_release(&f[i].body);
        }
        assert_int_equal(w.peer->most_busy, 3);
        world_end(&w);
}

static void the_rate_is_bounded(void **state)
{
        (void)state;
        enum { COUNT = 30, RATE = 20 };
        struct cache w;
        world_begin(&w, echo, NULL, NULL, NULL);
        http_free(w.http);
        w.http = http_new(w.loop, &(struct http_limits){.rate = RATE, .concurrency = 8});
        struct mono before = mono_read();
        struct member_edit f[COUNT] = {0};
        for (int i = 0; i < COUNT; i++)
                start(&w, &f[i], (struct http_request){0});
        for (int i = 0; i < COUNT; i++) {
                wait_for(&w, &f[i]);
                buf_release(&f[i].body);
                int64_t took_ms = (mono_read().ns - before.ns) / 1000000;
                assert_true(took_ms >= (i - RATE + 1) * 1000 / RATE - 2); /* a burst of RATE, then one each 1/RATE */
        }
        world_end(&w);
}

static bool hang_or_answer(struct conn *c, void *arg)
{
        return conn_asks(c, "/hang") ? say_nothing(c, arg) : conn_answer(c, 200, NULL, "{}");
}

static void urgent_requests_and_streams_pass_by(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, hang_or_answer, NULL, NULL, NULL);
        http_set_limits(w.http, 0.001, 1);
        struct member_edit hung = {0}, waiting = {0};
        start(&w, &hung, (struct http_request){.path_query = "/hang"});
        struct http_call *second = start(&w, &waiting, (struct http_request){0});
        assert_int_equal(ask(&w, (struct http_request){.urgent = true}).reply.status, 200);
        assert_int_equal(ask(&w, (struct http_request){.stream = true}).reply.status, 200);
        assert_false(hung.done || waiting.done);
        http_cancel(w.http, second);
        buf_release(&hung.body);
        buf_release(&waiting.body);
        world_end(&w); /* with one under way */
        assert_false(hung.done || waiting.done);
}

static bool answer_in_turn(struct conn *c, void *arg)
{
        (void)arg;
        return conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

/* Requests that clients cause have at most half of the places, and every second turn. */
static void requests_for_clients_take_turns_with_own(void **state)
{
        (void)state;
        enum { CLIENTS = 100, OWN = 5 };
        struct cache w;
        struct member_edit hung[2] = {{0}}, client[CLIENTS] = {{0}}, own[OWN] = {{0}};
        int clients = 0;
        world_begin(&w, hang_or_answer, NULL, NULL, NULL);
        http_set_limits(w.http, 0, 2);
        for (int i = 0; i < 2; i++)
                start(&w, &hung[i], (struct http_request){.path_query = "/hang", .queue = HTTP_FOR_CLIENTS});
        assert_int_equal(ask(&w, (struct http_request){0}).reply.status, 200);
        world_end(&w);

        world_begin(&w, answer_in_turn, NULL, NULL, NULL);
        http_set_limits(w.http, 0, 1);
        for (int i = 0; i < CLIENTS; i++)
                start(&w, &client[i], (struct http_request){.queue = HTTP_FOR_CLIENTS});
        for (int i = 0; i < OWN; i++)
                start(&w, &own[i], (struct http_request){0});
        wait_for(&w, &own[OWN - 1]);
        for (int i = 0; i < CLIENTS; i++)
                clients += client[i].done;
        assert_in_range(clients, 1, OWN + 2);
        world_end(&w);
        buf_release(&hung[0].body);
        buf_release(&hung[1].body);
}

static void waiting_has_an_end_and_a_bound(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, hang_or_answer, NULL, NULL, NULL);
        http_set_limits(w.http, 0, 1);
        struct member_edit hung = {0}, late = {0}, filler = {0}, over = {0};
        start(&w, &hung, (struct http_request){.path_query = "/hang"});
        start(&w, &late, (struct http_request){.deadline_ms = 30});
        wait_for(&w, &late);
        assert_int_equal(late.reply.err.code, ERR_RETRY);
        assert_non_null(strstr(late.reply.err.text, "wait"));
        assert_true(late.reply.unsent);
        for (int i = 0; i < HTTP_WAITING_MAX; i++)
                start(&w, &filler, (struct http_request){0});
        start(&w, &over, (struct http_request){0});
        assert_int_equal(over.done, 0);
        wait_for(&w, &over);
        assert_int_equal(over.reply.err.code, ERR_TOOBIG);
        assert_true(over.reply.unsent);
        assert_int_equal(ask(&w, (struct http_request){.urgent = true}).reply.status, 200);
        assert_false(filler.done);
        world_end(&w);
}

/* --- cancelling --------------------------------------------------------------------------- */

static bool answer_in_parts(struct conn *c, void *arg)
{
        (void)conn_say(c, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789");
        return say_nothing(c, arg);
}

static void a_call_can_be_cancelled_anywhere(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, answer_in_parts, NULL, NULL, NULL);
        struct member_edit early = {0}, own = {0}, other = {0}, victim = {0};
        http_cancel(w.http, start(&w, &early, (struct http_request){0})); /* before anything */

        own.cancel_in_data = start(&w, &own, (struct http_request){0}); /* itself, from its data */
        wait_for(&w, &own);
        assert_int_equal(own.done, -1);

        struct http_call *running = start(&w, &victim, (struct http_request){0});
        while (victim.body.len == 0)
                loop_turn(w.loop, 1000);
        other.cancel_in_data = running; /* another that runs, from data */
        struct http_call *one = start(&w, &other, (struct http_request){0});
        wait_for(&w, &other);
        assert_int_equal(other.done, -1);
        http_cancel(w.http, one); /* while it runs */
        for (int i = 0; i < 5; i++)
                loop_turn(w.loop, 2);
        assert_false(early.done || victim.done);
        struct buf *body[] = {&early.body, &own.body, &other.body, &victim.body};
        for (int i = 0; i < 4; i++)
                buf_release(body[i]);
        world_end(&w);
}

/* Both requests end in the same turn; the first callback cancels the second request. */
static void a_done_may_cancel_another(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, echo, NULL, NULL, NULL);
        w.to.base_url = "ftp://nowhere";
        struct member_edit first = {0}, second = {0};
        start(&w, &first, (struct http_request){0});
        first.cancel_in_done = start(&w, &second, (struct http_request){0});
        wait_for(&w, &first);
        for (int i = 0; i < 5; i++)
                loop_turn(w.loop, 2);
        assert_int_equal(second.done, 0);
        world_end(&w);
}

static bool say_head(struct conn *c, void *arg)
{
        static const char whole[] = "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                                    "Trailer: X\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n";
        if (conn_asks(c, "/whole"))
                return conn_say(c, "%s", whole);
        (void)conn_say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        return say_nothing(c, arg);
}

/* Without waiting for a byte of the body; not of what is interim, nor for a trailer. */
static void heads_are_told_once(void **state)
{
        (void)state;
        struct cache w;
        world_begin(&w, say_head, NULL, NULL, NULL);
        struct member_edit f = ask(&w, (struct http_request){.path_query = "/whole"}), open = {0}, left = {0};
        assert_int_equal(f.heads, 1);
        assert_int_equal(f.head_status, 200);
        assert_true(f.reply.whole);
        start(&w, &open, (struct http_request){.stream = true});
        while (!open.heads)
                loop_turn(w.loop, 1000);
        left.cancel_in_head = start(&w, &left, (struct http_request){.stream = true});
        while (!left.heads)
                loop_turn(w.loop, 1000);
        for (int i = 0; i < 5; i++)
                loop_turn(w.loop, 2);
        assert_false(open.done || left.done);
        world_end(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(requests_are_what_they_should_be),
                cmocka_unit_test(replies_are_read),
                cmocka_unit_test(what_is_too_big_ends_early),
                cmocka_unit_test(a_turn_unpacks_only_so_much),
                cmocka_unit_test(a_turn_reads_only_so_much),
                cmocka_unit_test(time_runs_out),
                cmocka_unit_test(bytes_break_the_silence),
                cmocka_unit_test(certificates_are_verified),
                cmocka_unit_test(client_certificates_are_shown),
                cmocka_unit_test(the_rule_for_proxies_is_ours),
                cmocka_unit_test(proxies_of_the_environment_are_taken),
                cmocka_unit_test(errors_name_the_proxy),
                cmocka_unit_test(an_https_proxy_is_verified),
                cmocka_unit_test(an_exception_is_told),
                cmocka_unit_test(a_proxy_that_refuses_is_no_answer),
                cmocka_unit_test(peers_that_cannot_be),
                cmocka_unit_test(a_socket_that_cannot_be_had_is_told),
                cmocka_unit_test(a_socket_that_cannot_be_watched_is_told),
                cmocka_unit_test(classes_and_revisions_have_connections_of_their_own),
                cmocka_unit_test(a_write_is_sent_once),
                cmocka_unit_test(a_dead_connection_is_left),
                cmocka_unit_test(a_silent_stream_holds_up_no_other),
                cmocka_unit_test(concurrency_is_bounded),
                cmocka_unit_test(the_rate_is_bounded),
                cmocka_unit_test(urgent_requests_and_streams_pass_by),
                cmocka_unit_test(requests_for_clients_take_turns_with_own),
                cmocka_unit_test(waiting_has_an_end_and_a_bound),
                cmocka_unit_test(a_call_can_be_cancelled_anywhere),
                cmocka_unit_test(a_done_may_cancel_another),
                cmocka_unit_test(heads_are_told_once),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
