/* An API server whose name only a proxy can resolve: commands and run reach it as the environment says, and say so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/connect_proxy.h"
#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/file_read.h"
#include "base/mem.h"

#define NAME    "api.cluster.example"
#define NOWHERE "255.255.255.255" /* the kernel refuses to connect to it, at once and without asking a resolver */
#define SECRET  "hunter2"

struct stage {
        struct fake *f;
        struct connect_proxy *proxy;
        char *config, *server, *shown, *full; /* kubeconfig; the server's URL; the proxy's without and with a login */
};

/* The server's kubeconfig, with another host in place of its own. */
static void write_config(struct stage *s, const char *host, const char *more)
{
        struct err err = {0};
        size_t len;
        AUTO(mem_free) char *own = tmp_path("own");
        assert_true(fake_write_kubeconfig(s->f, own));
        AUTO(mem_free) char *text = file_read(own, 1 << 20, &len, &err);
        char *at = strstr(text, fake_url(s->f)), *rest = at + strlen(fake_url(s->f));
        *at = '\0';
        mem_free(s->server);
        s->server = mem_printf("https://%s%s", host, strrchr(fake_url(s->f), ':'));
        AUTO(mem_free)
        char *changed = mem_printf("%s%s\n    tls-server-name: localhost%s%s", text, s->server, more, rest);
        mem_free(s->config);
        s->config = tmp_file("config", changed);
}

static struct stage stage_open(void)
{
        struct stage s = {.f = fake_new(&(struct fake_options){.tls = true})};
        const char *port = strrchr(fake_url(s.f), ':') + 1;
        assert_true(fake_load(s.f, "crds"));
        s.proxy = connect_proxy_start((uint16_t)atoi(port));
        s.shown = mem_printf("http://127.0.0.1:%d", connect_proxy_port(s.proxy));
        s.full = mem_printf("http://me:" SECRET "@127.0.0.1:%d", connect_proxy_port(s.proxy));
        write_config(&s, NAME, "");
        return s;
}

static void stage_close(struct stage *s)
{
        static const char *const names[] = {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "NO_PROXY", "no_proxy"};
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                unsetenv(names[i]);
        connect_proxy_stop(s->proxy);
        fake_free(s->f);
        mem_free(s->config);
        mem_free(s->server);
        mem_free(s->shown);
        mem_free(s->full);
}

/* halflife check prints this line, and nowhere the password. */
static void expect_line(struct stage *s, int want, const char *how)
{
        AUTO(mem_free) char *said = HALFLIFE_RUN(want, "check", "--kubeconfig", s->config, "--database", "");
        AUTO(mem_free) char *line = mem_printf("ok    API server %s is asked %s\n", s->server, how);
        if (!strstr(said, line) || strstr(said, SECRET))
                fail_msg("not '%s' in:\n%s", line, said);
}

static void test_commands_take_the_proxy(void **state)
{
        (void)state;
        struct stage s = stage_open();
        setenv("https_proxy", s.full, 1);
        AUTO(mem_free) char *by_small = mem_printf("through proxy %s (https_proxy)", s.shown);
        expect_line(&s, 0, by_small);
        mem_free(HALFLIFE_RUN(0, "get", "--kubeconfig", s.config));
        AUTO(mem_free) char *heard = connect_proxy_heard(s.proxy);
        assert_non_null(strstr(heard, "CONNECT " NAME ":"));
        assert_non_null(strstr(heard, "Proxy-Authorization: Basic bWU6aHVudGVyMg==\r\n"));
        assert_null(strstr(heard, "Authorization: Bearer"));

        /* proxy-url is first, whatever NO_PROXY has */
        AUTO(mem_free) char *more = mem_printf("\n    proxy-url: %s", s.full);
        AUTO(mem_free) char *given = mem_printf("through proxy %s (proxy-url of the kubeconfig)", s.shown);
        setenv("NO_PROXY", "*", 1);
        write_config(&s, NAME, more);
        expect_line(&s, 0, given);
        stage_close(&s);
}

static void test_what_takes_no_proxy(void **state)
{
        (void)state;
        struct stage s = stage_open();
        write_config(&s, NOWHERE, "");
        AUTO(mem_free) char *unset = HALFLIFE_RUN(1, "check", "--kubeconfig", s.config, "--database", "");
        assert_null(strstr(unset, "is asked"));
        setenv("HTTP_PROXY", s.full, 1);
        AUTO(mem_free) char *other = HALFLIFE_RUN(1, "check", "--kubeconfig", s.config, "--database", "");
        assert_null(strstr(other, "is asked"));
        AUTO(mem_free)
        char *prometheus = HALFLIFE_RUN(1, "check", "--kubeconfig", s.config, "--database", "", "--prometheus-url",
                                        "http://" NOWHERE ":9090");
        AUTO(mem_free)
        char *line = mem_printf("ok    Prometheus http://" NOWHERE ":9090 is asked through proxy %s (HTTP_PROXY)\n",
                                s.shown);
        assert_non_null(strstr(prometheus, line));

        /* a replica's upstream, which check does not ask */
        AUTO(mem_free)
        char *upstream = HALFLIFE_RUN(1, "check", "--kubeconfig", s.config, "--database", "", "--upstream-url",
                                      "http://halflife.example:8443");
        AUTO(mem_free)
        char *forwards = mem_printf(
                "ok    upstream http://halflife.example:8443 is asked through proxy %s (HTTP_PROXY)\n", s.shown);
        assert_non_null(strstr(upstream, forwards));

        setenv("https_proxy", s.full, 1);
        setenv("no_proxy", "10.0.0.0/8, 255.255.0.0/16", 1);
        expect_line(&s, 1, "directly in spite of https_proxy (no_proxy has '255.255.0.0/16')");
        setenv("NO_PROXY", "elsewhere", 1);
        setenv("HTTPS_PROXY", "ftp://me:" SECRET "@127.0.0.1", 1);
        AUTO(mem_free) char *said = HALFLIFE_RUN(1, "check", "--kubeconfig", s.config, "--database", "");
        assert_non_null(strstr(said, "HTTPS_PROXY cannot be used: a proxy begins with http://"));
        assert_null(strstr(said, SECRET));
        assert_int_equal(connect_proxy_tunnels(s.proxy), 0);
        stage_close(&s);
}

static void test_run_takes_the_proxy(void **state)
{
        (void)state;
        struct stage s = stage_open();
        setenv("HTTPS_PROXY", s.full, 1);
        const char *const args[] = {"--kubeconfig", s.config, NULL};
        struct halflife *h = halflife_start(s.f, "halflife.db", args);
        assert_true(halflife_await_log(h, "caches synced", 1, 60000));
        AUTO(mem_free) char *log = halflife_log(h);
        AUTO(mem_free) char *line = mem_printf("through proxy %s (HTTPS_PROXY)", s.shown);
        if (!strstr(log, "a proxy is set") || !strstr(log, line) || strstr(log, SECRET))
                fail_msg("%s", log);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        stage_close(&s);
}

static void test_rotate_takes_the_proxy(void **state)
{
        (void)state;
        struct stage s = stage_open();
        setenv("HTTPS_PROXY", s.full, 1);
        const char *const args[] = {"rotate",
                                    "--kubeconfig",
                                    s.config,
                                    "--namespace=halflife",
                                    "--webhook-certificate=self",
                                    "--listen=127.0.0.1:0",
                                    NULL};
        struct halflife *h = halflife_command(args);
        assert_true(halflife_await_log(h, "a proxy is set", 1, 60000));
        AUTO(mem_free) char *log = halflife_log(h);
        AUTO(mem_free) char *line = mem_printf("through proxy %s (HTTPS_PROXY)", s.shown);
        if (!strstr(log, line) || strstr(log, SECRET))
                fail_msg("%s", log);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        stage_close(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_commands_take_the_proxy),
                cmocka_unit_test(test_what_takes_no_proxy),
                cmocka_unit_test(test_run_takes_the_proxy),
                cmocka_unit_test(test_rotate_takes_the_proxy),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
