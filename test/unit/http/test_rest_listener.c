/*
 * The REST listener over real sockets: authorization, and the limits of requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/stand.h"
#include "../../support/wire.h"
#include "base/buf.h"
#include "base/mem.h"

#define RENDER "/api/v1/namespaces/shop/render"

static struct got ask_as(const struct stand *s, const char *path, const char *token)
{
        return stand_ask(s, path, (struct fetch){.token = token});
}

static bool has(const struct got *g, const char *line)
{
        return strcasestr(g->headers, line) != NULL;
}

/* --- who --- */

static void test_who_is_let_in(void **state)
{
        (void)state;
        static const struct {
                const char *path, *header;
                long want;
                const char *says;
        } row[] = {
                {STAND_WEB, "Authorization: Bearer good", 200, "Content-Type: application/json"},
                {STAND_WEB, "authorization: bearer good", 200, "X-Request-Id:"},
                {STAND_WEB, "X-Halflife-Authorization: Bearer good", 200, "Vary: "},
                {STAND_WEB, "X-Halflife-Authorization: Bearer stranger", 401, ""},
                {STAND_WEB, "X-Halflife-Authorization: Bearer poor", 403, ""},
                {STAND_WEB, "Authorization: Bearer poor\r\nX-Halflife-Authorization: Bearer good", 403, ""},
                {STAND_WEB, "X-None: 1", 401, "WWW-Authenticate: Bearer"},
                {STAND_WEB, "Authorization: Basic Z29vZA==", 401, "application/problem+json"},
                {STAND_WEB, "Authorization: Bearer", 401, ""},
                {STAND_WEB, "Authorization: Bearer good bad", 401, ""},
                {STAND_WEB, "Authorization: Bearer stranger", 401, "WWW-Authenticate: Bearer"},
                {STAND_WEB, "Authorization: Bearer poor", 403, "application/problem+json"},
                {STAND_WEB, "Authorization: Bearer narrow", 200, ""},
                {STAND_WEB "/explain", "Authorization: Bearer narrow", 200, ""},
                {"/api/v1/namespaces/shop/workloads/deploy/web-1", "Authorization: Bearer narrow", 403, ""},
                {"/api/v1/namespaces/shop/workloads", "Authorization: Bearer narrow", 403, ""},
                {RENDER, "Authorization: Bearer narrow", 405, ""},
                {"/openapi.yaml", "X-None: 1", 200, ""},
                {"/ui", "X-None: 1", 200, "Content-Security-Policy: default-src 'none'"}, /* it has no data */
                {"/ui/main.js", "X-None: 1", 200, "X-Content-Type-Options: nosniff"},
                {"/api/v1/summary", "X-None: 1", 401, ""},
                {"/api/v1/summary", "Authorization: Bearer poor", 403, ""},
                {"/api/v1/profiles", "Authorization: Bearer narrow", 403, ""},
                {"/api/v1/namespaces/shop/profiles", "Authorization: Bearer good", 200, ""},
                {"/api/v1/namespaces/shop/workloads", "Authorization: Bearer good", 200, ""},
                {"/api/v1/namespaces/shop/workloads", "Authorization: Bearer poor", 403, ""},
                {"/nowhere", "Authorization: Bearer good", 404, "application/problem+json"},
                {"/admission", "Authorization: Bearer good", 404, ""},
                {"/healthz", "Authorization: Bearer good", 404, ""},
                {STAND_WEB "/histogram?resource=cpu", "Authorization: Bearer poor", 403, ""},
                {STAND_WEB, "Authorization: Bearer lost", 503, "Retry-After:"}, /* from now on nobody can be asked */
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release) struct got g = stand_ask(&s, row[i].path, (struct fetch){.header = row[i].header});
                if (g.status != row[i].want || !has(&g, row[i].says))
                        fail_msg("%s with '%s': %ld, not %ld\n%s%s", row[i].path, row[i].header, g.status, row[i].want,
                                 g.headers, g.body);
        }
        stand_end(&s);
}

/* Reports are for who may list recommendations: of all namespaces, or of one. */
static void test_who_sees_reports(void **state)
{
        static const struct {
                const char *path, *token;
                long want;
                bool shop, bank; /* in the answer */
        } row[] = {
                {"/api/v1/report", "good", 200, true, true},
                {"/api/v1/namespaces/shop/report", "good", 200, true, false},
                {"/api/v1/namespaces/shop/report", "nodes", 200, true, false},
                {"/api/v1/report", "nodes", 403, false, false},
                {"/api/v1/namespaces/bank/report", "nodes", 403, false, false},
                {"/api/v1/report", "stranger", 401, false, false},
                {"/api/v1/report?since=x", "good", 400, false, false},
                {"/api/v1/report?by=profile", "good", 503, false, false}, /* too many are made now */
        };
        struct stand s;
        (void)state;
        stand_begin(&s, &(struct rest_listener_options){0});
        stand_publish(&s, 1, NULL);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release)
                struct got g = stand_ask(&s, row[i].path, (struct fetch){.token = row[i].token});
                if (g.status != row[i].want || (strstr(g.body, "\"shop\"") != NULL) != row[i].shop ||
                    (strstr(g.body, "\"bank\"") != NULL) != row[i].bank)
                        fail_msg("%s by %s: %ld %s", row[i].path, row[i].token, g.status, g.body);
        }
        stand_end(&s);
}

/* Changes and what-ifs are for who may list recommendations, days for who may get that one. */
static void test_who_sees_changes(void **state)
{
#define WEB_1 "/api/v1/namespaces/shop/workloads/Deployment/web-1"
        static const struct {
                const char *path, *token, *has;
                long want;
        } row[] = {
                {"/api/v1/changes", "good", "\"total\":2", 200},
                {"/api/v1/changes?output=csv", "good", "\"web-1\"", 200},
                {"/api/v1/namespaces/shop/changes", "nodes", "\"total\":2", 200},
                {"/api/v1/namespaces/bank/changes", "good", "\"total\":0", 200},
                {"/api/v1/changes", "nodes", "forbidden", 403},
                {"/api/v1/namespaces/bank/changes", "nodes", "forbidden", 403},
                {"/api/v1/changes", "stranger", "unauthenticated", 401},
                {"/api/v1/profiles/what-if", "good", "\"workloads\":2", 200},
                {"/api/v1/profiles/what-if", "good", "\"saving\":\"9360m\"", 200}, /* the same table, summed up once */
                {"/api/v1/namespaces/shop/profiles/what-if", "nodes", "\"pool\"", 200},
                {"/api/v1/namespaces/bank/profiles/what-if", "good", "\"items\":[]", 200},
                {"/api/v1/profiles/what-if", "nodes", "forbidden", 403},
                {STAND_WEB "/days", "good", "\"days\":[]", 200},
                {STAND_WEB "/days", "narrow", "\"days\":[]", 200},
                {WEB_1 "/days", "narrow", "forbidden", 403},
        };
        struct stand s;
        (void)state;
        stand_begin(&s, &(struct rest_listener_options){0});
        s.learned = true;
        stand_publish(&s, 2, NULL);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release)
                struct got g = stand_ask(&s, row[i].path, (struct fetch){.token = row[i].token});
                if (g.status != row[i].want || !strstr(g.body, row[i].has))
                        fail_msg("%s by %s: %ld %s", row[i].path, row[i].token, g.status, g.body);
        }
        stand_end(&s);
}

/* Nodes are for who may list nodes; their workloads are named to who may list recommendations. */
static void test_who_sees_nodes(void **state)
{
        (void)state;
        static const struct {
                const char *path, *token;
                long want;
                bool web, db;
        } row[] = {
                {"/api/v1/nodes", "good", 200, true, true},
                {"/api/v1/nodes?namespace=shop", "good", 200, true, false},
                {"/api/v1/nodes", "nodes", 200, false, false},
                {"/api/v1/nodes?namespace=bank", "nodes", 200, false, false},
                {"/api/v1/nodes?namespace=shop", "nodes", 200, true, false},
                {"/api/v1/nodes", "shop", 403, false, false},
                {"/api/v1/nodes", "poor", 403, false, false},
                {"/api/v1/nodes", "stranger", 401, false, false},
                {"/api/v1/nodes?limit=x", "good", 400, false, false},
                {"/api/v1/nodes", "lost", 503, false, false}, /* from now on nobody can be asked */
                {"/api/v1/nodes", "nodes", 200, false, false},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release) struct got g = ask_as(&s, row[i].path, row[i].token);
                bool web = strstr(g.body, "web-0") != NULL, db = strstr(g.body, "\"db\"") != NULL;
                if (g.status != row[i].want || web != row[i].web || db != row[i].db)
                        fail_msg("%s as '%s': %ld\n%s", row[i].path, row[i].token, g.status, g.body);
        }
        stand_end(&s);
}

/* Without the right to ask, what is there and what is not are alike. */
static void test_nothing_is_given_away(void **state)
{
        (void)state;
        static const char *const token[] = {NULL, "stranger", "poor"};
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (size_t i = 0; i < sizeof token / sizeof token[0]; i++) {
                AUTO(got_release) struct got there = ask_as(&s, STAND_WEB, token[i]);
                AUTO(got_release)
                struct got absent = ask_as(&s, "/api/v1/namespaces/shop/workloads/Deployment/no-such", token[i]);
                assert_int_equal(there.status, i == 2 ? 403 : 401);
                assert_int_equal(there.status, absent.status);
                assert_string_equal(there.body, absent.body);
                assert_int_equal(strlen(there.headers), strlen(absent.headers));
        }
        AUTO(got_release)
        struct got absent = ask_as(&s, "/api/v1/namespaces/shop/workloads/Deployment/no-such", "good");
        assert_int_equal(absent.status, 404);
        stand_end(&s);
}

/* A refusal says which permission is missing, and no answer is taken for a page by a browser. */
static void test_refusals_say_what_is_missing(void **state)
{
        (void)state;
        static const struct {
                const char *path, *token, *says;
        } row[] = {
                {"/api/v1/workloads", "poor", "list recommendations.halflife.dev in all namespaces"},
                {"/api/v1/summary", "poor", "list recommendations.halflife.dev in all namespaces"},
                {"/api/v1/namespaces/shop/workloads", "poor",
                 "get or list recommendations.halflife.dev in the namespace"},
                {STAND_WEB, "poor", "get or list recommendations.halflife.dev in the namespace"},
                {"/api/v1/nodes", "poor", "list nodes"},
                {"/api/v1/workloads", "stranger", "is it expired"},
                {"/api/v1/workloads", NULL, "Authorization: Bearer TOKEN"},
                {"/api/v1/workloads", "good", "\"items\""},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release) struct got g = ask_as(&s, row[i].path, row[i].token);
                if (!strstr(g.body, row[i].says) || !strstr(g.headers, "X-Content-Type-Options: nosniff\r\n"))
                        fail_msg("%s as '%s': %ld\n%s%s", row[i].path, row[i].token, g.status, g.headers, g.body);
        }
        stand_end(&s);
}

/* For a caller who may read a whole namespace, one question suffices for all its workloads. */
static void test_one_question_for_a_namespace(void **state)
{
        (void)state;
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (int i = 0; i < 200; i++) {
                AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/shop/workloads/Deployment/web-%d", i % 3);
                AUTO(got_release) struct got g = ask_as(&s, path, "good");
                assert_int_equal(g.status, 200);
        }
        assert_int_equal(stand_asked(&s), 1);
        stand_end(&s);
}

/* --- what --- */

static void test_request_ids(void **state)
{
        (void)state;
        static const struct {
                const char *header, *want;
                bool echoed;
        } row[] = {
                {"X-Request-Id: a1-b2/c.d:3_4+5=", "X-Request-Id: a1-b2/c.d:3_4+5=\r\n", true},
                {"X-Request-Id: with space", "with space", false},
                {"X-Request-Id: q\"uote", "q\"uote", false},
                {"X-Request-Id: <b>", "<b>", false},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release) struct got g = stand_ask(&s, STAND_WEB, (struct fetch){.header = row[i].header});
                assert_true(has(&g, "X-Request-Id: "));
                if (has(&g, row[i].want) != row[i].echoed)
                        fail_msg("%s: %s", row[i].header, g.headers);
        }
        char word[300] = "X-Request-Id: ";
        memset(word + strlen(word), 'x', 200);
        AUTO(got_release) struct got g = stand_ask(&s, STAND_WEB, (struct fetch){.header = word});
        assert_false(has(&g, "xxxxxxxx"));
        stand_end(&s);
}

static void test_head_and_gzip(void **state)
{
        (void)state;
        static const char list[] = "/api/v1/namespaces/shop/workloads";
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        stand_publish(&s, 50, NULL);
        AUTO(got_release) struct got plain = ask_as(&s, list, "good");
        assert_int_equal(plain.status, 200);
        assert_true(plain.len > 1024);
        assert_false(has(&plain, "Content-Encoding"));
        AUTO(got_release)
        struct got head = stand_ask(&s, list, (struct fetch){.token = "good", .head = true});
        char length[64];
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", plain.len);
        assert_int_equal(head.status, 200);
        assert_int_equal(head.len, 0);
        assert_true(has(&head, length));
        AUTO(got_release)
        struct got small = stand_ask(&s, list, (struct fetch){.token = "good", .header = "Accept-Encoding: gzip"});
        assert_true(has(&small, "Content-Encoding: gzip"));
        assert_true(has(&small, "Vary: Accept-Encoding"));
        assert_true(small.len < plain.len);
        assert_memory_equal(small.body, "\x1f\x8b", 2);
        assert_true(has(&plain, "ETag: \""));
        const char *tag = strcasestr(small.headers, "ETag: W/\"");
        assert_non_null(tag);
        AUTO(mem_free) char *match = mem_printf("If-None-Match: %.*s", (int)strcspn(tag + 6, "\r"), tag + 6);
        AUTO(got_release) struct got same = stand_ask(&s, list, (struct fetch){.token = "good", .header = match});
        assert_int_equal(same.status, 304);
        assert_int_equal(same.len, 0);
        assert_true(has(&same, "ETag: \""));
        AUTO(mem_free) char *packed = mem_printf("%s\r\nAccept-Encoding: gzip", match);
        AUTO(got_release) struct got weak = stand_ask(&s, list, (struct fetch){.token = "good", .header = packed});
        assert_int_equal(weak.status, 304);
        assert_true(has(&weak, "ETag: W/\"")); /* that of the answer it speaks of */
        stand_end(&s);
}

static void test_bodies(void **state)
{
        (void)state;
        static char big[(16 << 20) + 1];
        memset(big, ' ', sizeof big);
        const struct {
                const char *what, *head;
                size_t body;
                const char *want;
        } row[] = {
                {"announced too large", "POST " RENDER " HTTP/1.1\r\nContent-Length: 16777217\r\n", 0, " 413 "},
                {"absurd", "POST " RENDER " HTTP/1.1\r\nContent-Length: 9223372036854775807\r\n", 0, " 413 "},
                {"no number", "POST " RENDER " HTTP/1.1\r\nContent-Length: many\r\n", 0, " 400 "},
                {"negative", "POST " RENDER " HTTP/1.1\r\nContent-Length: -1\r\n", 0, " 400 "},
                {"on a GET", "GET " STAND_WEB " HTTP/1.1\r\nContent-Length: 5\r\n", 0, " 413 "},
                {"chunked on a GET", "GET " STAND_WEB " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", 0, " 413 "},
                {"packed", "POST " RENDER " HTTP/1.1\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n", 0, " 415 "},
                {"a method nobody knows", "BREW " STAND_WEB " HTTP/1.1\r\n", 0, " 405 "},
                {"largest",
                 "POST " RENDER " HTTP/1.1\r\nContent-Type: application/yaml\r\nContent-Length: 16777216\r\n", 16 << 20,
                 NULL}, /* whatever is said of blanks, the size is all right */
        };
        struct stand s;
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int fd = wire_open(s.address);
                wire_say(fd, row[i].head);
                wire_say(fd, "Host: x\r\nAuthorization: Bearer good\r\n\r\n");
                wire_send(fd, big, row[i].body);
                AUTO(mem_free) char *answer = wire_hear(fd, "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
                char line[16] = "";
                memcpy(line, answer, strlen(answer) < 15 ? strlen(answer) : 15);
                if (row[i].want ? !strstr(line, row[i].want) : !*line || strstr(line, " 413 "))
                        fail_msg("%s: not%s but %.300s", row[i].what, row[i].want ? row[i].want : " taken", answer);
                close(fd);
        }
        stand_end(&s);
}

/* A client that writes everything before it reads still gets its answer: nothing resets the connection. */
static void test_refused_in_the_middle(void **state)
{
        (void)state;
        enum { BODY = 12 << 20 };
        static const char head[] = "POST " RENDER " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                                   "Content-Type: application/yaml\r\nContent-Length: %d\r\n\r\n";
        static char body[BODY];
        struct stand s;
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (int i = 0; i < 20; i++) {
                int fd = wire_open(s.address);
                AUTO(mem_free) char *line = mem_printf(head, i % 2 ? "stranger" : "poor", BODY);
                assert_true(wire_say(fd, line));
                if (!wire_send(fd, body, BODY))
                        fail_msg("reset while it wrote, at try %d", i);
                AUTO(mem_free) char *answer = wire_hear(fd, NULL, WIRE_PATIENCE_MS, &ended);
                assert_non_null(strstr(answer, i % 2 ? " 401 " : " 403 "));
                assert_true(ended);
                close(fd);
        }
        stand_end(&s);
}

/* A chunked body has no length to be refused by: it is refused where it grows too long. */
static void test_an_endless_body(void **state)
{
        (void)state;
        struct stand s;
        bool ended = false;
        stand_begin(&s, &(struct rest_listener_options){0});
        int fd = wire_open(s.address);
        AUTO(mem_free) char *chunk = mem_new((64 << 10) + 16);
        int at = sprintf(chunk, "10000\r\n");
        memset(chunk + at, '#', 64 << 10);
        memcpy(chunk + at + (64 << 10), "\r\n", 2);
        assert_true(wire_say(fd, "POST " RENDER " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n"
                                 "Content-Type: application/yaml\r\nTransfer-Encoding: chunked\r\n\r\n"));
        for (int i = 0; i < 300; i++)
                wire_send(fd, chunk, (size_t)at + (64 << 10) + 2);
        wire_say(fd, "0\r\n\r\n");
        AUTO(mem_free) char *answer = wire_hear(fd, "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
        assert_non_null(strstr(answer, " 413 "));
        close(fd);
        stand_end(&s);
}

/* Read what came on connections of which each gets 403 or 429, or nothing while its body is waited for. Returns how
 * many got nothing, once at most `most` are left; ret_refused: how many got 429. */
static int unanswered(const int *fd, bool *answered, int count, int most, int *ret_refused)
{
        int left = count;
        *ret_refused = 0;
        for (int round = 0; round < 100 && left > most; round++)
                for (int i = 0; i < count; i++) {
                        bool ended;
                        if (answered[i])
                                continue;
                        AUTO(mem_free) char *answer = wire_hear(fd[i], "\r\n\r\n", 50, &ended);
                        bool full = strstr(answer, " 429 ") && strstr(answer, "Retry-After: 1");
                        answered[i] = full || strstr(answer, " 403 ");
                        left -= answered[i];
                        *ret_refused += full;
                }
        return left;
}

/* A client asks for much that is slow to make, another once: the other is answered all the same. */
static void test_slow_requests_take_turns(void **state)
{
        (void)state;
        enum { MANY = 100, OTHER = 2, LONG_MS = 10000 };
        static const struct {
                const char *what, *request;
        } row[] = {
                {"without a token", "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"},
                {"another caller", "GET /api/v1/namespaces/shop/workloads?limit=500 HTTP/1.1\r\nHost: x\r\n"
                                   "Authorization: Bearer other\r\nAccept-Encoding: gzip\r\n\r\n"},
        };
        struct stand s;
        int fd[MANY];
        stand_begin(&s, &(struct rest_listener_options){.request_ms = LONG_MS});
        stand_publish(&s, 2000, NULL);
        for (size_t r = 0; r < sizeof row / sizeof row[0]; r++) {
                AUTO(got_release) struct got known = stand_ask(&s, STAND_WEB, (struct fetch){.token = "good"});
                assert_int_equal(known.status, 200);
                for (int i = 0; i < MANY; i++)
                        fd[i] = wire_open_from(s.address, OTHER);
                for (int i = 0; i < MANY; i++)
                        assert_true(wire_say(fd[i], row[r].request));
                AUTO(got_release)
                struct got g =
                        stand_ask(&s, "/api/v1/namespaces/shop/workloads?limit=1", (struct fetch){.token = "good"});
                if (g.status != 200)
                        fail_msg("%s: %ld %s", row[r].what, g.status, g.body);
                for (int i = 0; i < MANY; i++)
                        close(fd[i]);
        }
        stand_end(&s);
}

/* A render that announces a body of 16 MiB and sends nothing of it. */
#define RENDER_HEAD(token)                                                                                             \
        "POST " RENDER " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " token "\r\n"                                   \
        "Content-Type: application/yaml\r\nContent-Length: 16777216\r\n\r\n"

/* Forty bodies of 16 MiB announced by one caller: it gets 429 beyond its share, and another caller's render is
 * answered. Without a token that is let in, nothing is held at all. */
static void test_a_caller_has_a_share(void **state)
{
        enum { CALLS = 80, LONG = 1 << 20, SHARE = 2 };
        (void)state;
        struct stand s;
        int fd[CALLS], refused;
        bool answered[CALLS] = {false}, ended;
        stand_begin(&s, &(struct rest_listener_options){.request_ms = 60000});
        for (int i = 0; i < CALLS; i++) {
                fd[i] = wire_open(s.address);
                assert_true(wire_say(fd[i], i % 2 ? RENDER_HEAD("good") : RENDER_HEAD("poor")));
        }
        int held = unanswered(fd, answered, CALLS, SHARE, &refused);
        AUTO(mem_free) char *body = mem_new(LONG + 1);
        memset(body, '#', LONG);
        AUTO(got_release)
        struct got other = stand_ask(&s, RENDER, (struct fetch){.token = "other", .body = body, .type = "text/yaml"});
        assert_int_equal(other.status, 200);
        assert_int_equal(held, SHARE);
        assert_int_equal(refused, CALLS / 2 - SHARE);
        int more = wire_open(s.address);
        assert_true(wire_say(more, RENDER_HEAD("good")));
        AUTO(mem_free) char *theirs = wire_hear(more, "share-used", WIRE_PATIENCE_MS, &ended);
        assert_non_null(strstr(theirs, "HTTP/1.1 429 "));
        assert_non_null(strstr(theirs, "https://halflife.dev/problems/share-used"));
        close(more);
        for (int i = 0; i < CALLS; i++)
                close(fd[i]);
        stand_end(&s);
}

/* Answers that nobody reads are bodies, too. */
static void test_answers_have_a_bound(void **state)
{
        (void)state;
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){.bodies_max = 16 << 10});
        stand_publish(&s, 500, NULL);
        for (int i = 0; i < 3; i++) {
                AUTO(got_release) struct got list = ask_as(&s, "/api/v1/namespaces/shop/workloads?limit=500", "good");
                assert_int_equal(list.status, 503);
                assert_true(has(&list, "Retry-After:"));
                AUTO(got_release) struct got few = ask_as(&s, "/api/v1/namespaces/shop/workloads?limit=5", "good");
                assert_int_equal(few.status, 200);
                assert_in_range(few.len, 1 << 10, 16 << 10);
        }
        stand_end(&s);
}

static void test_headers_without_end(void **state)
{
        (void)state;
        struct stand s;
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){0});
        int fd = wire_open(s.address);
        AUTO(mem_free) char *word = mem_new(40 << 10);
        memset(word, 'x', (40 << 10) - 1);
        wire_say(fd, "GET " STAND_WEB " HTTP/1.1\r\nHost: x\r\nX-Long: ");
        wire_say(fd, word);
        AUTO(mem_free) char *answer = wire_hear(fd, "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
        assert_non_null(strstr(answer, " 431 "));
        close(fd);
        fd = wire_open(s.address);
        wire_say(fd, "GET /");
        word[9000] = '\0';
        wire_say(fd, word);
        wire_say(fd, " HTTP/1.1\r\nHost: x\r\n\r\n");
        AUTO(mem_free) char *path = wire_hear(fd, "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
        assert_non_null(strstr(path, " 400 "));
        close(fd);
        stand_end(&s);
}

static void test_pipelined(void **state)
{
        (void)state;
        enum { N = 100 };
        struct stand s;
        struct buf all;
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){0});
        buf_init(&all, 1 << 20);
        for (int i = 0; i < N; i++)
                buf_printf(&all,
                           "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nX-Request-Id: id-%d-\r\n%s\r\n",
                           i % 3 ? STAND_WEB : "/api/v1/namespaces/shop/workloads", i,
                           i == N - 1 ? "Connection: close\r\n" : "");
        int fd = wire_open(s.address);
        assert_true(wire_send(fd, all.data, all.len));
        AUTO(mem_free) char *answers = wire_hear(fd, NULL, WIRE_PATIENCE_MS, &ended);
        assert_true(ended);
        assert_int_equal(wire_count(answers, "HTTP/1.1 200"), N);
        const char *at = answers;
        for (int i = 0; i < N; i++) { /* in the order they were asked */
                char id[32];
                snprintf(id, sizeof id, "id-%d-", i);
                at = strstr(at, id);
                assert_non_null(at);
        }
        close(fd);
        buf_release(&all);
        stand_end(&s);
}

/* Whatever comes, in whatever parts: nobody else is the worse for it. */
static void test_garbage(void **state)
{
        (void)state;
        static const char *const seed[] = {
                STAND_GET_WEB(""),
                "POST " RENDER " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Length: 5\r\n\r\na: 1\n",
                "POST " RENDER " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nTransfer-Encoding: "
                "chunked\r\n\r\n3\r\na: \r\n2\r\n1\n\r\n0\r\n\r\n",
                "GET /api/v1/namespaces/shop/workloads?limit=2&labelSelector=a%3Db HTTP/1.1\r\nHost: "
                "x\r\nAccept-Encoding: "
                "gzip;q=0.5\r\nAuthorization: Bearer poor\r\nIf-None-Match: \"1\"\r\n\r\n"};
        struct stand s;
        bool ended;
        enum { ROUNDS = 400 };
        int fd[ROUNDS];
        char bytes[1024];
        stand_begin(&s, &(struct rest_listener_options){.admission = true, .request_ms = 2000});
        srand(11);
        for (int round = 0; round < ROUNDS; round++) {
                size_t len = strlen(seed[round % 4]);
                memcpy(bytes, seed[round % 4], len);
                memcpy(bytes + len, seed[round % 3], strlen(seed[round % 3]));
                len += strlen(seed[round % 3]);
                for (int i = rand() % 4; i > 0; i--)
                        bytes[rand() % (int)len] = (char)(rand() % 3 ? "\r\n :;,0%"[rand() % 8] : rand());
                fd[round] = wire_open(s.address);
                size_t first = (size_t)rand() % len;
                wire_send(fd[round], bytes, first);
                wire_send(fd[round], bytes + first, len - first);
                shutdown(fd[round], SHUT_WR);
        }
        for (int round = 0; round < ROUNDS; round++) {
                AUTO(mem_free) char *answer = wire_hear(fd[round], NULL, WIRE_PATIENCE_MS, &ended);
                if (!ended)
                        fail_msg("round %d: still open\n%s", round, answer);
                close(fd[round]);
        }
        AUTO(got_release) struct got g = ask_as(&s, STAND_WEB, "good");
        assert_int_equal(g.status, 200);
        stand_end(&s);
}

/* --- admission --- */

static void test_admission(void **state)
{
        (void)state;
        static char deep[1 << 20], long_one[(3 << 20) + 2];
        memset(deep, '[', sizeof deep - 1);
        memset(long_one, ' ', sizeof long_one - 1);
        const struct {
                const char *what, *method, *type, *body;
                long want;
                const char *says;
        } row[] = {
                {"a pod of nobody", "POST", "application/json", STAND_REVIEW(""), 200, "\"allowed\":true"},
                {"a pod of a ReplicaSet", "POST", "application/json; charset=utf-8", STAND_REVIEW(STAND_OWNED), 200,
                 "\"u-1\""},
                {"a GET", "GET", NULL, NULL, 405, "problems/method-not-allowed"},
                {"a form", "POST", "application/x-www-form-urlencoded", STAND_REVIEW(""), 415, "unsupported-type"},
                {"a longer type", "POST", "application/jsonp", STAND_REVIEW(""), 415, "unsupported-type"},
                {"no JSON", "POST", "application/json", "apiVersion: v1", 400, "problems/invalid-body"},
                {"nothing", "POST", "application/json", "", 400, "problems/invalid-body"},
                {"brackets", "POST", "application/json", deep, 400, "problems/invalid-body"},
                {"an old version", "POST", "application/json",
                 "{\"apiVersion\":\"admission.k8s.io/"
                 "v1beta1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"1\"}}",
                 400, "problems/invalid-body"},
                {"too long", "POST", "application/json", long_one, 413, "problems/too-large"},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){.admission = true});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release)
                struct got g =
                        stand_ask(&s, "/admission",
                                  (struct fetch){.method = row[i].method, .type = row[i].type, .body = row[i].body});
                if (g.status != row[i].want || !strstr(g.body, row[i].says))
                        fail_msg("%s: %ld, not %ld\n%s", row[i].what, g.status, row[i].want, g.body);
        }
        assert_int_equal(s.owners, 1);
        assert_int_equal(s.asked, 0);
        stand_end(&s);
}

#define OLD_PATH "00112233445566778899aabbccddeeff"
#define NEW_PATH "ffeeddccbbaa99887766554433221100"

/* Only headers are sent, so that an answer proves that no body was waited for; "": none came. */
static char *ask_without_body(const struct stand *s, const char *path)
{
        bool ended;
        int fd = wire_open(s->address);
        AUTO(mem_free)
        char *head = mem_printf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                                "Content-Length: 1000\r\n\r\n",
                                path);
        wire_say(fd, head);
        char *answer = wire_hear(fd, "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
        close(fd);
        return answer;
}

static long status_at(const struct stand *s, const char *path)
{
        AUTO(got_release)
        struct got g = stand_ask(
                s, path, (struct fetch){.method = "POST", .type = "application/json", .body = STAND_REVIEW("")});
        return g.status;
}

/* The well-known paths, until others are known; then those, and a wrong one is refused before its body. */
static void test_paths_of_admission(void **state)
{
        (void)state;
        static const struct admission_paths two = {.name = {OLD_PATH, NEW_PATH}, .count = 2};
        static const struct admission_paths first = {.name = {ADMISSION_WELL_KNOWN, NEW_PATH}, .count = 2};
        static const struct {
                const char *path;
                long want[3]; /* without paths, with first, with two */
        } row[] = {
                {"/admission", {200, 200, 404}},
                {"/", {200, 200, 404}},
                {"/?timeout=2s", {200, 200, 404}},
                {"/" OLD_PATH, {404, 404, 200}},
                {"/" NEW_PATH "?timeout=2s", {404, 200, 200}},
                {"/" NEW_PATH "/", {404, 404, 404}},
                {"/" NEW_PATH "0", {404, 404, 404}},
                {"/ffeeddccbbaa9988776655443322110", {404, 404, 404}},
                {"/ffeeddccbbaa99887766554433221101", {404, 404, 404}},
                {"/FFEEDDCCBBAA99887766554433221100", {404, 404, 404}},
                {"/admissio", {404, 404, 404}},
        };
        struct stand s;
        uint64_t astray = 0;
        stand_begin(&s, &(struct rest_listener_options){.admission = true});
        for (int phase = 0; phase < 3; phase++) {
                if (phase)
                        server_set_admission_paths(s.server, phase == 1 ? &first : &two);
                for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                        long got = status_at(&s, row[i].path);
                        astray += got == 404;
                        if (got != row[i].want[phase])
                                fail_msg("phase %d, %s: %ld", phase, row[i].path, got);
                }
        }
        assert_int_equal(server_counts(s.server).astray, astray);
        AUTO(mem_free) char *answer = ask_without_body(&s, "/admission");
        assert_non_null(strstr(answer, " 404 "));
        AUTO(got_release) struct got root = stand_ask(&s, "/", (struct fetch){.method = "GET"});
        assert_int_equal(root.status, 404);
        stand_end(&s);
}

/* --- what the view says of itself --- */

static void test_news_are_old(void **state)
{
        (void)state;
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        stand_publish(&s, 1, "the API server is away");
        AUTO(got_release) struct got g = ask_as(&s, STAND_WEB, "good");
        assert_int_equal(g.status, 200);
        assert_true(has(&g, "Warning: "));
        assert_true(has(&g, "Age: 9"));
        stand_publish(&s, 1, NULL);
        AUTO(got_release) struct got fresh = ask_as(&s, STAND_WEB, "good");
        assert_false(has(&fresh, "Warning:"));
        assert_false(has(&fresh, "Age:"));
        struct snapshot *empty = snapshot_new();
        snapshot_finish(empty);
        server_publish(s.server, empty);
        AUTO(got_release) struct got early = ask_as(&s, STAND_WEB, "good");
        assert_int_equal(early.status, 503);
        assert_true(has(&early, "Retry-After:"));
        stand_end(&s);
}

/* --- starting --- */

static void test_where_it_may_listen(void **state)
{
        (void)state;
        static const struct {
                const char *listen;
                bool tls;
                const char *cert, *key;
                const char *says; /* NULL: it starts */
        } row[] = {
                {"127.0.0.1:0", false, NULL, NULL, NULL},
                {"localhost:0", false, NULL, NULL, NULL},
                {"127.9.9.9:0", false, NULL, NULL, NULL},
                {"0.0.0.0:0", false, NULL, NULL, "is not a loopback address"},
                {":0", false, NULL, NULL, "is not a loopback address"},
                {"[::]:0", false, NULL, NULL, "is not a loopback address"},
                {"10.1.2.3:0", false, NULL, NULL, "is not a loopback address"},
                {"127.0.0.1:0", true, NULL, NULL, NULL}, /* its certificate is brought later */
                {"127.0.0.1:0", true, "/nowhere/tls.crt", "/nowhere/tls.key", "/nowhere/tls.crt"},
                {"127.0.0.1:0", true, "/nowhere/tls.crt", NULL, "belong together"},
                {"somewhere:1", false, NULL, NULL, "not a numeric address"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct server_options o = {.interval_ms = 1000,
                                           .rest = {.listen = row[i].listen,
                                                    .tls = row[i].tls,
                                                    .cert_file = row[i].cert,
                                                    .key_file = row[i].key}};
                struct server *server = NULL;
                struct err err = {0};
                int rc = server_start(&o, &server, &err);
                if ((rc == 0) != (row[i].says == NULL) || (rc < 0 && !strstr(err.text, row[i].says)))
                        fail_msg("'%s': %d, %s", row[i].listen, rc, err.text);
                server_stop(server);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_who_is_let_in),
                cmocka_unit_test(test_who_sees_reports),
                cmocka_unit_test(test_who_sees_changes),
                cmocka_unit_test(test_who_sees_nodes),
                cmocka_unit_test(test_nothing_is_given_away),
                cmocka_unit_test(test_refusals_say_what_is_missing),
                cmocka_unit_test(test_one_question_for_a_namespace),
                cmocka_unit_test(test_request_ids),
                cmocka_unit_test(test_head_and_gzip),
                cmocka_unit_test(test_bodies),
                cmocka_unit_test(test_an_endless_body),
                cmocka_unit_test(test_refused_in_the_middle),
                cmocka_unit_test(test_slow_requests_take_turns),
                cmocka_unit_test(test_a_caller_has_a_share),
                cmocka_unit_test(test_answers_have_a_bound),
                cmocka_unit_test(test_headers_without_end),
                cmocka_unit_test(test_pipelined),
                cmocka_unit_test(test_garbage),
                cmocka_unit_test(test_news_are_old),
                cmocka_unit_test(test_admission),
                cmocka_unit_test(test_paths_of_admission),
                cmocka_unit_test(test_where_it_may_listen),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
