/* Which proxy a request takes. What Go's golang.org/x/net/http/httpproxy answers is the expectation of each row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/proxy.h"

#define SECRET "hunter2"

static const char *const *environment; /* name, value, …, NULL */

static const char *variable(const char *name)
{
        for (const char *const *p = environment; p && *p; p += 2)
                if (strcmp(p[0], name) == 0)
                        return p[1];
        return NULL;
}

/* The choice for a URL in words; an error's text where there is none. */
static char *choose(const char *const *set, const char *given, const char *url)
{
        struct proxy_settings s;
        struct proxy_choice c;
        struct err err = {0};
        environment = set;
        proxy_settings_read(&s, variable);
        if (proxy_choose(&s, given, url, &c, &err) < 0) {
                assert_int_equal(err.code, ERR_INVALID);
                return mem_string(err.text);
        }
        char *text = proxy_choice_text(&c);
        return text ? text : mem_string("none");
}

static void the_variable_is_chosen(void **state)
{
        (void)state;
        static const struct {
                const char *set[7], *given, *url, *want; /* set: name, value, … */
        } row[] = {
                {{NULL}, NULL, "https://a.b", "none"},
                {{"HTTPS_PROXY", ""}, NULL, "https://a.b", "none"},
                {{"HTTPS_PROXY", "http://p:3"}, NULL, "https://a.b", "through proxy http://p:3 (HTTPS_PROXY)"},
                {{"https_proxy", "http://p:3"}, NULL, "https://a.b", "through proxy http://p:3 (https_proxy)"},
                {{"https_proxy", "q", "HTTPS_PROXY", "p"},
                 NULL,
                 "https://a.b",
                 "through proxy http://p:80 (HTTPS_PROXY)"},
                {{"https_proxy", "q", "HTTPS_PROXY", ""},
                 NULL,
                 "https://a.b",
                 "through proxy http://q:80 (https_proxy)"},
                {{"HTTP_PROXY", "p"}, NULL, "https://a.b", "none"},
                {{"HTTPS_PROXY", "p"}, NULL, "http://a.b", "none"},
                {{"ALL_PROXY", "p", "all_proxy", "p"}, NULL, "https://a.b", "none"},
                {{"HTTP_PROXY", "p"}, NULL, "http://a.b", "through proxy http://p:80 (HTTP_PROXY)"},
                {{"http_proxy", "p"}, NULL, "http://a.b/x", "through proxy http://p:80 (http_proxy)"},
                /* the peer's own proxy, whatever the environment has */
                {{"HTTPS_PROXY", "p", "NO_PROXY", "*"},
                 "socks5://q",
                 "https://a.b",
                 "through proxy socks5h://q:1080 (proxy-url of the kubeconfig)"},
                {{NULL},
                 "https://q/path",
                 "https://127.0.0.1",
                 "through proxy https://q:443 (proxy-url of the kubeconfig)"},
                /* CGI: a client's header "Proxy:" is HTTP_PROXY there */
                {{"HTTP_PROXY", "p", "REQUEST_METHOD", "GET"},
                 NULL,
                 "http://a.b",
                 "HTTP_PROXY is not used where REQUEST_METHOD is set: a CGI client could have sent it"},
                {{"HTTP_PROXY", "p", "REQUEST_METHOD", ""},
                 NULL,
                 "http://a.b",
                 "through proxy http://p:80 (HTTP_PROXY)"},
                {{"HTTPS_PROXY", "p", "REQUEST_METHOD", "GET"},
                 NULL,
                 "https://a.b",
                 "through proxy http://p:80 (HTTPS_PROXY)"},
                /* this machine */
                {{"HTTPS_PROXY", "p"},
                 NULL,
                 "https://localhost:6443",
                 "directly in spite of HTTPS_PROXY (its address is of this machine)"},
                {{"HTTPS_PROXY", "p"},
                 NULL,
                 "https://LocalHost:6443",
                 "directly in spite of HTTPS_PROXY (its address is of this machine)"},
                {{"HTTPS_PROXY", "p"}, NULL, "https://localhosts", "through proxy http://p:80 (HTTPS_PROXY)"},
                {{"HTTPS_PROXY", "p"},
                 NULL,
                 "https://127.9.9.9",
                 "directly in spite of HTTPS_PROXY (its address is of this machine)"},
                {{"HTTPS_PROXY", "p"},
                 NULL,
                 "https://[::1]:6443",
                 "directly in spite of HTTPS_PROXY (its address is of this machine)"},
                {{"HTTPS_PROXY", "p"},
                 NULL,
                 "https://[::ffff:127.0.0.1]",
                 "directly in spite of HTTPS_PROXY (its address is of this machine)"},
                {{"HTTPS_PROXY", "p"},
                 NULL,
                 "https://localhost.example.com",
                 "through proxy http://p:80 (HTTPS_PROXY)"},
                {{"HTTPS_PROXY", "p"}, NULL, "https://128.0.0.1", "through proxy http://p:80 (HTTPS_PROXY)"},
                {{"HTTPS_PROXY", "p"},
                 NULL,
                 "https://user@localhost:1/",
                 "directly in spite of HTTPS_PROXY (its address is of this machine)"},
                /* exceptions, and which variable has them */
                {{"HTTPS_PROXY", "p", "no_proxy", "x, b ,c"},
                 NULL,
                 "https://a.b",
                 "directly in spite of HTTPS_PROXY (no_proxy has 'b')"},
                {{"HTTPS_PROXY", "p", "no_proxy", "b", "NO_PROXY", "c"},
                 NULL,
                 "https://a.b",
                 "through proxy http://p:80 (HTTPS_PROXY)"},
                /* a proxy that is not used may be anything */
                {{"HTTPS_PROXY", "ftp://p", "NO_PROXY", "a.b"},
                 NULL,
                 "https://a.b",
                 "directly in spite of HTTPS_PROXY (NO_PROXY has 'a.b')"},
                {{"HTTPS_PROXY", "ftp://u:" SECRET "@p"},
                 NULL,
                 "https://a.b",
                 "HTTPS_PROXY cannot be used: a proxy begins with http://, https://, socks5:// or socks5h://"},
                {{NULL},
                 "ftp://p",
                 "https://a.b",
                 "the proxy-url cannot be used: a proxy begins with http://, https://, socks5:// or socks5h://"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *got = choose(row[i].set, row[i].given, row[i].url);
                if (strcmp(got, row[i].want) != 0)
                        fail_msg("row %zu, %s: '%s', not '%s'", i, row[i].url, got, row[i].want);
        }
}

static void exceptions_are_kubectls(void **state)
{
        (void)state;
        static const struct {
                const char *list, *url;
                bool excepted;
        } row[] = {
                /* names: the name and all below it; with a leading dot all below it alone */
                {"example.com", "https://example.com", true},
                {"example.com", "https://a.b.example.com", true},
                {"example.com", "https://badexample.com", false},
                {".example.com", "https://example.com", false},
                {".example.com", "https://a.example.com", true},
                {"*.example.com", "https://example.com", false},
                {"*.example.com", "https://a.example.com", true},
                {"EXAMPLE.com", "https://Example.COM", true},
                {"example.com.", "https://example.com", false},
                {"com", "https://example.com", true},
                {"*", "https://example.com", true},
                {"a,*,b", "https://10.0.0.1", true},
                {"*example.com", "https://a.example.com", false},
                {" , ,\texample.com ", "https://example.com", true},
                {",", "https://example.com", false},
                {"a b", "https://b", false},
                /* ports */
                {"example.com:443", "https://example.com", true},
                {"example.com:443", "https://a.example.com:443/x", true},
                {"example.com:443", "https://example.com:6443", false},
                {"example.com:", "https://example.com:6443", true},
                {"*.example.com:80", "http://a.example.com", true},
                {"example.com:https", "https://example.com", false},
                {":443", "https://example.com", false},
                {"*:443", "https://example.com", false},
                {"10.0.0.1:6443", "https://10.0.0.1:6443", true},
                {"10.0.0.1:6443", "https://10.0.0.1", false},
                {"[fd00::1]:6443", "https://[fd00::1]:6443", true},
                {"[fd00::1]:6443", "https://[fd00::1]", false},
                {"[fd00::1]", "https://[fd00::1]", false},
                {"[example.com]", "https://example.com", false},
                /* addresses and networks */
                {"10.0.0.1", "https://10.0.0.1", true},
                {"10.0.0.1", "https://10.0.0.10", false},
                {"10.0.0.1", "https://x.10.0.0.1", false},
                {"0.1", "https://10.0.0.1", false},
                {"::ffff:10.0.0.1", "https://10.0.0.1", true},
                {"fd00::1", "https://[fd00:0::1]:6443", true},
                {"10.0.0.0/8", "https://10.255.1.2:6443", true},
                {"10.0.0.0/8", "https://11.0.0.0", false},
                {"10.1.2.3/8", "https://10.9.9.9", true},
                {"172.16.0.0/12", "https://172.31.255.255", true},
                {"172.16.0.0/12", "https://172.32.0.0", false},
                {"10.0.0.1/32", "https://10.0.0.1", true},
                {"10.0.0.0/33", "https://10.0.0.1", false},
                {"10.0.0.0/", "https://10.0.0.0", false},
                {"10.0.0.0/8", "https://10.example.com", false},
                {"0.0.0.0/0", "https://8.8.8.8", true},
                {"0.0.0.0/0", "https://[fd00::1]", false},
                {"::/0", "https://[fd00::1]", true},
                {"::/0", "https://8.8.8.8", false},
                {"fd00::/8", "https://[fdff::1]", true},
                {"fd00::/8", "https://[fe80::1]", false},
                {"fd00::/129", "https://[fd00::1]", false},
                {"fe80::/10", "https://[fe80::1%25eth0]", true},
                {"010.0.0.1", "https://10.0.0.1", false},
                {"10.96.0.1,.svc,.cluster.local", "https://prometheus.monitoring.svc:9090", true},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free)
                char *got = choose(
                        (const char *const[]){"HTTPS_PROXY", "p", "HTTP_PROXY", "p", "NO_PROXY", row[i].list, NULL},
                        NULL, row[i].url);
                bool excepted = strstr(got, "NO_PROXY has") != NULL;
                if (excepted != row[i].excepted)
                        fail_msg("'%s' and %s: %s", row[i].list, row[i].url, got);
        }
}

static void addresses_are_read(void **state)
{
        (void)state;
        static const struct {
                const char *given, *shown, *full; /* shown NULL: refused */
        } row[] = {
                {"proxy", "http://proxy:80", "http://proxy:80"},
                {"proxy:3128", "http://proxy:3128", "http://proxy:3128"},
                {"10.0.0.1:3128/", "http://10.0.0.1:3128", "http://10.0.0.1:3128"},
                {"http://proxy", "http://proxy:80", "http://proxy:80"},
                {"HTTPS://proxy", "https://proxy:443", "https://proxy:443"},
                {"https://[fd00::1]/?x#y", "https://[fd00::1]:443", "https://[fd00::1]:443"},
                {"socks5://proxy", "socks5h://proxy:1080", "socks5h://proxy:1080"},
                {"socks5h://proxy:1", "socks5h://proxy:1", "socks5h://proxy:1"},
                {"http://me:" SECRET "@proxy:1", "http://proxy:1", "http://me:" SECRET "@proxy:1"},
                {"me:" SECRET "@proxy:1", "http://proxy:1", "http://me:" SECRET "@proxy:1"},
                {"http://me@proxy", "http://proxy:80", "http://me@proxy:80"},
                {"http://me:a%40b:" SECRET "@x@proxy", "http://proxy:80", "http://me:a%40b%3A" SECRET "%40x@proxy:80"},
                {"http://d\\me:!$&'()*+,;=@proxy", "http://proxy:80",
                 "http://d%5Cme:%21%24%26%27%28%29%2A%2B%2C%3B%3D@proxy:80"},
                {"ftp://me:" SECRET "@proxy", NULL, NULL},
                {"socks4://" SECRET "@proxy", NULL, NULL},
                {"http://", NULL, NULL},
                {"http://" SECRET "@", NULL, NULL},
                {"http://" SECRET "@:80", NULL, NULL},
                {"http://" SECRET "@proxy:port", NULL, NULL},
                {"http://" SECRET "@proxy:65536", NULL, NULL},
                {"http://" SECRET "@proxy:99999999999999", NULL, NULL},
                {"http://" SECRET "@[fd00::1", NULL, NULL},
                {"http://" SECRET "@[fd00::1]x", NULL, NULL},
                {"http://" SECRET "@a:b:c", NULL, NULL},
                {"http://" SECRET "@a b", NULL, NULL},
                {"http://" SECRET "%zz@proxy", NULL, NULL},
                {"http://" SECRET "%4@proxy", NULL, NULL},
                {"http://" SECRET "%0a@proxy", NULL, NULL},
                {"http://" SECRET "\n@proxy", NULL, NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct proxy_url u;
                struct err err = {0};
                int rc = proxy_url_parse(row[i].given, &u, &err);
                if ((rc == 0) != (row[i].shown != NULL))
                        fail_msg("'%s': %s", row[i].given, rc ? err.text : "taken");
                assert_null(strstr(err.text, SECRET));
                if (rc < 0)
                        continue;
                AUTO(mem_free) char *shown = proxy_url_text(&u);
                AUTO(mem_free) char *full = proxy_url_full(&u);
                assert_string_equal(shown, row[i].shown);
                assert_string_equal(full, row[i].full);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_variable_is_chosen),
                cmocka_unit_test(exceptions_are_kubectls),
                cmocka_unit_test(addresses_are_read),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
