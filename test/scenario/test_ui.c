/*
 * halflife ui: the page on loopback shows its user what the API server shows him, asks a halflife for the rest, and
 * refuses everybody else.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/fetch.h"
#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/mem.h"

enum { WAIT_MS = 20 * SECOND_MS };

static struct stage {
        struct fake *fake;
        struct halflife *ui;
        char *url; /* "http://127.0.0.1:4711/…/ui" */
} stage;

#define HOSTILE "<img src=x onerror=alert(1)>\xe2\x80\xae"

static void put_recommendation(const char *ns, const char *name)
{
        AUTO(mem_free)
        char *object = mem_printf(
                "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Recommendation\",\"metadata\":{\"name\":"
                "\"deployment-%s\",\"namespace\":\"%s\",\"annotations\":{\"halflife.dev/hold\":\"" HOSTILE "\"}},"
                "\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"%s\"},"
                "\"profileRef\":{\"kind\":\"ClusterProfile\",\"name\":\"pool\"},\"dimension\":\"Workload\"},"
                "\"status\":{\"state\":\"Ready\",\"containers\":[{\"name\":\"app\",\"state\":\"Ready\",\"cpu\":{"
                "\"original\":\"2\",\"current\":\"2\",\"model\":\"412m\",\"target\":\"454m\",\"lower\":\"380m\","
                "\"upper\":\"610m\",\"reason\":\"Lowered\"}}],\"saving\":{\"cpu\":\"4638m\",\"memory\":\"0\"}}}",
                name, ns, name);
        fake_put(stage.fake, "halflife", object);
}

static void begin_ui(const char *const *more)
{
        const char *args[16] = {"ui", "--no-browser"};
        for (int i = 2; *more && i < 15; i++)
                args[i] = *more++;
        stage.ui = halflife_command(args);
        assert_true(halflife_await_log(stage.ui, "Ctrl-C", 1, WAIT_MS));
        AUTO(mem_free) char *log = halflife_log(stage.ui);
        const char *at = strstr(log, "http://127.0.0.1:");
        assert_non_null(at);
        stage.url = mem_string_n(at, strcspn(at, "\n#"));
}

static void end_ui(void)
{
        halflife_signal(stage.ui, SIGINT);
        assert_int_equal(halflife_await(stage.ui, WAIT_MS), 0);
        halflife_free(stage.ui);
        mem_free(stage.url);
        stage.ui = NULL;
        stage.url = NULL;
}

static int begin(void **state)
{
        (void)state;
        struct fake *f = stage.fake = fake_new(&(struct fake_options){.seed = 7});
        assert_true(f && fake_load(f, "crds"));
        put_recommendation("shop", "web");
        put_recommendation("bank", "db");
        AUTO(mem_free) char *kubeconfig = tmp_path("ui-kubeconfig");
        assert_true(fake_write_kubeconfig(f, kubeconfig));
        setenv("HALFLIFE_KUBECONFIG", kubeconfig, 1);
        unsetenv("HALFLIFE_TOKEN");
        return 0;
}

static int end(void **state)
{
        (void)state;
        halflife_free(stage.ui);
        fake_free(stage.fake);
        mem_free(stage.url);
        stage = (struct stage){0};
        return 0;
}

/* path: behind the random one */
static struct got ask(const char *path, const char *header)
{
        AUTO(mem_free) char *url = mem_printf("%.*s%s", (int)(strlen(stage.url) - strlen("/ui")), stage.url, path);
        return fetch(&(struct fetch){.url = url, .header = header});
}

static void test_page(void **state)
{
        (void)state;
        begin_ui((const char *const[]){NULL});
        AUTO(got_release) struct got page = ask("/ui", NULL), script = ask("/ui/main.js", NULL);
        assert_int_equal(page.status, 200);
        assert_non_null(strstr(page.headers, "Content-Security-Policy: default-src 'none'"));
        assert_non_null(strstr(page.body, "ui/main.js"));
        assert_int_equal(script.status, 200);
        end_ui();
}

static void test_refusals(void **state)
{
        (void)state;
        static const struct {
                const char *path, *header;
                long want;
        } row[] = {
                {"/ui", "Host: evil.example", 403},
                {"/api/v1/workloads", "Host: localhost:1", 403},
                {"/api/v1/workloads", "Origin: http://evil.example", 403},
                {"/api/v1/workloads", "Origin: null", 403},
                {"/api/v1/workloads", "Sec-Fetch-Site: cross-site", 403},
                {"/api/v1/workloads", "Sec-Fetch-Site: same-origin", 200},
                {"/openapi.yaml", NULL, 404},
                {"/admission", NULL, 404},
                {"/api/v1/none", NULL, 404},
                {"/api/v1/workloads?limit=x", NULL, 400},
        };
        begin_ui((const char *const[]){NULL});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(got_release) struct got g = ask(row[i].path, row[i].header);
                if (g.status != row[i].want)
                        fail_msg("%s with %s: %ld, not %ld\n%s", row[i].path, row[i].header, g.status, row[i].want,
                                 g.body);
        }
        AUTO(mem_free) char *root = mem_printf("%.*s/ui", (int)strcspn(stage.url + 7, "/") + 7, stage.url);
        AUTO(got_release) struct got g = fetch(&(struct fetch){.url = root});
        assert_int_equal(g.status, 404); /* who does not know the path */
        AUTO(got_release) struct got post = fetch(&(struct fetch){.url = stage.url, .method = "POST", .body = "x"});
        assert_int_equal(post.status, 405);
        end_ui();
}

static json_t *cpu_of(json_t *status)
{
        return json_object_get(json_array_get(json_object_get(status, "containers"), 0), "cpu");
}

/* What kubectl shows is what the page is given, field by field. */
static void test_objects(void **state)
{
        (void)state;
        begin_ui((const char *const[]){"-n", "shop", NULL});
        AUTO(got_release)
        struct got all = ask("/api/v1/workloads?sort=name", NULL),
                   one = ask("/api/v1/namespaces/shop/workloads/deploy/web", NULL), sums = ask("/api/v1/summary", NULL),
                   csv = ask("/api/v1/workloads?output=csv", NULL);
        AUTO(mem_free)
        char *object =
                fake_get(stage.fake, "/apis/halflife.dev/v1alpha1/namespaces/shop/recommendations/deployment-web");
        json_t *told = json_object_get(one.json, "status"), *kubectl = json_loads(object, 0, NULL),
               *status = json_object_get(kubectl, "status");
        assert_int_equal(all.status, 200);
        assert_int_equal(json_integer_value(json_object_get(all.json, "total")), 2);
        assert_true(json_equal(cpu_of(told), cpu_of(status)));
        assert_true(json_equal(json_object_get(told, "saving"), json_object_get(status, "saving")));
        assert_string_equal(json_string_value(json_object_get(told, "hold")), HOSTILE); /* inert in the page */
        assert_null(json_object_get(one.json, "deploy")); /* other objects decide it, which were not read */
        assert_int_equal(json_integer_value(json_object_get(json_object_get(sums.json, "total"), "pods")), 6);
        assert_non_null(strstr(csv.body, "\"bank\",\"Deployment\",\"db\""));
        json_decref(kubectl);
        end_ui();
}

static void test_without_rights(void **state)
{
        (void)state;
        fake_deny(stage.fake, &(struct fake_rule){"list", "halflife.dev", "clusterprofiles", NULL});
        fake_deny(stage.fake, &(struct fake_rule){"list", "halflife.dev", "recommendations", "bank"});
        begin_ui((const char *const[]){NULL});
        AUTO(got_release)
        struct got shop = ask("/api/v1/namespaces/shop/workloads", NULL),
                   bank = ask("/api/v1/namespaces/bank/workloads", NULL),
                   one = ask("/api/v1/namespaces/bank/workloads/deploy/db", NULL),
                   profiles = ask("/api/v1/namespaces/shop/profiles", NULL);
        assert_int_equal(shop.status, 200);
        /* which profile selects it stands in the Recommendation, and no more of that profile is shown */
        assert_non_null(strstr(shop.body, "\"profile\":{\"kind\":\"ClusterProfile\",\"name\":\"pool\"}"));
        assert_non_null(strstr(profiles.body, "\"name\":\"pool\",\"canaryClosed\":false"));
        assert_non_null(strstr(profiles.body, "\"unlisted\":[\"list clusterprofiles"));
        assert_non_null(strstr(shop.body, "\"web\""));
        assert_int_equal(bank.status, 403);
        assert_int_equal(one.status, 403);
        assert_null(strstr(one.body, "454m"));
        end_ui();
        fake_allow_all(stage.fake);
}

/* Without a token the page says how to get one. */
static void test_learned(void **state)
{
        (void)state;
        begin_ui((const char *const[]){NULL});
        AUTO(got_release) struct got why = ask("/api/v1/namespaces/shop/workloads/deploy/web/explain", NULL);
        assert_int_equal(why.status, 401);
        assert_non_null(strstr(why.body, "HALFLIFE_TOKEN=$(kubectl create token"));
        end_ui();
}

/* With --server that halflife is asked for everything, with the user's token. */
static void test_server(void **state)
{
        (void)state;
        fake_person(stage.fake, "auditor", "auditor", NULL);
        fake_grant(stage.fake, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        struct halflife *h =
                halflife_start(stage.fake, "ui.db", (const char *const[]){"--serve-listen", "127.0.0.1:0", NULL});
        assert_true(halflife_await_cycles(h, stage.fake, 1, WAIT_MS));
        AUTO(mem_free) char *address = halflife_rest_address(h), *server = mem_printf("http://%s", address);
        setenv("HALFLIFE_TOKEN", "auditor", 1);
        begin_ui((const char *const[]){"--server", server, NULL});
        AUTO(got_release) struct got list = ask("/api/v1/workloads?limit=1", NULL), nodes = ask("/api/v1/nodes", NULL);
        assert_int_equal(list.status, 200);
        assert_int_equal(nodes.status, 403); /* as halflife says, in its own words */
        assert_non_null(strstr(nodes.body, "this needs permission to list nodes"));
        AUTO(got_release) struct got csv = ask("/api/v1/changes?output=csv", NULL);
        assert_non_null(strstr(csv.headers, "Content-Disposition: attachment;")); /* a file, not a window */
        AUTO(got_release) struct got again = ask("/api/v1/workloads?limit=1", "If-None-Match: *");
        assert_int_equal(again.status, 304);
        end_ui();
        unsetenv("HALFLIFE_TOKEN");
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
}

static void test_usage(void **state)
{
        (void)state;
        AUTO(mem_free) char *port = HALFLIFE_RUN(2, "ui", "--port", "70000"), *word = HALFLIFE_RUN(2, "ui", "web");
        assert_non_null(strstr(port, "70000"));
        assert_non_null(strstr(word, "takes no argument"));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_page),           cmocka_unit_test(test_refusals), cmocka_unit_test(test_objects),
                cmocka_unit_test(test_without_rights), cmocka_unit_test(test_learned),  cmocka_unit_test(test_server),
                cmocka_unit_test(test_usage),
        };
        return cmocka_run_group_tests(tests, begin, end);
}
