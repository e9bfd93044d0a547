/*
 * The custom metrics listener over TLS: it answers the front proxy; other clients get the reason of the refusal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/fetch.h"
#include "../../support/pki.h"
#include "../../support/wire.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "custom_metrics/custom_metrics_listener.h"
#include "custom_metrics/front_proxy.h"
#include "http/server.h"

#define VALUES "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/halflife_pod_cpu_utilization"

struct scene {
        struct pki *serving, *proxies, *others;
        struct server *server;
        struct custom_metrics_listener *adapter;
};

static struct front_proxy *proxy_of(struct pki *p)
{
        struct front_proxy *f = NULL;
        struct err err = {0};
        AUTO(json_decref)
        json_t *map = json_pack("{s:{s:s, s:s, s:s}}", "data", "requestheader-client-ca-file", pki_ca(p),
                                "requestheader-allowed-names", "[\"front-proxy-client\"]",
                                "requestheader-username-headers", "[\"X-Remote-User\"]");
        assert_int_equal(front_proxy_read(map, &f, &err), 0);
        return f;
}

static void show_certificate(struct scene *s)
{
        struct err err = {0};
        AUTO(pki_pair_release) struct pki_pair pair = pki_issue(s->serving, &(struct pki_want){.name = "halflife"});
        assert_int_equal(custom_metrics_listener_set_certificate(s->adapter, pair.certificate, pair.key, &err), 0);
}

static void publish(struct scene *s)
{
        static const struct snapshot_pod pod[] = {
                {.ns = "shop", .name = "web-1", .labels = "", .at_ms = 1763700000000, .utilization = {632, -1}}};
        struct snapshot *v = snapshot_new();
        v->pod = pod;
        v->pods = 1;
        v->ready = true;
        snapshot_finish(v);
        server_publish(s->server, v);
}

static int begin(void **state)
{
        struct scene *s = MEM_NEW(struct scene);
        struct err err = {0};
        const struct server_options o = {.interval_ms = 1000};
        const struct custom_metrics_listener_options custom = {.listen = "127.0.0.1:0"};
        s->serving = pki_new("halflife's");
        s->proxies = pki_new("front proxies");
        s->others = pki_new("others");
        if (server_start(&o, &s->server, &err) < 0 ||
            custom_metrics_listener_open(&custom, server_views(s->server), &s->adapter, &err) < 0) {
                fprintf(stderr, "%s\n", err.text);
                return -1;
        }
        publish(s);
        *state = s;
        return 0;
}

static int end(void **state)
{
        struct scene *s = *state;
        custom_metrics_listener_close(s->adapter);
        server_stop(s->server);
        pki_free(s->serving);
        pki_free(s->proxies);
        pki_free(s->others);
        mem_free(s);
        return 0;
}

/* As whom; by NULL: without a certificate. */
struct caller {
        struct pki *by;
        const char *name, *header, *method, *path;
};

static struct got ask(struct scene *s, const struct caller *c)
{
        AUTO(mem_free)
        char *url = mem_printf("https://%s%s", custom_metrics_listener_address(s->adapter), c->path ? c->path : VALUES);
        AUTO(pki_pair_release)
        struct pki_pair pair = c->by ? pki_issue(c->by, &(struct pki_want){c->name, GNUTLS_KP_TLS_WWW_CLIENT, 0, 0})
                                     : (struct pki_pair){0};
        return fetch(&(struct fetch){.url = url,
                                     .method = c->method,
                                     .body = c->method ? "{}" : NULL,
                                     .header = c->header,
                                     .ca = pki_ca(s->serving),
                                     .certificate = pair.certificate,
                                     .key = pair.key});
}

#define USER "X-Remote-User: system:serviceaccount:kube-system:horizontal-pod-autoscaler"

static void expect(struct scene *s, const char *what, const struct caller *c, long status, const char *reason)
{
        AUTO(got_release) struct got g = ask(s, c);
        const char *kind = json_string_value(json_object_get(g.json, "kind"));
        const char *said = json_string_value(json_object_get(g.json, "reason"));
        const char *text = json_string_value(json_object_get(g.json, "message"));
        if (g.status != status || !kind || strcmp(kind, reason ? "Status" : "MetricValueList") != 0 ||
            (reason && (strcmp(said, reason) != 0 || !text || !*text)))
                fail_msg("%s: HTTP %ld (curl %d) %s", what, g.status, g.curl, g.body);
}

static void test_before_it_knows_whom_to_trust(void **state)
{
        struct scene *s = *state;
        show_certificate(s);
        expect(s, "not known yet", &(struct caller){s->proxies, "front-proxy-client", USER, NULL, NULL}, 503,
               "ServiceUnavailable");
        custom_metrics_listener_trust(s->adapter, NULL, "it belongs to another service");
        AUTO(got_release)
        struct got g = ask(s, &(struct caller){s->proxies, "front-proxy-client", USER, NULL, NULL});
        assert_int_equal(g.status, 503);
        assert_non_null(strstr(g.body, "it belongs to another service"));
}

static void test_who_is_let_in(void **state)
{
        struct scene *s = *state;
        static const char *const good = "front-proxy-client";
        custom_metrics_listener_trust(s->adapter, proxy_of(s->proxies), NULL);
        expect(s, "the front proxy", &(struct caller){s->proxies, good, USER, NULL, NULL}, 200, NULL);
        expect(s, "no certificate", &(struct caller){NULL, NULL, USER, NULL, NULL}, 401, "Unauthorized");
        expect(s, "nothing at all", &(struct caller){NULL, NULL, NULL, NULL, "/apis"}, 401, "Unauthorized");
        expect(s, "another CA's", &(struct caller){s->others, good, USER, NULL, NULL}, 401, "Unauthorized");
        expect(s, "another name", &(struct caller){s->proxies, "somebody", USER, NULL, NULL}, 403, "Forbidden");
        expect(s, "of nobody", &(struct caller){s->proxies, good, NULL, NULL, NULL}, 401, "Unauthorized");
        expect(s, "POST", &(struct caller){s->proxies, good, USER, "POST", NULL}, 405, "MethodNotAllowed");
        expect(s, "POST of a stranger", &(struct caller){s->others, good, USER, "POST", NULL}, 401, "Unauthorized");
        expect(s, "no such path", &(struct caller){s->proxies, good, USER, NULL, "/api/v1/secrets"}, 404, "NotFound");
        expect(s, "no such metric",
               &(struct caller){s->proxies, good, USER, NULL,
                                "/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/pods/*/requests"},
               404, "NotFound");
        expect(s, "a selector that is none",
               &(struct caller){s->proxies, good, USER, NULL, VALUES "?labelSelector=a%20in"}, 400, "BadRequest");
}

/* Six requests were refused with 4xx for who asked, four for what; each is counted once. */
static void test_counts(void **state)
{
        struct scene *s = *state;
        uint64_t answers[6];
        custom_metrics_listener_counts(s->adapter, answers);
        assert_int_equal(answers[2], 1);
        assert_int_equal(answers[4], 10);
        assert_int_equal(answers[5], 2);
        assert_int_equal(answers[0] + answers[1] + answers[3], 0);
}

/* The CA is exchanged while it runs: from then on the old one's proxies are strangers. */
static void test_another_ca(void **state)
{
        struct scene *s = *state;
        custom_metrics_listener_trust(s->adapter, proxy_of(s->others), NULL);
        expect(s, "the new one", &(struct caller){s->others, "front-proxy-client", USER, NULL, NULL}, 200, NULL);
        expect(s, "the old one", &(struct caller){s->proxies, "front-proxy-client", USER, NULL, NULL}, 401,
               "Unauthorized");
}

/* What is told, and that a new certificate is shown to those who come next. */
static void test_values_and_certificates(void **state)
{
        struct scene *s = *state;
        show_certificate(s);
        AUTO(got_release)
        struct got g =
                ask(s, &(struct caller){s->others, "front-proxy-client", USER, NULL, VALUES "?labelSelector=%21app"});
        const json_t *item = json_array_get(json_object_get(g.json, "items"), 0);
        assert_int_equal(g.status, 200);
        assert_string_equal(json_string_value(json_object_get(item, "value")), "632m");
        assert_non_null(strstr(g.headers, "application/json"));
}

/* Strangers of several addresses hold more connections than there are, and shake no hands. */
static void test_the_front_proxy_among_strangers(void **state)
{
        struct scene *s = *state;
        enum { ADDRESSES = 6, EACH = 40 };
        int held[ADDRESSES * EACH];
        for (int i = 0; i < ADDRESSES * EACH; i++)
                held[i] = wire_open_from(custom_metrics_listener_address(s->adapter), 2 + (unsigned)(i / EACH));
        expect(s, "the front proxy", &(struct caller){s->others, "front-proxy-client", USER, NULL, NULL}, 200, NULL);
        for (int i = 0; i < ADDRESSES * EACH; i++)
                close(held[i]);
}

static void test_half_a_certificate(void **state)
{
        struct scene *s = *state;
        struct custom_metrics_listener *half = NULL;
        struct err err = {0};
        const struct custom_metrics_listener_options o = {.listen = "127.0.0.1:0", .cert_file = "/nowhere/tls.crt"};
        assert_int_equal(custom_metrics_listener_open(&o, server_views(s->server), &half, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "belong together"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_before_it_knows_whom_to_trust),
                cmocka_unit_test(test_who_is_let_in),
                cmocka_unit_test(test_counts),
                cmocka_unit_test(test_another_ca),
                cmocka_unit_test(test_values_and_certificates),
                cmocka_unit_test(test_the_front_proxy_among_strangers),
                cmocka_unit_test(test_half_a_certificate),
        };
        return cmocka_run_group_tests(tests, begin, end);
}
