/*
 * Who may stay, and for how long: those who take their time, crowds, and one who wants all places.
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
        assert_true(server_counts(s.server).late >= 4);
        AUTO(got_release) struct got g = stand_ask(&s, STAND_WEB, (struct fetch){.token = "good"});
        assert_int_equal(g.status, 200);
        stand_end(&s);
}

static bool nobody_is_there(struct stand *s)
{
        return server_counts(s->server).connections == 0;
}

/* More than it takes: the one idle longest makes room, and whoever asks is answered. */
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
        mem_free(wire_hear(fd[0], NULL, 10000, &ended));
        assert_true(ended);
        assert_true(wire_say(fd[CROWD - 1], STAND_GET_WEB("")));
        AUTO(mem_free) char *last = wire_hear(fd[CROWD - 1], "\r\n\r\n", 10000, &ended);
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
                AUTO(mem_free) char *answer = wire_hear(fd[i], "\r\n\r\n", 10000, &ended);
                assert_non_null(strstr(answer, " 200 "));
        }
        int more = wire_open(s.address);
        mem_free(wire_hear(more, NULL, 10000, &ended));
        assert_true(ended);
        close(more);
        for (int i = 0; i < EACH; i++)
                close(fd[i]);
        stand_end(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_slow_ones),
                cmocka_unit_test(test_idle_crowd),
                cmocka_unit_test(test_one_address_has_a_share),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
