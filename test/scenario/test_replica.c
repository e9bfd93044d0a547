/*
 * halflife serve beside the halflife that learns, and alone: the same answers, soon after a change, without a write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/fetch.h"
#include "../support/replica_stage.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/mem.h"
#include "serving/certificate_authority.h"

#define SHOP "/api/v1/namespaces/shop/workloads"
#define WEB  SHOP "/deploy/storefront"
#define REC  "/apis/halflife.dev/v1alpha1/namespaces/shop/recommendations/deployment-storefront"

enum { LONG_MS = 60000 };

static struct replica_stage stage;

static int begin(void **state)
{
        (void)state;
        replica_stage_begin(&stage, true);
        fake_person(stage.fake, "auditor", "auditor", NULL);
        fake_grant(stage.fake, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        return 0;
}

static int end(void **state)
{
        (void)state;
        return replica_stage_end(&stage);
}

static struct got ask(const char *address, const char *path)
{
        AUTO(mem_free) char *url = mem_printf("http://%s%s", address, path);
        return fetch(&(struct fetch){.url = url, .token = "auditor"});
}

static void await_at(const char *address, const char *path, long want, const char *says)
{
        int64_t began = mono_read().ns;
        for (bool so = false; !so;) {
                AUTO(got_release) struct got g = ask(address, path);
                so = g.status == want && (strstr(g.body, says) || strstr(g.headers, says));
                if (!so && (mono_read().ns - began) / 1000000 > LONG_MS)
                        fail_msg("%s: %ld, not %ld with '%s'\n%s%s", path, g.status, want, says, g.headers, g.body);
                if (!so)
                        usleep(10000);
        }
}

static void await(const char *path, long want, const char *says)
{
        await_at(stage.address, path, want, says);
}

static void test_the_same_answers(void **state)
{
        (void)state;
        static const char *const paths[] = {WEB "?original=cpu:2,memory:4Gi",
                                            SHOP "/deploy/not-there?original=cpu:2,memory:4Gi",
                                            "/api/v1/workloads?fields=metadata,profile", SHOP "/deploy/not-there"};
        await(WEB, 200, "storefront");
        for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
                bool same = false;
                char why[2048] = "";
                for (int tries = 0; tries < LONG_MS / 50 && !same;
                     tries++) { /* the halflife that learns is a moment ahead */
                        AUTO(got_release) struct got a = ask(stage.learner_address, paths[i]);
                        AUTO(got_release) struct got b = ask(stage.address, paths[i]);
                        same = a.status == b.status && strcmp(a.body, b.body) == 0;
                        snprintf(why, sizeof why, "%.900s\n---\n%.900s", a.body, b.body);
                        if (!same)
                                usleep(50000);
                }
                if (!same)
                        fail_msg("%s:\n%s", paths[i], why);
        }
}

static void test_what_the_learner_knows(void **state)
{
        (void)state;
        await(WEB "/histogram?resource=cpu", 200, "bucket");
        await(WEB "/explain", 200, "ETag");
        await(SHOP "/deploy/not-there/explain", 404, "problems/not-found");
        await(WEB "/explain?percentile=900", 400, "percentile");
        await("/api/v1/report?by=cluster", 200, "\"allocatable\"");
        await("/api/v1/namespaces/shop/report?since=1h", 200, "\"name\":\"shop\"");
        await("/api/v1/report?since=1y", 400, "no time from 1h to 400d");
        AUTO(mem_free) char *log = halflife_log(stage.replica);
        assert_null(strstr(log, "auditor"));
}

/* An upstream that does not learn itself does not forward requests, as that could be a circle. */
static void test_a_learner_that_learns_nothing(void **state)
{
        (void)state;
        AUTO(mem_free) char *url = mem_printf("http://%s", stage.address);
        struct halflife *second = replica_stage_serve(&stage, url, NULL);
        AUTO(mem_free) char *address = halflife_rest_address(second);
        await_at(address, WEB "/explain", 503, "upstream-url leads to one that does not");
        assert_int_equal(halflife_stop(second), 0);
        halflife_free(second);
}

/* The cycles of the replica are ten minutes apart: what changes is seen by itself. */
static void test_a_change_is_seen_at_once(void **state)
{
        (void)state;
        assert_int_equal(fake_merge(stage.fake, REC, "kubectl",
                                    "{\"metadata\":{\"annotations\":{\"halflife.dev/hold\":\"incident\"}}}"),
                         200);
        await(WEB, 200, "\"Held\"");
        assert_int_equal(
                fake_merge(stage.fake, REC, "kubectl", "{\"metadata\":{\"annotations\":{\"halflife.dev/hold\":null}}}"),
                200);
}

static struct got admit_of(const char *address, const char *uid, const char *kind, const char *owner)
{
        AUTO(mem_free) char *url = mem_printf("http://%s/admission", address);
        AUTO(mem_free)
        char *body = mem_printf(
                "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"%s\","
                "\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"},\"operation\":\"CREATE\",\"namespace\":"
                "\"shop\",\"userInfo\":{\"username\":\"x\"},\"object\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
                "\"metadata\":{\"generateName\":\"a-\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
                "\"%s\",\"name\":\"%s\",\"uid\":\"r\",\"controller\":true}]},\"spec\":{\"containers\":[{"
                "\"name\":\"new\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}}}",
                uid, kind, owner);
        return fetch(&(struct fetch){.url = url, .type = "application/json", .body = body});
}

static struct got admit_at(const char *address, const char *uid, const char *owner)
{
        return admit_of(address, uid, "ReplicaSet", owner);
}

static struct got admit(const char *uid, const char *owner)
{
        return admit_at(stage.address, uid, owner);
}

/* What an operator owns by a kind of its own is the top of its chain: its pods are set all the same. */
static void test_what_an_operator_owns(void **state)
{
        (void)state;
        fake_put(stage.fake, "operator",
                 "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"owned\",\"namespace\":"
                 "\"shop\",\"ownerReferences\":[{\"apiVersion\":\"example.com/v1\",\"kind\":\"Tenant\",\"name\":\"t\","
                 "\"uid\":\"t\",\"controller\":true}]},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"o\":"
                 "\"p\"}},\"template\":{\"metadata\":{\"labels\":{\"o\":\"p\"}},\"spec\":{\"containers\":[{\"name\":"
                 "\"new\",\"image\":\"x\"}]}}}}");
        AUTO(mem_free) char *sets = fake_get(stage.fake, "/apis/apps/v1/namespaces/shop/replicasets");
        char *at = sets ? strstr(sets, "\"owned-") : NULL;
        assert_non_null(at);
        at[1 + strcspn(at + 1, "\"")] = '\0';
        const char *const addresses[] = {stage.learner_address, stage.address};
        for (int i = 0; i < 2; i++) {
                AUTO(got_release) struct got g = admit_at(addresses[i], "u-9", at + 1);
                if (!strstr(g.body, "\"patch\""))
                        fail_msg("door %d: %s", i, g.body);
        }
}

static void test_admission_of_an_owner_never_seen(void **state)
{
        (void)state;
        static const char sets[] = "/apis/apps/v1/namespaces/shop/replicasets/shy-1";
        static const char shy[] = "/apis/apps/v1/namespaces/shop/deployments/shy";
        fake_put(stage.fake, "kubectl",
                 "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"shy-1\",\"namespace\":"
                 "\"shop\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"shy\","
                 "\"uid\":\"d\",\"controller\":true}]},\"spec\":{\"replicas\":0,\"selector\":{\"matchLabels\":{\"a\":"
                 "\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":"
                 "\"new\",\"image\":\"x\"}]}}}}");
        AUTO(got_release) struct got first = admit("u-1", "shy-1");
        assert_int_equal(first.status, 200);
        assert_non_null(strstr(first.body, "\"patch\"")); /* the static factor */
        size_t gets = fake_count(stage.fake, "get", sets);
        assert_int_equal(gets, 1);
        assert_int_equal(fake_count(stage.fake, "get", shy), 1);
        AUTO(got_release) struct got second = admit("u-2", "shy-1");
        assert_non_null(strstr(second.body, "\"patch\""));
        assert_int_equal(fake_count(stage.fake, "get", sets), gets); /* kept */
        AUTO(got_release) struct got nobody = admit("u-3", "nobody");
        assert_int_equal(nobody.status, 200);
        assert_null(strstr(nobody.body, "\"patch\""));
}

/* Of a workload whose owner opted out the Recommendation tells; of one never seen, its own annotation. */
static void test_opting_out(void **state)
{
        (void)state;
        fake_put(stage.fake, "kubectl",
                 "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":\"out-1\",\"namespace\":"
                 "\"shop\",\"annotations\":{\"halflife.dev/apply\":\"Never\"}},\"spec\":{\"replicas\":0,\"selector\":{"
                 "\"matchLabels\":{\"c\":\"d\"}},\"template\":{\"metadata\":{\"labels\":{\"c\":\"d\"}},\"spec\":{"
                 "\"containers\":[{\"name\":\"new\",\"image\":\"x\"}]}}}}");
        AUTO(got_release) struct got out = admit("u-4", "out-1");
        assert_null(strstr(out.body, "\"patch\""));
        assert_int_equal(fake_merge(stage.fake, "/apis/apps/v1/namespaces/shop/deployments/storefront", "kubectl",
                                    "{\"metadata\":{\"annotations\":{\"halflife.dev/apply\":\"Never\"}}}"),
                         200);
        await(WEB "?original=cpu:2", 200, "OptedOut");
}

static bool nobody_watches_pods(struct fake *f, void *arg)
{
        (void)arg;
        return fake_watches(f, "/api/v1/pods") == 0;
}

/* Reviews that somebody makes up cost the API server so much and no more. */
static void test_owners_made_up(void **state)
{
        (void)state;
        enum { MADE_UP = 150, BURST = 100, A_SECOND = 50 };
        static const char sets[] = "/apis/apps/v1/namespaces/shop/replicasets/made-up-";
        int64_t began = mono_read().ns;
        for (int i = 0; i < MADE_UP; i++) {
                AUTO(mem_free) char *name = mem_printf("made-up-%d", i);
                AUTO(got_release) struct got g = admit("u-8", name);
                assert_int_equal(g.status, 200);
        }
        size_t looked = fake_count(stage.fake, "get", sets);
        double most = BURST + 5 + A_SECOND * (double)(mono_read().ns - began) / 1e9;
        if (looked < BURST || (double)looked > most)
                fail_msg("%zu look-ups, at most %.0f in that time", looked, most);
}

static void test_alone(void **state)
{
        (void)state;
        assert_int_equal(halflife_stop(stage.learner), 0);
        fake_count_reset(stage.fake);
        await(WEB "?original=cpu:2", 200, "storefront");
        await(WEB "/explain", 503, "cannot be asked");
        await(WEB "/explain", 503, "Retry-After");
        await("/api/v1/workloads", 200, "invoices");
        const struct fake_request *wrote = fake_last(stage.fake, "write", "/");
        if (wrote)
                fail_msg("%s %s", wrote->verb, wrote->path);
        assert_int_equal(fake_count(stage.fake, NULL, "/apis/metrics.k8s.io"), 0);
        assert_true(fake_wait(stage.fake, nobody_watches_pods, NULL, LONG_MS)); /* who did has gone */
        fake_stop(stage.fake);
        await(WEB "?original=cpu:2", 200, "Warning: 110");
        assert_true(fake_start(stage.fake));
}

static void put_set(const char *name, const char *annotations)
{
        AUTO(mem_free)
        char *json = mem_printf("{\"apiVersion\":\"apps/"
                                "v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"shop\","
                                "\"annotations\":{%s}},\"spec\":{\"replicas\":0,\"serviceName\":\"x\",\"selector\":{"
                                "\"matchLabels\":{\"g\":\"%s\"}},"
                                "\"template\":{\"metadata\":{\"labels\":{\"g\":\"%s\"}},\"spec\":{\"containers\":[{"
                                "\"name\":\"new\",\"image\":\"x\"}]}"
                                "}}}",
                                name, annotations, name, name);
        fake_put(stage.fake, "kubectl", json);
}

/* While a workload has no Recommendation (upstream is gone), its object is read for its labels and annotations. */
static void test_a_set_never_seen(void **state)
{
        (void)state;
        put_set("willing", "");
        put_set("unwilling", "\"halflife.dev/apply\":\"Never\"");
        AUTO(got_release) struct got willing = admit_of(stage.address, "u-5", "StatefulSet", "willing");
        assert_non_null(strstr(willing.body, "\"patch\""));
        AUTO(got_release) struct got unwilling = admit_of(stage.address, "u-6", "StatefulSet", "unwilling");
        assert_null(strstr(unwilling.body, "\"patch\""));
        assert_int_equal(fake_count(stage.fake, "get", "/apis/apps/v1/namespaces/shop/statefulsets/unwilling"), 1);
}

static void write_files(const struct certificate_authority *a)
{
        mem_free(tmp_file("learner.crt", a->cert));
        mem_free(tmp_file("learner.key", a->cert_key));
        mem_free(tmp_file("upstream-ca.crt", a->roots));
}

/* Upstream's certificate comes from a new authority, and both processes read their files again. */
static void test_another_vouches_for_the_learner(void **state)
{
        (void)state;
        static const char *const names[] = {"localhost"};
        struct certificate_authority a[2] = {0};
        enum certificate_authority_due due;
        struct err err = {0};
        for (int i = 0; i < 2; i++)
                assert_int_equal(certificate_authority_step(&a[i], names, 1, now_read().wall, &due, &err), 0);
        write_files(&a[0]);
        AUTO(mem_free) char *cert = tmp_path("learner.crt");
        AUTO(mem_free) char *key = tmp_path("learner.key");
        AUTO(mem_free) char *ca = tmp_path("upstream-ca.crt");
        stage.fake = fake_new(&(struct fake_options){.seed = 3});
        assert_true(fake_load(stage.fake, "crds"));
        fake_world_demo(stage.fake, 60 * SECOND_MS);
        fake_put(
                stage.fake, "kubectl",
                "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":{\"name\":\"all\"},"
                "\"spec\":{}}");
        fake_person(stage.fake, "auditor", "auditor", NULL);
        fake_grant(stage.fake, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        stage.learner = halflife_start(
                stage.fake, "vouched.db",
                (const char *const[]){"--serve-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, NULL});
        stage.learner_address = halflife_rest_address(stage.learner);
        assert_non_null(stage.learner_address);
        AUTO(mem_free) char *url = mem_printf("https://localhost%s", strrchr(stage.learner_address, ':'));
        stage.replica = replica_stage_serve(&stage, url, ca);
        stage.address = halflife_rest_address(stage.replica);
        assert_true(halflife_await_log(stage.replica, "caches synced", 1, LONG_MS));
        await(WEB "/explain", 200, "ETag");
        write_files(&a[1]);
        assert_true(halflife_await_log(stage.learner, "certificate read again", 1, LONG_MS));
        assert_true(halflife_await_log(stage.replica, "upstream CA read again", 1, LONG_MS));
        await(WEB "/explain", 200, "ETag");
        mem_free(tmp_file("upstream-ca.crt", "nonsense"));
        assert_true(halflife_await_log(stage.replica, "contains no certificate", 1, LONG_MS));
        await(WEB "/explain", 200, "ETag");
        assert_int_equal(halflife_stop(stage.learner), 0);
        for (int i = 0; i < 2; i++)
                certificate_authority_release(&a[i]);
}

/* Begun while the API server is away, it tells everybody to come again, admits pods as they are, and recovers. */
static void test_begun_without_an_api_server(void **state)
{
        (void)state;
        stage.fake = fake_new(&(struct fake_options){.seed = 3});
        assert_true(fake_load(stage.fake, "crds"));
        fake_put(
                stage.fake, "kubectl",
                "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":{\"name\":\"all\"},"
                "\"spec\":{\"overcommit\":\"Static\",\"static\":{\"cpu\":\"0.5\"},\"apply\":{\"mode\":\"OnDeploy\"}}}");
        fake_put(stage.fake, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"shop\"}}");
        fake_person(stage.fake, "auditor", "auditor", NULL);
        fake_grant(stage.fake, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        fake_stop(stage.fake);
        stage.replica = replica_stage_serve(&stage, NULL, NULL);
        stage.address = halflife_rest_address(stage.replica);
        assert_non_null(stage.address);
        await(WEB, 503, "Retry-After");
        assert_int_equal(halflife_get(stage.replica, "/readyz"), 503);
        assert_int_equal(halflife_get(stage.replica, "/healthz"), 200);
        AUTO(got_release) struct got pod = admit("u-1", "nobody");
        assert_int_equal(pod.status, 200);
        assert_null(strstr(pod.body, "\"patch\""));
        assert_true(fake_start(stage.fake));
        assert_true(halflife_await_log(stage.replica, "caches synced", 1, LONG_MS));
        await(WEB "?original=cpu:2", 200, "\"request\":\"1\""); /* the view comes a moment after */
        assert_int_equal(halflife_get(stage.replica, "/readyz"), 200);
}

/* Nobody is sent to a listener that has no certificate to show yet. */
static void test_ready_with_a_certificate(void **state)
{
        (void)state;
        stage.fake = fake_new(&(struct fake_options){.seed = 3});
        assert_true(fake_load(stage.fake, "crds"));
        fake_put(stage.fake, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"halflife-system\"}}");
        fake_put(stage.fake, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"halflife-certificate\","
                 "\"namespace\":\"halflife-system\"}}");
        struct halflife *h = halflife_start(
                stage.fake, "certified.db",
                (const char *const[]){"--serve-listen", "127.0.0.1:0", "--webhook-certificate", "self", NULL});
        assert_true(halflife_await_log(h, "halflife rotate makes it", 1, LONG_MS));
        assert_true(halflife_await_log(h, "caches synced", 1, LONG_MS));
        assert_int_equal(halflife_get(h, "/readyz"), 503);
        AUTO(mem_free) char *kubeconfig = tmp_path("kubeconfig");
        assert_true(fake_write_kubeconfig(stage.fake, kubeconfig));
        struct halflife *rotate = halflife_command(
                (const char *const[]){"rotate", "--kubeconfig", kubeconfig, "--namespace=halflife-system",
                                      "--listen=", "--webhook-certificate=self", NULL});
        assert_true(halflife_await_log(h, "certificate shown from now on", 1, LONG_MS));
        assert_true(
                halflife_await_metric(h, stage.fake, "halflife_certificate_expiration_timestamp_seconds", 1, LONG_MS));
        assert_int_equal(halflife_get(h, "/readyz"), 200);
        assert_int_equal(halflife_said(h, "PRIVATE"), 0);
        assert_int_equal(halflife_stop(rotate), 0);
        halflife_free(rotate);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
}

static void test_how_it_does_not_start(void **state)
{
        (void)state;
        static const char *const bad[] = {"http://learner.example.com", "http://127.0.0.1.example.com",
                                          "http://localhost@example.com", "learner"};
        stage.fake = fake_new(&(struct fake_options){0});
        struct halflife *h;
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
                h = replica_stage_serve(&stage, bad[i], NULL);
                assert_int_equal(halflife_await(h, LONG_MS), 1);
                assert_int_equal(halflife_said(h, "is refused: write https://"), 1);
                halflife_free(h);
        }
        h = halflife_command((const char *const[]){"serve", "word", NULL});
        assert_int_equal(halflife_await(h, LONG_MS), 2);
        assert_int_equal(halflife_said(h, "halflife serve: takes no arguments"), 1);
        halflife_free(h);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_the_same_answers, begin),
                cmocka_unit_test(test_what_the_learner_knows),
                cmocka_unit_test(test_a_learner_that_learns_nothing),
                cmocka_unit_test(test_a_change_is_seen_at_once),
                cmocka_unit_test(test_admission_of_an_owner_never_seen),
                cmocka_unit_test(test_what_an_operator_owns),
                cmocka_unit_test(test_opting_out),
                cmocka_unit_test(test_owners_made_up),
                cmocka_unit_test(test_alone),
                cmocka_unit_test_teardown(test_a_set_never_seen, end),
                cmocka_unit_test_teardown(test_another_vouches_for_the_learner, end),
                cmocka_unit_test_teardown(test_begun_without_an_api_server, end),
                cmocka_unit_test_teardown(test_ready_with_a_certificate, end),
                cmocka_unit_test_teardown(test_how_it_does_not_start, end),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
