/*
 * The whole way in: callers with tokens, halflife's REST listener, the API server that knows them, and what happens
 * when tokens are revoked and when the API server is away.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/fetch.h"
#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/mem.h"

#define CI     "system:serviceaccount:shop:ci"
#define SHOP   "/api/v1/namespaces/shop/workloads"
#define WEB    SHOP "/deploy/storefront"
#define BANK   "/api/v1/namespaces/billing/workloads"
#define ABSENT "/deploy/no-such"

static struct {
        struct fake *fake;
        struct halflife *halflife;
        char *address;
        const char *ca, *scheme;
} stage;

static void grant(const char *user, const char *verb, const char *ns)
{
        fake_grant(stage.fake, &(struct fake_grant){user, verb, ns, NULL});
}

static void begin(const char *const *args)
{
        stage.fake = fake_new(&(struct fake_options){.seed = 3});
        assert_non_null(stage.fake);
        assert_true(fake_load(stage.fake, "crds"));
        fake_world_demo(stage.fake, 60 * SECOND_MS);
        fake_scrape_every(stage.fake, 1000);
        fake_put(
                stage.fake, "kubectl",
                "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":{\"name\":\"all\"},"
                "\"spec\":{}}");
        fake_person(stage.fake, "ci", CI, NULL);
        fake_person(stage.fake, "auditor", "auditor", NULL);
        fake_person(stage.fake, "bound", CI, "halflife");
        fake_person(stage.fake, "narrow", "narrow", NULL);
        grant(CI, "get", "shop");
        fake_grant(stage.fake, &(struct fake_grant){"narrow", "get", "shop", "deployment-storefront"});
        grant("auditor", NULL, NULL);
        stage.halflife = halflife_start(stage.fake, "serve.db", args);
        stage.address = halflife_rest_address(stage.halflife);
        stage.scheme = "http";
        stage.ca = NULL;
        assert_non_null(stage.address);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, 30000));
}

static int end(void **state)
{
        (void)state;
        int result = stage.halflife ? halflife_stop(stage.halflife) : 0;
        if (result != 0) {
                AUTO(mem_free) char *log = halflife_log(stage.halflife);
                fprintf(stderr, "%s", log);
        }
        halflife_free(stage.halflife);
        fake_free(stage.fake);
        mem_free(stage.address);
        memset(&stage, 0, sizeof stage);
        return result;
}

static struct got get(const char *path, const char *token)
{
        AUTO(mem_free) char *url = mem_printf("%s://%s%s", stage.scheme, stage.address, path);
        return fetch(&(struct fetch){.url = url, .token = token, .ca = stage.ca});
}

static void check(const char *path, const char *token, long want, const char *says)
{
        AUTO(got_release) struct got g = get(path, token);
        if (g.status != want || (!strstr(g.body, says) && !strstr(g.headers, says)))
                fail_msg("%s by '%s': %ld, not %ld with '%s'\n%s%s", path, token ? token : "", g.status, want, says,
                         g.headers, g.body);
}

/* Wait until it is so. Returns after how many milliseconds. */
static int64_t await(const char *path, const char *token, long want, const char *says, int64_t timeout_ms)
{
        int64_t began = mono_read().ns, took;
        bool so = false;
        while (!so) {
                AUTO(got_release) struct got g = get(path, token);
                took = (mono_read().ns - began) / 1000000;
                so = g.status == want && (strstr(g.body, says) || strstr(g.headers, says));
                if (!so && took > timeout_ms)
                        fail_msg("%s by '%s': %ld, not %ld with '%s', after %lld ms\n%s%s", path, token, g.status, want,
                                 says, (long long)took, g.headers, g.body);
                if (!so)
                        usleep(20000);
        }
        return took;
}

/* --- scenes on one stage --- */

static void test_who_may_read_what(void **state)
{
        (void)state;
        begin((const char *const[]){"--serve-listen", "127.0.0.1:0", NULL});
        check(WEB, "ci", 200, "\"storefront\"");
        check(WEB "/explain", "ci", 200, "\"cpu\"");
        check(WEB "/histogram?resource=cpu", "ci", 200, "bucket");
        check(SHOP ABSENT, "ci", 404, "problems/not-found");
        check(SHOP, "ci", 403, "problems/forbidden");
        check(BANK "/deploy/invoices", "ci", 403, "problems/forbidden");
        check(BANK ABSENT, "ci", 403, "problems/forbidden");
        check(WEB, "narrow", 200, "storefront");
        check(WEB "/explain", "narrow", 200, "cpu");
        check(SHOP "/deploy/checkout", "narrow", 403, "problems/forbidden");
        check(WEB, "stranger", 401, "WWW-Authenticate");
        check(WEB, NULL, 401, "WWW-Authenticate");
        check(SHOP, "auditor", 200, "storefront");
        check("/api/v1/workloads", "auditor", 200, "invoices");
        check("/openapi.yaml", NULL, 200, "openapi:");
        AUTO(got_release) struct got there = get(BANK "/deploy/invoices", "ci");
        AUTO(got_release) struct got absent = get(BANK ABSENT, "ci");
        assert_string_equal(there.body, absent.body);
        const struct fake_request *last = fake_last(stage.fake, "review", "/apis/authorization.k8s.io");
        assert_non_null(strstr(last->body, "\"recommendations\""));
        AUTO(mem_free) char *log = halflife_log(stage.halflife);
        assert_null(strstr(log, "stranger")); /* tokens are nobody's business */
}

static void test_asked_once_in_ten_seconds(void **state)
{
        (void)state;
        static const char reviews[] = "/apis/authentication.k8s.io/v1/tokenreviews";
        fake_person(stage.fake, "again", "auditor", NULL);
        check(SHOP, "again", 200, "");
        size_t asked = fake_count(stage.fake, "review", reviews);
        int64_t began = mono_read().ns;
        for (int i = 0; i < 50; i++)
                check(SHOP, "again", 200, "");
        if ((mono_read().ns - began) / 1000000 < 9000)
                assert_int_equal(fake_count(stage.fake, "review", reviews), asked);
}

static void test_admission(void **state)
{
        (void)state;
        static const char review[] =
                "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-%s\","
                "\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"operation\":\"CREATE\",\"namespace\":"
                "\"shop\",\"userInfo\":{\"username\":\"x\"},\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
                "\"metadata\":{\"generateName\":\"a-\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
                "\"ReplicaSet\",\"name\":\"%s\",\"uid\":\"r\",\"controller\":true}]},\"spec\":{\"containers\":[{"
                "\"name\":"
                "\"app\"}]}}}}";
        AUTO(mem_free) char *url = mem_printf("http://%s/admission", stage.address);
        static const char unknown[] = "/apis/apps/v1/namespaces/shop/replicasets/nobody";
        AUTO(mem_free) char *of_nobody = mem_printf(review, "1", "nobody");
        AUTO(got_release)
        struct got g = fetch(&(struct fetch){.url = url, .type = "application/json", .body = of_nobody});
        assert_int_equal(g.status, 200);
        assert_non_null(strstr(g.body, "\"u-1\""));
        assert_int_equal(fake_count(stage.fake, "get", unknown), 1); /* one look-up */
        AUTO(mem_free) char *sets = fake_get(stage.fake, "/apis/apps/v1/namespaces/shop/replicasets");
        assert_non_null(sets);
        char *at = strstr(sets, "storefront-"), name[64] = "";
        assert_non_null(at);
        at[strcspn(at, "\"")] = '\0';
        snprintf(name, sizeof name, "%s", at);
        AUTO(mem_free) char *of_web = mem_printf(review, "2", name);
        size_t gets = fake_count(stage.fake, "get", "/apis/apps/v1/namespaces/shop/replicasets");
        AUTO(got_release)
        struct got known = fetch(&(struct fetch){.url = url, .type = "application/json", .body = of_web});
        assert_int_equal(known.status, 200);
        assert_int_equal(fake_count(stage.fake, "get", "/apis/apps/v1/namespaces/shop/replicasets"), gets);
        assert_true(halflife_await_metric(stage.halflife, stage.fake, "halflife_admissions_total{result=\"no_owner\"}",
                                          1, 10000));
        /* halflife's own writes pass unchanged: it has looked up its own user name */
        static const char own[] = "\"username\":\"system:serviceaccount:halflife:halflife\"";
        static const char anybody[] = "\"username\":\"x\"";
        char *user = strstr(of_nobody, anybody);
        AUTO(mem_free)
        char *by_us = mem_printf("%.*s%s%s", (int)(user - of_nobody), of_nobody, own, user + strlen(anybody));
        AUTO(got_release)
        struct got ours = fetch(&(struct fetch){.url = url, .type = "application/json", .body = by_us});
        assert_int_equal(ours.status, 200);
        assert_true(halflife_await_metric(stage.halflife, stage.fake, "halflife_admissions_total{result=\"own\"}", 1,
                                          10000));
}

static void test_a_revoked_token(void **state)
{
        (void)state;
        check(WEB, "ci", 200, "");
        int64_t began = mono_read().ns;
        fake_person(stage.fake, "ci", NULL, NULL);
        await(WEB, "ci", 401, "", 15000);
        int64_t took = (mono_read().ns - began) / 1000000;
        assert_in_range(took, 0, 11000);
        check(BANK "/deploy/invoices", "auditor", 200, "");
}

static void test_the_api_server_is_away(void **state)
{
        (void)state;
        check(WEB, "auditor", 200, "");
        fake_stop(stage.fake);
        await(WEB, "newcomer", 503, "Retry-After", 10000);
        check(WEB, "auditor", 200, "");
        await(WEB, "auditor", 200, "Warning: 199", 15000);
        check(WEB, "another", 503, "Retry-After");
        check("/api/v1/workloads", NULL, 401, "");
        assert_true(halflife_said(stage.halflife, "callers cannot be checked") == 1);
        assert_true(fake_start(stage.fake));
        await(WEB, "newcomer", 401, "", 15000);
        AUTO(got_release) struct got g = get(WEB, "auditor");
        assert_int_equal(g.status, 200);
        assert_null(strstr(g.headers, "Warning: 199"));
}

/* --- other ways to start --- */

static void test_audience_and_tls(void **state)
{
        (void)state;
        struct fake *pki = fake_new(&(struct fake_options){.tls = true});
        AUTO(mem_free) char *cert = tmp_file("tls.crt", fake_client_certificate(pki));
        AUTO(mem_free) char *key = tmp_file("tls.key", fake_client_key(pki));
        begin((const char *const[]){"--serve-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key,
                                    "--token-audience", "halflife", NULL});
        stage.scheme = "https";
        stage.ca = fake_ca(pki);
        check(WEB, "bound", 200, "storefront");
        check(WEB, "ci", 401, "audience");
        check(BANK, "bound", 403, "");
        fake_free(pki);
        stage.ca = NULL;
}

static void test_how_it_does_not_start(void **state)
{
        (void)state;
        static const struct {
                const char *args[8];
                const char *says;
        } row[] = {
                {{"--serve-listen", ":0", NULL}, "is not a loopback address"},
                {{"--serve-listen", "0.0.0.0:0", NULL}, "give a certificate and its key"},
                {{"--serve-listen", "127.0.0.1:0", "--tls-cert", "/nowhere", NULL}, "belong together"},
                {{"--serve-listen", ":0", "--tls-cert", "/nowhere", "--tls-key", "/nowhere", NULL}, "/nowhere"},
        };
        struct fake *f = fake_new(&(struct fake_options){0});
        AUTO(mem_free) char *config = tmp_path("elsewhere");
        assert_true(fake_write_kubeconfig(f, config));
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const char *args[20] = {"run",         "--kubeconfig", config,       "--database",
                                        "/dev/null/x", "--listen",     "127.0.0.1:0"};
                memcpy(args + 7, row[i].args, sizeof row[i].args);
                struct halflife *h = halflife_command(args);
                int result = halflife_await(h, 20000);
                AUTO(mem_free) char *log = halflife_log(h);
                if (result != 1 || !strstr(log, row[i].says))
                        fail_msg("row %zu: %d, %s", i, result, log);
                halflife_free(h);
        }
        fake_free(f);
}

/* The permissions it takes are asked for only where there is a REST listener. */
static void test_check_knows(void **state)
{
        (void)state;
        static const char missing[] = "no permission to create tokenreviews.authentication.k8s.io";
        struct fake *f = fake_new(&(struct fake_options){0});
        AUTO(mem_free) char *config = tmp_path("checked");
        assert_true(fake_load(f, "crds") && fake_write_kubeconfig(f, config));
        fake_deny(f, &(struct fake_rule){"create", "authentication.k8s.io", "tokenreviews", NULL});
        for (int served = 0; served < 2; served++) {
                AUTO(mem_free) char *database = tmp_path("checked.db");
                const char *args[] = {"check",  "--kubeconfig",
                                      config,   "--database",
                                      database, served ? "--serve-listen" : NULL,
                                      ":8443",  NULL};
                struct halflife *h = halflife_command(args);
                int result = halflife_await(h, 20000);
                AUTO(mem_free) char *log = halflife_log(h);
                if (result != served || (strstr(log, missing) != NULL) != (served == 1))
                        fail_msg("%d: %s", result, log);
                if (!strstr(log, "permissions granted to system:serviceaccount:halflife:halflife\n"))
                        fail_msg("whose permissions are they? %s", log);
                halflife_free(h);
        }
        fake_free(f);
}

/* What run would leave out or refuse of usage, and why. */
static void test_check_tells_of_usage(void **state)
{
        (void)state;
        static const struct {
                const char *note, *value, *says;
        } row[] = {
                {"none", "", "ok    usage of 1 pod"},
                {"fake/usage-extra", "{}",
                 "warn  usage of 1 pod has containers without a name or with unreadable values, or more than 64, "
                 "first default/one"},
                {"fake/usage-ahead-ms", "400000", "warn  usage of 1 pod is dated up to"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct fake *f = fake_new(&(struct fake_options){0});
                AUTO(mem_free) char *config = tmp_path("usage"), *database = tmp_path("usage.db");
                AUTO(mem_free)
                char *pod = mem_printf(
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"one\",\"namespace\":"
                        "\"default\",\"annotations\":{\"%s\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"a\","
                        "\"image\":\"a\"}]},\"status\":{\"phase\":\"Running\"}}",
                        row[i].note, row[i].value);
                const char *const args[] = {"check", "--kubeconfig", config, "--database", database, NULL};
                assert_true(fake_load(f, "crds") && fake_write_kubeconfig(f, config));
                fake_put(f, "kubectl", pod);
                struct halflife *h = halflife_command(args);
                (void)halflife_await(h, 20000);
                AUTO(mem_free) char *log = halflife_log(h);
                if (!strstr(log, row[i].says))
                        fail_msg("not '%s': %s", row[i].says, log);
                halflife_free(h);
                fake_free(f);
        }
}

/* A policy that refuses a patch of halflife's own Deployment bounds what halflife writes. */
static void test_check_tells_of_the_policy(void **state)
{
        (void)state;
        static const struct {
                struct fake_fault answer;
                const char *says;
        } row[] = {
                {{.times = 0}, "warn  no policy of the API server bounds what halflife writes"},
                {{.status = 404}, "warn  cannot tell whether a policy bounds what halflife writes"},
                {{.status = 403,
                  .body = "{\"kind\":\"Status\",\"message\":\"ValidatingAdmissionPolicy 'halflife' with binding "
                          "'halflife' denied request: halflife writes nothing in an exempt namespace\",\"code\":403}"},
                 "ok    a policy of the API server bounds what halflife writes"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct fake *f = fake_new(&(struct fake_options){0});
                AUTO(mem_free) char *config = tmp_path("bounded"), *database = tmp_path("bounded.db");
                const char *const args[] = {"check",  "--kubeconfig", config,     "--database",
                                            database, "--namespace",  "halflife", NULL};
                assert_true(fake_load(f, "crds") && fake_write_kubeconfig(f, config));
                fake_put(f, "kubectl",
                         "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"halflife\"}}");
                fake_put(f, "kubectl",
                         "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"halflife\","
                         "\"namespace\":\"halflife\"},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
                         "\"template\":"
                         "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":"
                         "\"a\"}]}}}}");
                struct fake_fault answer = row[i].answer;
                answer.verb = "patch";
                if (answer.status)
                        fake_fault(f, &answer);
                struct halflife *h = halflife_command(args);
                (void)halflife_await(h, 20000);
                AUTO(mem_free) char *log = halflife_log(h);
                if (!strstr(log, row[i].says))
                        fail_msg("not '%s': %s", row[i].says, log);
                halflife_free(h);
                fake_free(f);
        }
}

/* The account of halflife rotate: a line for each of its permissions, where the certificate is in a Secret. */
static void test_check_knows_rotate(void **state)
{
        (void)state;
        static const char *const lines[] = {
                "get secrets 'halflife-certificate'", "update secrets 'halflife-certificate'",
                "get mutatingwebhookconfigurations 'halflife'", "patch mutatingwebhookconfigurations 'halflife'"};
        struct fake *f = fake_new(&(struct fake_options){0});
        AUTO(mem_free) char *config = tmp_path("rotated"), *database = tmp_path("rotated.db");
        assert_true(fake_load(f, "crds") && fake_write_kubeconfig(f, config));
        for (int granted = 0; granted < 2; granted++) {
                for (int i = 0; granted && i < 2; i++)
                        fake_grant_resource(f, "system:serviceaccount:halflife:halflife-rotate",
                                            i ? "secrets" : "mutatingwebhookconfigurations");
                AUTO(mem_free)
                char *said = HALFLIFE_RUN(!granted, "check", "--kubeconfig", config, "--namespace=halflife",
                                          "--database", database, "--webhook-certificate=self");
                for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
                        AUTO(mem_free)
                        char *line = mem_printf("%s  halflife-rotate %s %s",
                                                granted ? "ok  "
                                                : i < 2 ? "FAIL"
                                                        : "warn",
                                                granted ? "may" : "may not", lines[i]);
                        if (!strstr(said, line))
                                fail_msg("no '%s': %s", line, said);
                }
        }
        fake_free(f);
}

/* A kind of a profile that may not be read: the rule to apply is printed. */
static void test_check_prints_the_rule(void **state)
{
        (void)state;
        struct fake *f = fake_new(&(struct fake_options){0});
        AUTO(mem_free) char *config = tmp_path("kinds"), *database = tmp_path("kinds.db");
        const char *const args[] = {"check", "--kubeconfig", config, "--database", database, NULL};
        assert_true(fake_load(f, "crds") && fake_write_kubeconfig(f, config));
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{"
                 "\"name\":\"workers.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\","
                 "\"names\":{\"kind\":\"Worker\",\"plural\":\"workers\",\"singular\":\"worker\"},\"versions\":[{"
                 "\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
                 "\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}");
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":{\"name\":\"w\"},"
                 "\"spec\":{\"targets\":[{\"apiVersion\":\"example.com/v1\",\"kind\":\"Worker\"},{\"apiVersion\":"
                 "\"example.com/v1\",\"kind\":\"Ghost\"},{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}],"
                 "\"apply\":{\"mode\":\"Rollout\",\"hpa\":\"Retune\",\"startup\":{\"request\":\"Original\"}}}}");
        static const char *const says[2][5] = {
                {"kind workers.example.com, which a profile targets", "targets Ghost of example.com/v1, a kind", "ok ",
                 "ok    permissions to retune autoscalers",
                 "ok    permissions to resize pods, for a profile with apply.startup Original"},
                {"no permission to read and patch workers.example.com", "name: halflife-controller-workers.example.com",
                 "verbs: [get, list, watch, patch]", "no permission to patch horizontalpodautoscalers.autoscaling",
                 "no permission to patch pods/resize"}};
        for (int denied = 0; denied < 2; denied++) {
                if (denied) {
                        fake_deny(f, &(struct fake_rule){"patch", "example.com", "workers", NULL});
                        fake_deny(f, &(struct fake_rule){"patch", "autoscaling", "horizontalpodautoscalers", NULL});
                        fake_deny(f, &(struct fake_rule){"patch", "", "pods/resize", NULL});
                }
                struct halflife *h = halflife_command(args);
                int result = halflife_await(h, 20000);
                AUTO(mem_free) char *log = halflife_log(h);
                for (int i = 0; i < 5; i++)
                        if (result != denied || !strstr(log, says[denied][i]))
                                fail_msg("%d, no '%s': %s", result, says[denied][i], log);
                halflife_free(h);
        }
        fake_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_who_may_read_what),
                cmocka_unit_test(test_asked_once_in_ten_seconds),
                cmocka_unit_test(test_admission),
                cmocka_unit_test(test_a_revoked_token),
                cmocka_unit_test_teardown(test_the_api_server_is_away, end),
                cmocka_unit_test_teardown(test_audience_and_tls, end),
                cmocka_unit_test(test_how_it_does_not_start),
                cmocka_unit_test(test_check_knows),
                cmocka_unit_test(test_check_tells_of_usage),
                cmocka_unit_test(test_check_tells_of_the_policy),
                cmocka_unit_test(test_check_knows_rotate),
                cmocka_unit_test(test_check_prints_the_rule),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
