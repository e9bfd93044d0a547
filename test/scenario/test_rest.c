/*
 * What REST answers of workloads as the cluster has them: limits, labels of templates and kinds of others count, which
 * only the whole way from the API server to the view shows.
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
#include "../support/halflife.h"
#include "base/clock.h"
#include "base/mem.h"

static const char profile[] = "{\"apiVersion\":\"halflife.dev/"
                              "v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":{\"name\":\"pool\"},\"spec\":{"
                              "\"selector\":{\"matchLabels\":{\"tier\":\"front\"}},\"overcommit\":"
                              "\"StaticThenDynamic\",\"static\":{\"cpu\":\"0.5\"},"
                              "\"apply\":{\"mode\":\"OnDeploy\",\"keepGuaranteed\":true}}}";

/* tier is a label of the template alone. */
static void put_deployment(struct fake *f, const char *name, const char *limits)
{
        AUTO(mem_free)
        char *object = mem_printf(
                "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
                "\"shop\"},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":\"%s\"}},\"template\":{"
                "\"metadata\":{\"labels\":{\"app\":\"%s\",\"tier\":\"front\"}},\"spec\":{\"containers\":[{\"name\":"
                "\"app\",\"image\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}%s}}]}}}}",
                name, name, name, limits);
        fake_put(f, "kubectl", object);
}

static void await(const char *address, const char *path, const char *says)
{
        int64_t began = mono_read().ns;
        AUTO(mem_free) char *url = mem_printf("http://%s/api/v1/namespaces/shop/workloads/%s", address, path);
        for (bool so = false; !so; usleep(20000)) {
                AUTO(got_release) struct got g = fetch(&(struct fetch){.url = url, .token = "auditor"});
                so = g.status == 200 && strstr(g.body, says);
                if (!so && (mono_read().ns - began) / 1000000 > 20000)
                        fail_msg("%s: %ld, not '%s'\n%s", path, g.status, says, g.body);
        }
}

static void test_what_the_cluster_has_counts(void **state)
{
        (void)state;
        static const struct {
                const char *path, *says;
        } row[] = {
                {"deploy/free", "\"cpu\":{\"request\":\"1\",\"original\":\"2\",\"target\":\"1\",\"changed\":true,"
                                "\"reason\":\"Static\"}"},
                {"deploy/fixed", "\"cpu\":{\"request\":\"2\",\"original\":\"2\",\"target\":\"2\",\"changed\":false,"
                                 "\"reason\":\"Static\"}"},
                {"deploy/free", "\"profile\":{\"kind\":\"ClusterProfile\",\"name\":\"pool\"}"},
                {"deploy/new?original=cpu:2", "\"request\":\"2\""},
                {"deploy/new?original=cpu:2&labels=tier=front", "\"request\":\"1\""},
                {"deploy/new?original=cpu:2&labels=tier=back", "\"request\":\"2\""},
        };
        struct fake *f = fake_new(&(struct fake_options){.seed = 3});
        assert_true(fake_load(f, "crds"));
        fake_put(f, "kubectl", "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"shop\"}}");
        fake_put(f, "kubectl", profile);
        put_deployment(f, "free", "");
        put_deployment(f, "fixed", ",\"limits\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}");
        fake_person(f, "auditor", "auditor", NULL);
        fake_grant(f, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        struct halflife *h = halflife_start(f, "rest.db", (const char *const[]){"--serve-listen", "127.0.0.1:0", NULL});
        AUTO(mem_free) char *address = halflife_rest_address(h);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                await(address, row[i].path, row[i].says);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_the_cluster_has_counts),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
