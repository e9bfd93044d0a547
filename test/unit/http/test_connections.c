/*
 * Limits of connections: slow clients, many clients, and one client that opens all connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/stand.h"
#include "../../support/wire.h"
#include "base/mem.h"

static void test_slow_ones(void **state)
{
        (void)state;
        static const struct {
                const char *what, *start, *drip;
                const char *want;
        } row[] = {
                {"says nothing", "", "", ""},
                {"drips its first line", "GET /api", "x", ""},
                {"drips headers", "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n", "X-A: 1\r\n", ""},
                {"drips a body",
                 "POST "
                 "/api/v1/namespaces/shop/render"
                 " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: "
                 "application/yaml\r\nContent-Length: 10000\r\n\r\n",
                 " ", " 408 "},
                {"drips after an answer", "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\nGET", "x", " 200 "},
        };
        enum { N = sizeof row / sizeof row[0] };
        struct stand s;
        int fd[N];
        bool gone[N] = {false};
        stand_begin(&s, &(struct rest_listener_options){.request_ms = 700, .idle_ms = 4000});
        for (int i = 0; i < N; i++) {
                fd[i] = wire_open(s.address);
                wire_say(fd[i], row[i].start);
        }
        int64_t began = mono_read().ns;
        char *heard[N] = {NULL};
        for (int left = N; left > 0 && (mono_read().ns - began) / 1000000 < 60000;) {
                for (int i = 0; i < N; i++) {
                        if (gone[i])
                                continue;
                        wire_say(fd[i], row[i].drip);
                        char *more = wire_hear(fd[i], NULL, 50, &gone[i]);
                        char *all = mem_printf("%s%s", heard[i] ? heard[i] : "", more);
                        mem_free(more);
                        mem_free(heard[i]);
                        heard[i] = all;
                        left -= gone[i];
                }
        }
        for (int i = 0; i < N; i++) {
                if (!gone[i] || !strstr(heard[i], row[i].want))
                        fail_msg("%s: %s, %s", row[i].what, gone[i] ? "closed" : "still open", heard[i]);
                mem_free(heard[i]);
                close(fd[i]);
        }
#ifndef EMULATED /* an emulator does not tell how many bytes a socket got, so that slow ones count as idle */
        assert_true(server_counts(s.server).late >= 4);
#endif
        AUTO(got_release) struct got g = stand_ask(&s, STAND_WEB, (struct fetch){.token = "good"});
        assert_int_equal(g.status, 200);
        stand_end(&s);
}

static bool nobody_is_there(struct stand *s)
{
        return server_counts(s->server).connections == 0;
}

/* With more connections than allowed, the longest idle one is closed, and every request is answered. */
static void test_idle_crowd(void **state)
{
        (void)state;
        enum { MOST = 1100, CROWD = 1500 };
        static int fd[CROWD];
        struct rlimit l;
        struct stand s;
        bool ended;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
        l.rlim_cur = l.rlim_max < 8192 ? l.rlim_max : 8192;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
        stand_begin(&s, &(struct rest_listener_options){.connections_max = MOST, .connections_per_address = MOST + 64});
        for (int i = 0; i < CROWD; i++) {
                fd[i] = wire_open(s.address);
                if (i % 100 == 0) {
                        AUTO(got_release) struct got g = stand_ask(&s, STAND_WEB, (struct fetch){.token = "good"});
                        assert_int_equal(g.status, 200);
                }
        }
        AUTO(got_release) struct got g = stand_ask(&s, STAND_WEB, (struct fetch){.token = "good"});
        assert_int_equal(g.status, 200);
        assert_in_range(server_counts(s.server).connections, MOST - 8, MOST + 64);
        mem_free(wire_hear(fd[0], NULL, WIRE_PATIENCE_MS, &ended));
        assert_true(ended);
        assert_true(wire_say(fd[CROWD - 1], STAND_GET_WEB("")));
        AUTO(mem_free) char *last = wire_hear(fd[CROWD - 1], "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
        assert_non_null(strstr(last, " 200 "));
        for (int i = 0; i < CROWD; i++)
                close(fd[i]);
        assert_true(stand_until(&s, nobody_is_there, 10000));
        stand_end(&s);
}

static void test_one_address_has_a_share(void **state)
{
        (void)state;
        enum { EACH = 20 };
        struct stand s;
        int fd[EACH];
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){.connections_per_address = EACH});
        for (int i = 0; i < EACH; i++) {
                fd[i] = wire_open(s.address);
                assert_true(wire_say(fd[i], STAND_GET_WEB("")));
                AUTO(mem_free) char *answer = wire_hear(fd[i], "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
                assert_non_null(strstr(answer, " 200 "));
        }
        int more = wire_open(s.address);
        mem_free(wire_hear(more, NULL, WIRE_PATIENCE_MS, &ended));
        assert_true(ended);
        close(more);
        for (int i = 0; i < EACH; i++)
                close(fd[i]);
        stand_end(&s);
}

static void assert_answers(int fd, const char *what)
{
        bool ended;
        assert_true(wire_say(fd, STAND_GET_WEB("")));
        AUTO(mem_free) char *answer = wire_hear(fd, "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
        if (!strstr(answer, " 200 "))
                fail_msg("%s: '%s'", what, answer);
}

enum { FEW = 40, MANY = 200, OF_ONE = 20 };

/* The connections of a crowd of other addresses, which each begin so. */
static void crowd_comes(const struct stand *s, int *fd, const char *start)
{
        for (int i = 0; i < MANY; i++) {
                fd[i] = wire_open_from(s->address, (unsigned)(2 + i / OF_ONE));
                (void)wire_say(fd[i], start); /* it may be displaced already */
        }
}

static void crowd_goes(const int *fd)
{
        for (int i = 0; i < MANY; i++)
                close(fd[i]);
}

/* An idle connection stays, whatever clients with more connections do. */
static void test_a_crowd_displaces_its_own(void **state)
{
        (void)state;
        static const struct {
                const char *what, *start;
        } row[] = {
                {"idle", ""},
                {"half a request", "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n"},
                {"half a review",
                 "POST /admission HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct stand s;
                int fd[MANY];
                stand_begin(&s, &(struct rest_listener_options){.connections_max = FEW, .admission = true});
                int ours = wire_open(s.address);
                assert_answers(ours, row[i].what);
                crowd_comes(&s, fd, row[i].start);
                assert_answers(ours, row[i].what);
                int more = wire_open(s.address); /* and there is room for another of the same address */
                assert_answers(more, row[i].what);
                assert_answers(ours, row[i].what);
                assert_in_range(server_counts(s.server).shed, MANY - FEW - 64, MANY);
                close(more);
                close(ours);
                crowd_goes(fd);
                stand_end(&s);
        }
}

static char *review_request(const char *review)
{
        return mem_printf("POST /admission HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                          "Content-Length: %zu\r\n\r\n%s",
                          strlen(review), review);
}

/* Connections that wait for the loop cannot be closed at once: each gets its answer early, and ends with it. */
static void test_a_crowd_that_waits_is_displaced(void **state)
{
        (void)state;
        struct stand s;
        int fd[MANY];
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){.connections_max = FEW, .admission = true});
        s.no_answer = true;
        AUTO(mem_free) char *review = review_request(STAND_REVIEW(STAND_OWNED));
        crowd_comes(&s, fd, review);
        int ours = wire_open(s.address);
        assert_answers(ours, "beside a crowd that waits");
        AUTO(mem_free) char *first = wire_hear(fd[0], NULL, WIRE_PATIENCE_MS, &ended);
        assert_true(ended);
        assert_non_null(strstr(first, "\"allowed\":true"));
        assert_non_null(strstr(first, "Connection: close"));
        close(ours);
        crowd_goes(fd);
        stand_end(&s);
}

/* The request arrives while the listener has not yet closed its connection for a new one. */
static void test_a_request_does_not_keep_its_connection(void **state)
{
        (void)state;
        enum { ROOM = 4 };
        struct stand s;
        int fd[ROOM];
        bool ended;
        AUTO(mem_free) char *alone = review_request(STAND_REVIEW(""));
        AUTO(mem_free) char *owned = review_request(STAND_REVIEW(STAND_OWNED));
        stand_begin(&s, &(struct rest_listener_options){
                                .connections_max = ROOM, .connections_per_address = 2 * ROOM, .admission = true});
        int oldest = wire_open(s.address), other = wire_open(s.address);
        assert_answers(oldest, "the oldest");
        pthread_mutex_lock(&s.lock); /* the listener's thread waits for it as it counts the answer */
        assert_true(wire_say(other, alone));
        usleep(200000);
        assert_true(wire_say(oldest, owned));
        for (int i = 0; i < ROOM; i++)
                fd[i] = wire_open(s.address);
        pthread_mutex_unlock(&s.lock);
        assert_answers(fd[ROOM - 1], "the newest");
        mem_free(wire_hear(oldest, NULL, WIRE_PATIENCE_MS, &ended));
        assert_true(ended);
        assert_int_equal(s.owners, 0);
        for (int i = 0; i < ROOM; i++)
                close(fd[i]);
        close(other);
        close(oldest);
        stand_end(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_slow_ones),
                cmocka_unit_test(test_idle_crowd),
                cmocka_unit_test(test_one_address_has_a_share),
                cmocka_unit_test(test_a_crowd_displaces_its_own),
                cmocka_unit_test(test_a_crowd_that_waits_is_displaced),
                cmocka_unit_test(test_a_request_does_not_keep_its_connection),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
