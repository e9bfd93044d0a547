/*
 * The listener of load-watcher's interface over real connections: its statuses and bytes, input that no scheduler
 * sends, documents that grow old, and clients that read slowly.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/fetch.h"
#include "../../support/wire.h"
#include "cache/cache.h"
#include "load_watcher/load_document.h"
#include "load_watcher/load_listener.h"

#define GI (INT64_C(1) << 30)

enum { WAIT_MS = 20000 };
static const int64_t now_s = 1764000000;

static int begin(void **state)
{
        struct load_listener *l = NULL;
        struct err err = {0};
        if (load_listener_open("127.0.0.1:0", &l, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                return -1;
        }
        *state = l;
        return 0;
}

static int end(void **state)
{
        load_listener_close(*state);
        return 0;
}

/* A document of so many nodes, n0 to n9999, each at percent of its CPU. */
static struct load_document *document_of(int nodes, int percent)
{
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        for (int i = 0; i < nodes; i++) {
                char name[16];
                snprintf(name, sizeof name, "n%d", i);
                struct node_facts *f = node_facts_get(&w, node_get(&w, text_of(name)));
                f->capacity[CPU] = 100;
                f->capacity[MEMORY] = 4 * GI;
                for (int k = 5; k-- > 0;) {
                        const struct node_usage u = {{(now_s - 60 * k) * SECOND_MS}, {percent, GI}};
                        assert_int_equal(node_ring_add(&f->ring, &u, f->capacity, u.at), NODE_ACCEPTED);
                }
        }
        struct load_document *d = load_document_new(&w, (struct wall){now_s * SECOND_MS});
        cache_release(&w);
        return d;
}

static void publish(struct load_listener *l, int nodes, int percent)
{
        load_listener_publish(l, document_of(nodes, percent), mono_read());
}

static struct got ask(const struct load_listener *l, const char *method, const char *path, const char *body)
{
        AUTO(mem_free) char *url = mem_printf("http://%s%s", load_listener_address(l), path);
        return fetch(&(struct fetch){.method = method, .url = url, .body = body, .type = body ? "text/plain" : NULL});
}

struct row {
        const char *method, *path, *body;
        long status;
        const char *says; /* the whole body; "~text": text stands in it; NULL: it is empty */
};

static void see(const struct load_listener *l, const struct row *row, size_t rows)
{
        for (size_t i = 0; i < rows; i++) {
                AUTO(got_release) struct got g = ask(l, row[i].method, row[i].path, row[i].body);
                const char *want = row[i].says ? row[i].says : "";
                bool same = *want == '~' ? strstr(g.body, want + 1) != NULL : strcmp(g.body, want) == 0;
                if (g.curl || g.status != row[i].status || !same)
                        fail_msg("%s %s: %ld '%s', libcurl %d", row[i].method, row[i].path, g.status, g.body, g.curl);
        }
}
#define SEE(l, ...)                                                                                                    \
        see(l, (const struct row[]){__VA_ARGS__}, sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))

/* Until a node was measured there is nothing to tell, which a scheduler takes for "read on later". */
static void before_a_node_was_measured(void **state)
{
        struct load_listener *l = *state;
        for (int i = 0; i < 2; i++) {
                SEE(l, {"GET", "/watcher", NULL, 500, NULL}, {"GET", "/watcher?host=n0", NULL, 500, NULL},
                    {"GET", "/watcher/health", NULL, 503, NULL});
                publish(l, 0, 0);
        }
        publish(l, 1, 25);
        SEE(l, {"GET", "/watcher", NULL, 200, "~\"n0\""}, {"GET", "/watcher/health", NULL, 200, NULL});
        publish(l, 0, 0); /* now it is known that there is none */
        SEE(l, {"GET", "/watcher", NULL, 200, "~\"NodeMetricsMap\":{}"},
            {"GET", "/watcher?host=n0", NULL, 404, "No metrics found for host n0"},
            {"GET", "/watcher/health", NULL, 503, NULL});
}

static void what_each_path_answers(void **state)
{
        struct load_listener *l = *state;
        publish(l, 12, 25);
        SEE(l, {"GET", "/watcher", NULL, 200, "~\"n11\":{\"metrics\":[{"},
            {"GET", "/watcher?host=n3", NULL, 200, "~\"NodeMetricsMap\":{\"n3\":{"},
            {"GET", "/watcher?host=n11&duration=5m", NULL, 200, "~\"NodeMetricsMap\":{\"n11\":{"},
            {"GET", "/watcher?duration=10m", NULL, 200, "~\"n11\""}, {"GET", "/watcher?host=", NULL, 200, "~\"n11\""},
            {"GET", "/watcher?host", NULL, 200, "~\"n11\""},
            {"GET", "/watcher?host=n1&host=n2", NULL, 200, "~{\"n1\":{"},
            {"GET", "/watcher?host=n%31", NULL, 200, "~{\"n1\":{"}, {"GET", "/watcher", "a body", 200, "~\"n11\""},
            {"GET", "/watcher?host=n12", NULL, 404, "No metrics found for host n12"},
            {"GET", "/watcher?host=N3", NULL, 404, "No metrics found for host N3"},
            {"GET", "/watcher?host=<b>", NULL, 404, "No metrics found for host <b>"},
            {"GET", "/watcher?host=..%2f..%2fetc", NULL, 404, "No metrics found for host ../../etc"},
            {"GET", "/watcher?host=%25s%25n", NULL, 404, "No metrics found for host %s%n"},
            {"POST", "/watcher", "body", 405, "only GET and HEAD\n"},
            {"PUT", "/watcher/health", "body", 405, "only GET and HEAD\n"},
            {"DELETE", "/watcher?host=n1", NULL, 405, "only GET and HEAD\n"},
            {"GET", "/", NULL, 404, "404 page not found\n"}, {"GET", "/watcher/", NULL, 404, "404 page not found\n"},
            {"GET", "/watcher/n1", NULL, 404, "404 page not found\n"},
            {"GET", "/metrics", NULL, 404, "404 page not found\n"},
            {"GET", "/api/v1/nodes", NULL, 404, "404 page not found\n"},
            {"POST", "/admission", "{}", 404, "404 page not found\n"});
        uint64_t counts[6];
        load_listener_counts(l, counts);
        assert_int_equal(counts[2], 9);
        assert_int_equal(counts[4], 14);
        assert_int_equal(counts[5] + counts[3], 0);
}

static void what_the_headers_say(void **state)
{
        struct load_listener *l = *state;
        publish(l, 3, 25);
        AUTO(got_release)
        struct got all = ask(l, "GET", "/watcher", NULL), unknown = ask(l, "GET", "/watcher?host=x", NULL);
        AUTO(got_release) struct got post = ask(l, "POST", "/watcher", "x");
        AUTO(mem_free) char *url = mem_printf("http://%s/watcher", load_listener_address(l));
        AUTO(got_release) struct got head = fetch(&(struct fetch){.url = url, .head = true});
        AUTO(mem_free) char *length = mem_printf("Content-Length: %zu\r\n", all.len);
        assert_non_null(strstr(all.headers, "Content-Type: application/json\r\n"));
        assert_non_null(strstr(all.headers, "Cache-Control: no-store\r\n"));
        assert_non_null(strstr(all.headers, length));
        assert_non_null(strstr(unknown.headers, "Content-Type: text/plain; charset=utf-8\r\n"));
        assert_non_null(strstr(unknown.headers, "X-Content-Type-Options: nosniff\r\n"));
        assert_non_null(strstr(post.headers, "Allow: GET, HEAD\r\n"));
        assert_int_equal(head.status, 200);
        assert_int_equal(head.len, 0);
        assert_non_null(strstr(head.headers, length));
}

static char *say(const struct load_listener *l, const char *bytes, size_t len)
{
        bool ended;
        int fd = wire_open(load_listener_address(l));
        (void)wire_send(fd, bytes, len);
        char *got = wire_hear(fd, NULL, WIRE_PATIENCE_MS, &ended);
        close(fd);
        assert_true(ended);
        return got;
}

/* What no client library sends is refused, and the next request is answered. */
static void nonsense_is_refused(void **state)
{
        static const struct {
                const char *begin;
                size_t fill;
                const char *rest, *status;
        } row[] = {
                {"GET /watcher?host=", 253, " HTTP/1.0\r\n\r\n", " 404 "},
                {"GET /watcher?host=", 8000, " HTTP/1.0\r\n\r\n", " 404 "},
                {"GET /watcher?host=", 60000, " HTTP/1.0\r\n\r\n", " 414 "},
                {"GET /watcher/", 8000, " HTTP/1.0\r\n\r\n", " 404 "},
                {"GET /", 1000000, " HTTP/1.0\r\n\r\n", " 414 "},
                {"GET /watcher HTTP/1.0\r\nX: ", 60000, "\r\n\r\n", " 431 "},
                {"GET /watcher?host=n1%00x HTTP/1.0\r\n\r\n", 0, "", " 404 "},
                {"GET /watcher?host=%00 HTTP/1.0\r\n\r\n", 0, "", " 404 "},
                {"GET /watcher?host=n1%", 0, " HTTP/1.0\r\n\r\n", " "}, /* releases of the library decode it unlike */
                {"GET /watcher?&&&=&host=n1 HTTP/1.0\r\n\r\n", 0, "", " 200 "},
                {"GET /watcher HTTP/9.9\r\n\r\n", 0, "", " 505 "},
        };
        struct load_listener *l = *state;
        publish(l, 3, 25);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                size_t before = strlen(row[i].begin), after = strlen(row[i].rest);
                AUTO(mem_free) char *bytes = mem_new(before + row[i].fill + after + 1);
                memcpy(bytes, row[i].begin, before);
                memset(bytes + before, 'a', row[i].fill);
                memcpy(bytes + before + row[i].fill, row[i].rest, after);
                AUTO(mem_free) char *got = say(l, bytes, before + row[i].fill + after);
                const char *line = strchr(got, ' ');
                if (!line || strncmp(line, row[i].status, strlen(row[i].status)) != 0 || strlen(got) > 4000)
                        fail_msg("row %zu: %.300s", i, got);
                SEE(l, {"GET", "/watcher?host=n1", NULL, 200, "~\"n1\""});
        }
}

/* A document that nothing renewed for five minutes has no nodes. */
static void old_load_is_no_load(void **state)
{
        struct load_listener *l = *state;
        struct mono now = mono_read();
        load_listener_publish(l, document_of(2, 25), (struct mono){now.ns - INT64_C(295000000000)});
        SEE(l, {"GET", "/watcher", NULL, 200, "~\"n1\""}, {"GET", "/watcher/health", NULL, 200, NULL});
        load_listener_publish(l, document_of(2, 25), (struct mono){now.ns - INT64_C(300001000000)});
        SEE(l,
            {"GET", "/watcher", NULL, 200,
             "~\"end\":1764000000},\"source\":\"halflife\",\"data\":{\"NodeMetricsMap\":{}}}"},
            {"GET", "/watcher?host=n1", NULL, 404, "No metrics found for host n1"},
            {"GET", "/watcher/health", NULL, 503, NULL});
}

/* Of a client that does not read, one document more is kept, and no third. */
static void slow_clients_keep_two_documents(void **state)
{
        static const struct {
                int later;
                bool whole;
        } row[] = {{0, true}, {1, true}, {2, false}, {5, false}};
        struct load_listener *l = *state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                bool ended;
                publish(l, NODES_MOST, 25);
                AUTO(got_release) struct got all = ask(l, "GET", "/watcher", NULL);
                int fd = wire_open(load_listener_address(l)), room = 256 << 10;
                assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
                assert_true(wire_say(fd, "GET /watcher HTTP/1.0\r\n\r\n"));
                usleep(300000); /* the kernel takes what it has room for */
                for (int k = 0; k < row[i].later; k++)
                        publish(l, 1, 25);
                AUTO(mem_free) char *got = wire_hear(fd, NULL, WIRE_PATIENCE_MS, &ended);
                close(fd);
                const char *body = strstr(got, "\r\n\r\n");
                assert_true(ended && body && all.len > 4000000);
                if ((strcmp(body + 4, all.body) == 0) != row[i].whole)
                        fail_msg("%d documents later: %zu bytes of %zu", row[i].later, strlen(body + 4), all.len);
        }
}

struct reader {
        const struct load_listener *listener;
        _Atomic bool *stop;
        int answers, whole;
};

static void *read_on(void *arg)
{
        struct reader *r = arg;
        while (!atomic_load(r->stop)) {
                AUTO(got_release) struct got g = ask(r->listener, "GET", "/watcher", NULL);
                r->answers++;
                r->whole += g.status == 200 && g.curl == 0 && g.json != NULL;
        }
        return NULL;
}

/* While documents come one after the other, each answer is one whole document. */
static void answers_are_whole_while_documents_change(void **state)
{
        enum { READERS = 4, DOCUMENTS = 40 };
        struct load_listener *l = *state;
        pthread_t thread[READERS];
        struct reader reader[READERS];
        _Atomic bool stop = false;
        publish(l, 50, 0);
        for (int i = 0; i < READERS; i++) {
                reader[i] = (struct reader){l, &stop, 0, 0};
                assert_int_equal(pthread_create(&thread[i], NULL, read_on, &reader[i]), 0);
        }
        for (int i = 0; i < DOCUMENTS; i++) {
                publish(l, 50 + i, i);
                usleep(10000);
        }
        atomic_store(&stop, true);
        for (int i = 0; i < READERS; i++) {
                pthread_join(thread[i], NULL);
                assert_true(reader[i].answers > 0);
                assert_int_equal(reader[i].answers, reader[i].whole);
        }
}

static void addresses_that_cannot_be(void **state)
{
        static const struct {
                const char *listen;
                int code;
                const char *says;
        } row[] = {{"", ERR_INVALID, "listen on ''"},
                   {"2020", ERR_INVALID, "listen on '2020': '2020' is not an address"},
                   {"example:2020", ERR_INVALID, "names are not resolved"}};
        struct load_listener *l = *state, *other = NULL;
        struct err err = {0};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (load_listener_open(row[i].listen, &other, &err) != row[i].code || other ||
                    !strstr(err.text, row[i].says))
                        fail_msg("'%s': %s", row[i].listen, err.text);
        assert_int_equal(load_listener_open(load_listener_address(l), &other, &err), ERR_CONFLICT);
        assert_string_equal(load_listener_address(NULL), "");
        uint64_t counts[6] = {1};
        load_listener_counts(NULL, counts);
        assert_int_equal(counts[0], 0);
        load_listener_close(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(before_a_node_was_measured, begin, end),
                cmocka_unit_test_setup_teardown(what_each_path_answers, begin, end),
                cmocka_unit_test_setup_teardown(what_the_headers_say, begin, end),
                cmocka_unit_test_setup_teardown(nonsense_is_refused, begin, end),
                cmocka_unit_test_setup_teardown(old_load_is_no_load, begin, end),
                cmocka_unit_test_setup_teardown(slow_clients_keep_two_documents, begin, end),
                cmocka_unit_test_setup_teardown(answers_are_whole_while_documents_change, begin, end),
                cmocka_unit_test_setup_teardown(addresses_that_cannot_be, begin, end),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
