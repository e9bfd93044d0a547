/*
 * halflife restore and resume against the API server, with no controller anywhere: objects as halflife leaves them,
 * made by its own patch, and what they are afterwards; also where the API server refuses, is away, or somebody was
 * quicker.
 */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "core/kind.h"
#include "objects/patch.h"
#include "objects/restore_patch.h"

enum { ARGS = 12, SAYS = 6, OBJECTS = 6 };

#define CONTAINER(more)                                                                                                \
        "{\"containers\":[{\"name\":\"app\",\"image\":\"app\"" more "}],\"terminationGracePeriodSeconds\":0}"
#define TEMPLATE(more)                                                                                                 \
        "{\"metadata\":{\"labels\":{\"app\":\"web\"},\"annotations\":{\"a\":\"b\"}},\"spec\":" CONTAINER(more) "}"
#define ASKS ",\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"4\"}}"
#define NONE ",\"resources\":{\"limits\":{\"cpu\":\"2\"}}"

static const struct object {
        const char *kind, *path, *template_path, *json, *original;
} objects[OBJECTS] = {
        {"Deployment", "/apis/apps/v1/namespaces/shop/deployments/web", "/spec/template",
         "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\","
         "\"labels\":{\"app\":\"web\"}},\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
         "\"template\":" TEMPLATE(ASKS) "}}",
         "{\"app\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"4\"}}}"},
        {"StatefulSet", "/apis/apps/v1/namespaces/shop/statefulsets/db", "/spec/template",
         "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"db\",\"namespace\":\"shop\"},"
         "\"spec\":{\"replicas\":1,\"serviceName\":\"db\",\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
         "\"template\":" TEMPLATE(NONE) "}}",
         "{\"app\":{\"limits\":{\"cpu\":\"2\"}}}"},
        {"DaemonSet", "/apis/apps/v1/namespaces/shop/daemonsets/agent", "/spec/template",
         "{\"apiVersion\":\"apps/v1\",\"kind\":\"DaemonSet\",\"metadata\":{\"name\":\"agent\",\"namespace\":\"shop\"},"
         "\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"template\":" TEMPLATE(ASKS) "}}",
         "{\"app\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"4\"}}}"},
        {"CronJob", "/apis/batch/v1/namespaces/shop/cronjobs/nightly", "/spec/jobTemplate/spec/template",
         "{\"apiVersion\":\"batch/v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"nightly\",\"namespace\":\"shop\"},"
         "\"spec\":{\"schedule\":\"0 2 * * *\",\"jobTemplate\":{\"spec\":{\"template\":" TEMPLATE(ASKS) "}}}}",
         "{\"app\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"4\"}}}"},
        {"Widget", "/apis/example.com/v1/namespaces/shop/widgets/odd", "/spec/template",
         "{\"apiVersion\":\"example.com/"
         "v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"odd\",\"namespace\":\"shop\"},"
         "\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"app\"}]}}}}",
         "{\"app\":{}}"},
        {"Deployment", "/apis/apps/v1/namespaces/till/deployments/web", "/spec/template",
         "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"namespace\":\"till\","
         "\"labels\":{\"app\":\"web\"}},\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
         "\"template\":" TEMPLATE(ASKS) "}}",
         "{\"app\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"4\"}}}"},
};

static const char widget_crd[] =
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n"
        "spec:\n  group: example.com\n  scope: Namespaced\n"
        "  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}\n"
        "  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, "
        "x-kubernetes-preserve-unknown-fields: true}}}]\n";

static struct stage {
        struct fake *fake;
        char *kubeconfig;
        char *spec[OBJECTS]; /* as it was before halflife */
} stage;

/* --- making --- */

static json_t *read_object(const char *path)
{
        AUTO(mem_free) char *text = fake_get(stage.fake, path);
        json_t *object = text ? json_loads(text, 0, NULL) : NULL;
        if (!object)
                fail_msg("there is no %s", path);
        return object;
}

static char *spec_of(const char *path)
{
        AUTO(json_decref) json_t *object = read_object(path);
        char *dumped = json_dumps(json_object_get(object, "spec"), JSON_COMPACT | JSON_SORT_KEYS);
        char *text = mem_string(dumped);
        free(dumped);
        return text;
}

/* What halflife writes: its own patch, as its own manager. */
static void write_requests(const char *path, const char *template_path, const char *original, const char *applied)
{
        AUTO(mem_free) char *text = fake_get(stage.fake, path);
        const struct patch_container to = {"app", {true, false}, {{true, 454}, {false, 0}}};
        const struct patch_resources p = {template_path, text_of(text), NULL, &to,   1,    original,
                                          applied,       "request",     NULL, false, false};
        struct err err = {0};
        AUTO(json_decref) json_t *patch = patch_build(&p, &err);
        char *ops = json_dumps(patch, 0);
        if (!patch || fake_patch(stage.fake, path, "halflife", ops) != 200)
                fail_msg("%s: %s", path, patch ? ops : err.text);
        free(ops);
}

static void publish(const struct object *o)
{
        AUTO(json_decref) json_t *object = json_loads(o->json, 0, NULL);
        const json_t *meta = json_object_get(object, "metadata");
        const char *api = json_string_value(json_object_get(object, "apiVersion"));
        const char *name = json_string_value(json_object_get(meta, "name"));
        char rec[KIND_NAME_MAX];
        AUTO(json_decref)
        json_t *r = json_pack("{s:s, s:s, s:{s:s, s:s, s:O*}, s:{s:{s:s, s:s, s:s}, s:{s:s, s:s}, s:s}}", "apiVersion",
                              "halflife.dev/v1alpha1", "kind", "Recommendation", "metadata", "name",
                              kind_recommendation_name(kind_group(text_of(api)), text_of(o->kind), text_of(name), rec),
                              "namespace", json_string_value(json_object_get(meta, "namespace")), "labels",
                              json_object_get(meta, "labels"), "spec", "targetRef", "apiVersion", api, "kind", o->kind,
                              "name", name, "profileRef", "kind", "ClusterProfile", "name", "pool", "dimension",
                              "Workload");
        char *text = json_dumps(r, 0);
        fake_put(stage.fake, "halflife", text);
        free(text);
}

static const char applied[] = "{\"app\":{\"requests\":{\"cpu\":\"454m\"}}}";

static void begin(const struct fake_options *options)
{
        stage.fake = fake_new(options);
        assert_non_null(stage.fake);
        AUTO(mem_free) char *crd = tmp_file("widget.yaml", widget_crd);
        assert_true(fake_load(stage.fake, "crds") && fake_load(stage.fake, crd));
        stage.kubeconfig = tmp_path("restore-kubeconfig");
        assert_true(fake_write_kubeconfig(stage.fake, stage.kubeconfig));
        setenv("HALFLIFE_KUBECONFIG", stage.kubeconfig, 1);
        for (int i = 0; i < OBJECTS; i++) {
                fake_put(stage.fake, "kubectl", objects[i].json);
                stage.spec[i] = spec_of(objects[i].path);
        }
}

static void lower_all(void)
{
        for (int i = 0; i < OBJECTS; i++) {
                write_requests(objects[i].path, objects[i].template_path, objects[i].original, applied);
                publish(&objects[i]);
        }
        fake_count_reset(stage.fake);
}

static void end(void)
{
        for (int i = 0; i < OBJECTS; i++)
                mem_free(stage.spec[i]);
        mem_free(stage.kubeconfig);
        fake_free(stage.fake);
        memset(&stage, 0, sizeof stage);
}

/* --- looking --- */

static bool is_back(int i)
{
        AUTO(mem_free) char *now = spec_of(objects[i].path);
        return strcmp(now, stage.spec[i]) == 0;
}

static void expect_back(const char *what)
{
        for (int i = 0; i < OBJECTS; i++)
                if (!is_back(i)) {
                        AUTO(mem_free) char *now = spec_of(objects[i].path);
                        fail_msg("%s: %s was\n%s\nand is\n%s", what, objects[i].path, stage.spec[i], now);
                }
}

static char *annotation(const char *path, const char *key)
{
        AUTO(json_decref) json_t *object = read_object(path);
        return mem_string(json_string_value(
                json_object_get(json_object_get(json_object_get(object, "metadata"), "annotations"), key)));
}

#define REC(ns, name) "/apis/halflife.dev/v1alpha1/namespaces/" ns "/recommendations/" name

#define RUN HALFLIFE_RUN

static void expect_says(const char *said, const char *part)
{
        if (!strstr(said, part))
                fail_msg("does not say '%s':\n%s", part, said);
}

/* --- the whole --- */

static void test_all(void **state)
{
        (void)state;
        begin(&(struct fake_options){.seed = 1});
        lower_all();
        AUTO(mem_free) char *dry = RUN(0, "restore", "--all", "--dry-run");
        expect_says(dry, "shop deployment/web would restore: app cpu 454m -> 2");
        expect_says(dry, "6 would be restored");
        AUTO(mem_free) char *told = RUN(0, "restore", "--all", "--dry-run", "-o", "json");
        expect_says(told, "\"dryRun\": true");
        expect_says(told, "\"result\": \"wouldRestore\"");
        assert_null(strstr(told, "\"restored\""));
        assert_int_equal(fake_count(stage.fake, "write", ""), 0);
        AUTO(mem_free) char *said = RUN(0, "restore", "--all");
        expect_says(said, "shop statefulset/db restored: app cpu 454m -> none");
        expect_says(said, "shop widget.example.com/odd restored: app cpu 454m -> none");
        expect_says(said, "6 restored, 0 left, 0 failed, 0 not begun");
        expect_back("all");
        for (int i = 0; i < OBJECTS; i++) {
                AUTO(mem_free) char *copy = annotation(objects[i].path, ANNOTATION_APPLIED);
                assert_null(copy);
        }
        AUTO(mem_free) char *hold = annotation(REC("shop", "widget.example.com-odd"), ANNOTATION_HOLD);
        assert_string_equal(hold, "halflife restore");
        fake_count_reset(stage.fake);
        AUTO(mem_free) char *again = RUN(0, "restore", "--all");
        expect_says(again, "nothing to restore: no workload in the cluster carries values of halflife");
        assert_null(strstr(again, "0 restored"));
        assert_int_equal(fake_count(stage.fake, "write", ""), 0);
        AUTO(mem_free) char *resumed = RUN(0, "resume", "--all");
        expect_says(resumed, "till deployment-web resumed (it was held: halflife restore)");
        expect_says(resumed, "6 resumed");
        AUTO(mem_free) char *more = RUN(0, "resume", "--all");
        expect_says(more, "nothing to resume: no workload in the cluster is held");
        AUTO(mem_free) char *gone = annotation(REC("till", "deployment-web"), ANNOTATION_HOLD);
        assert_null(gone);
        end();
}

/* What is meant, and nothing else. */
static void test_scopes(void **state)
{
        static const struct {
                const char *args[ARGS];
                unsigned back; /* a bit for each of the objects */
        } row[] = {
                {{"restore", "deploy/web", "-n", "shop"}, 1},
                {{"restore", "sts/db", "cronjob/nightly", "-n", "shop"}, 2 | 8},
                {{"restore", "widget.example.com/odd", "-nshop"}, 16},
                {{"restore", "-n", "till"}, 32},
                {{"restore", "-A", "-l", "app=web"}, 1 | 32},
                {{"restore", "-n", "shop", "-l", "app in (web)"}, 1},
                {{"restore", "--orphaned"}, 4},
                {{"restore", "--orphaned", "-n", "till"}, 0},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                begin(&(struct fake_options){.seed = 2});
                lower_all();
                fake_merge(stage.fake, REC("shop", "daemonset-agent") "/status", "halflife",
                           "{\"status\":{\"state\":\"Held\",\"conditions\":[{\"type\":\"Applied\",\"status\":\"False\","
                           "\"reason\":\"Orphaned\",\"message\":\"m\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]"
                           "}}");
                AUTO(mem_free) char *said = halflife_run(0, row[i].args);
                unsigned back = 0;
                for (int k = 0; k < OBJECTS; k++)
                        back |= (unsigned)is_back(k) << k;
                if (back != row[i].back)
                        fail_msg("%s %s: %x are back, not %x\n%s", row[i].args[1], row[i].args[2] ? row[i].args[2] : "",
                                 back, row[i].back, said);
                end();
        }
}

static void test_misused(void **state)
{
        static const struct {
                const char *args[ARGS];
                int code;
                const char *says;
        } row[] = {
                {{"restore"}, 2, "choose the workloads"},
                {{"restore", "web"}, 2, "is not KIND/NAME"},
                {{"restore", "deploy/web", "--all"}, 2, "excludes --all"},
                {{"restore", "--all", "-n", "shop"}, 2, "exclude each other"},
                {{"restore", "--all", "--budget", "0"}, 2, "not a number from 1 to 1000"},
                {{"restore", "--all", "--budget", "x"}, 2, "not a number from 1 to 1000"},
                {{"restore", "--all", "--timeout", "5"}, 2, "not a duration"},
                {{"restore", "--all", "-o", "yaml"}, 2, "not one of text, json"},
                {{"restore", "--all", "--reason", ""}, 2, "must not be empty"},
                {{"restore", "-n", ""}, 2, "is empty"}, /* of a variable that nobody set */
                {{"restore", "-n", ".."}, 2, "is not a valid namespace name"},
                {{"restore", "-n", "."}, 2, "is not a valid namespace name"},
                {{"restore", "-n", "shop", "-l", ""}, 2, "is empty"},
                {{"restore", "deploy/..", "-n", "shop"}, 2, "is not KIND/NAME"},
                {{"resume", "-n", ""}, 2, "is empty"},
                {{"resume", "-l", ""}, 2, "is empty"},
                {{"restore", "--all", "--reason", "\xff"}, 2, "must not be empty"},
                {{"restore", "deploy/\xff", "-n", "shop"}, 2, "is not KIND/NAME"},
                {{"resume"}, 2, "choose the workloads"},
                {{"resume", "--everything"}, 2, "unknown option"},
                {{"restore", "--all", "--kubeconfig", "/nonexistent"}, 1, "/nonexistent"},
        };
        (void)state;
        begin(&(struct fake_options){.seed = 3});
        lower_all();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *said = halflife_run(row[i].code, row[i].args);
                expect_says(said, row[i].says);
        }
        assert_int_equal(fake_count(stage.fake, "write", ""), 0);
        end();
}

/* What is not there fails by its name; where something is there and nothing of it is ours, that is said. Nothing is
 * written either way, not even a hold. */
static void test_nothing(void **state)
{
        static const struct {
                const char *args[ARGS];
                int code;
                const char *says;
        } row[] = {
                {{"restore", "-n", "shpo"}, 1, "halflife restore: namespace 'shpo' does not exist"},
                {{"restore", "-n", "shpo", "-l", "app=web", "--dry-run"}, 1, "namespace 'shpo' does not exist"},
                {{"restore", "-n", "shpo", "--orphaned"}, 1, "namespace 'shpo' does not exist"},
                {{"restore", "deploy/web", "-n", "shpo"}, 1, "namespace 'shpo' does not exist"},
                {{"resume", "-n", "shpo"}, 1, "halflife resume: namespace 'shpo' does not exist"},
                {{"resume", "deploy/web", "-n", "shpo"}, 1, "namespace 'shpo' does not exist"},
                {{"restore", "deploy/nobody", "-n", "shop"},
                 1,
                 "workload 'deploy/nobody' does not exist in namespace 'shop'"},
                {{"restore", "deploy/web", "sts/nobody", "-n", "shop"}, 1, "workload 'sts/nobody' does not exist"},
                {{"resume", "deploy/nobody", "-n", "shop"}, 1, "workload 'deploy/nobody' does not exist"},
                {{"resume", "deploy/web", "sts/nobody", "-n", "shop"}, 1, "workload 'sts/nobody' does not exist"},
                {{"restore", "deploy/gone", "-n", "shop"},
                 1,
                 "workload 'deploy/gone' does not exist in namespace 'shop': only its Recommendation is left"},
                {{"restore", "widget.example.com/none", "-n", "shop"},
                 1,
                 "halflife does not know 'widget.example.com/none"},
                {{"restore", "ns/shop", "-n", "shop"}, 1, "halflife does not know 'ns/shop'"},
                {{"resume", "deploy/plain", "-n", "shop"}, 1, "halflife does not know 'deploy/plain'"},
                {{"restore", "deploy/plain", "-n", "shop"},
                 0,
                 "nothing to restore: 'deploy/plain' in namespace 'shop' carries no values of halflife"},
                {{"restore", "deploy/plain", "deploy/more", "-n", "shop", "--dry-run"},
                 0,
                 "nothing to restore: 'deploy/plain', 'deploy/more' in namespace 'shop' carry no values of halflife"},
                {{"restore", "-n", "bare"},
                 0,
                 "nothing to restore: no workload in namespace 'bare' carries values of halflife"},
                {{"restore", "-n", "shop", "-l", "app=wbe"},
                 0,
                 "nothing to restore: no workload in namespace 'shop' with the labels 'app=wbe' carries values of "
                 "halflife"},
                {{"restore", "-A", "-l", "app=wbe"},
                 0,
                 "nothing to restore: no workload in the cluster with the labels 'app=wbe' carries values"},
                {{"restore", "--orphaned"},
                 0,
                 "nothing to restore: no workload in the cluster that has lost its profile carries values"},
                {{"resume", "deploy/web", "-n", "shop"},
                 0,
                 "nothing to resume: 'deploy/web' in namespace 'shop' is not held"},
                {{"resume", "deploy/web", "sts/db", "-n", "shop"},
                 0,
                 "nothing to resume: 'deploy/web', 'sts/db' in namespace 'shop' are not held"},
                {{"resume", "-n", "bare"}, 0, "nothing to resume: no workload in namespace 'bare' is held"},
                {{"resume", "-n", "shop", "-l", "app=wbe", "--dry-run"},
                 0,
                 "nothing to resume: no workload in namespace 'shop' with the labels 'app=wbe' is held"},
                {{"restore", "-n", "bare", "-o", "json"}, 0, "\"workloads\": []"},
        };
        static const char *const plain[][3] = {
                {"plain", "shop", "plain"}, {"more", "shop", "more"}, {"web", "bare", "web"}};
        static const struct object gone = {
                "Deployment", "", "",
                "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"gone\","
                "\"namespace\":\"shop\"}}",
                ""};
        (void)state;
        begin(&(struct fake_options){.seed = 12});
        lower_all();
        for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
                AUTO(mem_free)
                char *text = mem_printf(
                        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"%s\"},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":"
                        "\"%s\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\"}},\"spec\":" CONTAINER(
                                "") "}}}",
                        plain[i][0], plain[i][1], plain[i][2], plain[i][2]);
                fake_put(stage.fake, "kubectl", text);
        }
        publish(&gone);
        fake_count_reset(stage.fake);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *said = halflife_run(row[i].code, row[i].args);
                expect_says(said, row[i].says);
                if (strstr(said, "0 restored") || strstr(said, "0 resumed"))
                        fail_msg("counts nothing:\n%s", said);
        }
        assert_int_equal(fake_count(stage.fake, "write", ""), 0);
        end();
}

/* A user without permission to get namespaces sees that nothing was found, not that the namespace is missing. */
static void test_nothing_to_look_with(void **state)
{
        (void)state;
        begin(&(struct fake_options){.seed = 13});
        fake_deny(stage.fake, &(struct fake_rule){"get", "", "namespaces", NULL});
        AUTO(mem_free) char *said = RUN(0, "restore", "-n", "shpo");
        expect_says(said, "nothing to restore: no workload in namespace 'shpo' carries values of halflife");
        AUTO(mem_free) char *resumed = RUN(0, "resume", "-n", "shpo");
        expect_says(resumed, "nothing to resume: no workload in namespace 'shpo' is held");
        end();
}

/* --- what others did meanwhile --- */

static void test_owners(void **state)
{
        static const char other[] = "[{\"op\":\"replace\",\"path\":\"/spec/template/spec/containers/0/resources/"
                                    "requests/cpu\",\"value\":\"700m\"}]";
        (void)state;
        begin(&(struct fake_options){.seed = 4});
        lower_all();
        fake_patch(stage.fake, objects[0].path, "kubectl", other);
        fake_delete(stage.fake, objects[2].path);
        fake_delete(stage.fake, REC("till", "deployment-web"));
        AUTO(mem_free) char *before = spec_of(objects[0].path);
        AUTO(mem_free) char *said = RUN(0, "restore", "--all");
        expect_says(said, "shop deployment/web left; left: app cpu is 700m, not the 454m that halflife set");
        expect_says(said, "have no Recommendation to hold");
        AUTO(mem_free) char *after = spec_of(objects[0].path);
        assert_string_equal(before, after); /* also its annotations: to take them away alone would start a rollout */
        assert_true(is_back(1) && is_back(3) && is_back(4) && is_back(5));
        end();
}

static void test_without_kinds(void **state)
{
        (void)state;
        begin(&(struct fake_options){.seed = 4});
        for (int i = 0; i < OBJECTS - 2; i++)
                write_requests(objects[i].path, objects[i].template_path, objects[i].original, applied);
        fake_delete(stage.fake, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/recommendations.halflife.dev");
        AUTO(mem_free) char *said = RUN(0, "restore", "--all");
        expect_says(said, "4 restored");
        expect_back("without halflife's kinds");
        AUTO(mem_free) char *resumed = RUN(0, "resume", "--all");
        expect_says(resumed, "halflife's CRDs are not installed, so nothing is held");
        AUTO(mem_free) char *one = RUN(1, "resume", "deploy/web", "-n", "shop");
        expect_says(one, "halflife's CRDs are not installed");
        end();
}

/* --- autoscalers first --- */

static void test_autoscaler(void **state)
{
        static const char path[] = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web";
        (void)state;
        begin(&(struct fake_options){.seed = 5});
        lower_all();
        fake_put(
                stage.fake, "kubectl",
                "{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\",\"metadata\":{\"name\":"
                "\"web\",\"namespace\":\"shop\",\"annotations\":{\"halflife.dev/original-targets\":"
                "\"{\\\"Resource/cpu\\\":70}\"}},\"spec\":{\"maxReplicas\":9,\"scaleTargetRef\":{\"apiVersion\":"
                "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"},\"metrics\":[{\"type\":\"Resource\","
                "\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\",\"averageUtilization\":308}}}]}}");
        fake_deny(stage.fake, &(struct fake_rule){"patch", "apps", "deployments", NULL});
        AUTO(mem_free) char *refused = RUN(1, "restore", "deploy/web", "-n", "shop");
        expect_says(refused, "shop deployment/web failed: its template: ");
        AUTO(mem_free) char *spec = spec_of(path);
        assert_non_null(strstr(spec, "\"averageUtilization\":70"));
        fake_allow_all(stage.fake);
        AUTO(mem_free) char *said = RUN(0, "restore", "deploy/web", "-n", "shop");
        expect_says(said, "shop deployment/web restored: app cpu 454m -> 2");
        assert_true(is_back(0));
        end();
}

/* --- pods --- */

/* The first pod of a Deployment, as admission at Pod made it. */
static char *admitted_pod(void)
{
        AUTO(json_decref) json_t *list = read_object("/api/v1/namespaces/shop/pods");
        size_t i;
        json_t *pod;
        json_array_foreach(json_object_get(list, "items"), i, pod)
        {
                const char *name = json_string_value(json_object_get(json_object_get(pod, "metadata"), "name"));
                if (strncmp(name, "web-", 4) != 0)
                        continue;
                char *path = mem_printf("/api/v1/namespaces/shop/pods/%s", name);
                AUTO(mem_free) char *resize = mem_printf("%s/resize", path);
                assert_int_equal(fake_patch(stage.fake, resize, "kubelet",
                                            "[{\"op\":\"replace\",\"path\":\"/spec/containers/0/resources/requests/"
                                            "cpu\",\"value\":\"454m\"}]"),
                                 200);
                AUTO(json_decref)
                json_t *notes =
                        json_pack("{s:{s:{s:s, s:s, s:s}}}", "metadata", "annotations", ANNOTATION_ORIGINAL,
                                  objects[0].original, ANNOTATION_APPLIED, applied, ANNOTATION_BASIS, "request");
                char *merge = json_dumps(notes, 0);
                assert_int_equal(fake_merge(stage.fake, path, "halflife", merge), 200);
                free(merge);
                return path;
        }
        fail_msg("no pod of web");
        return NULL;
}

static void expect_bare(const char *path)
{
        static const char *const keys[] = {ANNOTATION_ORIGINAL, ANNOTATION_APPLIED, ANNOTATION_BASIS,
                                           ANNOTATION_RAISED};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
                AUTO(mem_free) char *note = annotation(path, keys[i]);
                if (note)
                        fail_msg("%s is still %s", keys[i], note);
        }
}

static void test_pods(void **state)
{
        (void)state;
        begin(&(struct fake_options){.seed = 6});
        AUTO(mem_free) char *path = admitted_pod();
        AUTO(mem_free) char *said = RUN(0, "restore", "-n", "shop");
        expect_says(said, "shop deployment/web restored: pod 'web-");
        AUTO(mem_free) char *spec = spec_of(path);
        assert_non_null(strstr(spec, "\"requests\":{\"cpu\":\"2\""));
        expect_bare(path);
        AUTO(mem_free) char *again = RUN(0, "restore", "-n", "shop");
        expect_says(again, "nothing to restore: no workload in namespace 'shop' carries values of halflife");
        end();
}

/* Raised to its original, nothing of it is ours any more but what says so. */
static void test_pods_raised(void **state)
{
        (void)state;
        begin(&(struct fake_options){.seed = 6});
        AUTO(mem_free) char *path = admitted_pod(), *resize = mem_printf("%s/resize", path);
        assert_int_equal(fake_patch(stage.fake, resize, "halflife",
                                    "[{\"op\":\"replace\",\"path\":\"/spec/containers/0/resources/requests/cpu\","
                                    "\"value\":\"2\"}]"),
                         200);
        assert_int_equal(fake_merge(stage.fake, path, "halflife",
                                    "{\"metadata\":{\"annotations\":{\"" ANNOTATION_ORIGINAL
                                    "\":null,\"" ANNOTATION_APPLIED "\":null,\"" ANNOTATION_BASIS
                                    "\":null,\"" ANNOTATION_RAISED "\":\"2026-11-23T07:00:00Z\"}}}"),
                         200);
        AUTO(mem_free) char *said = RUN(0, "restore", "-n", "shop");
        expect_says(said, "0 failed");
        expect_bare(path);
        end();
}

/* One that nobody owns, by a Recommendation of its own or by its annotations alone: resized; nothing could roll it. */
static void test_pods_alone(void **state)
{
        (void)state;
        static const char path[] = "/api/v1/namespaces/shop/pods/lone";
        static const char pod[] =
                "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"lone\",\"namespace\":\"shop\","
                "\"annotations\":"
                "{\"halflife.dev/original-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"2\\\"}}}\","
                "\"halflife.dev/applied-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"454m\\\"}}}\"}},"
                "\"spec\":" CONTAINER(",\"resources\":{\"requests\":{\"cpu\":\"454m\"}}") "}";
        static const struct object rec = {
                "Pod", path, "",
                "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"lone\",\"namespace\":\"shop\"}}", ""};
        static const char *const how[][3] = {
                {"pod/lone", "-n", "shop"}, {"-n", "shop", "--dry-run=false"}, {"--all", "--budget", "9"}};
        for (int i = 0; i < 3; i++) {
                begin(&(struct fake_options){.seed = 6});
                fake_put(stage.fake, "kubectl", pod);
                if (i < 2)
                        publish(&rec);
                AUTO(mem_free) char *said = RUN(0, "restore", how[i][0], how[i][1], how[i][2]);
                expect_says(said, "shop pod/lone restored: pod 'lone' app cpu 454m -> 2");
                AUTO(mem_free) char *spec = spec_of(path);
                assert_non_null(strstr(spec, "\"requests\":{\"cpu\":\"2\""));
                AUTO(mem_free) char *note = annotation(path, ANNOTATION_APPLIED);
                assert_null(note);
                end();
        }
}

/* A server without the subresource: listed; asked to, rolled. */
static void test_pods_left(void **state)
{
        (void)state;
        begin(&(struct fake_options){.seed = 7});
        AUTO(mem_free) char *path = admitted_pod();
        fake_fault(stage.fake,
                   &(struct fake_fault){.verb = "patch", .path = path, .status = 404, .times = FAKE_ALWAYS});
        AUTO(mem_free) char *dry = RUN(0, "restore", "-n", "shop", "-o", "json", "--dry-run");
        expect_says(dry, "\"result\": \"would");
        AUTO(mem_free) char *said = RUN(0, "restore", "-n", "shop", "-o", "json");
        expect_says(said, "keeps halflife's value (app cpu 454m -> 2)");
        expect_says(said, "\"result\": \"left\"");
        AUTO(mem_free) char *rolled = RUN(0, "restore", "-n", "shop", "--restart");
        expect_says(rolled, "shop deployment/web restored: restarted");
        assert_null(fake_get(stage.fake, path));
        end();
}

#define PENDING(why, says)                                                                                             \
        "\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"" why                         \
        "\",\"message\":\"" says "\"}]"

/* The kubelet's result of an accepted resize is reported or waited for. A result of an earlier resize is ignored. */
static void test_verdicts(void **state)
{
        (void)state;
        static const struct {
                const char *status;
                int code;
                const char *says, *also;
        } row[] = {
                {PENDING("Infeasible", "node has 1 cpu"), 0, "shop deployment/web restored: pod 'web-",
                 "resize not in force): its node cannot resize the pod: node has 1 cpu"},
                {PENDING("Deferred", "later"), 1, "failed: no progress for 1 s: pod 'web-",
                 "waits for its node: Deferred later"},
                {"\"observedGeneration\":1," PENDING("Infeasible", "node has 1 cpu"), 1,
                 "failed: no progress for 1 s: pod 'web-", "has not seen the resize yet"},
                {"\"observedGeneration\":1", 1, "failed: no progress for 1 s: pod 'web-",
                 "has not seen the resize yet"},
                {"\"observedGeneration\":9", 0, "shop deployment/web restored: pod 'web-", NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                begin(&(struct fake_options){.seed = 6});
                AUTO(mem_free) char *path = admitted_pod(), *status = mem_printf("%s/status", path);
                AUTO(mem_free) char *merge = mem_printf("{\"status\":{%s}}", row[i].status);
                assert_int_equal(fake_merge(stage.fake, status, "kubelet", merge), 200);
                AUTO(mem_free) char *said = RUN(row[i].code, "restore", "-n", "shop", "--timeout", "1s");
                expect_says(said, row[i].says);
                if (row[i].also)
                        expect_says(said, row[i].also);
                AUTO(mem_free) char *spec = spec_of(path);
                assert_non_null(strstr(spec, "\"requests\":{\"cpu\":\"2\""));
                end();
        }
}

/* What is longer than a line has room for is cut, and never within a character: as JSON it would be left out. */
static void test_long_words(void **state)
{
        (void)state;
        for (int odd = 0; odd < 2; odd++) {
                struct buf words;
                buf_init(&words, 1 << 12);
                (void)buf_add_text(&words, odd ? "x" : "");
                for (int i = 0; i < 700; i++)
                        (void)buf_add_text(&words, "ü");
                begin(&(struct fake_options){.seed = 6});
                AUTO(mem_free) char *path = admitted_pod(), *status = mem_printf("%s/status", path);
                AUTO(mem_free)
                char *merge =
                        mem_printf("{\"status\":{\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\","
                                   "\"reason\":\"Infeasible\",\"message\":\"%s\"}]}}",
                                   words.data);
                assert_int_equal(fake_merge(stage.fake, status, "kubelet", merge), 200);
                AUTO(mem_free) char *said = RUN(0, "restore", "-n", "shop", "-o", "json");
                expect_says(said, "\"left\": \"pod 'web-");
                end();
                buf_release(&words);
        }
}

/* --- rollouts --- */

static void test_stands_still(void **state)
{
        (void)state;
        begin(&(struct fake_options){.seed = 8, .controllers = FAKE_CONTROLLERS_STEP});
        fake_settle(stage.fake);
        lower_all();
        fake_settle(stage.fake);
        AUTO(mem_free) char *said = RUN(1, "restore", "--all", "--budget", "1", "--timeout", "1s");
        expect_says(said, "failed: no progress for 1 s");
        expect_says(said, "run the same command again to continue");
        int back = 0;
        for (int i = 0; i < OBJECTS; i++)
                back += is_back(i);
        if (back > 3) /* a CronJob and a kind that says nothing of rollouts wait for nothing */
                fail_msg("%d were begun:\n%s", back, said);
        fake_settle(stage.fake);
        for (int tries = 0; tries < OBJECTS && back < OBJECTS; tries++) {
                AUTO(mem_free) char *next = NULL;
                struct halflife *h = halflife_command(
                        (const char *const[]){"restore", "--all", "--budget", "1", "--timeout", "1s", NULL});
                (void)halflife_await(h, 30000);
                next = halflife_log(h);
                halflife_free(h);
                fake_settle(stage.fake);
                back = 0;
                for (int i = 0; i < OBJECTS; i++)
                        back += is_back(i);
        }
        mem_free(RUN(0, "restore", "--all"));
        expect_back("begun again and again");
        end();
}

static bool is_patched(struct fake *f, void *arg)
{
        (void)f, (void)arg;
        return is_back(0);
}

static void test_interrupted(void **state)
{
        (void)state;
        begin(&(struct fake_options){.seed = 9, .controllers = FAKE_CONTROLLERS_STEP});
        fake_settle(stage.fake);
        lower_all();
        fake_settle(stage.fake);
        struct halflife *h = halflife_command(
                (const char *const[]){"restore", "deploy/web", "sts/db", "-n", "shop", "--budget", "1", NULL});
        assert_true(fake_wait(stage.fake, is_patched, NULL, 20000));
        halflife_signal(h, SIGINT);
        assert_int_equal(halflife_await(h, 20000), 1);
        assert_int_equal(halflife_said(h, "interrupted"), 1);
        assert_false(is_back(1));
        halflife_free(h);
        end();
}

/* --- faults --- */

/* Whatever one request comes to: what was begun is whole or untouched, and the same command again ends it. */
static void test_faults(void **state)
{
        static const struct fake_fault fault[] = {
                {.verb = "patch", .status = 500},
                {.verb = "patch", .status = 409},
                {.verb = "patch", .status = 403},
                {.verb = "patch", .refuse = true},
                {.verb = "patch", .cut = true, .cut_after = 10},
                {.verb = "list", .status = 403},
                {.verb = "get", .status = 403},
                {.verb = "list", .garbage = "nonsense"},
                {.verb = "list", .status = 200, .body = "{}"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof fault / sizeof fault[0]; i++) {
                bool fired = true;
                for (unsigned nth = 0; fired; nth += 1 + nth / 3) {
                        begin(&(struct fake_options){.seed = 10});
                        lower_all();
                        struct fake_fault f = fault[i];
                        f.nth = nth;
                        fake_fault(stage.fake, &f);
                        struct halflife *h = halflife_command((const char *const[]){
                                "restore", "deploy/web", "sts/db", "-n", "shop", "--timeout", "4s", NULL});
                        int code = halflife_await(h, 30000);
                        AUTO(mem_free) char *said = halflife_log(h);
                        halflife_free(h);
                        size_t all = fake_count(stage.fake, f.verb, "");
                        fired = all > nth;
                        fake_faults_clear(stage.fake);
                        if (code != 0 && code != 1)
                                fail_msg("fault %zu at %u: exit %d\n%s", i, nth, code, said);
                        if (code == 0 && !(is_back(0) && is_back(1)))
                                fail_msg("fault %zu at %u: said it was done\n%s", i, nth, said);
                        mem_free(RUN(0, "restore", "--all"));
                        expect_back(said);
                        end();
                }
        }
}

static void test_away(void **state)
{
        (void)state;
        begin(&(struct fake_options){.seed = 11});
        fake_stop(stage.fake);
        AUTO(mem_free) char *said = RUN(1, "restore", "--all");
        expect_says(said, "does the API server run?");
        end();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all),           cmocka_unit_test(test_scopes),
                cmocka_unit_test(test_misused),       cmocka_unit_test(test_owners),
                cmocka_unit_test(test_without_kinds), cmocka_unit_test(test_autoscaler),
                cmocka_unit_test(test_pods_alone),    cmocka_unit_test(test_pods),
                cmocka_unit_test(test_pods_raised),   cmocka_unit_test(test_pods_left),
                cmocka_unit_test(test_verdicts),      cmocka_unit_test(test_long_words),
                cmocka_unit_test(test_stands_still),  cmocka_unit_test(test_interrupted),
                cmocka_unit_test(test_faults),        cmocka_unit_test(test_away),
                cmocka_unit_test(test_nothing),       cmocka_unit_test(test_nothing_to_look_with),
        };
        return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}
