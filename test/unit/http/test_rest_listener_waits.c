/*
 * Requests that wait at the listener: for a verdict, an upstream answer, or an owner. Each gets an answer in the end,
 * even if no answer arrives or the listener closes.
 */
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "../../support/stand.h"
#include "../../support/wire.h"
#include "base/mem.h"

static struct got ask_as(const struct stand *s, const char *path, const char *token)
{
        return stand_ask(s, path, (struct fetch){.token = token});
}

static bool has(const struct got *g, const char *line)
{
        return strcasestr(g->headers, line) != NULL;
}

static bool one_is_held(struct stand *s)
{
        pthread_mutex_lock(&s->lock);
        bool held = s->holds == 1;
        pthread_mutex_unlock(&s->lock);
        return held;
}

static void test_one_question_for_all(void **state)
{
        (void)state;
        enum { N = 8 };
        struct stand s;
        int fd[N];
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){0});
        s.hold = true;
        for (int i = 0; i < N; i++) {
                fd[i] = wire_open(s.address);
                assert_true(wire_say(fd[i], STAND_GET_WEB("Connection: close\r\n")));
        }
        assert_true(stand_until(&s, one_is_held, 10000));
        stand_release(&s);
        for (int i = 0; i < N; i++) {
                AUTO(mem_free) char *answer = wire_hear(fd[i], NULL, WIRE_PATIENCE_MS, &ended);
                assert_non_null(strstr(answer, "HTTP/1.1 200"));
                assert_true(ended);
                close(fd[i]);
        }
        assert_int_equal(stand_asked(&s), 1);
        assert_int_equal(server_counts(s.server).reviews, 1);
        stand_end(&s);
}

static int questions_wanted;

static bool questions_are_asked(struct stand *s)
{
        return stand_asked(s) == questions_wanted;
}

/* Six addresses have all places for questions about new tokens, and the API server answers none. A token from another
 * address is asked about all the same, in place of one of them, which is told to try again. */
static void test_a_further_address_is_asked_about(void **state)
{
        (void)state;
        static const int places[] = {24, 12, 6, 3, 2, 1};
        enum { ADDRESSES = sizeof places / sizeof places[0], OF_AN_ADDRESS = 24, FURTHER = ADDRESSES + 2 };
        struct stand s;
        int fd[ADDRESSES][OF_AN_ADDRESS];
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){.request_ms = 60000});
        s.hold = true;
        questions_wanted = 0;
        for (int i = 0; i < ADDRESSES; i++) {
                questions_wanted += places[i];
                for (int n = 0; n < places[i]; n++) {
                        AUTO(mem_free)
                        char *request = mem_printf("GET " STAND_WEB " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                                                   "t%d-%d\r\n\r\n",
                                                   i, n);
                        fd[i][n] = wire_open_from(s.address, (unsigned)i + 2);
                        assert_true(wire_say(fd[i][n], request));
                }
                assert_true(stand_until(&s, questions_are_asked, 10000));
        }
        int further = wire_open_from(s.address, FURTHER);
        questions_wanted++;
        assert_true(wire_say(further, STAND_GET_WEB("Connection: close\r\n")));
        assert_true(stand_until(&s, questions_are_asked, 10000));
        stand_release(&s);
        AUTO(mem_free) char *answer = wire_hear(further, NULL, WIRE_PATIENCE_MS, &ended);
        assert_non_null(strstr(answer, "HTTP/1.1 200"));
        close(further);
        int displaced = 0;
        for (int i = 0; i < ADDRESSES; i++)
                for (int n = 0; n < places[i]; n++) {
                        AUTO(mem_free) char *told = wire_hear(fd[i][n], "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
                        if (strstr(told, " 503 ") && strstr(told, "Retry-After: 1"))
                                displaced += i == 0 ? 1 : 100;
                        else
                                assert_non_null(strstr(told, " 401 "));
                        close(fd[i][n]);
                }
        assert_int_equal(displaced, 1); /* of the address that has most */
        assert_int_equal(s.withdrawn, 1);
        stand_end(&s);
}

/* The listener closes while a request waits: it gets an answer or is cut off, and nothing leaks. */
static void test_it_closes_on_those_who_wait(void **state)
{
        (void)state;
        struct stand s;
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){0});
        s.hold = true;
        int fd = wire_open(s.address);
        assert_true(wire_say(fd, STAND_GET_WEB("")));
        assert_true(stand_until(&s, one_is_held, 10000));
        stand_end(&s);
        AUTO(mem_free) char *answer = wire_hear(fd, NULL, WIRE_PATIENCE_MS, &ended);
        assert_true(ended);
        assert_non_null(strstr(answer, "HTTP/1.1 503"));
        close(fd);
}

/* What comes in behind a request that waits is not begun any more. */
static void test_it_closes_on_what_is_pipelined(void **state)
{
        (void)state;
        struct stand s;
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){0});
        s.hold = true;
        int fd = wire_open(s.address);
        assert_true(wire_say(fd, STAND_GET_WEB("") STAND_GET_WEB("") STAND_GET_WEB("")));
        assert_true(stand_until(&s, one_is_held, 10000));
        stand_end(&s);
        AUTO(mem_free) char *answer = wire_hear(fd, NULL, WIRE_PATIENCE_MS, &ended);
        assert_true(ended);
        assert_non_null(strstr(answer, "HTTP/1.1 503"));
        close(fd);
}

static void test_nobody_answers(void **state)
{
        (void)state;
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){.request_ms = 2000});
        s.no_answer = true;
        AUTO(got_release) struct got recall = ask_as(&s, STAND_WEB "/histogram?resource=cpu", "good");
        assert_int_equal(recall.status, 503);
        assert_true(has(&recall, "Retry-After:"));
        s.hold = true;
        AUTO(got_release) struct got review = ask_as(&s, STAND_WEB, "another");
        assert_int_equal(review.status, 503);
        stand_release(&s); /* too late: nobody waits */
        AUTO(got_release) struct got after = ask_as(&s, STAND_WEB, "good");
        assert_int_equal(after.status, 200);
        stand_end(&s);
}

static void on_relay(void *arg, const struct server_proxy_request *e)
{
        struct stand *s = arg;
        struct server_relayed r = {.type = "application/problem+json", .body = TEXT("{}")};
        r.status = strstr(e->path_query, "histogram") ? 401 : strstr(e->path_query, "percentile") ? 503 : 404;
        server_relayed(s->server, e->ticket, &r);
}

/* What another says comes with the headers that belong to it. */
static void test_what_another_says(void **state)
{
        (void)state;
        static const struct {
                const char *path;
                long want;
                const char *says;
        } row[] = {
                {STAND_WEB "/histogram?resource=cpu", 401, "WWW-Authenticate: Bearer"},
                {STAND_WEB "/explain?percentile=90", 503, "Retry-After:"},
                {STAND_WEB "/explain", 404, "application/problem+json"},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){.calls.relay = on_relay});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release) struct got g = ask_as(&s, row[i].path, "good");
                if (g.status != row[i].want || !has(&g, row[i].says))
                        fail_msg("%s: %ld\n%s", row[i].path, g.status, g.headers);
        }
        stand_end(&s);
}

/* Some 200 KiB that compress badly. */
static void on_relay_long(void *arg, const struct server_proxy_request *e)
{
        enum { LONG = 200 << 10 };
        struct stand *s = arg;
        AUTO(mem_free) char *body = mem_new(LONG + 1);
        uint32_t seed = 1;
        for (int i = 0; i < LONG; i++)
                body[i] = (char)(' ' + ((seed = seed * 1664525 + 1013904223) >> 24) % 90);
        struct server_relayed r = {.status = 200, .type = "text/plain", .body = {body, LONG}};
        server_relayed(s->server, e->ticket, &r);
}

/* A problem in place of an answer that was compressed is told as what it is. */
static void test_no_room_for_what_was_packed(void **state)
{
        (void)state;
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){.bodies_max = 16 << 10, .calls.relay = on_relay_long});
        AUTO(got_release)
        struct got g =
                stand_ask(&s, STAND_WEB "/explain", (struct fetch){.token = "good", .header = "Accept-Encoding: gzip"});
        assert_int_equal(g.status, 503);
        assert_false(has(&g, "Content-Encoding"));
        assert_non_null(strstr(g.body, "/problems/"));
        stand_end(&s);
}

/* A deploy never waits for us: the API server gives up after two seconds. */
static void test_an_owner_nobody_finds(void **state)
{
        (void)state;
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){.admission = true});
        s.no_answer = true;
        int64_t began = mono_read().ns;
        AUTO(got_release)
        struct got g = stand_ask(
                &s, "/admission",
                (struct fetch){.method = "POST", .type = "application/json", .body = STAND_REVIEW(STAND_OWNED)});
        assert_int_equal(g.status, 200);
        assert_non_null(strstr(g.body, "\"allowed\":true"));
        assert_null(strstr(g.body, "\"patch\""));
        assert_in_range((mono_read().ns - began) / 1000000, 900, 1900);
        assert_int_equal(s.admitted[ADMISSION_NO_OWNER], 1);
        stand_end(&s);
}

static bool one_is_recalled(struct stand *s)
{
        pthread_mutex_lock(&s->lock);
        bool recalled = s->recalled == 1;
        s->recalled -= recalled;
        pthread_mutex_unlock(&s->lock);
        return recalled;
}

/* A message that is left while messages are read is read at once, too. */
static void test_no_message_lies_about(void **state)
{
        (void)state;
        enum { ROUNDS = 4 };
        static const char histogram[] = "GET " STAND_WEB "/histogram?resource=cpu HTTP/1.1\r\nHost: x\r\n"
                                        "Authorization: Bearer good\r\n\r\n";
        struct stand s;
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){.admission = true});
        s.late = true;
        int fd = wire_open(s.address);
        for (int i = 0; i < ROUNDS; i++) {
                assert_true(wire_say(fd, histogram));
                assert_true(stand_until(&s, one_is_recalled, 10000));
                AUTO(got_release)
                struct got g = stand_ask(&s, "/admission",
                                         (struct fetch){.method = "POST",
                                                        .type = "application/json",
                                                        .body = STAND_REVIEW(STAND_OWNED)});
                assert_int_equal(g.status, 200);
                AUTO(mem_free) char *answer = wire_hear(fd, "\"percentiles\"", WIRE_PATIENCE_MS, &ended);
                assert_non_null(strstr(answer, " 200 "));
        }
        close(fd);
        stand_end(&s);
}

/* --- work that takes long --- */

static struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool holds, held;
} packing = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* In front of zlib's: the thread that packs an answer stays at work for as long as the test wants. */
int deflate(z_streamp stream, int flush)
{
        typedef int pack(z_streamp, int);
        pack *next;
        *(void **)&next = dlsym(RTLD_NEXT, "deflate");
        assert_non_null(next);
        pthread_mutex_lock(&packing.lock);
        packing.held = packing.holds;
        while (packing.holds)
                pthread_cond_wait(&packing.changed, &packing.lock);
        packing.held = false;
        pthread_mutex_unlock(&packing.lock);
        return next(stream, flush);
}

static void packing_hold(bool holds)
{
        pthread_mutex_lock(&packing.lock);
        packing.holds = holds;
        pthread_cond_broadcast(&packing.changed);
        pthread_mutex_unlock(&packing.lock);
}

static bool packing_is_held(struct stand *s)
{
        (void)s;
        pthread_mutex_lock(&packing.lock);
        bool held = packing.held;
        pthread_mutex_unlock(&packing.lock);
        return held;
}

static bool says_something(int fd)
{
        return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) != 0;
}

/* A thread's work on a render may take six times as long as a request may; a render that waits for its turn may not. */
static void test_work_is_given_more_time(void **state)
{
        (void)state;
        enum { REQUEST_MS = 2000, WORKING_SHARE = 6, LINE = 4000 };
        static const struct {
                bool ends; /* the work, after the time of a request */
                const char *status;
        } row[] = {{true, " 200 "}, {false, " 503 "}};
        AUTO(mem_free)
        char *render =
                mem_printf("POST /api/v1/namespaces/shop/render HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good"
                           "\r\nAccept-Encoding: gzip\r\nContent-Length: %d\r\n\r\n#%0*d\n",
                           LINE + 2, LINE, 0);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct stand s;
                bool ended;
                stand_begin(&s, &(struct rest_listener_options){.request_ms = REQUEST_MS});
                packing_hold(true);
                int works = wire_open(s.address), waits = wire_open(s.address);
                int64_t began = mono_read().ns;
                assert_true(wire_say(works, render));
                assert_true(stand_until(&s, packing_is_held, 60000));
                assert_true(wire_say(waits, render));
                AUTO(mem_free) char *waited = wire_hear(waits, "in time: try again", WIRE_PATIENCE_MS, &ended);
                assert_non_null(strstr(waited, " 503 "));
                assert_false(says_something(works));
                if (row[i].ends)
                        packing_hold(false);
                AUTO(mem_free) char *worked = wire_hear(works, "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
                assert_non_null(strstr(worked, row[i].status));
                if (!row[i].ends)
                        assert_true(mono_read().ns - began >= WORKING_SHARE * (int64_t)REQUEST_MS * 1000000);
                packing_hold(false);
                close(works);
                close(waits);
                stand_end(&s);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_question_for_all),
                cmocka_unit_test(test_a_further_address_is_asked_about),
                cmocka_unit_test(test_it_closes_on_those_who_wait),
                cmocka_unit_test(test_it_closes_on_what_is_pipelined),
                cmocka_unit_test(test_nobody_answers),
                cmocka_unit_test(test_what_another_says),
                cmocka_unit_test(test_no_room_for_what_was_packed),
                cmocka_unit_test(test_an_owner_nobody_finds),
                cmocka_unit_test(test_no_message_lies_about),
                cmocka_unit_test(test_work_is_given_more_time),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
