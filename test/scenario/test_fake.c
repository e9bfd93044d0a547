/* The test API server itself: objects, patches, owners of fields, custom resources, controllers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../fake/apiserver.h"
#include "../support/pick.h"
#include "base/mem.h"
#include "base/yaml.h"

static const char web[] = "/apis/apps/v1/namespaces/shop/deployments/web";
static const char deployment[] =
        "{\"apiVersion\":\"apps/"
        "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"labels\":{\"app\":"
        "\"web\"}},"
        "\"spec\":{\"replicas\":3,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"template\":{\"metadata\":{"
        "\"labels\":{\"app\":\"web\"}},"
        "\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"web:1\",\"resources\":{\"requests\":{\"cpu\":\"0.5\","
        "\"memory\":\"1024Mi\"},"
        "\"limits\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}}},{\"name\":\"proxy\",\"image\":\"proxy:1\"}]}}}}";

static int set_up(void **state)
{
        *state = fake_new(&(struct fake_options){.seed = 7});
        return *state ? 0 : -1;
}

static int set_up_steps(void **state)
{
        *state = fake_new(&(struct fake_options){.controllers = FAKE_CONTROLLERS_STEP});
        return *state ? 0 : -1;
}

static int tear_down(void **state)
{
        fake_free(*state);
        return 0;
}

static json_t *get(struct fake *f, const char *path)
{
        AUTO(mem_free) char *text = fake_get(f, path);
        return text ? json_loads(text, 0, NULL) : NULL;
}

static json_t *call(struct fake *f, int want, const char *method, const char *path, const char *type, const char *body)
{
        AUTO(mem_free) char *text = NULL;
        int status = fake_call(f, method, path, type, "tester", body, &text);
        if (status != want)
                fprintf(stderr, "%s %s %s: %d instead of %d: %s\n", method, path, body ? body : "", status, want, text);
        assert_int_equal(status, want);
        return json_loads(text, 0, NULL);
}

/* --- objects --- */

static void test_object_is_completed(void **state)
{
        struct fake *f = *state;
        static const struct {
                const char *path, *want;
        } row[] = {
                {"kind", "Deployment"},
                {"apiVersion", "apps/v1"},
                {"metadata.generation", "1"},
                {"spec.strategy.rollingUpdate.maxSurge", "25%"},
                {"spec.template.spec.containers[0].resources.requests.cpu", "500m"},
                {"spec.template.spec.containers[0].resources.requests.memory", "1Gi"},
                {"spec.template.spec.containers[1].resources", "{}"},
                {"status.observedGeneration", "1"},
                {"status.updatedReplicas", "3"},
                {"metadata.managedFields[0].manager", "owner"},
        };
        fake_put(f, "owner", deployment);
        AUTO(json_decref) json_t *d = get(f, web);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++)
                if (strcmp(pick_text(d, row[i].path), row[i].want) != 0)
                        fail_msg("%s is %s, not %s", row[i].path, pick_text(d, row[i].path), row[i].want);
        const char *uid = pick_text(d, "metadata.uid");
        assert_int_equal(strlen(uid), 36);
        assert_true(uid[14] == '4' && strchr("89ab", uid[19]) && uid[8] == '-' && uid[23] == '-');
}

static void test_writes_are_judged(void **state)
{
        struct fake *f = *state;
        static const char json[] = "application/json-patch+json", merge[] = "application/merge-patch+json";
        static const struct {
                int status;
                const char *method, *path, *type, *body, *reason, *message;
        } row[] = {
                {404, "GET", "/apis/apps/v1/namespaces/shop/deployments/none", NULL, NULL, "NotFound",
                 "deployments.apps \"none\" not found"},
                {409, "POST", "/apis/apps/v1/namespaces/shop/deployments", NULL, deployment, "AlreadyExists",
                 "already exists"},
                {404, "POST", "/apis/apps/v1/namespaces/nowhere/deployments", NULL,
                 "{\"metadata\":{\"name\":\"web\"},\"spec\":{}}", "NotFound", "namespaces \"nowhere\" not found"},
                {400, "POST", "/apis/apps/v1/namespaces/shop/deployments", NULL, "{", "BadRequest", ""},
                {422, "POST", "/apis/apps/v1/namespaces/shop/deployments", NULL, "{\"metadata\":{\"name\":\"Web\"}}",
                 "Invalid", "RFC 1123"},
                {400, "PUT", web, NULL, "{\"metadata\":{\"name\":\"other\"}}", "BadRequest", "does not match"},
                {409, "PUT", web, NULL, "{\"metadata\":{\"name\":\"web\",\"resourceVersion\":\"1\"},\"spec\":{}}",
                 "Conflict", "the object has been modified"},
                {415, "PATCH", web, "application/strategic-merge-patch+json", "{}", "UnsupportedMediaType", ""},
                {422, "PATCH", web, json,
                 "[{\"op\":\"test\",\"path\":\"/spec/template/spec/containers/0/name\",\"value\":\"db\"}]", "Invalid",
                 "rejected our request"},
                {422, "PATCH", web, json, "[{\"op\":\"add\",\"path\":\"/spec/none/deep\",\"value\":1}]", "Invalid",
                 "rejected"},
                {409, "PATCH", web, json,
                 "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"1\"}]", "Conflict",
                 "modified"},
                {409, "PATCH", web, merge, "{\"metadata\":{\"resourceVersion\":\"1\"}}", "Conflict", "modified"},
                {422, "PATCH", web, "application/apply-patch+yaml", "{}", "Invalid", "fieldManager"},
                {405, "POST", web, NULL, "{}", "MethodNotAllowed", ""},
                {409, "DELETE", web, NULL, "{\"preconditions\":{\"uid\":\"another\"}}", "Conflict", "modified"},
        };
        fake_put(f, "owner", deployment);
        uint64_t before = fake_version(f);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                AUTO(json_decref)
                json_t *s = call(f, row[i].status, row[i].method, row[i].path, row[i].type, row[i].body);
                if (strcmp(pick_text(s, "reason"), row[i].reason) != 0 ||
                    !strstr(pick_text(s, "message"), row[i].message))
                        fail_msg("row %zu: %s, %s", i, pick_text(s, "reason"), pick_text(s, "message"));
                assert_int_equal(json_integer_value(pick(s, "code")), row[i].status);
        }
        assert_int_equal(fake_version(f), before);
        assert_int_equal(call(f, 404, "GET", "/apis/nothing.dev/v1/things", NULL, NULL) != NULL,
                         0); /* no JSON at all */
}

static void test_versions_and_generations(void **state)
{
        struct fake *f = *state;
        fake_put(f, "owner", deployment);
        uint64_t before = fake_version(f);
        assert_int_equal(fake_merge(f, web, "owner", "{\"spec\":{\"replicas\":3}}"), 200);
        assert_int_equal(fake_version(f), before); /* changes nothing: no new version */
        assert_int_equal(fake_merge(f, web, "owner", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}"), 200);
        AUTO(json_decref) json_t *labelled = get(f, web);
        assert_string_equal(pick_text(labelled, "metadata.generation"), "1");
        assert_int_equal(fake_merge(f, web, "owner", "{\"spec\":{\"replicas\":4},\"status\":{\"replicas\":99}}"), 200);
        AUTO(json_decref) json_t *scaled = get(f, web);
        assert_string_equal(pick_text(scaled, "metadata.generation"), "2");
        assert_string_equal(pick_text(scaled, "status.replicas"), "4");
        assert_true(fake_version(f) > before);
}

static void test_dry_run_stores_nothing(void **state)
{
        struct fake *f = *state;
        fake_put(f, "owner", deployment);
        uint64_t before = fake_version(f);
        AUTO(mem_free) char *path = mem_printf("%s?dryRun=All", web);
        AUTO(json_decref)
        json_t *d = call(f, 200, "PATCH", path, "application/merge-patch+json", "{\"spec\":{\"replicas\":9}}");
        assert_string_equal(pick_text(d, "spec.replicas"), "9");
        assert_int_equal(fake_version(f), before);
}

static void test_scale(void **state)
{
        struct fake *f = *state;
        fake_put(f, "owner", deployment);
        AUTO(mem_free) char *path = mem_printf("%s/scale", web);
        AUTO(json_decref)
        json_t *s = call(f, 200, "PATCH", path, "application/merge-patch+json", "{\"spec\":{\"replicas\":1}}");
        assert_string_equal(pick_text(s, "kind"), "Scale");
        assert_string_equal(pick_text(s, "spec.replicas"), "1");
        assert_int_equal(fake_objects(f, "/api/v1/namespaces/shop/pods"), 1);
}

static void test_json_patch_operations(void **state)
{
        struct fake *f = *state;
        static const struct {
                const char *patch;
                int status;
                const char *want; /* data */
        } row[] = {
                {"[{\"op\":\"add\",\"path\":\"/data/b\",\"value\":\"2\"}]", 200, "{\"a\":\"1\",\"b\":\"2\"}"},
                {"[{\"op\":\"add\",\"path\":\"/data/x~1y~0z\",\"value\":\"2\"}]", 200, "{\"a\":\"1\",\"x/y~z\":\"2\"}"},
                {"[{\"op\":\"replace\",\"path\":\"/data/a\",\"value\":\"3\"}]", 200, "{\"a\":\"3\"}"},
                {"[{\"op\":\"replace\",\"path\":\"/data/b\",\"value\":\"3\"}]", 422, "{\"a\":\"1\"}"},
                {"[{\"op\":\"remove\",\"path\":\"/data/a\"}]", 200, "{}"},
                {"[{\"op\":\"remove\",\"path\":\"/data/b\"}]", 422, "{\"a\":\"1\"}"},
                {"[{\"op\":\"copy\",\"from\":\"/data/a\",\"path\":\"/data/c\"}]", 200, "{\"a\":\"1\",\"c\":\"1\"}"},
                {"[{\"op\":\"move\",\"from\":\"/data/a\",\"path\":\"/data/c\"}]", 200, "{\"c\":\"1\"}"},
                {"[{\"op\":\"test\",\"path\":\"/data/a\",\"value\":\"1\"},{\"op\":\"remove\",\"path\":\"/data/a\"}]",
                 200, "{}"},
                {"[{\"op\":\"remove\",\"path\":\"/data/a\"},{\"op\":\"test\",\"path\":\"/data/a\",\"value\":\"1\"}]",
                 422, "{\"a\":\"1\"}"},
                {"[{\"op\":\"jump\",\"path\":\"/data/a\",\"value\":\"1\"}]", 422, "{\"a\":\"1\"}"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                static const char path[] = "/api/v1/namespaces/shop/configmaps/c";
                fake_put(f, "owner",
                         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":"
                         "\"shop\"},\"data\":{\"a\":\"1\"}}");
                int status = fake_patch(f, path, "tester", row[i].patch);
                AUTO(json_decref) json_t *c = get(f, path);
                if (status != row[i].status || strcmp(pick_text(c, "data"), row[i].want) != 0)
                        fail_msg("%s: %d, %s", row[i].patch, status, pick_text(c, "data"));
        }
}

static char *round_up(void *arg, const char *kind, const char *object)
{
        json_t *o = strcmp(kind, "ConfigMap") == 0 ? json_loads(object, 0, NULL) : NULL;
        if (!o)
                return NULL;
        json_object_set_new(json_object_get(o, "data"), "a", json_string(arg));
        char *text = json_dumps(o, 0);
        json_decref(o);
        return text;
}

static void test_admission_changes_what_is_written(void **state)
{
        struct fake *f = *state;
        static const char path[] = "/api/v1/namespaces/default/configmaps/c";
        char rounded[] = "500m";
        fake_set_admission(f, round_up, rounded);
        fake_put(f, "owner",
                 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":\"default\"}"
                 ",\"data\":{}}");
        AUTO(json_decref)
        json_t *c =
                call(f, 200, "PATCH", path, "application/merge-patch+json", "{\"data\":{\"a\":\"454m\",\"b\":\"\"}}");
        assert_string_equal(pick_text(c, "data"), "{\"a\":\"500m\",\"b\":\"\"}");
}

/* --- who owns what --- */

static const json_t *entry(const json_t *object, const char *manager, const char *operation)
{
        size_t i;
        json_t *e;
        json_array_foreach(pick(object, "metadata.managedFields"), i,
                           e) if (strcmp(pick_text(e, "manager"), manager) == 0 &&
                                  strcmp(pick_text(e, "operation"), operation) == 0) return e;
        return NULL;
}

static const char applied[] =
        "{\"apiVersion\":\"apps/"
        "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\"},\"spec\":{\"template\":{\"spec\":{"
        "\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}}}";

static int apply_cpu(struct fake *f, const char *manager, const char *cpu, bool force)
{
        AUTO(mem_free) char *at = mem_string(strstr(applied, "%s") + 2);
        AUTO(mem_free) char *body = mem_printf("%.*s%s%s", (int)(strstr(applied, "%s") - applied), applied, cpu, at);
        return fake_apply(f, web, manager, force, body);
}

static const char cpu_path[] = "spec.template.spec.containers[0].resources.requests.cpu";
static const char cpu_owned[] = "fieldsV1.f:spec.f:template.f:spec.f:containers";

static void test_apply_owns_and_conflicts(void **state)
{
        struct fake *f = *state;
        fake_put(f, "owner", deployment);
        assert_int_equal(apply_cpu(f, "argo", "500m", false), 200); /* the same value: owned together */
        AUTO(json_decref) json_t *both = get(f, web);
        assert_non_null(strstr(pick_text(entry(both, "argo", "Apply"), cpu_owned), "f:cpu"));
        assert_non_null(strstr(pick_text(entry(both, "owner", "Update"), cpu_owned), "f:cpu"));

        assert_int_equal(apply_cpu(f, "argo", "400m", false),
                         409); /* another value: the other one's consent is needed */
        assert_int_equal(apply_cpu(f, "argo", "400m", true), 200);
        AUTO(json_decref) json_t *forced = get(f, web);
        assert_string_equal(pick_text(forced, cpu_path), "400m");
        assert_string_equal(pick_text(forced, "spec.template.spec.containers[0].resources.limits.cpu"), "1");
        assert_string_equal(pick_text(forced, "spec.template.spec.containers[1].name"), "proxy");

        assert_int_equal(fake_patch(f, web, "halflife",
                                    "[{\"op\":\"replace\",\"path\":\"/spec/template/spec/containers/0/resources/"
                                    "requests/cpu\",\"value\":\"100m\"}]"),
                         200); /* an Update takes it without asking */
        AUTO(json_decref) json_t *taken = get(f, web);
        assert_null(entry(taken, "argo", "Apply") &&
                                    strstr(pick_text(entry(taken, "argo", "Apply"), cpu_owned), "f:cpu")
                            ? taken
                            : NULL);
        assert_non_null(strstr(pick_text(entry(taken, "halflife", "Update"), cpu_owned), "f:cpu"));

        AUTO(mem_free) char *path = mem_printf("%s?fieldManager=argo", web);
        AUTO(json_decref)
        json_t *s = call(f, 409, "PATCH", path, "application/apply-patch+yaml",
                         "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    "
                         "spec:\n      containers:\n"
                         "      - name: app\n        resources: {requests: {cpu: 400m}}\n");
        assert_string_equal(pick_text(s, "details.causes[0].reason"), "FieldManagerConflict");
        assert_string_equal(pick_text(s, "details.causes[0].message"), "conflict with \"halflife\" using apps/v1");
        assert_string_equal(pick_text(s, "details.causes[0].field"),
                            ".spec.template.spec.containers[name=\"app\"].resources.requests.cpu");
}

static void test_apply_creates_and_forgets(void **state)
{
        struct fake *f = *state;
        static const char path[] = "/api/v1/namespaces/default/configmaps/c";
        assert_int_equal(fake_apply(f, path, "one", false,
                                    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},"
                                    "\"data\":{\"a\":\"1\",\"b\":\"2\"}}"),
                         201);
        assert_int_equal(fake_apply(f, path, "two", false,
                                    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},"
                                    "\"data\":{\"b\":\"2\",\"c\":\"3\"}}"),
                         200);
        uint64_t before = fake_version(f);
        assert_int_equal(fake_apply(f, path, "two", false,
                                    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},"
                                    "\"data\":{\"b\":\"2\",\"c\":\"3\"}}"),
                         200);
        assert_int_equal(fake_version(f), before);
        /* what is no longer applied goes, unless the other one owns it as well */
        assert_int_equal(
                fake_apply(f, path, "one", false,
                           "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},\"data\":{}}"),
                200);
        AUTO(json_decref) json_t *c = get(f, path);
        assert_string_equal(pick_text(c, "data"), "{\"b\":\"2\",\"c\":\"3\"}");
}

/* --- custom resources --- */

static const char crd[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/"
        "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"knobs.test.dev\"},\"spec\":{"
        "\"group\":\"test.dev\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"knobs\",\"singular\":\"knob\","
        "\"kind\":\"Knob\"},\"versions\":[{"
        "\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{"
        "\"openAPIV3Schema\":{\"type\":\"object\","
        "\"properties\":{\"spec\":{\"type\":\"object\",\"default\":{},\"required\":[\"mode\"],\"properties\":{\"mode\":"
        "{\"type\":\"string\",\"enum\":"
        "[\"On\",\"Low\"],\"default\":\"Low\"},\"share\":{\"type\":\"integer\",\"minimum\":50,\"maximum\":100},"
        "\"factor\":{\"type\":\"string\","
        "\"pattern\":\"^[0-9]+([.][0-9]{1,3})?$\"},\"list\":{\"type\":\"array\",\"maxItems\":1,\"items\":{\"type\":"
        "\"string\"}},\"deep\":{\"type\":"
        "\"object\",\"default\":{},\"properties\":{\"x\":{\"type\":\"integer\",\"default\":3}}}}},\"status\":{\"type\":"
        "\"object\",\"properties\":{"
        "\"n\":{\"type\":\"integer\"}}}}}}}]}}";

static void test_custom_resources(void **state)
{
        struct fake *f = *state;
        static const char knobs[] = "/apis/test.dev/v1/namespaces/default/knobs",
                          knob[] = "/apis/test.dev/v1/namespaces/default/knobs/k";
        static const struct {
                const char *spec;
                int status;
                const char *want; /* what is stored, or of the message */
        } row[] = {
                {"{}", 201, "{\"deep\":{\"x\":3},\"mode\":\"Low\"}"},
                {"{\"mode\":null,\"what\":1,\"deep\":{\"x\":4,\"y\":5}}", 201, "{\"deep\":{\"x\":4},\"mode\":\"Low\"}"},
                {"{\"mode\":\"Off\"}", 422, "spec.mode: Unsupported value: \"Off\""},
                {"{\"share\":49}", 422, "spec.share: Invalid value: 49"},
                {"{\"share\":101}", 422, "should be less than or equal to 100"},
                {"{\"share\":\"60\"}", 422, "must be of type integer"},
                {"{\"factor\":\"1.2345\"}", 422, "should match"},
                {"{\"list\":[\"a\",\"b\"]}", 422, "Too many"},
        };
        fake_put(f, "owner", crd);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                AUTO(mem_free)
                char *body = mem_printf(
                        "{\"apiVersion\":\"test.dev/v1\",\"kind\":\"Knob\",\"metadata\":{\"name\":\"k\"},\"spec\":%s}",
                        row[i].spec);
                AUTO(json_decref) json_t *o = call(f, row[i].status, "POST", knobs, NULL, body);
                const char *have = pick_text(o, row[i].status == 201 ? "spec" : "message");
                if (!strstr(have, row[i].want))
                        fail_msg("%s: %s", row[i].spec, have);
                fake_delete(f, knob);
        }
}

static void test_custom_status_is_apart(void **state)
{
        struct fake *f = *state;
        static const char knob[] = "/apis/test.dev/v1/namespaces/default/knobs/k";
        AUTO(mem_free) char *status = mem_printf("%s/status", knob);
        fake_put(f, "owner", crd);
        fake_put(f, "owner",
                 "{\"apiVersion\":\"test.dev/"
                 "v1\",\"kind\":\"Knob\",\"metadata\":{\"name\":\"k\",\"namespace\":\"default\"},\"spec\":{}}");
        assert_int_equal(fake_apply(f, status, "halflife", true,
                                    "{\"apiVersion\":\"test.dev/"
                                    "v1\",\"kind\":\"Knob\",\"metadata\":{\"name\":\"k\"},\"spec\":{\"mode\":\"On\"},"
                                    "\"status\":{\"n\":4,\"unknown\":1}}"),
                         200);
        AUTO(json_decref) json_t *k = get(f, knob);
        assert_string_equal(pick_text(k, "status"), "{\"n\":4}");
        assert_string_equal(pick_text(k, "spec.mode"), "Low");
        assert_string_equal(pick_text(k, "metadata.generation"), "1");
        assert_string_equal(pick_text(entry(k, "halflife", "Apply"), "subresource"), "status");
        assert_int_equal(fake_call(f, "PUT", knob, NULL, NULL, "{\"metadata\":{\"name\":\"k\"},\"spec\":{}}", NULL),
                         422);
        AUTO(mem_free) char *strict = mem_printf("%s?fieldValidation=Strict", knob);
        assert_int_equal(
                fake_call(f, "PATCH", strict, "application/merge-patch+json", NULL, "{\"spec\":{\"typo\":1}}", NULL),
                400);
        assert_int_equal(fake_delete(f, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/knobs.test.dev"), 200);
        assert_int_equal(fake_call(f, "GET", knob, NULL, NULL, NULL, NULL), 404);
}

static char *dials_path(const char *version, const char *rest)
{
        return mem_printf("/apis/test.dev/%s/namespaces/default/dials%s", version, rest);
}

/* An object has the apiVersion of the path by which it is asked for, and is stored once. */
static void test_custom_versions(void **state)
{
        struct fake *f = *state;
        static const struct {
                const char *path_version, *body_version;
                int status;
        } write[] = {
                {"v2", "v2", 201}, {"v1", "v1", 201}, {"v2", "v1", 400}, {"v1", "v2", 400}, {"v3", "v3", 404},
        };
        fake_put(f, "owner",
                 "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{"
                 "\"name\":\"dials.test.dev\"},\"spec\":{\"group\":\"test.dev\",\"scope\":\"Namespaced\",\"names\":{"
                 "\"plural\":\"dials\",\"singular\":\"dial\",\"kind\":\"Dial\"},\"versions\":["
                 "{\"name\":\"v3\",\"served\":false,\"storage\":false},"
                 "{\"name\":\"v2\",\"served\":true,\"storage\":false},"
                 "{\"name\":\"v1\",\"served\":true,\"storage\":true}]}}");
        for (size_t i = 0; i < sizeof write / sizeof *write; i++) {
                AUTO(mem_free) char *collection = dials_path(write[i].path_version, "");
                AUTO(mem_free)
                char *body = mem_printf("{\"apiVersion\":\"test.dev/%s\",\"kind\":\"Dial\",\"metadata\":{\"name\":"
                                        "\"d%zu\"}}",
                                        write[i].body_version, i);
                assert_int_equal(fake_call(f, "POST", collection, NULL, NULL, body, NULL), write[i].status);
        }
        static const char *const served[] = {"v1", "v2"};
        for (size_t i = 0; i < sizeof served / sizeof *served; i++) {
                AUTO(mem_free) char *want = mem_printf("test.dev/%s", served[i]);
                AUTO(mem_free) char *list = dials_path(served[i], ""), *first = dials_path(served[i], "/d0");
                AUTO(json_decref) json_t *all = get(f, list), *one = get(f, first);
                assert_int_equal(json_array_size(pick(all, "items")), 2);
                assert_string_equal(pick_text(all, "apiVersion"), want);
                assert_string_equal(pick_text(all, "items[1].apiVersion"), want);
                assert_string_equal(pick_text(one, "apiVersion"), want);
        }
        AUTO(json_decref) json_t *group = get(f, "/apis/test.dev");
        assert_string_equal(pick_text(group, "preferredVersion.version"), "v2");
        assert_int_equal(json_array_size(pick(group, "versions")), 2);
        AUTO(json_decref)
        json_t *definition = get(f, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dials.test.dev");
        assert_string_equal(pick_text(definition, "status.storedVersions[0]"), "v1");
}

/* The project's own definitions and samples hold together. */
static void test_own_definitions(void **state)
{
        struct fake *f = *state;
        assert_true(fake_load(f, "crds"));
        assert_true(fake_load(f, "manifests/samples"));
        assert_true(fake_objects(f, "/apis/halflife.dev/v1beta1/clusterprofiles") > 0);
        assert_int_equal(fake_objects(f, "/apis/halflife.dev/v1alpha1/clusterprofiles"),
                         fake_objects(f, "/apis/halflife.dev/v1beta1/clusterprofiles"));
        assert_int_equal(fake_objects(f, "/apis/halflife.dev/v1alpha1/recommendations"), 0);
}

/* --- controllers and deletion --- */

static const char pods[] = "/api/v1/namespaces/shop/pods";

static void test_rollout_replaces_pods(void **state)
{
        struct fake *f = *state;
        fake_put(f, "owner", deployment);
        AUTO(json_decref) json_t *first = get(f, pods);
        AUTO(mem_free) char *hash = mem_string(pick_text(first, "items[0].metadata.labels.pod-template-hash"));
        assert_int_equal(json_array_size(pick(first, "items")), 3);
        assert_string_equal(pick_text(first, "items[0].metadata.ownerReferences[0].kind"), "ReplicaSet");
        assert_string_equal(pick_text(first, "items[0].status.phase"), "Running");
        assert_string_equal(pick_text(first, "items[0].kind"), "-"); /* items of a built-in kind carry none */
        assert_int_equal(
                fake_merge(f, web, "owner", "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"v\":\"2\"}}}}}"),
                200);
        AUTO(json_decref) json_t *second = get(f, pods);
        assert_int_equal(json_array_size(pick(second, "items")), 3);
        assert_string_not_equal(pick_text(second, "items[0].metadata.labels.pod-template-hash"), hash);
        assert_int_equal(fake_objects(f, "/apis/apps/v1/namespaces/shop/replicasets"), 2);
        AUTO(json_decref) json_t *d = get(f, web);
        assert_string_equal(pick_text(d, "status.observedGeneration"), "2");
        assert_string_equal(pick_text(d, "metadata.annotations"), "{\"deployment.kubernetes.io/revision\":\"2\"}");
        assert_int_equal(
                fake_patch(f, web, "owner", "[{\"op\":\"remove\",\"path\":\"/spec/template/metadata/annotations\"}]"),
                200);
        assert_int_equal(fake_objects(f, "/apis/apps/v1/namespaces/shop/replicasets"),
                         2); /* the old one serves again */
        AUTO(json_decref) json_t *back = get(f, pods);
        assert_string_equal(pick_text(back, "items[0].metadata.labels.pod-template-hash"), hash);
}

static void test_rollout_by_steps(void **state)
{
        struct fake *f = *state;
        bool seen_unfinished = false, finished = false;
        fake_put(f, "owner", deployment);
        assert_int_equal(fake_objects(f, pods), 0);
        fake_settle(f);
        fake_merge(f, web, "owner", "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"v\":\"2\"}}}}}");
        for (int i = 0; i < 200 && !finished; i++) {
                fake_step(f);
                assert_in_range(fake_objects(f, pods), 2, 4);
                AUTO(json_decref) json_t *d = get(f, web);
                finished = strcmp(pick_text(d, "status.observedGeneration"), "2") == 0 &&
                           strcmp(pick_text(d, "status.updatedReplicas"), "3") == 0 &&
                           strcmp(pick_text(d, "status.replicas"), "3") == 0;
                seen_unfinished = seen_unfinished ||
                                  strcmp(pick_text(d, "status.conditions[1].reason"), "ReplicaSetUpdated") == 0;
        }
        assert_true(finished && seen_unfinished);
}

static void test_other_workloads(void **state)
{
        struct fake *f = *state;
        static const struct {
                const char *kind, *plural, *extra;
                size_t pods;
                const char *name, *updated;
        } row[] = {
                {"StatefulSet", "statefulsets", "\"replicas\":2,", 2, "w-0", "updatedReplicas"},
                {"DaemonSet", "daemonsets", "", 2, "w-", "updatedNumberScheduled"},
                {"ReplicaSet", "replicasets", "\"replicas\":2,", 2, "w-", "replicas"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                AUTO(mem_free)
                char *body = mem_printf("{\"apiVersion\":\"apps/"
                                        "v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"w\",\"namespace\":\"shop\"},"
                                        "\"spec\":{%s\"selector\":{"
                                        "\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":"
                                        "\"b\"}},\"spec\":{\"containers\":[{\"name\":"
                                        "\"c\"}]}}}}",
                                        row[i].kind, row[i].extra);
                AUTO(mem_free) char *path = mem_printf("/apis/apps/v1/namespaces/shop/%s/w", row[i].plural);
                AUTO(mem_free) char *updated = mem_printf("status.%s", row[i].updated);
                fake_put(f, "owner", body);
                AUTO(json_decref) json_t *before = get(f, pods);
                assert_int_equal(json_array_size(pick(before, "items")), row[i].pods);
                assert_int_equal(strncmp(pick_text(before, "items[0].metadata.name"), row[i].name, strlen(row[i].name)),
                                 0);
                fake_merge(f, path, "owner",
                           "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"v\":\"2\"}}}}}");
                AUTO(json_decref) json_t *w = get(f, path);
                assert_string_equal(pick_text(w, updated), "2");
                assert_string_equal(pick_text(w, "status.observedGeneration"), "2");
                AUTO(json_decref) json_t *after = get(f, pods);
                bool replaced = strcmp(pick_text(after, "items[0].metadata.uid"),
                                       pick_text(before, "items[0].metadata.uid")) != 0;
                assert_int_equal(replaced,
                                 strcmp(row[i].kind, "ReplicaSet") != 0); /* only a ReplicaSet leaves its pods alone */
                fake_delete(f, path);
                assert_int_equal(fake_objects(f, pods), 0);
        }
}

/* More than one portion of a body. */
static void test_large_lists(void **state)
{
        struct fake *f = *state;
        fake_put(f, "owner", deployment);
        assert_int_equal(fake_merge(f, web, "owner", "{\"spec\":{\"replicas\":150}}"), 200);
        assert_int_equal(fake_objects(f, pods), 150);
}

static void test_namespace_takes_all_along(void **state)
{
        struct fake *f = *state;
        fake_put(f, "owner", deployment);
        assert_int_equal(fake_delete(f, "/api/v1/namespaces/shop"), 200);
        assert_int_equal(fake_objects(f, pods), 0);
        assert_int_equal(fake_objects(f, "/apis/apps/v1/deployments"), 0);
        assert_int_equal(fake_call(f, "GET", "/api/v1/namespaces/shop", NULL, NULL, NULL, NULL), 404);
}

static void test_finalizers_hold(void **state)
{
        struct fake *f = *state;
        static const char path[] = "/api/v1/namespaces/default/configmaps/c";
        fake_put(f, "owner",
                 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":\"default\","
                 "\"finalizers\":[\"a/b\"]}}");
        assert_int_equal(fake_delete(f, path), 200);
        AUTO(json_decref) json_t *dying = get(f, path);
        assert_string_not_equal(pick_text(dying, "metadata.deletionTimestamp"), "-");
        assert_int_equal(fake_merge(f, path, "owner", "{\"metadata\":{\"finalizers\":null}}"), 200);
        assert_null(fake_get(f, path));
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                ROW(test_object_is_completed),
                ROW(test_writes_are_judged),
                ROW(test_versions_and_generations),
                ROW(test_dry_run_stores_nothing),
                ROW(test_scale),
                ROW(test_json_patch_operations),
                ROW(test_admission_changes_what_is_written),
                ROW(test_apply_owns_and_conflicts),
                ROW(test_apply_creates_and_forgets),
                ROW(test_custom_resources),
                ROW(test_custom_status_is_apart),
                ROW(test_custom_versions),
                ROW(test_own_definitions),
                ROW(test_rollout_replaces_pods),
                cmocka_unit_test_setup_teardown(test_rollout_by_steps, set_up_steps, tear_down),
                ROW(test_other_workloads),
                ROW(test_large_lists),
                ROW(test_namespace_takes_all_along),
                ROW(test_finalizers_hold),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
