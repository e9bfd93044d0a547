/*
 * Custom metrics in a cluster: which service the APIServices name, the front proxy's identity, and the CA that verifies
 * halflife's certificate. halflife takes a free API, and leaves another service's alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "../support/api.h"
#include "../support/halflife.h"
#include "../support/pki.h"
#include "../support/tmp.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "custom_metrics/api_registration.h"
#include "custom_metrics/front_proxy.h"

#define SERVICES "/apis/apiregistration.k8s.io/v1/apiservices/"
#define V1       "v1beta1.custom.metrics.k8s.io"
#define V2       "v1beta2.custom.metrics.k8s.io"
#define CONFIG   "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

static struct {
        struct api api;
        struct api_registration *custom;
        struct pki *ca, *next_ca;
        bool trusts;
        int told;
        char why[256];
} stage;

static void trust(void *arg, struct front_proxy *f, const char *why)
{
        (void)arg;
        stage.trusts = f != NULL;
        stage.told++;
        snprintf(stage.why, sizeof stage.why, "%s", why ? why : "");
        front_proxy_free(f);
}

static void put_config(struct pki *ca)
{
        AUTO(json_decref)
        json_t *map = json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                                "metadata", "name", "extension-apiserver-authentication", "namespace", "kube-system",
                                "data", "requestheader-client-ca-file", pki_ca(ca), "requestheader-allowed-names",
                                "[\"front-proxy-client\"]", "requestheader-username-headers", "[\"X-Remote-User\"]");
        char *text = json_dumps(map, 0);
        fake_put(stage.api.fake, "kube-apiserver", text);
        free(text);
}

static int set_up(void **state)
{
        (void)state;
        api_begin(&stage.api, &(struct fake_options){0});
        stage.ca = pki_new("front proxies");
        stage.next_ca = pki_new("front proxies, later");
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        api_registration_free(stage.custom);
        api_end(&stage.api);
        pki_free(stage.ca);
        pki_free(stage.next_ca);
        memset(&stage, 0, sizeof stage);
        return 0;
}

static void begin(void)
{
        const struct api_registration_options o = {.ns = "halflife", .service = "halflife", .trust = trust};
        stage.custom = api_registration_new(stage.api.client, &o);
}

static bool is_trusting(void *arg)
{
        (void)arg;
        return stage.trusts;
}

static bool is_told_why(void *arg)
{
        (void)arg;
        return stage.why[0] != '\0';
}

static bool until(bool (*holds)(void *arg))
{
        return api_until(&stage.api, holds, NULL);
}

static void test_ours(void **state)
{
        (void)state;
        put_config(stage.ca);
        api_put_service(&stage.api, "v1beta1", "halflife", "");
        api_put_service(&stage.api, "v1beta2", "halflife", ",\"caBundle\":\"b2xk\"");
        uint64_t version = fake_version(stage.api.fake);
        begin();
        assert_true(until(is_trusting));
        /* A look that finds all as it was tells nobody, and none writes anything. */
        api_registration_look(stage.custom);
        api_turn(&stage.api, 300);
        assert_int_equal(stage.told, 1);
        assert_int_equal(fake_version(stage.api.fake), version);
        put_config(stage.next_ca);
        api_registration_look(stage.custom);
        api_turn(&stage.api, 300);
        assert_int_equal(stage.told, 2);
}

/* One of the two versions is enough: clients of the group would be led to both. */
static void test_taken(void **state)
{
        (void)state;
        put_config(stage.ca);
        api_put_service(&stage.api, "v1beta1", "halflife", "");
        api_put_service(&stage.api, "v1beta2", "prometheus-adapter", "");
        begin();
        assert_true(until(is_told_why));
        assert_false(stage.trusts);
        assert_non_null(strstr(stage.why, "APIService '" V2 "' belongs to service 'halflife/prometheus-adapter'"));
        assert_int_equal(fake_delete(stage.api.fake, SERVICES V2), 200);
        api_registration_look(stage.custom);
        assert_true(until(is_trusting));
        api_put_service(&stage.api, "v1beta2", "other", ""); /* taken again, while it runs */
        api_registration_look(stage.custom);
        stage.why[0] = '\0';
        assert_true(until(is_told_why));
        assert_false(stage.trusts);
}

/* No service has registered the API: halflife is ready to serve it. */
static void test_nobodys(void **state)
{
        (void)state;
        put_config(stage.ca);
        begin();
        assert_true(until(is_trusting));
}

static void test_no_front_proxy(void **state)
{
        (void)state;
        api_put_service(&stage.api, "v1beta1", "halflife", "");
        begin();
        api_turn(&stage.api, 300);
        assert_int_equal(stage.told, 0);
        put_config(stage.ca);
        api_registration_look(stage.custom);
        assert_true(until(is_trusting));
}

/* Whose it is cannot be seen: nobody is let in. */
static void test_forbidden(void **state)
{
        (void)state;
        put_config(stage.ca);
        api_put_service(&stage.api, "v1beta1", "halflife", "");
        fake_deny(stage.api.fake, &(struct fake_rule){"get", "apiregistration.k8s.io", "apiservices", NULL});
        begin();
        api_turn(&stage.api, 300);
        assert_int_equal(stage.told, 0);
        fake_allow_all(stage.api.fake);
        api_registration_look(stage.custom);
        assert_true(until(is_trusting));
}

/* Whatever becomes of any one of its requests, the next look comes to the same end; and a half of an object is none. */
static void test_every_request_may_fail(void **state)
{
        (void)state;
        static const struct fake_fault ways[] = {
                {.status = 500}, {.refuse = true}, {.cut = true, .cut_after = 20}, {.status = 200, .body = "[]"},
                {.status = 403},
        };
        enum { REQUESTS = 3 }; /* the ConfigMap, two APIServices */
        for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
                for (unsigned nth = 0; nth < REQUESTS; nth++) {
                        struct fake_fault fault = ways[way];
                        fault.nth = nth;
                        fake_faults_clear(stage.api.fake);
                        put_config(stage.ca);
                        api_put_service(&stage.api, "v1beta1", "halflife", "");
                        api_put_service(&stage.api, "v1beta2", "halflife", "");
                        stage.trusts = false;
                        stage.why[0] = '\0';
                        fake_fault(stage.api.fake, &fault);
                        begin();
                        api_turn(&stage.api, 50);
                        fake_faults_clear(stage.api.fake);
                        api_registration_look(stage.custom);
                        if (stage.why[0] || !until(is_trusting))
                                fail_msg("way %zu, request %u", way, nth);
                        api_registration_free(stage.custom);
                        stage.custom = NULL;
                }
}

/* --- the program --- */

static void expect_refusal(const char *command)
{
        AUTO(mem_free) char *kubeconfig = tmp_path("kubeconfig");
        assert_true(fake_write_kubeconfig(stage.api.fake, kubeconfig));
        const char *const args[] = {command,
                                    "--kubeconfig",
                                    kubeconfig,
                                    "--namespace=halflife",
                                    "--database=",
                                    "--listen=",
                                    "--leader-elect=false",
                                    "--webhook-certificate=self",
                                    "--custom-metrics-listen=127.0.0.1:0",
                                    NULL};
        struct halflife *h = halflife_command(args);
        int code = halflife_await(h, 20000);
        AUTO(mem_free) char *said = halflife_log(h);
        if (code != 1 || !strstr(said, "belongs to service 'halflife/prometheus-adapter', not to 'halflife/halflife'"))
                fail_msg("%s: %d %s", command, code, said);
        halflife_free(h);
}

static void test_the_program_refuses(void **state)
{
        (void)state;
        put_config(stage.ca);
        api_put_service(&stage.api, "v1beta1", "prometheus-adapter", "");
        uint64_t version = fake_version(stage.api.fake);
        expect_refusal("run");
        expect_refusal("check");
        assert_int_equal(fake_version(stage.api.fake), version); /* and nothing was written */
}

#define STORY(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORY(test_ours),
                STORY(test_taken),
                STORY(test_nobodys),
                STORY(test_no_front_proxy),
                STORY(test_forbidden),
                STORY(test_every_request_may_fail),
                STORY(test_the_program_refuses),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
