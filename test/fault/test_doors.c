/*
 * Malformed and hostile requests to the REST API. Each has a bounded cost and a clear answer, and harms no other
 * client. (Slow clients are in test/unit/http/test_connections.c.)
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/slowed.h"
#include "../support/stand.h"
#include "../support/wire.h"
#include "base/buf.h"
#include "base/mem.h"

#define RENDER "/api/v1/namespaces/shop/render"

#define REVIEW(version, more)                                                                                          \
        "{\"apiVersion\":\"" version "\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-1\",\"kind\":{"         \
        "\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"operation\":\"CREATE\",\"namespace\":\"shop\","         \
        "\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"" more "}}}"
#define OF_A_SET                                                                                                       \
        ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"web-0-1\",\"uid\":\"r\"" \
        ",\"controller\":true}]"
#define V1 "admission.k8s.io/v1"

static struct got admit(const struct stand *s, const char *type, const char *body)
{
        return stand_ask(s, "/admission", (struct fetch){.method = "POST", .type = type, .body = body});
}

static struct got render(const struct stand *s, const char *body)
{
        return stand_ask(s, RENDER,
                         (struct fetch){.method = "POST", .token = "good", .type = "application/yaml", .body = body});
}

static void assert_serves(const struct stand *s)
{
        AUTO(got_release) struct got g = stand_ask(s, STAND_WEB, (struct fetch){.token = "good"});
        assert_int_equal(g.status, 200);
}

static char *repeated(const char *before, char c, size_t count, const char *after)
{
        size_t head = strlen(before), tail = strlen(after);
        char *all = mem_new(head + count + tail + 1);
        memcpy(all, before, head);
        memset(all + head, c, count);
        memcpy(all + head + count, after, tail);
        return all;
}

/* Sends all, and reads only then. */
static char *answer_to(const struct stand *s, const char *bytes)
{
        bool ended;
        int fd = wire_open(s->address);
        (void)wire_say(fd, bytes);
        char *answer = wire_hear(fd, NULL, WIRE_PATIENCE_MS, &ended);
        close(fd);
        return answer;
}

static void assert_answer(const struct stand *s, const char *what, const char *bytes, const char *status)
{
        AUTO(mem_free) char *answer = answer_to(s, bytes);
        if (strncmp(answer, "HTTP/1.1 ", 9) != 0 || strncmp(answer + 9, status, 3) != 0)
                fail_msg("%s: not %s but '%.300s'", what, status, answer);
}

/* --- the head --- */

/* MHD itself refuses bytes that are no request, or too long. An immediate close would reset the connection of a client
 * that still writes, and lose the answer. */
static void test_refusals_arrive(void **state)
{
        (void)state;
        enum { TRIES = 10, LONG = 100 << 10, MUCH = 4 << 20 };
        AUTO(mem_free) char *path = repeated("GET /", 'x', LONG, " HTTP/1.1\r\nHost: x\r\n\r\n");
        AUTO(mem_free) char *second = repeated(STAND_GET_WEB("") "GET /", 'x', LONG, " HTTP/1.1\r\nHost: x\r\n\r\n");
        AUTO(mem_free) char *word = repeated("GET / HTTP/1.1\r\nHost: x\r\nX-Long: ", 'x', LONG, "\r\n\r\n");
        AUTO(mem_free) char *many = repeated("POST / HTTP/1.1\r\nHost: x\r\nno header\r\n\r\n", 'x', MUCH, "");
        AUTO(mem_free)
        char *length = repeated("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: much\r\n\r\n", 'x', MUCH, "");
        AUTO(mem_free) char *version = repeated("POST / HTTP/7.0\r\nHost: x\r\n\r\n", 'x', MUCH, "");
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (int i = 0; i < TRIES; i++) {
                assert_answer(&s, "a long path", path, "414");
                assert_answer(&s, "a long header", word, "431");
                assert_answer(&s, "no header", many, "400");
                assert_answer(&s, "no length", length, "400");
                assert_answer(&s, "no version", version, "505");
                AUTO(mem_free) char *answers = answer_to(&s, second);
                assert_non_null(strstr(answers, "HTTP/1.1 200"));
                assert_non_null(strstr(answers, "HTTP/1.1 414"));
        }
        assert_serves(&s);
        stand_end(&s);
}

/* A proxy in between may take another part of it for the next request. */
static void test_an_end_told_twice(void **state)
{
        (void)state;
        static const char head[] = "POST " RENDER " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n"
                                   "Content-Type: application/yaml\r\n%s\r\n\r\n%s";
        static const struct {
                const char *headers, *body, *status;
                bool other; /* an encoding that libmicrohttpd, from 1.0 on, refuses with a page of its own */
        } row[] = {
                {"Content-Length: 5\r\nContent-Length: 3", "a: 1\n", "400", false},
                {"Content-Length: 5\r\nContent-Length: 5", "a: 1\n", "400", false},
                {"Content-Length: 0\r\nContent-Length: 5", "a: 1\n", "400", false},
                {"Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n", "400", false},
                {"Content-Length: 0\r\nTransfer-Encoding: chunked", "0\r\n\r\n", "400", false},
                {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n", "400", false},
                {"Transfer-Encoding: gzip", "x", "400", true},
                {"Transfer-Encoding: gzip, chunked", "0\r\n\r\n", "400", true},
                {"Transfer-Encoding: identity", "a: 1\n", "400", true},
                {"Content-Length: 5\r\nConnection: close", "a: 1\n", "200", false},
                {"Transfer-Encoding: Chunked\r\nConnection: close", "5\r\na: 1\n\r\n0\r\n\r\n", "200", false},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *bytes = mem_printf(head, row[i].headers, row[i].body);
                AUTO(mem_free) char *answer = answer_to(&s, bytes);
                if (strncmp(answer + 9, row[i].status, 3) != 0 || wire_count(answer, "HTTP/1.1 ") != 1)
                        fail_msg("%s: not %s but %s", row[i].headers, row[i].status, answer);
                if (*row[i].status == '4' && !strstr(answer, "problems/invalid-body") &&
                    !(row[i].other && strstr(answer, "Unsupported Transfer-Encoding")))
                        fail_msg("%s: %s", row[i].headers, answer);
        }
        stand_end(&s);
}

/* A proxy before halflife may read them in another way. */
static void test_malformed_headers(void **state)
{
        (void)state;
        static const struct {
                const char *head, *status;
        } row[] = {
                {"HTTP/1.1\r\nHost: x\r\n", "200"},
                {"HTTP/1.1\r\nhOsT: x\r\n", "200"},
                {"HTTP/1.0\r\n", "200"},
                {"HTTP/1.1\r\n", "400"},
                {"HTTP/1.1\r\nHost: x\r\nHost: x\r\n", "400"},
                {"HTTP/1.0\r\nHost: x\r\nHost: y\r\n", "400"},
                {"HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n", "400"},
                {"HTTP/1.1\r\nHost : x\r\n", "400"},
                {"HTTP/1.1\r\nHost: x\r\nTransfer-Encoding\t: chunked\r\n", "400"},
                {"HTTP/1.1\r\nHost: x\r\nX(y): z\r\n", "400"},
                {"HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer poor\r\n", "400"},
                {"HTTP/1.1\r\nHost: x\r\nauthorization: Bearer good\r\n", "400"},
                {"HTTP/1.1\r\nHost: x\r\nX-Halflife-Authorization: Bearer a\r\nX-Halflife-Authorization: Bearer b\r\n",
                 "400"},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free)
                char *bytes = mem_printf("GET " STAND_WEB " %sAuthorization: Bearer good\r\nConnection: close\r\n\r\n"
                                         "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
                                         row[i].head);
                AUTO(mem_free) char *answer = answer_to(&s, bytes);
                if (strncmp(answer + 9, row[i].status, 3) != 0 || wire_count(answer, "\r\nDate: ") != 1)
                        fail_msg("%s: not %s but %s", row[i].head, row[i].status, answer);
        }
        stand_end(&s);
}

/* As a proxy is asked. */
static void test_absolute_form(void **state)
{
        (void)state;
        static const struct {
                const char *target, *status;
        } row[] = {
                {"http://halflife.example" STAND_WEB, "200"},
                {"HTTPS://halflife.example:8443" STAND_WEB "?container=app", "200"},
                {"http://halflife.example" STAND_WEB "?x=1", "400"},
                {"http://halflife.example", "404"},
                {"http://halflife.example?" STAND_WEB, "404"},
                {"http:/" STAND_WEB, "404"},
                {"ftp://halflife.example" STAND_WEB, "404"},
                {"*", "404"},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free)
                char *bytes = mem_printf("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n"
                                         "Connection: close\r\n\r\n",
                                         row[i].target);
                assert_answer(&s, row[i].target, bytes, row[i].status);
        }
        stand_end(&s);
}

/* --- the body --- */

/* What was set aside for a body that never came is there for others; small ones and admission do not even wait. */
static void test_truncated_bodies(void **state)
{
        (void)state;
        enum { CUT = 2, BODY = 12 << 20 }; /* CUT: what one caller may have */
        AUTO(mem_free) char *body = repeated("", '#', BODY, "");
        AUTO(mem_free) char *small = repeated("", '#', 100, ""), *large = repeated("", '#', 100 << 10, "");
        struct stand s;
        int fd[CUT];
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){.request_ms = 60000, .admission = true});
        for (int i = 0; i < CUT; i++) {
                fd[i] = wire_open(s.address);
                wire_say(fd[i], "POST " RENDER " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n"
                                "Content-Type: application/yaml\r\nContent-Length: 16777216\r\n\r\na: 1\n");
        }
        for (bool full = false; !full;) { /* as soon as all of them have begun */
                AUTO(got_release) struct got refused = render(&s, large);
                full = refused.status == 429 && strcasestr(refused.headers, "Retry-After:");
        }
        AUTO(got_release) struct got taken = render(&s, small);
        assert_int_equal(taken.status, 200);
        AUTO(got_release) struct got review = admit(&s, "application/json", REVIEW(V1, "}"));
        assert_int_equal(review.status, 200);
        for (int i = 0; i < CUT; i++) {
                shutdown(fd[i], SHUT_WR);
                mem_free(wire_hear(fd[i], NULL, WIRE_PATIENCE_MS, &ended));
                assert_true(ended);
                close(fd[i]);
        }
        AUTO(got_release) struct got g = render(&s, body);
        assert_int_equal(g.status, 200);
        assert_int_equal(g.len, BODY);
        stand_end(&s);
}

static void test_brackets(void **state)
{
        (void)state;
        enum { DEPTH = 4 << 20 };
        static const struct {
                const char *before;
                char bracket;
                const char *type;
        } row[] = {
                {"", '[', "application/json"},   {"{\"kind\":", '[', "application/json"},
                {"", '[', "application/yaml"},   {"a: ", '{', "application/yaml"},
                {"", '-', "application/yaml"},   {"a: &a ", '[', "text/yaml"},
                {"{{", '{', "application/yaml"}, {"", '\t', "application/yaml"},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){0});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *body = repeated(row[i].before, row[i].bracket, DEPTH, "");
                AUTO(got_release)
                struct got g =
                        stand_ask(&s, RENDER,
                                  (struct fetch){.method = "POST", .token = "good", .type = row[i].type, .body = body});
                if (g.status != 400 && g.status != 200)
                        fail_msg("%s%c: %ld %.300s", row[i].before, row[i].bracket, g.status, g.body);
                if (g.status == 400 && !(strstr(g.body, "problems/invalid-body") && strstr(g.body, "line ")))
                        fail_msg("%s%c: %s", row[i].before, row[i].bracket, g.body);
        }
        assert_serves(&s);
        stand_end(&s);
}

/* --- crowds --- */

/* As many connections as this process can open, from a hundred addresses. The newest of each address stays open, and
 * gets an answer. */
static void test_ten_thousand_idle(void **state)
{
        (void)state;
        enum { CROWD = 10000, OURS = 2048, MOST_MIB = 64, OF_ONE = 100 };
        static int fd[CROWD];
        struct rlimit l;
        struct stand s;
        bool ended;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
        l.rlim_cur = l.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
        int crowd = l.rlim_max < CROWD + OURS ? ((int)l.rlim_max - OURS) / OF_ONE * OF_ONE : CROWD;
        if (crowd < 1000)
                skip();
        stand_begin(&s, &(struct rest_listener_options){0});
        assert_serves(&s);
        size_t before = mem_resident() / 1024;
        for (int i = 0; i < crowd; i++) {
                fd[i] = wire_open_from(s.address, (unsigned)(2 + i / OF_ONE));
                if (i % 1000 == 999)
                        assert_serves(&s);
        }
        size_t after = mem_resident() / 1024;
        if (UNLESS_SLOWED(true, false) && after > before + (MOST_MIB << 10)) /* they keep shadows of all memory */
                fail_msg("%d connections take %zu KiB", crowd, after - before);
        assert_in_range(server_counts(s.server).connections, 1, 1088);
        for (int i = OF_ONE - 1; i < crowd; i += OF_ONE) {
                assert_true(wire_say(fd[i], STAND_GET_WEB("")));
                AUTO(mem_free) char *answer = wire_hear(fd[i], "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
                assert_non_null(strstr(answer, " 200 "));
        }
        mem_free(wire_hear(fd[0], NULL, WIRE_PATIENCE_MS, &ended));
        assert_true(ended); /* it was idle longest */
        for (int i = 0; i < crowd; i++)
                close(fd[i]);
        stand_end(&s);
}

/* --- admission --- */

/* Whatever the pod looks like, it is let in. */
static void test_odd_reviews(void **state)
{
        (void)state;
        static const struct {
                const char *body;
                long status;
                const char *says;
        } row[] = {
                {REVIEW(V1, "},\"spec\":{\"containers\":[{\"name\":\"a\"}]}"), 200, "\"allowed\":true"},
                {REVIEW(V1, OF_A_SET "},\"spec\":{\"containers\":[{\"name\":\"app\"}]}"), 200, "\"allowed\":true"},
                {REVIEW(V1, OF_A_SET "},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":null}]}"), 200,
                 "\"allowed\":true"},
                {REVIEW(V1, OF_A_SET "},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":7}]}"), 200,
                 "\"allowed\":true"},
                {REVIEW(V1, OF_A_SET "},\"spec\":{\"containers\":{}}"), 200, "\"allowed\":true"},
                {REVIEW(V1, OF_A_SET "},\"spec\":null"), 200, "\"allowed\":true"},
                {REVIEW(V1, "}"), 200, "\"allowed\":true"},
                {REVIEW("admission.k8s.io/v1beta1", "}"), 400, "admissionReviewVersions"},
                {REVIEW("admission.k8s.io/v2", "}"), 400, "admissionReviewVersions"},
                {REVIEW("", "}"), 400, "admissionReviewVersions"},
                {"{}", 400, "problems/invalid-body"},
                {"[]", 400, "problems/invalid-body"},
                {"{\"apiVersion\":\"" V1 "\",\"kind\":\"AdmissionReview\"}", 400, "request.uid is missing"},
                {"{\"apiVersion\":\"" V1 "\",\"kind\":\"AdmissionReview\",\"request\":[]}", 400, "admission review"},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){.admission = true});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release) struct got g = admit(&s, "application/json", row[i].body);
                if (g.status != row[i].status || !strstr(g.body, row[i].says))
                        fail_msg("%s: %ld %s", row[i].body, g.status, g.body);
        }
        static const char *const type[] = {"text/plain", "application/json-patch+json", "application/yaml", ""};
        for (size_t i = 0; i < sizeof type / sizeof type[0]; i++) {
                AUTO(got_release) struct got g = admit(&s, type[i], row[0].body);
                assert_int_equal(g.status, 415);
        }
        stand_end(&s);
}

/* A review of so many bytes, which lie in one list of a Deployment before and now. */
static char *large_review(size_t bytes, const char *uid)
{
        AUTO(mem_free) char *zeros = repeated("[0", ' ', bytes / 2, "]");
        for (size_t i = 2, end = bytes / 2; i + 2 < end; i += 2)
                memcpy(zeros + i, ",0", 2);
        return mem_printf(
                "{\"apiVersion\":\"" V1 "\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"%s\",\"kind\":"
                "{\"group\":\"apps\",\"version\":\"v1\",\"kind\":\"Deployment\"},\"operation\":\"UPDATE\","
                "\"namespace\":\"shop\",\"name\":\"web-0\",\"object\":{\"metadata\":{\"name\":\"web-0\"},"
                "\"spec\":{\"template\":{\"spec\":{\"containers\":[],\"x\":%s}}}},\"oldObject\":{\"metadata\":"
                "{\"name\":\"web-0\"},\"spec\":{\"template\":{\"spec\":{\"containers\":[],\"x\":%s}}}}}}",
                uid, zeros, zeros);
}

static char *large_request(size_t bytes)
{
        AUTO(mem_free) char *body = large_review(bytes, "u-1");
        return mem_printf("POST /admission HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                          "Content-Length: %zu\r\n\r\n%s",
                          strlen(body), body);
}

/* What is large goes another way, to the same answers. */
static void test_large_reviews(void **state)
{
        (void)state;
        enum { LARGE = 200 << 10, MUCH = 3000000 };
        AUTO(mem_free) char *pod = repeated("", ' ', LARGE, REVIEW(V1, "}"));
        AUTO(mem_free) char *owned = repeated("", ' ', LARGE, REVIEW(V1, OF_A_SET "}"));
        AUTO(mem_free) char *old = repeated("", ' ', LARGE, REVIEW("admission.k8s.io/v1beta1", "}"));
        AUTO(mem_free) char *deep = repeated("{\"request\":{\"object\":{\"a\":", '[', MUCH, "");
        AUTO(mem_free) char *deployment = large_review(MUCH, "u-1");
        const struct {
                const char *what, *body;
                long status;
                const char *says;
        } row[] = {
                {"a pod of nobody", pod, 200, "\"uid\":\"u-1\",\"allowed\":true}}"}, /* no patch, and no warning */
                {"a pod of a ReplicaSet", owned, 200, "\"u-1\""},
                {"an old version", old, 400, "admissionReviewVersions"},
                {"brackets", deep, 400, "problems/invalid-body"},
                {"a Deployment", deployment, 200, "\"allowed\":true"},
        };
        struct stand s;
        stand_begin(&s, &(struct rest_listener_options){.admission = true});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release) struct got g = admit(&s, "application/json", row[i].body);
                if (g.status != row[i].status || !strstr(g.body, row[i].says))
                        fail_msg("%s: %ld %.300s", row[i].what, g.status, g.body);
        }
        assert_int_equal(s.owners, 1);
        int admitted = 0;
        for (int i = 0; i < ADMISSION_RESULTS; i++)
                admitted += s.admitted[i];
        assert_int_equal(admitted, 3);
        s.no_answer = true;
        AUTO(got_release) struct got alone = admit(&s, "application/json", owned);
        assert_int_equal(alone.status, 200);
        assert_int_equal(s.admitted[ADMISSION_NO_OWNER], 1);
        stand_end(&s);
}

static bool has_come(int fd)
{
        struct pollfd p = {fd, POLLIN, 0};
        return poll(&p, 1, 0) > 0;
}

/* A small one does not wait for the large ones before it. */
static void test_large_reviews_delay_nobody(void **state)
{
        (void)state;
        enum { LARGE = 6, BYTES = 1000000 };
        AUTO(mem_free) char *request = large_request(BYTES);
        struct stand s;
        int fd[LARGE];
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){.admission = true});
        for (int i = 0; i < LARGE; i++) {
                fd[i] = wire_open(s.address);
                assert_true(wire_say(fd[i], request));
        }
        AUTO(got_release) struct got small = admit(&s, "application/json", REVIEW(V1, "}"));
        assert_int_equal(small.status, 200);
        int waiting = 0;
        for (int i = 0; i < LARGE; i++)
                waiting += !has_come(fd[i]);
        assert_in_range(waiting, 1, LARGE);
        close(fd[LARGE - 1]); /* one of them gives up */
        for (int i = 0; i < LARGE - 1; i++) {
                AUTO(mem_free) char *answer = wire_hear(fd[i], "\"allowed\":true", WIRE_PATIENCE_MS, &ended);
                assert_non_null(strstr(answer, " 200 "));
                close(fd[i]);
        }
        assert_serves(&s);
        stand_end(&s);
}

/* Those of one address do not delay that of another. */
static void test_large_reviews_take_turns(void **state)
{
        (void)state;
        enum { LARGE = 10, BYTES = 1000000, OURS = 100000, OTHER = 2 };
        AUTO(mem_free) char *theirs = large_request(BYTES);
        AUTO(mem_free) char *ours = large_request(OURS);
        struct stand s;
        int fd[LARGE], waiting = 0;
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){.admission = true});
        for (int i = 0; i < LARGE; i++) {
                fd[i] = wire_open_from(s.address, OTHER);
                assert_true(wire_say(fd[i], theirs));
        }
        int us = wire_open(s.address);
        assert_true(wire_say(us, ours));
        AUTO(mem_free) char *answer = wire_hear(us, "\"allowed\":true", WIRE_PATIENCE_MS, &ended);
        assert_non_null(strstr(answer, " 200 "));
        for (int i = 0; i < LARGE; i++)
                waiting += !has_come(fd[i]);
        assert_in_range(waiting, LARGE / 2, LARGE);
        for (int i = 0; i < LARGE; i++)
                close(fd[i]);
        close(us);
        stand_end(&s);
}

/* An address gets half the bytes of all reviews, and leaves the rest to others. */
static void test_large_reviews_leave_room(void **state)
{
        (void)state;
        enum { CLIENTS = 16, EACH = 3 << 20, HALF = 32 << 20, OTHER = 2 };
        static const char begin[] = "POST /admission HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                                    "Content-Length: 3145728\r\nExpect: 100-continue\r\n\r\n";
        struct stand s;
        int fd[CLIENTS], refused = 0;
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){.admission = true});
        for (int i = 0; i < CLIENTS; i++) {
                fd[i] = wire_open_from(s.address, OTHER);
                assert_true(wire_say(fd[i], begin));
                AUTO(mem_free) char *answer = wire_hear(fd[i], "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
                refused += strstr(answer, " 503 ") != NULL;
        }
        assert_int_equal(refused, CLIENTS - (HALF + EACH - 1) / EACH);
        AUTO(mem_free) char *body = large_review(EACH - 1000, "u-1");
        AUTO(got_release) struct got g = admit(&s, "application/json", body);
        assert_int_equal(g.status, 200);
        for (int i = 0; i < CLIENTS; i++)
                close(fd[i]);
        stand_end(&s);
}

/* The listener closes while large ones are at work. */
static void test_it_closes_on_large_reviews(void **state)
{
        (void)state;
        enum { LARGE = 4, BYTES = 3000000 };
        AUTO(mem_free) char *request = large_request(BYTES);
        struct stand s;
        int fd[LARGE];
        bool ended;
        stand_begin(&s, &(struct rest_listener_options){.admission = true});
        for (int i = 0; i < LARGE; i++) {
                fd[i] = wire_open(s.address);
                assert_true(wire_say(fd[i], request));
        }
        assert_serves(&s);
        stand_end(&s);
        for (int i = 0; i < LARGE; i++) {
                mem_free(wire_hear(fd[i], NULL, WIRE_PATIENCE_MS, &ended));
                assert_true(ended);
                close(fd[i]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refusals_arrive),
                cmocka_unit_test(test_an_end_told_twice),
                cmocka_unit_test(test_malformed_headers),
                cmocka_unit_test(test_absolute_form),
                cmocka_unit_test(test_truncated_bodies),
                cmocka_unit_test(test_brackets),
                cmocka_unit_test(test_ten_thousand_idle),
                cmocka_unit_test(test_odd_reviews),
                cmocka_unit_test(test_large_reviews),
                cmocka_unit_test(test_large_reviews_delay_nobody),
                cmocka_unit_test(test_large_reviews_take_turns),
                cmocka_unit_test(test_large_reviews_leave_room),
                cmocka_unit_test(test_it_closes_on_large_reviews),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
