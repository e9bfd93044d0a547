#include "http/server.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/fetch.h"
#include "../../support/wire.h"
#include "base/mem.h"

static struct server *start(const char *listen)
{
        struct server *s = NULL;
        struct err err = {0};
        const struct server_options o = {.listen = listen, .interval_ms = 1000, .connections_max = 64};
        if (server_start(&o, &s, &err) < 0)
                fail_msg("%s", err.text);
        return s;
}

static struct got ask(const struct server *s, const char *method, const char *path, const char *body)
{
        char url[200];
        snprintf(url, sizeof url, "http://%s%s", server_address(s), path);
        return fetch(&(struct fetch){.method = method, .url = url, .body = body, .type = body ? "text/plain" : NULL});
}

static struct snapshot *snapshot_of(bool ready, const char *waiting_for, const char *metrics)
{
        struct snapshot *v = snapshot_new();
        v->ready = ready;
        v->waiting_for = waiting_for ? arena_text(&v->arena, text_of(waiting_for)) : NULL;
        v->metrics = metrics ? arena_text(&v->arena, text_of(metrics)) : NULL;
        v->metrics_len = metrics ? strlen(metrics) : 0;
        return v;
}

static void test_routes(void **state)
{
        (void)state;
        static const struct {
                const char *method, *path, *body;
                long status;
                const char *want;
        } row[] = {{"GET", "/healthz", NULL, 200, "ok\n"},
                   {"GET", "/readyz", NULL, 200, "ok\n"},
                   {"GET", "/metrics", NULL, 200, "a 1\n"},
                   {"GET", "/metrics?x=y", NULL, 200, "a 1\n"},
                   {"POST", "/metrics", "body", 405, "only GET and HEAD\n"},
                   {"DELETE", "/healthz", NULL, 405, "only GET and HEAD\n"},
                   {"GET", "/healthz", "a body", 200, "ok\n"},
                   {"GET", "/", NULL, 404, "there are /healthz, /readyz and /metrics\n"},
                   {"GET", "/metrics/", NULL, 404, "there are /healthz, /readyz and /metrics\n"},
                   {"PUT", "/elsewhere", "body", 404, "there are /healthz, /readyz and /metrics\n"}};
        struct server *s = start("127.0.0.1:0");
        server_publish(s, snapshot_of(true, NULL, "a 1\n"));
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct got g AUTO(got_release) = ask(s, row[i].method, row[i].path, row[i].body);
                if (g.curl || g.status != row[i].status || strcmp(g.body, row[i].want) != 0)
                        fail_msg("%s %s: %ld '%s', libcurl %d", row[i].method, row[i].path, g.status, g.body, g.curl);
        }
        server_stop(s);
}

/* Ready once a view says so; what it waits for before that; metrics as of the newest view. */
static void test_views(void **state)
{
        (void)state;
        struct server *s = start("localhost:0");
        struct got none AUTO(got_release) = ask(s, "GET", "/readyz", NULL);
        assert_int_equal(none.status, 503);
        assert_string_equal(none.body, "waiting for: the first cycle\n");
        struct got empty AUTO(got_release) = ask(s, "GET", "/metrics", NULL);
        assert_int_equal(empty.status, 503);
        server_publish(s, snapshot_of(false, "the list of pods", NULL));
        struct got waits AUTO(got_release) = ask(s, "GET", "/readyz", NULL);
        assert_int_equal(waits.status, 503);
        assert_string_equal(waits.body, "waiting for: the list of pods\n");
        struct snapshot *held = snapshot_hold(snapshot_of(true, NULL, "b 2\n"));
        server_publish(s, held);
        server_publish(s, snapshot_of(true, NULL, "c 3\n"));
        assert_string_equal(held->metrics, "b 2\n"); /* whoever holds one reads on */
        snapshot_drop(held);
        struct got last AUTO(got_release) = ask(s, "GET", "/metrics", NULL);
        assert_string_equal(last.body, "c 3\n");
        assert_non_null(strstr(last.headers, "text/plain; version=0.0.4"));
        server_stop(s);
}

/* Three intervals late, but ten seconds at least. */
static void test_health(void **state)
{
        (void)state;
        static const struct {
                int64_t interval_ms, late_ms;
                long status;
        } row[] = {{1000, 0, 200}, {1000, 9000, 200}, {1000, 11000, 503}, {60000, 170000, 200}, {60000, 181000, 503}};
        struct server *s = start("127.0.0.1:0");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                server_set_interval(s, row[i].interval_ms);
                server_turned(s, (struct mono){mono_read().ns - row[i].late_ms * 1000000});
                struct got g AUTO(got_release) = ask(s, "GET", "/healthz", NULL);
                if (g.status != row[i].status)
                        fail_msg("row %zu: %ld '%s'", i, g.status, g.body);
        }
        struct got late AUTO(got_release) = ask(s, "GET", "/healthz", NULL);
        assert_string_equal(late.body, "the loop has not turned for 181 s\n");
        server_stop(s);
}

static void test_addresses(void **state)
{
        (void)state;
        static const struct {
                const char *listen;
                int code;
                const char *says;
        } row[] = {{"", ERR_INVALID, "'' is not an address"},
                   {"8080", ERR_INVALID, "'8080' is not an address"},
                   {"127.0.0.1:", ERR_INVALID, "is not an address"},
                   {"127.0.0.1:65536", ERR_INVALID, "is not an address"},
                   {"127.0.0.1:-1", ERR_INVALID, "is not an address"},
                   {"127.0.0.1:80x", ERR_INVALID, "is not an address"},
                   {"::1:80", ERR_INVALID, "'::1' is not a numeric address"},
                   {"[127.0.0.1]:80", ERR_INVALID, "not a numeric address"},
                   {"example:80", ERR_INVALID, "'example' is not a numeric address (names are not resolved)"},
                   {"192.0.2.1:0", ERR_IO, ""}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct server *s = NULL;
                struct err err = {0};
                const struct server_options o = {.listen = row[i].listen, .interval_ms = 1, .connections_max = 1};
                if (server_start(&o, &s, &err) != row[i].code || s || !strstr(err.text, row[i].says))
                        fail_msg("'%s': %s", row[i].listen, err.text);
        }
        struct server *any = start(":0");
        assert_non_null(strrchr(server_address(any), ':'));
        struct server *second = NULL;
        struct err err = {0};
        const char *port = strrchr(server_address(any), ':');
        assert_int_equal(server_start(&(struct server_options){.listen = port, .connections_max = 1}, &second, &err),
                         ERR_CONFLICT);
        assert_non_null(strstr(err.text, "another process listens on this port"));
        server_stop(any);
        server_stop(NULL);
}

struct publisher {
        struct server *s;
        bool done;
};

static void *publish_on(void *arg)
{
        struct publisher *p = arg;
        for (int i = 0; !__atomic_load_n(&p->done, __ATOMIC_ACQUIRE); i++) {
                server_publish(p->s, snapshot_of(true, NULL, i % 2 ? "a 1\na 2\n" : "b 1\nb 2\n"));
                server_turned(p->s, mono_read());
        }
        return NULL;
}

/* Views come and go while they are read: each answer is one view's. */
static void test_publish_while_read(void **state)
{
        (void)state;
        struct publisher p = {.s = start("127.0.0.1:0")};
        pthread_t thread;
        server_publish(p.s, snapshot_of(true, NULL, "a 1\na 2\n"));
        assert_int_equal(pthread_create(&thread, NULL, publish_on, &p), 0);
        for (int i = 0; i < 200; i++) {
                struct got g AUTO(got_release) = ask(p.s, "GET", "/metrics", NULL);
                assert_true(strcmp(g.body, "a 1\na 2\n") == 0 || strcmp(g.body, "b 1\nb 2\n") == 0);
        }
        __atomic_store_n(&p.done, true, __ATOMIC_RELEASE);
        pthread_join(thread, NULL);
        server_stop(p.s);
}

/* Strangers of several addresses hold more connections than there are, each with a request that never ends. */
static void test_a_probe_is_answered_among_many(void **state)
{
        (void)state;
        enum { ADDRESSES = 6, EACH = 40 };
        static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n";
        static int held[ADDRESSES * EACH];
        struct server *s = start("127.0.0.1:0");
        for (int i = 0; i < ADDRESSES * EACH; i++) {
                held[i] = wire_open_from(server_address(s), 2 + (unsigned)(i / EACH));
                (void)wire_send(held[i], request, 7);
        }
        for (int i = 0; i < 3; i++) {
                struct got g AUTO(got_release) = ask(s, "GET", "/healthz", NULL);
                if (g.status != 200)
                        fail_msg("probe %d: %ld, libcurl %d", i, g.status, g.curl);
        }
        for (int i = 0; i < ADDRESSES * EACH; i++)
                close(held[i]);
        server_stop(s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_routes),
                cmocka_unit_test(test_views),
                cmocka_unit_test(test_health),
                cmocka_unit_test(test_addresses),
                cmocka_unit_test(test_publish_while_read),
                cmocka_unit_test(test_a_probe_is_answered_among_many),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
