/* The metrics API in each version that there is: halflife run learns from it, halflife check names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/mem.h"

static const char workload[] =
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"namespace\":"
        "\"shop\"},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"template\":{"
        "\"metadata\":"
        "{\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"app\",\"resources\":"
        "{\"requests\":{\"cpu\":\"2\"}}}]}}}}";
static const char profile[] =
        "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{\"name\":\"team\",\"namespace\":"
        "\"shop\"},\"spec\":{\"apply\":{\"mode\":\"Recommend\",\"minHistory\":\"0s\"}}}";

static struct fake *cluster_new(const char *versions)
{
        struct fake *f = fake_new(&(struct fake_options){.seed = 3});
        assert_true(f && fake_load(f, "crds"));
        fake_set_metrics(f, &(struct fake_metrics){.versions = versions, .step_ms = 1000});
        fake_put(f, "kubectl", "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"shop\"}}");
        fake_put(f, "kubectl", profile);
        fake_put(f, "kubectl", workload);
        return f;
}

static void test_run_learns(void **state)
{
        (void)state;
        static const struct {
                const char *served, *read, *never;
        } row[] = {
                {"v1beta1", "v1beta1", "v1"},
                {"v1", "v1", "v1beta1"},
                {"v1beta1 v1", "v1", "v1beta1"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct fake *f = cluster_new(row[i].served);
                struct halflife *h = halflife_start(f, "versions.db", (const char *const[]){NULL});
                if (!halflife_await_metric(h, f, "halflife_recommendations{state=\"Ready\"}", 1, 60000))
                        fail_msg("%s: nothing is learned", row[i].served);
                AUTO(mem_free) char *read = mem_printf("/apis/metrics.k8s.io/%s/", row[i].read);
                AUTO(mem_free) char *never = mem_printf("/apis/metrics.k8s.io/%s/", row[i].never);
                assert_true(fake_count(f, "list", read) > 0);
                assert_int_equal(fake_count(f, NULL, never), 0);
                assert_int_equal(halflife_stop(h), 0);
                halflife_free(h);
                fake_free(f);
        }
}

/* metrics-server is replaced by one of v1 alone while halflife runs: nothing is missed. */
static void test_run_goes_on(void **state)
{
        (void)state;
        struct fake *f = cluster_new("v1beta1");
        struct halflife *h = halflife_start(f, "replaced.db", (const char *const[]){NULL});
        assert_true(halflife_await_metric(h, f, "halflife_recommendations{state=\"Ready\"}", 1, 60000));
        fake_set_metrics(f, &(struct fake_metrics){.versions = "v1", .step_ms = 1000});
        assert_true(fake_wait_count(f, "list", "/apis/metrics.k8s.io/v1/pods", 3, 60000));
        assert_int_equal(halflife_said(h, "metrics.k8s.io"), 0); /* no poll failed */
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

static void test_check_names_it(void **state)
{
        (void)state;
        static const struct {
                const char *served, *line;
                int code;
        } row[] = {
                {"v1beta1", "ok    metrics API metrics.k8s.io/v1beta1\n", 0},
                {"v1", "ok    metrics API metrics.k8s.io/v1\n", 0},
                {"v1 v1beta1", "ok    metrics API metrics.k8s.io/v1\n", 0},
                {"-v1 v1beta1", "ok    metrics API metrics.k8s.io/v1beta1\n", 0},
                {"-v1", "FAIL  metrics API metrics.k8s.io/v1: ", 1},
                {"v2", "FAIL  metrics API metrics.k8s.io/v1beta1: ", 1},
        };
        AUTO(mem_free) char *config = tmp_path("checked"), *database = tmp_path("checked.db");
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct fake *f = cluster_new(row[i].served);
                assert_true(fake_write_kubeconfig(f, config));
                AUTO(mem_free)
                char *out = HALFLIFE_RUN(row[i].code, "check", "--kubeconfig", config, "--database", database);
                if (!strstr(out, row[i].line) || !strstr(out, row[i].code ? "install metrics-server" : "usage of "))
                        fail_msg("%s: no '%s':\n%s", row[i].served, row[i].line, out);
                fake_free(f);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_run_learns),
                cmocka_unit_test(test_run_goes_on),
                cmocka_unit_test(test_check_names_it),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
