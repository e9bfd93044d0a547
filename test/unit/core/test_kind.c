#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/kind.h"

#define USUAL "/spec/template"

static void test_find(void **state)
{
        (void)state;
        static const struct {
                const char *group, *kind, *plural;
                unsigned flags;
                const char *template_path;
        } row[] = {
                {"apps", "Deployment", "deployments", KIND_DEFAULT, USUAL},
                {"apps", "StatefulSet", "statefulsets", KIND_DEFAULT, USUAL},
                {"apps", "DaemonSet", "daemonsets", KIND_DEFAULT, USUAL},
                {"apps", "ReplicaSet", "replicasets", KIND_DEFAULT | KIND_UNOWNED_ONLY | KIND_IMMUTABLE, USUAL},
                {"batch", "CronJob", "cronjobs", KIND_DEFAULT | KIND_BY_RUNS | KIND_TO_COMPLETION,
                 "/spec/jobTemplate/spec/template"},
                {"batch", "Job", "jobs", KIND_UNOWNED_ONLY | KIND_IMMUTABLE | KIND_TO_COMPLETION, USUAL},
                {"apps.kruise.io", "CloneSet", "clonesets", KIND_DEFAULT, USUAL},
                {"apps.kruise.io", "StatefulSet", "statefulsets", KIND_DEFAULT, USUAL},
                {"apps.kruise.io", "DaemonSet", "daemonsets", KIND_DEFAULT, USUAL},
                {"argoproj.io", "Rollout", "rollouts", KIND_DEFAULT | KIND_PHASED, USUAL},
        };
        if (kinds_count != sizeof row / sizeof row[0])
                fail_msg("kinds has %zu rows: each has one in this test", kinds_count);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct kind *k = kind_find(text_of(row[i].group), text_of(row[i].kind));
                if (!k || strcmp(k->plural, row[i].plural) || k->flags != row[i].flags)
                        fail_msg("%s/%s", row[i].group, row[i].kind);
                assert_string_equal(k->template_path, row[i].template_path);
        }
        assert_null(kind_find(TEXT(""), TEXT("Deployment")));
        assert_null(kind_find(TEXT("apps"), TEXT("deployment")));
        assert_null(kind_find(TEXT("batch"), TEXT("DaemonSet")));
}

static void test_by_name(void **state)
{
        (void)state;
        static const struct {
                const char *name, *group, *kind; /* kind NULL: unknown */
        } row[] = {
                {"deploy", "apps", "Deployment"},
                {"Deployment", "apps", "Deployment"},
                {"DEPLOYMENTS", "apps", "Deployment"},
                {"deployments.apps", "apps", "Deployment"},
                {"sts", "apps", "StatefulSet"},
                {"statefulset", "apps", "StatefulSet"},
                {"statefulset.apps", "apps", "StatefulSet"},
                {"statefulset.apps.kruise.io", "apps.kruise.io", "StatefulSet"},
                {"ASTS", "apps.kruise.io", "StatefulSet"},
                {"ads", "apps.kruise.io", "DaemonSet"},
                {"clone.Apps.Kruise.IO", "apps.kruise.io", "CloneSet"},
                {"cj", "batch", "CronJob"},
                {"job", "batch", "Job"},
                {"rs", "apps", "ReplicaSet"},
                {"ro", "argoproj.io", "Rollout"},
                {"", NULL, NULL},
                {".batch", NULL, NULL},
                {".", NULL, NULL},
                {"deploy.batch", NULL, NULL},
                {"deployment.", NULL, NULL},
                {"pods", "", "Pod"},
                {"PO", "", "Pod"},
                {"ns", "", "Namespace"},
                {"namespace", "", "Namespace"},
                {"no", "", "Node"},
                {"nodes", "", "Node"},
                {"pods.apps", NULL, NULL},
                {"pod.", "", "Pod"},
                {"deployx", NULL, NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct kind *k = kind_by_name(text_of(row[i].name));
                if (!row[i].kind ? k != NULL : !k || strcmp(k->kind, row[i].kind) || strcmp(k->group, row[i].group))
                        fail_msg("'%s' gives %s/%s", row[i].name, k ? k->group : "", k ? k->kind : "nothing");
        }
}

static void test_dimensions(void **state)
{
        (void)state;
        static const struct {
                const char *group, *kind;
                enum dimension is;
                bool by_default[DIMENSIONS];
        } row[] = {
                {"apps", "Deployment", DIMENSION_WORKLOAD, {true, false, true, true}},
                {"apps", "StatefulSet", DIMENSION_WORKLOAD, {true, true, true, true}},
                {"apps.kruise.io", "StatefulSet", DIMENSION_WORKLOAD, {true, true, true, true}},
                {"example.com", "StatefulSet", DIMENSION_WORKLOAD, {false, false, true, true}},
                {"batch", "Job", DIMENSION_WORKLOAD, {false, false, true, true}},
                {"", "Pod", DIMENSION_POD, {false, true, true, true}},
                {"example.com", "Pod", DIMENSION_WORKLOAD, {false, false, true, true}},
                {"", "Namespace", DIMENSION_NAMESPACE, {false, false, true, true}},
                {"", "Node", DIMENSION_NODE, {false, false, true, true}},
                {"", "Service", DIMENSION_WORKLOAD, {false, false, true, true}},
        };
        static const char *const names[DIMENSIONS] = {"Workload", "Pod", "Namespace", "Node"};
        for (enum dimension d = DIMENSION_WORKLOAD; d < DIMENSIONS; d++)
                assert_string_equal(dimension_name(d), names[d]);
        assert_int_equal(kind_of_dimension[DIMENSION_WORKLOAD].flags, 0);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct text group = text_of(row[i].group), kind = text_of(row[i].kind);
                assert_int_equal(kind_dimension(group, kind), row[i].is);
                for (enum dimension d = DIMENSION_WORKLOAD; d < DIMENSIONS; d++)
                        if (kind_is_default(d, group, kind) != row[i].by_default[d])
                                fail_msg("%s %s under %s", row[i].group, row[i].kind, dimension_name(d));
        }
}

static void test_who_runs_another_s_template(void **state)
{
        (void)state;
        static const struct {
                const char *group, *kind;
                bool want;
        } row[] = {{"apps", "Deployment", true},
                   {"apps", "StatefulSet", false},
                   {"example.com", "Deployment", false},
                   {"argoproj.io", "Rollout", false}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (kind_runs_by_reference(text_of(row[i].group), text_of(row[i].kind)) != row[i].want)
                        fail_msg("%s %s", row[i].group, row[i].kind);
}

static void test_recommendation_name(void **state)
{
        (void)state;
        static const struct {
                const char *group, *kind, *name, *want;
        } row[] = {
                {"apps", "Deployment", "web", "deployment-web"},
                {"batch", "CronJob", "nightly", "cronjob-nightly"},
                {"", "ReplicationController", "old", "replicationcontroller-old"},
                {"apps.kruise.io", "StatefulSet", "web", "statefulset.apps.kruise.io-web"},
                {"argoproj.io", "Rollout", "Shop", "rollout.argoproj.io-shop"},
                {"example.com", "AZ", "[@`{", "az.example.com-[@`{"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char out[KIND_NAME_MAX];
                kind_recommendation_name(text_of(row[i].group), text_of(row[i].kind), text_of(row[i].name), out);
                assert_string_equal(out, row[i].want);
        }
}

static char *deployment_name(size_t letters, char out[static KIND_NAME_MAX])
{
        char name[300];
        memset(name, 'a', letters);
        return kind_recommendation_name(TEXT("apps"), TEXT("Deployment"), (struct text){name, letters}, out);
}

/* The digests are those of another implementation. */
static void test_long_names(void **state)
{
        (void)state;
        char out[KIND_NAME_MAX];
        assert_int_equal(strlen(deployment_name(253 - strlen("deployment-"), out)), 253);
        assert_string_equal(out + 249, "aaaa");
        assert_int_equal(strlen(deployment_name(254 - strlen("deployment-"), out)), 253);
        assert_int_equal(out[236], '-');
        assert_int_equal(strlen(deployment_name(260, out)), 253);
        assert_string_equal(out + 236, "-55335e7810124d27");
        assert_memory_equal(out, "deployment-aaaa", 15);
}

static void test_no_label_begins_with_the_dash(void **state)
{
        (void)state;
        char name[300] = {0}, out[KIND_NAME_MAX];
        size_t kept = 236 - strlen("deployment-");
        memset(name, 'c', kept + 60);
        memset(name, 'b', kept - 3);
        memset(name + kept - 3, '.', 3);
        kind_recommendation_name(TEXT("apps"), TEXT("Deployment"), text_of(name), out);
        assert_int_equal(strlen(out), 250);
        char dots[300] = {0}, other[KIND_NAME_MAX];
        memset(dots, '.', sizeof dots - 1);
        kind_recommendation_name(TEXT("apps"), text_of(dots), TEXT("web"), other);
        assert_int_equal(strlen(other), 17); /* whatever the API calls a kind: the hash alone */
        assert_string_equal(out + 232, "b-5e907977bcac1e6a");
}

static void test_group(void **state)
{
        (void)state;
        static const char *const row[][2] = {
                {"apps/v1", "apps"}, {"v1", ""}, {"", ""}, {"a.b/c/d", "a.b"}, {"/v1", ""}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                assert_true(text_is(kind_group(text_of(row[i][0])), row[i][1]));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_group),
                cmocka_unit_test(test_find),
                cmocka_unit_test(test_by_name),
                cmocka_unit_test(test_dimensions),
                cmocka_unit_test(test_who_runs_another_s_template),
                cmocka_unit_test(test_recommendation_name),
                cmocka_unit_test(test_long_names),
                cmocka_unit_test(test_no_label_begins_with_the_dash),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
