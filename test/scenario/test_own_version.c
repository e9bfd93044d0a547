/* halflife's own kinds in the versions that their CRDs serve: run works with those of the version before, and says that
 * they are old; check names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "kube/known_resource.h"

static const char older[] = "halflife's CRDs are missing, or older than this halflife";
static const char now[] = "halflife's CRDs are of this version now";

static char rec[] = "/apis/halflife.dev/v1alpha1/namespaces/shop/recommendations/deployment-web";

static bool has_decision(struct fake *f, void *path)
{
        AUTO(mem_free) char *text = fake_get(f, path);
        return text && strstr(text, "\"decision\":");
}

/* The field that the version before does not have. */
static void drop_decision(json_t *version)
{
        static const char *const path[] = {"schema", "openAPIV3Schema", "properties", "status", "properties", NULL};
        json_t *at = version;
        for (const char *const *p = path; *p; p++)
                at = json_object_get(at, *p);
        json_object_del(at, "decision");
}

/* Install the CRDs with these versions alone, the last of which is stored: "v1beta1 v1alpha1". "v1alpha1 less": as the
 * version before had them. */
static void install_crds(struct fake *f, const char *versions)
{
        static const char *const kinds[] = {"clusterprofiles", "profiles", "recommendations"};
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
                struct err err = {0};
                size_t len, at;
                json_t *version;
                AUTO(mem_free) char *path = mem_printf("crds/%s.%s.yaml", kinds[i], OWN_GROUP);
                AUTO(mem_free) char *text = file_read(path, 1 << 20, &len, &err);
                AUTO(json_decref) json_t *all = yaml_read_all(text, len, &err), *kept = json_array();
                json_t *spec = json_object_get(json_array_get(all, 0), "spec");
                json_array_foreach(json_object_get(spec, "versions"), at, version)
                {
                        const char *name = json_string_value(json_object_get(version, "name"));
                        const char *named = strstr(versions, name);
                        if (!named)
                                continue;
                        json_object_set_new(version, "storage", json_boolean(!strstr(named + 1, "v1")));
                        if (strstr(versions, "less"))
                                drop_decision(version);
                        json_array_append(kept, version);
                }
                json_object_set(spec, "versions", kept);
                char *body = json_dumps(json_array_get(all, 0), 0);
                fake_put(f, "kubectl", body);
                free(body);
        }
}

/* profile: the apiVersion by which it is written. */
static struct fake *cluster_new(const char *versions, const char *profile)
{
        struct fake *f = fake_new(&(struct fake_options){.seed = 3});
        assert_non_null(f);
        if (*versions)
                install_crds(f, versions);
        fake_set_metrics(f, &(struct fake_metrics){.step_ms = 1000});
        fake_put(f, "kubectl", "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"shop\"}}");
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"namespace\":"
                 "\"shop\"},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"template\":{"
                 "\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":"
                 "\"app\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}}}");
        if (profile) {
                AUTO(mem_free)
                char *body = mem_printf("{\"apiVersion\":\"halflife.dev/%s\",\"kind\":\"Profile\",\"metadata\":{"
                                        "\"name\":\"team\",\"namespace\":\"shop\"},\"spec\":{\"apply\":{\"mode\":"
                                        "\"Recommend\",\"minHistory\":\"0s\"}}}",
                                        profile);
                fake_put(f, "kubectl", body);
        }
        return f;
}

static void test_run_works(void **state)
{
        (void)state;
        static const struct {
                const char *served, *profile;
                int says;
        } row[] = {
                {"v1beta1 v1alpha1", "v1beta1", 0}, /* as crds/ has them */
                {"v1beta1 v1alpha1", "v1alpha1", 0},
                {"v1alpha1 v1beta1", "v1beta1", 0}, /* those of the version after */
                {"v1alpha1", "v1alpha1", 1},        /* those of the version before */
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct fake *f = cluster_new(row[i].served, row[i].profile);
                struct halflife *h = halflife_start(f, "versions.db", (const char *const[]){NULL});
                if (!halflife_await_metric(h, f, "halflife_recommendations{state=\"Ready\"}", 1, 60000))
                        fail_msg("%s: nothing is learned", row[i].served);
                if (halflife_said(h, older) != row[i].says)
                        fail_msg("%s: it says %d times that they are old", row[i].served, halflife_said(h, older));
                assert_int_equal(halflife_said(h, now), 0);
                if (!fake_wait(f, has_decision, rec, 60000))
                        fail_msg("%s: nothing is published", row[i].served);
                assert_int_equal(halflife_stop(h), 0);
                halflife_free(h);
                fake_free(f);
        }
}

/* The CRDs are upgraded under a running halflife, which then writes what the API server had dropped, and are taken
 * back.
 */
static void test_crds_change(void **state)
{
        (void)state;
        struct fake *f = cluster_new("v1alpha1 less", "v1alpha1");
        /* the first answer of discovery is lost: it is asked for again */
        fake_fault(f, &(struct fake_fault){.verb = "get", .path = "/apis", .status = 503});
        struct halflife *h = halflife_start(f, "changed.db", (const char *const[]){NULL});
        assert_true(halflife_await_log(h, older, 1, 60000));
        assert_true(halflife_await_metric(h, f, "halflife_recommendations{state=\"Ready\"}", 1, 60000));
        assert_true(halflife_await_cycles(h, f, 2, 60000));
        assert_false(has_decision(f, rec));
        install_crds(f, "v1beta1 v1alpha1");
        assert_true(halflife_await_log(h, now, 1, 120000));
        assert_true(fake_wait(f, has_decision, rec, 60000));
        assert_true(halflife_await_cycles(h, f, 2, 60000));
        assert_int_equal(halflife_said(h, older), 1);
        assert_int_equal(halflife_said(h, "watch fails"), 0);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

static void test_check_says(void **state)
{
        (void)state;
        static const struct {
                const char *served, *line, *way_out;
                int code;
        } row[] = {
                {"v1beta1 v1alpha1", "ok    halflife's CRDs\n", "", 0},
                {"v1alpha1", "warn  halflife's CRDs are older than this halflife: they lack halflife.dev/v1beta1\n",
                 "kubectl apply -k crds; until then fields that they lack are dropped", 0},
                {"v1beta1", "FAIL  halflife's CRDs: ", "kubectl apply -k manifests, or -f crds", 1},
                {"", "FAIL  halflife's CRDs: ", "kubectl apply -k manifests, or -f crds", 1},
        };
        AUTO(mem_free) char *config = tmp_path("checked"), *database = tmp_path("checked.db");
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct fake *f = cluster_new(row[i].served, NULL);
                assert_true(fake_write_kubeconfig(f, config));
                AUTO(mem_free)
                char *out = HALFLIFE_RUN(row[i].code, "check", "--kubeconfig", config, "--database", database);
                if (!strstr(out, row[i].line) || !strstr(out, row[i].way_out))
                        fail_msg("%s: no '%s':\n%s", row[i].served, row[i].line, out);
                fake_free(f);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_run_works),
                cmocka_unit_test(test_crds_change),
                cmocka_unit_test(test_check_says),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
