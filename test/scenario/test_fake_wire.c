/* The test API server on the wire: faults, TLS, tokens, rules, metrics, and what it remembers of requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>
#include <curl/curl.h>
#include <pthread.h>

#include "../fake/apiserver.h"
#include "../support/fetch.h"
#include "../support/pick.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "base/yaml.h"

static int set_up(void **state)
{
        *state = fake_new(&(struct fake_options){0});
        return *state ? 0 : -1;
}

static int tear_down(void **state)
{
        fake_free(*state);
        return 0;
}

static const char spaces[] = "/api/v1/namespaces", system_space[] = "/api/v1/namespaces/kube-system";

static struct got ask(struct fake *f, const char *path)
{
        AUTO(mem_free) char *url = mem_printf("%s%s", fake_url(f), path);
        return fetch(&(struct fetch){.url = url});
}

/* --- faults --- */

static void test_faults(void **state)
{
        struct fake *f = *state;
        AUTO(got_release) struct got whole = ask(f, spaces);
        static const struct {
                struct fake_fault fault;
                long status;
                int curl;
                const char *header, *body; /* somewhere in them */
        } row[] = {
                {{.status = 429, .retry_after = 7, .body = "Too many requests", .type = "text/plain"},
                 429,
                 0,
                 "Retry-After: 7",
                 "Too many"},
                {{.status = 503, .retry_after = 1}, 503, 0, "Retry-After: 1", "\"retryAfterSeconds\":1"},
                {{.status = 500}, 500, 0, "application/json", "\"kind\":\"Status\""},
                {{.refuse = true}, 0, CURLE_GOT_NOTHING, "", ""},
                {{.garbage = "HELO there\r\n\r\n"}, 0, CURLE_UNSUPPORTED_PROTOCOL, "", ""},
                {{.cut = true, .cut_after = 40}, 200, CURLE_PARTIAL_FILE, "", "NamespaceList"},
                {{.cut = true}, 200, CURLE_PARTIAL_FILE, "", ""},
                {{.split_every = 1}, 200, 0, "", "kube-public"},
                {{.split_at = 10}, 200, 0, "", "kube-public"},
                {{.split_every = 200, .drip_ms = 1}, 200, 0, "", "kube-public"},
                {{.huge = 5 << 20}, 200, 0, "", "\"xxxxxxxx"},
                {{.huge = 100000, .body = "{\"items\":[\"%\"]}"}, 200, 0, "", "x\"]}"},
                {{.date_ms = 1000}, 200, 0, "Date: Thu, 01 Jan 1970 00:00:01 GMT", "kube-public"},
                {{.warning = "v1 is old"}, 200, 0, "Warning: 299 - \"v1 is old\"", "kube-public"},
                {{.delay_ms = 20}, 200, 0, "", "kube-public"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                fake_fault(f, &row[i].fault);
                int64_t start = mono_read().ns;
                AUTO(got_release) struct got g = ask(f, spaces);
                bool curl_good = g.curl == row[i].curl || (row[i].curl == CURLE_UNSUPPORTED_PROTOCOL && g.curl != 0);
                if (g.status != row[i].status || !curl_good || !strstr(g.headers, row[i].header) ||
                    !strstr(g.body, row[i].body))
                        fail_msg("row %zu: status %ld, curl %d, %s %.100s", i, g.status, g.curl, g.headers, g.body);
                if (row[i].fault.cut)
                        assert_int_equal(g.len, row[i].fault.cut_after);
                if (row[i].fault.split_every == 1)
                        assert_int_equal(g.chunks, whole.len);
                if (row[i].fault.delay_ms)
                        assert_true(mono_read().ns - start >= row[i].fault.delay_ms * 1000000);
                AUTO(got_release) struct got after = ask(f, spaces); /* once only */
                assert_string_equal(after.body, whole.body);
        }
}

static void test_faults_are_aimed(void **state)
{
        struct fake *f = *state;
        static const struct {
                const char *path;
                long status;
        } row[] = {{"/api/v1/nodes", 200},      {"/api/v1/namespaces", 200}, {"/api/v1/namespaces", 500},
                   {"/api/v1/namespaces", 500}, {"/api/v1/namespaces", 200}, {"/api/v1/namespaces/default", 200}};
        fake_fault(f, &(struct fake_fault){.verb = "list", .path = spaces, .nth = 1, .times = 2, .status = 500});
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                AUTO(got_release) struct got g = ask(f, row[i].path);
                assert_int_equal(g.status, row[i].status);
        }
        fake_fault(f, &(struct fake_fault){.verb = "GET", .times = FAKE_ALWAYS, .status = 502});
        for (int i = 0; i < 3; i++) {
                AUTO(got_release) struct got g = ask(f, system_space);
                assert_int_equal(g.status, 502);
        }
        fake_faults_clear(f);
        AUTO(got_release) struct got g = ask(f, system_space);
        assert_int_equal(g.status, 200);
}

static void test_watch_is_split_and_cut(void **state)
{
        struct fake *f = *state;
        static const char watch[] = "/api/v1/namespaces?watch=1&timeoutSeconds=1";
        AUTO(got_release) struct got whole = ask(f, watch);
        fake_fault(f, &(struct fake_fault){.verb = "watch", .split_every = 1});
        AUTO(got_release) struct got split = ask(f, watch);
        assert_string_equal(split.body, whole.body);
        assert_int_equal(split.chunks, split.len);
        fake_fault(f, &(struct fake_fault){.verb = "watch", .cut = true, .cut_after = 100});
        AUTO(got_release) struct got cut = ask(f, watch);
        assert_int_equal(cut.len, 100);
        assert_int_equal(cut.curl, CURLE_PARTIAL_FILE);
}

/* --- who is asking --- */

static void test_tokens_rotate(void **state)
{
        struct fake *f = *state;
        AUTO(mem_free) char *url = mem_printf("%s%s", fake_url(f), spaces);
        static const struct {
                const char *server, *client;
                long status;
        } row[] = {
                {"one", "one", 200}, {"one", NULL, 401}, {"two", "one", 401}, {"two", "two", 200}, {NULL, NULL, 200}};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                fake_set_token(f, row[i].server);
                AUTO(got_release) struct got g = fetch(&(struct fetch){.url = url, .token = row[i].client});
                assert_int_equal(g.status, row[i].status);
                if (g.status == 401)
                        assert_string_equal(pick_text(g.json, "message"), "Unauthorized");
        }
}

static bool may(struct fake *f, const char *verb, const char *group, const char *resource)
{
        AUTO(mem_free) char *url = mem_printf("%s/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", fake_url(f));
        AUTO(mem_free)
        char *body = mem_printf("{\"apiVersion\":\"authorization.k8s.io/"
                                "v1\",\"kind\":\"SelfSubjectAccessReview\",\"spec\":{\"resourceAttributes\":{\"verb\":"
                                "\"%s\",\"group\":\"%s\",\"resource\":\"%s\"}}}",
                                verb, group, resource);
        AUTO(got_release) struct got g = fetch(&(struct fetch){.url = url, .body = body, .type = "application/json"});
        assert_int_equal(g.status, 201);
        return strcmp(pick_text(g.json, "status.allowed"), "true") == 0;
}

static void test_rules(void **state)
{
        struct fake *f = *state;
        fake_deny(f, &(struct fake_rule){.verb = "list", .group = "apps", .resource = "deployments"});
        fake_deny(f, &(struct fake_rule){.verb = "get", .resource = "namespaces"});
        AUTO(got_release) struct got list = ask(f, "/apis/apps/v1/deployments");
        assert_int_equal(list.status, 403);
        assert_string_equal(
                pick_text(list.json, "message"),
                "deployments.apps is forbidden: User \"system:serviceaccount:halflife:halflife\" cannot list resource "
                "\"deployments\" in API group \"apps\" at the cluster scope");
        AUTO(got_release) struct got in = ask(f, "/apis/apps/v1/namespaces/default/deployments");
        assert_non_null(strstr(pick_text(in.json, "message"), "in API group \"apps\" in the namespace \"default\""));
        AUTO(got_release) struct got one = ask(f, system_space);
        assert_non_null(strstr(pick_text(one.json, "message"), "namespaces \"kube-system\" is forbidden"));
        assert_false(may(f, "list", "apps", "deployments"));
        assert_true(may(f, "watch", "apps", "deployments"));
        fake_allow_all(f);
        assert_true(may(f, "list", "apps", "deployments"));
}

static void test_tls(void **state)
{
        struct fake *other = *state, *f = fake_new(&(struct fake_options){.tls = true, .client_certificate = true});
        AUTO(mem_free) char *url = mem_printf("%s%s", fake_url(f), spaces);
        const char *ca = fake_ca(f), *certificate = fake_client_certificate(f), *key = fake_client_key(f);
        assert_null(fake_ca(other));
        AUTO(got_release)
        struct got good = fetch(&(struct fetch){.url = url, .ca = ca, .certificate = certificate, .key = key});
        assert_int_equal(good.curl, 0);
        assert_int_equal(good.status, 200);
        AUTO(got_release) struct got nobody = fetch(&(struct fetch){.url = url, .ca = ca});
        assert_int_equal(nobody.status, 401);
        AUTO(got_release) struct got stranger = fetch(&(struct fetch){.url = url});
        assert_int_equal(stranger.curl, CURLE_PEER_FAILED_VERIFICATION);
        fake_free(f);
}

static void test_kubeconfig(void **state)
{
        AUTO(mem_free) char *path = tmp_path("kubeconfig");
        struct fake *other = *state, *f = fake_new(&(struct fake_options){.tls = true, .token = "t0ken"});
        struct err err = {0};
        size_t len;
        assert_true(fake_write_kubeconfig(f, path));
        AUTO(mem_free) char *text = file_read(path, 1 << 20, &len, &err);
        AUTO(json_decref) json_t *c = yaml_read(text, len, &err);
        assert_string_equal(pick_text(c, "clusters[0].cluster.server"), fake_url(f));
        assert_true(strlen(pick_text(c, "clusters[0].cluster.certificate-authority-data")) > 100);
        assert_string_equal(pick_text(c, "users[0].user.token"), "t0ken");
        assert_string_equal(pick_text(c, "current-context"), "fake");
        fake_free(f);
        assert_false(fake_write_kubeconfig(other, "/nonexistent/kubeconfig"));
}

/* --- metrics --- */

static const char metrics[] = "/apis/metrics.k8s.io/v1beta1/pods";

static void put_pod(struct fake *f, const char *ns, const char *name, const char *annotations)
{
        AUTO(mem_free)
        char *body =
                mem_printf("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
                           "\"annotations\":{%s}},\"spec\":{\"containers\":[{\"name\":\"app\"},{\"name\":\"side\"}]}}",
                           name, ns, annotations);
        fake_put(f, "owner", body);
}

static bool only_b(void *arg, const char *ns, const char *pod, const char *container, int64_t at_ms, int64_t *ret_nano,
                   int64_t *ret_bytes)
{
        (void)arg, (void)ns, (void)at_ms;
        *ret_nano = strcmp(container, "app") == 0 ? 250019903 : 1000000000;
        *ret_bytes = 45678 * 1024;
        return strcmp(pod, "b") == 0;
}

static void test_metrics(void **state)
{
        struct fake *f = *state;
        fake_set_wall(f, 1700000012345);
        put_pod(f, "web-a", "a", "\"kwok.x-k8s.io/usage-cpu\":\"250m\",\"kwok.x-k8s.io/usage-memory\":\"64Mi\"");
        put_pod(f, "web", "b", "");
        AUTO(got_release) struct got g = ask(f, metrics);
        assert_string_equal(pick_text(g.json, "items[0].metadata.namespace"), "web"); /* by namespace, then name */
        assert_string_equal(pick_text(g.json, "items[1].containers"),
                            "[{\"name\":\"app\",\"usage\":{\"cpu\":\"250m\",\"memory\":\"64Mi\"}},{\"name\":\"side\","
                            "\"usage\":{\"cpu\":\"250m\","
                            "\"memory\":\"64Mi\"}}]");
        assert_string_equal(pick_text(g.json, "items[1].timestamp"), "2023-11-14T22:13:30Z");
        assert_string_equal(pick_text(g.json, "items[1].window"), "15.000s");
        assert_string_equal(pick_text(g.json, "metadata"), "{}");
        fake_set_metrics(f, &(struct fake_metrics){.usage = only_b, .step_ms = 1000, .late_ms = 30000});
        AUTO(got_release) struct got b = ask(f, metrics);
        assert_int_equal(json_array_size(pick(b.json, "items")), 1);
        assert_string_equal(pick_text(b.json, "items[0].containers[0].usage"),
                            "{\"cpu\":\"250019903n\",\"memory\":\"45678Ki\"}");
        assert_string_equal(pick_text(b.json, "items[0].containers[1].usage.cpu"), "1");
        assert_string_equal(pick_text(b.json, "items[0].timestamp"), "2023-11-14T22:13:02Z");
        AUTO(got_release) struct got one = ask(f, "/apis/metrics.k8s.io/v1beta1/namespaces/web/pods/b");
        assert_string_equal(pick_text(one.json, "kind"), "PodMetrics");
        AUTO(got_release) struct got none = ask(f, "/apis/metrics.k8s.io/v1beta1/namespaces/web-a/pods");
        assert_int_equal(json_array_size(pick(none.json, "items")), 0);
}

static void test_metrics_away(void **state)
{
        struct fake *f = *state;
        put_pod(f, "web", "a", "");
        static const struct {
                enum fake_metrics_mode mode;
                long status, group;
        } row[] = {{FAKE_METRICS_ON, 200, 200},
                   {FAKE_METRICS_MISSING, 404, 404},
                   {FAKE_METRICS_UNAVAILABLE, 503, 503},
                   {FAKE_METRICS_FROZEN, 200, 200}};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                fake_set_metrics(f, &(struct fake_metrics){.mode = row[i].mode});
                AUTO(got_release) struct got g = ask(f, metrics);
                AUTO(got_release) struct got group = ask(f, "/apis/metrics.k8s.io/v1beta1");
                assert_int_equal(g.status, row[i].status);
                assert_int_equal(group.status, row[i].group);
        }
        AUTO(got_release) struct got before = ask(f, metrics);
        fake_set_wall(f, fake_version(f) ? 4000000000000 : 0);
        AUTO(got_release) struct got after = ask(f, metrics);
        assert_string_equal(pick_text(before.json, "items[0].timestamp"), pick_text(after.json, "items[0].timestamp"));
}

/* --- memory --- */

static void test_requests_are_counted(void **state)
{
        struct fake *f = *state;
        AUTO(mem_free) char *url = mem_printf("%s/api/v1/namespaces/default/configmaps?fieldManager=me", fake_url(f));
        fake_count_reset(f);
        AUTO(got_release) struct got list = ask(f, spaces);
        AUTO(got_release) struct got one = ask(f, system_space);
        assert_int_equal(list.status + one.status, 400);
        may(f, "get", "", "pods");
        assert_int_equal(fake_count(f, "write", "/"), 0);
        AUTO(got_release)
        struct got post = fetch(&(struct fetch){.url = url,
                                                .body = "{\"metadata\":{\"name\":\"c\"}}",
                                                .type = "application/json",
                                                .agent = "halflife/1.0 (linux)"});
        assert_int_equal(post.status, 201);
        assert_int_equal(fake_count(f, "write", "/"), 1);
        assert_int_equal(fake_count(f, "GET", "/api/v1/namespaces"), 2);
        assert_int_equal(fake_count(f, "list", "/api/v1/namespaces"), 1);
        assert_int_equal(fake_count(f, NULL, "/"), 4);
        assert_true(fake_wait_count(f, "create", "/api/v1/namespaces/default/configmaps", 1, 0));
        assert_false(fake_wait_count(f, "create", "/api/v1/namespaces/default/configmaps", 2, 1));
        const struct fake_request *last = fake_last(f, "POST", "/api/v1/");
        assert_string_equal(last->agent, "halflife/1.0 (linux)");
        assert_string_equal(last->query, "fieldManager=me");
        assert_string_equal(last->body, "{\"metadata\":{\"name\":\"c\"}}");
        assert_int_equal(last->status, 201);
        assert_null(fake_last(f, "DELETE", "/"));
}

static void *ask_again_and_again(void *arg)
{
        struct fake *f = arg;
        for (int i = 0; i < 20; i++) {
                AUTO(got_release) struct got g = ask(f, i % 2 ? "/api/v1/pods" : metrics);
                if (g.status != 200)
                        return NULL;
        }
        return f;
}

static void test_many_at_once(void **state)
{
        struct fake *f = *state;
        pthread_t thread[4];
        void *good;
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(pthread_create(&thread[i], NULL, ask_again_and_again, f), 0);
        fake_world_demo(f, 30000);
        for (size_t i = 0; i < 4; i++) {
                pthread_join(thread[i], &good);
                assert_non_null(good);
        }
        assert_int_equal(fake_objects(f, "/api/v1/pods"), 26);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                ROW(test_faults),
                ROW(test_faults_are_aimed),
                ROW(test_watch_is_split_and_cut),
                ROW(test_tokens_rotate),
                ROW(test_rules),
                ROW(test_tls),
                ROW(test_kubeconfig),
                ROW(test_metrics),
                ROW(test_metrics_away),
                ROW(test_requests_are_counted),
                ROW(test_many_at_once),
        };
        curl_global_init(CURL_GLOBAL_DEFAULT);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
