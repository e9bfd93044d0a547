/*
 * The API of custom metrics as a function: what is asked, and the object that answers it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "custom_metrics/custom_metrics.h"

#define V1            "/apis/custom.metrics.k8s.io/v1beta1"
#define V2            "/apis/custom.metrics.k8s.io/v1beta2"
#define CPU_METRIC    "/halflife_pod_cpu_utilization"
#define MEMORY_METRIC "/halflife_pod_memory_utilization"

static struct snapshot *view;

static const char *labels_of(struct snapshot *v, const char *app, const char *tier, uint32_t *ret_size)
{
        const struct label_pair label[] = {{TEXT("app"), text_of(app)}, {TEXT("tier"), text_of(tier)}};
        return snapshot_labels(v, label, 2, ret_size);
}

static int make(void **state)
{
        (void)state;
        static struct snapshot_pod pod[] = {
                {.ns = "shop", .name = "web-1", .at_ms = 1763700000123, .utilization = {632, 250}},
                {.ns = "shop", .name = "web-2", .at_ms = 1763700001000, .utilization = {1000, -1}},
                {.ns = "shop", .name = "worker-1", .at_ms = 1763700002000, .utilization = {0, 1}},
                {.ns = "shop2", .name = "web-1", .at_ms = 1763700003000, .utilization = {10, 10}},
        };
        static const char *const app[] = {"web", "web", "worker", "web"}, *const tier[] = {"a", "b", "a", "a"};
        view = snapshot_new();
        for (size_t i = 0; i < sizeof pod / sizeof pod[0]; i++)
                pod[i].labels = labels_of(view, app[i], tier[i], &pod[i].labels_size);
        view->pod = pod;
        view->pods = sizeof pod / sizeof pod[0];
        view->ready = true;
        snapshot_finish(view);
        return 0;
}

static int drop(void **state)
{
        (void)state;
        snapshot_drop(view);
        return 0;
}

static json_t *ask(const struct custom_request *r, unsigned *ret_status)
{
        struct custom_answer a = {0};
        custom_metrics_answer(r, view, &a);
        assert_int_equal(strlen(a.body), a.len);
        json_t *got = json_loadb(a.body, a.len, 0, NULL);
        assert_non_null(got);
        *ret_status = a.status;
        free(a.body);
        return got;
}

static void expect(const char *path, const char *want)
{
        unsigned status;
        json_t *meant = json_loads(want, 0, NULL),
               *got = ask(&(struct custom_request){.method = "GET", .path = path}, &status);
        assert_non_null(meant);
        char *text = json_dumps(got, JSON_COMPACT);
        if (status != 200 || !json_equal(got, meant))
                fail_msg("%s: %u %s\nnot %s", path, status, text, want);
        free(text);
        json_decref(meant);
        json_decref(got);
}

#define VERSION(v) "{\"groupVersion\":\"custom.metrics.k8s.io/" v "\",\"version\":\"" v "\"}"
#define GROUP                                                                                                          \
        "\"name\":\"custom.metrics.k8s.io\",\"versions\":[" VERSION("v1beta2") "," VERSION(                            \
                "v1beta1") "],\"preferredVersion\":" VERSION("v1beta2")
#define RESOURCE(r)                                                                                                    \
        "{\"name\":\"pods/halflife_pod_" r "_utilization\",\"singularName\":\"\",\"namespaced\":true,"                 \
        "\"kind\":\"MetricValueList\",\"verbs\":[\"get\"]}"
#define LIST(v)                                                                                                        \
        "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"custom.metrics.k8s.io/" v              \
        "\",\"resources\":[" RESOURCE("cpu") "," RESOURCE("memory") "]}"

static void test_discovery(void **state)
{
        (void)state;
        expect("/apis", "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[{" GROUP "}]}");
        expect("/apis/custom.metrics.k8s.io", "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\"," GROUP "}");
        expect("/apis/custom.metrics.k8s.io/", "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\"," GROUP "}");
        expect(V1, LIST("v1beta1"));
        expect(V2, LIST("v1beta2"));
}

static void test_values(void **state)
{
        (void)state;
        expect(V2 "/namespaces/shop/pods/web-1" CPU_METRIC,
               "{\"kind\":\"MetricValueList\",\"apiVersion\":\"custom.metrics.k8s.io/"
               "v1beta2\",\"metadata\":{},\"items\":[{"
               "\"describedObject\":{\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":\"web-1\",\"apiVersion\":\"v1\"},"
               "\"metric\":{\"name\":\"halflife_pod_cpu_utilization\"},\"timestamp\":\"2025-11-21T04:40:00Z\","
               "\"value\":\"632m\"}]}");
        expect(V1 "/namespaces/shop/pods/web-2" CPU_METRIC,
               "{\"kind\":\"MetricValueList\",\"apiVersion\":\"custom.metrics.k8s.io/"
               "v1beta1\",\"metadata\":{},\"items\":[{"
               "\"describedObject\":{\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":\"web-2\",\"apiVersion\":\"v1\"},"
               "\"metricName\":\"halflife_pod_cpu_utilization\",\"timestamp\":\"2025-11-21T04:40:01Z\",\"value\":\"1\"}"
               "]}");
}

/* Whose names, in their order; each one followed by a space. */
static void test_selection(void **state)
{
        (void)state;
        static const struct {
                const char *path, *labels, *metric, *want;
        } row[] = {
                {V2 "/namespaces/shop/pods/*" CPU_METRIC, NULL, NULL, "web-1 web-2 worker-1 "},
                {V2 "/namespaces/shop/pods/*" CPU_METRIC, "", "", "web-1 web-2 worker-1 "},
                {V2 "/namespaces/shop/pods/*" CPU_METRIC, "app=web", NULL, "web-1 web-2 "},
                {V1 "/namespaces/shop/pods/*" CPU_METRIC, "app in (web,worker),tier=a", NULL, "web-1 worker-1 "},
                {V2 "/namespaces/shop/pods/*" CPU_METRIC, "app!=web", NULL, "worker-1 "},
                {V2 "/namespaces/shop/pods/*" CPU_METRIC, "!app", NULL, ""},
                {V2 "/namespaces/shop/pods/*" MEMORY_METRIC, "app=web", NULL,
                 "web-1 "}, /* of the other nothing is known */
                {V2 "/namespaces/shop2/pods/*" CPU_METRIC, NULL, NULL, "web-1 "},
                {V2 "/namespaces/elsewhere/pods/*" CPU_METRIC, NULL, NULL, ""},
                {V2 "/namespaces/shop/pods/*" CPU_METRIC, NULL, "verb=get", ""}, /* the metric has no labels */
                {V2 "/namespaces/shop/pods/*" CPU_METRIC, "tier=b", "!verb,code!=500", "web-2 "},
                {V2 "/namespaces/shop/pods/web-1" CPU_METRIC, "app=other", NULL, "web-1 "}, /* named, not selected */
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct custom_request r = {.method = "GET",
                                                 .path = row[i].path,
                                                 .label_selector = row[i].labels,
                                                 .metric_selector = row[i].metric};
                unsigned status;
                char names[200] = "";
                json_t *item, *got = ask(&r, &status);
                size_t k;
                json_array_foreach(json_object_get(got, "items"), k, item)
                {
                        const json_t *of = json_object_get(item, "describedObject");
                        strcat(strcat(names, json_string_value(json_object_get(of, "name"))), " ");
                }
                if (status != 200 || strcmp(names, row[i].want) != 0)
                        fail_msg("row %zu: %u '%s', not '%s'", i, status, names, row[i].want);
                json_decref(got);
        }
}

static void test_refusals(void **state)
{
        (void)state;
        static const struct {
                struct custom_request r;
                unsigned want;
                const char *reason;
        } row[] = {
                {{.path = "/"}, 404, "NotFound"},
                {{.path = ""}, 404, "NotFound"},
                {{.path = "/api"}, 404, "NotFound"},
                {{.path = "/apis/metrics.k8s.io"}, 404, "NotFound"},
                {{.path = "/apis/custom.metrics.k8s.io/v1"}, 404, "NotFound"},
                {{.path = V2 "/namespaces"}, 404, "NotFound"},
                {{.path = V2 "/namespaces/shop/pods/web-1"}, 404, "NotFound"},
                {{.path = V2 "/namespaces/shop/pods/web-1" CPU_METRIC "/more"}, 404, "NotFound"},
                {{.path = V2 "/namespaces/shop/pods/web-1" CPU_METRIC "/and/more/and/more"}, 404, "NotFound"},
                {{.path = V2 "/namespaces/shop/services/web" CPU_METRIC}, 404, "NotFound"},
                {{.path = V2 "/namespaces/shop/metrics" CPU_METRIC}, 404, "NotFound"},
                {{.path = V2 "/nodes/n" CPU_METRIC}, 404, "NotFound"},
                {{.path = V2 "/namespaces/shop/pods/web-1/requests_per_second"}, 404, "NotFound"},
                {{.path = V2 "/namespaces/shop/pods/nobody" CPU_METRIC}, 404, "NotFound"},
                {{.path = V2 "/namespaces/shop/pods/web-2" MEMORY_METRIC}, 404, "NotFound"},
                {{.path = V2 "/namespaces/shop/pods/web-1" CPU_METRIC, .metric_selector = "verb"}, 404, "NotFound"},
                {{.path = V2 "/namespaces/shop/pods/*" CPU_METRIC, .label_selector = "app=="}, 200, NULL},
                {{.path = V2 "/namespaces/shop/pods/*" CPU_METRIC, .label_selector = "app in web"}, 400, "BadRequest"},
                {{.path = V2 "/namespaces/shop/pods/*" CPU_METRIC, .metric_selector = "a=b="}, 400, "BadRequest"},
                {{.path = V2 "/namespaces/shop/pods/*" CPU_METRIC, .watch = true}, 405, "MethodNotAllowed"},
                {{.path = V2, .method = "POST"}, 405, "MethodNotAllowed"},
                {{.path = V2, .method = "HEAD"}, 405, "MethodNotAllowed"},
                {{.path = "\xff\xfe"}, 404, "NotFound"},
                {{.path = V2 "/namespaces/\xff/pods/\xff" CPU_METRIC}, 404, "NotFound"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct custom_request r = row[i].r;
                unsigned status;
                r.method = r.method ? r.method : "GET";
                json_t *got = ask(&r, &status);
                const char *kind = json_string_value(json_object_get(got, "kind"));
                const char *reason = json_string_value(json_object_get(got, "reason"));
                bool is_status = strcmp(kind, "Status") == 0 &&
                                 json_integer_value(json_object_get(got, "code")) == (json_int_t)row[i].want;
                if (status != row[i].want || (row[i].reason && (!is_status || strcmp(reason, row[i].reason) != 0)))
                        fail_msg("%s %s: %u %s", r.method, r.path, status, reason);
                json_decref(got);
        }
}

/* Nothing is told of half a cluster: an autoscaler would take it for the whole. */
static void test_before_the_first_cycle(void **state)
{
        (void)state;
        unsigned status;
        view->ready = false;
        json_decref(ask(&(struct custom_request){.method = "GET", .path = V2 "/namespaces/shop/pods/*" CPU_METRIC},
                        &status));
        assert_int_equal(status, 503);
        json_decref(ask(&(struct custom_request){.method = "GET", .path = V2}, &status));
        assert_int_equal(status, 200);
        view->ready = true;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_discovery),
                cmocka_unit_test(test_values),
                cmocka_unit_test(test_selection),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_before_the_first_cycle),
        };
        return cmocka_run_group_tests(tests, make, drop);
}
