/*
 * halflife export asks what is not halflife, or one that answers by halves: it says so, and leaves no file that looks
 * whole and holds nothing, nor the beginning of one on stdout.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/tmp.h"
#include "../support/wire.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "store/transfer.h"

#define ITEM(name)                                                                                                     \
        "{\"metadata\":{\"namespace\":\"shop\",\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"" name    \
        "\"}}"
#define LIST(more) "{\"items\":[" ITEM("web") "]" more "}"
#define WEB        LIST("")

/* Answers the list with one text, its page "again" with another, every history but that of "torn" with a third. */
static struct {
        int fd;
        unsigned port;
        const char *list, *history;
        pthread_t thread;
} server;

static void *serve(void *unused)
{
        int fd;
        (void)unused;
        while ((fd = accept(server.fd, NULL, NULL)) >= 0) {
                bool ended;
                char *asked = wire_hear(fd, "\r\n\r\n", WIRE_PATIENCE_MS, &ended);
                const char *body = strstr(asked, "/torn/history")     ? "{}"
                                   : strstr(asked, "/history")        ? server.history
                                   : strstr(asked, "continue=again ") ? LIST(",\"continue\":\"and\"")
                                                                      : server.list;
                char head[128];
                snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
                         strlen(body));
                (void)(wire_say(fd, head) && wire_say(fd, body));
                mem_free(asked);
                close(fd);
        }
        return NULL;
}

/* A thread a row: what it answers with is another's neither before nor after. */
static void server_start(const char *list, const char *history)
{
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t len = sizeof at;
        server.list = list;
        server.history = history;
        server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(server.fd, (struct sockaddr *)&at, len), 0);
        assert_int_equal(listen(server.fd, 8), 0);
        assert_int_equal(getsockname(server.fd, (struct sockaddr *)&at, &len), 0);
        server.port = ntohs(at.sin_port);
        assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static void server_stop(void)
{
        shutdown(server.fd, SHUT_RDWR);
        pthread_join(server.thread, NULL);
        close(server.fd);
}

static int set_up(void **state)
{
        (void)state;
        return setenv("HALFLIFE_TOKEN", "taker", 1) | setenv("HALFLIFE_KUBECONFIG", "/nonexistent", 1);
}

/* The answer of a halflife whose container has this name. */
static char *history_named(const char *name)
{
        uint8_t packed[USAGE_PACK_MAX];
        char hex[2 * USAGE_PACK_MAX + 1];
        struct usage u = {.first_ms = 1000, .newest_ms = 1000, .samples = 1};
        histogram_init(&u.of[CPU], CPU, DAY_MS);
        histogram_init(&u.of[MEMORY], MEMORY, DAY_MS);
        size_t len = usage_pack(&u, packed);
        for (size_t i = 0; i < len; i++)
                snprintf(hex + 2 * i, 3, "%02x", packed[i]);
        return mem_printf("{\"group\":\"apps\",\"containers\":[{\"name\":\"%s\",\"sources\":[\"0000000000000001\"],"
                          "\"samples\":1,\"history\":\"%s\"}]}",
                          name, hex);
}

struct asked {
        const char *what, *list, *history, *says;
        int code;
        const char *of, *labels; /* NULL: all namespaces, any labels */
};

/* What it said; the caller's. */
static char *ask(const struct asked *row, const char *file, int *ret_code)
{
        AUTO(mem_free) char *url = mem_printf("http://127.0.0.1:%u", server.port);
        const char *args[16] = {"export", "--server", url};
        int count = 3;
        args[count++] = row->of ? "-n" : "-A";
        if (row->of)
                args[count++] = row->of;
        if (row->labels)
                args[count++] = "-l", args[count++] = row->labels;
        if (file)
                args[count++] = "-o", args[count++] = file;
        struct halflife *h = halflife_command(args);
        *ret_code = halflife_await(h, 30000);
        char *said = halflife_log(h);
        halflife_free(h);
        return said;
}

static void test_answers(void **state)
{
        AUTO(mem_free)
        char *good = history_named("app"), *tab = history_named("a\\tb"), *path = history_named("a/b"),
             *torn = mem_string_n(good, strlen(good) / 2), *file = tmp_path("export");
        const struct asked row[] = {
                {"whole", WEB, good, "1 history of 1 workload", 0, NULL, NULL},
                {"a namespace's", WEB, good, "1 history of 1 workload", 0, "shop", NULL},
                {"an empty token", LIST(",\"continue\":\"\""), good, "1 history of 1 workload", 0, NULL, NULL},
                {"nothing is there", "{\"items\":[]}", "", "0 histories of 0 workloads", 0, NULL, NULL},
                {"nothing of this name", "{\"items\":[]}", "", "halflife knows no workload of namespace 'typo'", 1,
                 "typo", NULL},
                {"nothing with labels", "{\"items\":[]}", "", "no workload with labels 'a=b':", 1, NULL, "a=b"},
                {"nothing of both", "{\"items\":[]}", "", "no workload with labels 'a=b' of namespace 'typo':", 1,
                 "typo", "a=b"},
                {"another server", "{\"kind\":\"Status\"}", "", "is not halflife", 1, NULL, NULL},
                {"a list of nothing", "{\"items\":null}", "", "is not halflife", 1, NULL, NULL},
                {"no list", "{\"items\":{}}", "", "is not halflife", 1, NULL, NULL},
                {"no objects", "{\"items\":[7]}", "", "is not halflife", 1, NULL, NULL},
                {"a cut list", "{\"items\":[{", "", "is not halflife", 1, NULL, NULL},
                {"a history of nothing", WEB, "{}", "is not halflife", 1, NULL, NULL},
                {"a cut history", WEB, torn, "is not halflife", 1, NULL, NULL},
                {"no containers", WEB, "{\"group\":\"apps\",\"containers\":7}", "is not halflife", 1, NULL, NULL},
                {"no container's name", WEB, tab, "this halflife cannot read the history", 1, NULL, NULL},
                {"a path as a name", WEB, path, "this halflife cannot read the history", 1, NULL, NULL},
                {"one page for ever", LIST(",\"continue\":\"and\""), good, "list has no end", 1, NULL, NULL},
                {"two pages for ever", LIST(",\"continue\":\"again\""), good, "list has no end", 1, NULL, NULL},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int code;
                server_start(row[i].list, row[i].history);
                unlink(file);
                AUTO(mem_free) char *said = ask(&row[i], file, &code);
                server_stop();
                if (code != row[i].code || !strstr(said, row[i].says) || (access(file, F_OK) == 0) != (code == 0))
                        fail_msg("%s: exit %d, '%s'", row[i].what, code, said);
        }
}

static void test_stdout(void **state)
{
        AUTO(mem_free) char *good = history_named("app");
        const struct {
                struct asked asked;
                bool begun;
        } row[] = {
                {{"whole", WEB, good, "1 history of 1 workload", 0, NULL, NULL}, true},
                {{"nothing is there", "{\"items\":[]}", "", "0 histories of 0 workloads", 0, NULL, NULL}, true},
                {{"another server", "{\"kind\":\"Status\"}", "", "is not halflife", 1, NULL, NULL}, false},
                {{"nothing of this name", "{\"items\":[]}", "", "'typo'", 1, "typo", NULL}, false},
                {{"a history of nothing", WEB, "{}", "is not halflife", 1, NULL, NULL}, false},
                {{"the second is torn", "{\"items\":[" ITEM("web") "," ITEM("torn") "]}", good,
                  "the output is incomplete", 1, NULL, NULL},
                 true},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int code;
                server_start(row[i].asked.list, row[i].asked.history);
                AUTO(mem_free) char *said = ask(&row[i].asked, NULL, &code);
                server_stop();
                bool begun = strstr(said, "halflife-histories\t"), ended = strstr(said, "end\t");
                if (code != row[i].asked.code || !strstr(said, row[i].asked.says) || begun != row[i].begun ||
                    ended != (code == 0))
                        fail_msg("%s: exit %d, '%s'", row[i].asked.what, code, said);
        }
}

/* What stands where the file is to be, and is none, is not replaced by one: /dev/null stays what it is. */
static void test_no_plain_file(void **state)
{
        (void)state;
        AUTO(mem_free) char *good = history_named("app"), *fifo = tmp_path("fifo"), *link_to = tmp_path("link");
        const struct asked row = {"whole", WEB, good, "is not a regular file", 1, NULL, NULL};
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_int_equal(symlink(fifo, link_to), 0);
        const char *const path[] = {fifo, link_to, "/"};
        for (size_t i = 0; i < sizeof path / sizeof path[0]; i++) {
                struct stat before, after;
                int code;
                assert_int_equal(lstat(path[i], &before), 0);
                server_start(row.list, row.history);
                AUTO(mem_free) char *said = ask(&row, path[i], &code);
                server_stop();
                assert_int_equal(lstat(path[i], &after), 0);
                if (code != row.code || !strstr(said, row.says) || before.st_ino != after.st_ino)
                        fail_msg("%s: exit %d, '%s'", path[i], code, said);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers), cmocka_unit_test(test_stdout),
                                           cmocka_unit_test(test_no_plain_file)};
        return cmocka_run_group_tests_name("export", tests, set_up, NULL);
}
