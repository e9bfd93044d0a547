/*
 * halflife export asks what is no halflife, or one that answers by halves: it says so, and leaves no file that looks
 * whole and holds nothing.
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
#include <unistd.h>

#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/tmp.h"
#include "../support/wire.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "store/transfer.h"

#define WEB                                                                                                            \
        "{\"items\":[{\"metadata\":{\"namespace\":\"shop\",\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","        \
        "\"name\":\"web\"}}]}"

/* Answers the list with one text, and everything else with another. */
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
                char *asked = wire_hear(fd, "\r\n\r\n", 5000, &ended);
                const char *body = strstr(asked, "/history") ? server.history : server.list;
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

static void test_answers(void **state)
{
        AUTO(mem_free)
        char *good = history_named("app"), *tab = history_named("a\\tb"), *path = history_named("a/b"),
             *torn = mem_string_n(good, strlen(good) / 2), *file = tmp_path("export");
        const struct {
                const char *what, *list, *history, *says;
                int code;
        } row[] = {
                {"whole", WEB, good, "1 histories of 1 workloads", 0},
                {"nothing is there", "{\"items\":[]}", "", "0 histories of 0 workloads", 0},
                {"another server", "{\"kind\":\"Status\"}", "", "is no halflife", 1},
                {"a list of nothing", "{\"items\":null}", "", "is no halflife", 1},
                {"no list", "{\"items\":{}}", "", "is no halflife", 1},
                {"no objects", "{\"items\":[7]}", "", "is no halflife", 1},
                {"a cut list", "{\"items\":[{", "", "is no halflife", 1},
                {"a history of nothing", WEB, "{}", "is no halflife", 1},
                {"a cut history", WEB, torn, "is no halflife", 1},
                {"a history without containers", WEB, "{\"group\":\"apps\",\"containers\":7}", "is no halflife", 1},
                {"no container's name", WEB, tab, "holds no history that this halflife knows", 1},
                {"a path as a name", WEB, path, "holds no history that this halflife knows", 1},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                server_start(row[i].list, row[i].history);
                AUTO(mem_free) char *url = mem_printf("http://127.0.0.1:%u", server.port);
                unlink(file);
                struct halflife *h =
                        halflife_command((const char *const[]){"export", "-A", "--server", url, "-o", file, NULL});
                int code = halflife_await(h, 30000);
                AUTO(mem_free) char *said = halflife_log(h);
                halflife_free(h);
                server_stop();
                if (code != row[i].code || !strstr(said, row[i].says) || (access(file, F_OK) == 0) != (code == 0))
                        fail_msg("%s: exit %d, '%s'", row[i].what, code, said);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers)};
        return cmocka_run_group_tests_name("export", tests, set_up, NULL);
}
