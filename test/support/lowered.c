#include "lowered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "core/kind.h"
#include "objects/patch.h"
#include "tmp.h"

#define TEMPLATE(more)                                                                                                 \
        "{\"metadata\":{\"labels\":{\"app\":\"web\"},\"annotations\":{\"a\":\"b\"}},\"spec\":" LOWERED_CONTAINER(      \
                more) "}"
#define ASKS ",\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"4\"}}"
#define NONE ",\"resources\":{\"limits\":{\"cpu\":\"2\"}}"

const struct lowered_object lowered_objects[LOWERED_OBJECTS] = {
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

struct lowered_plane lowered_plane;

json_t *lowered_read(const char *path)
{
        AUTO(mem_free) char *text = fake_get(lowered_plane.fake, path);
        json_t *object = text ? json_loads(text, 0, NULL) : NULL;
        if (!object)
                fail_msg("there is no %s", path);
        return object;
}

char *lowered_spec(const char *path)
{
        AUTO(json_decref) json_t *object = lowered_read(path);
        char *dumped = json_dumps(json_object_get(object, "spec"), JSON_COMPACT | JSON_SORT_KEYS);
        char *text = mem_string(dumped);
        free(dumped);
        return text;
}

void lowered_write(const char *path, const char *template_path, const char *original, const char *to)
{
        AUTO(mem_free) char *text = fake_get(lowered_plane.fake, path);
        const struct patch_container app = {"app", {true, false}, {{true, 454}, {false, 0}}};
        const struct patch_resources p = {template_path, text_of(text), NULL,  &app, 1, original, to,
                                          "request",     NULL,          false, false};
        struct err err = {0};
        AUTO(json_decref) json_t *patch = patch_build(&p, &err);
        char *ops = json_dumps(patch, 0);
        if (!patch || fake_patch(lowered_plane.fake, path, "halflife", ops) != 200)
                fail_msg("%s: %s", path, patch ? ops : err.text);
        free(ops);
}

void lowered_publish(const struct lowered_object *o)
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
        fake_put(lowered_plane.fake, "halflife", text);
        free(text);
}

const char lowered_applied[] = "{\"app\":{\"requests\":{\"cpu\":\"454m\"}}}";

void lowered_begin(const struct fake_options *options)
{
        lowered_plane.fake = fake_new(options);
        assert_non_null(lowered_plane.fake);
        AUTO(mem_free) char *crd = tmp_file("widget.yaml", widget_crd);
        assert_true(fake_load(lowered_plane.fake, "crds") && fake_load(lowered_plane.fake, crd));
        lowered_plane.kubeconfig = tmp_path("restore-kubeconfig");
        assert_true(fake_write_kubeconfig(lowered_plane.fake, lowered_plane.kubeconfig));
        setenv("HALFLIFE_KUBECONFIG", lowered_plane.kubeconfig, 1);
        for (int i = 0; i < LOWERED_OBJECTS; i++) {
                fake_put(lowered_plane.fake, "kubectl", lowered_objects[i].json);
                lowered_plane.spec[i] = lowered_spec(lowered_objects[i].path);
        }
}

void lowered_all(void)
{
        for (int i = 0; i < LOWERED_OBJECTS; i++) {
                lowered_write(lowered_objects[i].path, lowered_objects[i].template_path, lowered_objects[i].original,
                              lowered_applied);
                lowered_publish(&lowered_objects[i]);
        }
        fake_count_reset(lowered_plane.fake);
}

void lowered_end(void)
{
        for (int i = 0; i < LOWERED_OBJECTS; i++)
                mem_free(lowered_plane.spec[i]);
        mem_free(lowered_plane.kubeconfig);
        fake_free(lowered_plane.fake);
        memset(&lowered_plane, 0, sizeof lowered_plane);
}

bool lowered_is_back(int i)
{
        AUTO(mem_free) char *now = lowered_spec(lowered_objects[i].path);
        return strcmp(now, lowered_plane.spec[i]) == 0;
}

void lowered_expect_back(const char *what)
{
        for (int i = 0; i < LOWERED_OBJECTS; i++)
                if (!lowered_is_back(i)) {
                        AUTO(mem_free) char *now = lowered_spec(lowered_objects[i].path);
                        fail_msg("%s: %s was\n%s\nand is\n%s", what, lowered_objects[i].path, lowered_plane.spec[i],
                                 now);
                }
}
