/*
 * What the endpoints answer, every answer held against openapi.yaml.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../support/openapi.h"
#include "base/yaml.h"
#include "core/explain_steps.h"
#include "routes_fixture.h"

#define ONE   "/api/v1/namespaces/{ns}/workloads/{kind}/{name}"
#define WEB   "/api/v1/namespaces/shop/workloads/deploy/web"
#define API   "/api/v1/namespaces/shop/workloads/deploy/api"
#define CART  "/api/v1/namespaces/shop/workloads/asts/cart"
#define OLD   "/api/v1/namespaces/shop/workloads/deploy/old"
#define DB    "/api/v1/namespaces/bank/workloads/sts/db"
#define NEW   "/api/v1/namespaces/shop/workloads/deploy/new"
#define GIZMO "/api/v1/namespaces/shop/workloads/widgets.example.com/gizmo"

static json_t *described;

static const char *const templates[ROUTES] = {
        [ROUTE_WORKLOAD] = ONE,
        [ROUTE_LIST] = "/api/v1/workloads",
        [ROUTE_HISTOGRAM] = ONE "/histogram",
        [ROUTE_HISTORY] = ONE "/history",
        [ROUTE_EXPLAIN] = ONE "/explain",
        [ROUTE_NODES] = "/api/v1/nodes",
        [ROUTE_RENDER] = "/api/v1/namespaces/{ns}/render",
        [ROUTE_OPENAPI] = "/openapi.yaml",
        [ROUTE_PAGE] = "/ui",
        [ROUTE_SUMMARY] = "/api/v1/summary",
        [ROUTE_PROFILES] = "/api/v1/profiles",
        [ROUTE_REPORT] = "/api/v1/report",
        [ROUTE_DAYS] = ONE "/days",
        [ROUTE_CHANGES] = "/api/v1/changes",
        [ROUTE_WHAT_IF] = "/api/v1/profiles/what-if",
};

/* The answer as JSON, as described. The caller's reference. */
static json_t *ask(struct fixture *f, const char *url)
{
        struct err err;
        json_error_t why;
        const char *body = fixture_get(f, url);
        json_t *json = f->got.body.len ? json_loads(body, JSON_REJECT_DUPLICATES, &why) : NULL;
        if (!json && f->got.status != 304)
                fail_msg("%s: %s: %s", url, why.text, body);
        if (openapi_check(described, templates[f->route.name], "get", f->got.status, f->got.type, json, &err) < 0)
                fail_msg("%s: %s", url, err.text);
        return json;
}

/* "status.containers.0.cpu.target" of it; numbers as text too, "" where there is none. */
static const char *at(json_t *json, const char *path, char out[static 64])
{
        char copy[128], *save = NULL;
        snprintf(copy, sizeof copy, "%s", path);
        for (char *part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save))
                json = json_is_array(json) ? json_array_get(json, (size_t)atoi(part)) : json_object_get(json, part);
        if (json_is_integer(json))
                snprintf(out, 64, "%lld", (long long)json_integer_value(json));
        else if (json_is_boolean(json))
                snprintf(out, 64, "%s", json_is_true(json) ? "true" : "false");
        else
                snprintf(out, 64, "%s", json_is_string(json) ? json_string_value(json) : json ? "(some)" : "");
        return out;
}

struct row {
        const char *url;
        unsigned status;
        const char *path, *want; /* in the answer */
};

static void expect(const struct row *row, size_t rows)
{
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < rows; i++) {
                char got[64];
                json_t *json AUTO(json_decref) = ask(&f, row[i].url);
                at(json, row[i].path, got);
                if (f.got.status != row[i].status || strcmp(got, row[i].want) != 0)
                        fail_msg("%s: %u, %s is '%s', not '%s'\n%s", row[i].url, f.got.status, row[i].path, got,
                                 row[i].want, f.got.body.data);
        }
        fixture_release(&f);
}
#define EXPECT(rows) expect(rows, sizeof(rows) / sizeof(rows)[0])

static void test_workload(void **state)
{
        (void)state;
        static const struct row row[] = {
                {WEB, 200, "metadata.kind", "Deployment"},
                {WEB, 200, "metadata.apiVersion", "apps/v1"},
                {WEB, 200, "metadata.recommendation", "deployment-web"},
                {WEB, 200, "metadata.labels.app", "web"},
                {WEB, 200, "profile.kind", "ClusterProfile"},
                {WEB, 200, "profile.name", "pool"},
                {WEB, 200, "status.state", "Ready"},
                {WEB, 200, "status.containers.0.cpu.original", "2"},
                {WEB, 200, "status.containers.0.cpu.target", "454m"},
                {WEB, 200, "status.containers.0.memory.reason", "MemoryOff"},
                {WEB, 200, "status.containers.1.cpu.model", ""},
                {WEB, 200, "status.pod.cpu.original", "2"},
                {WEB, 200, "status.pod.cpu.target", "454m"},
                {API "?container=proxy", 200, "status.pod", ""},
                {WEB, 200, "status.saving.cpu", "4638m"},
                {WEB, 200, "status.firstSample", "2023-11-03T08:26:40Z"},
                {WEB, 200, "status.since", "2023-11-03T08:26:40Z"}, /* its name before, for one version more */
                {WEB, 200, "status.applied", ""},
                {WEB, 200, "status.conditions.1.reason", "RecommendOnly"},
                {WEB, 200, "deploy.containers.0.cpu.request", "454m"},
                {WEB, 200, "deploy.containers.0.cpu.reason", "Lowered"},
                {WEB, 200, "deploy.containers.0.cpu.changed", "true"},
                {WEB, 200, "deploy.containers.0.memory.request", "4Gi"},
                {WEB, 200, "deploy.containers.0.memory.changed", "false"},
                {WEB, 200, "deploy.containers.1.cpu.reason", "Init"},
                {API "?container=proxy", 200, "status.containers.0.name", "proxy"},
                {API "?container=proxy", 200, "status.containers.1", ""},
                {API "?container=proxy", 200, "deploy.containers.0.name", "proxy"},
                {API "?container=proxy", 200, "deploy.containers.1", ""},
                {API "?container=other", 404, "type", "https://halflife.dev/problems/not-found"},
                {GIZMO, 200, "metadata.apiVersion", "example.com/v1"},
                {CART, 200, "status.applied.containers.0.cpu", "454m"},
                {CART, 200, "status.applied.time", "2023-11-09T03:20:00Z"},
                {DB, 200, "status.state", "Held"},
                {DB, 200, "status.containers.0.state", "Held"},
                {DB, 200, "status.hold", "a sale"},
                {DB, 200, "deploy.containers.0.cpu.request", "2"},
                {DB, 200, "deploy.containers.0.cpu.reason", "Paused"},
                {DB, 200, "deploy.containers.0.cpu.target", "454m"},
                {OLD, 200, "profile", ""},
                {NEW, 404, "type", "https://halflife.dev/problems/not-found"},
        };
        EXPECT(row);
}

/* What the page asks for, beside lists: test_routes_page.c has what it says. */
static void test_sums(void **state)
{
        (void)state;
        static const struct row row[] = {
                {"/api/v1/summary", 200, "total.workloads", "6"},
                {"/api/v1/summary", 200, "rows.0.cpu.original", "36"},
                {"/api/v1/summary?by=label:app", 200, "rows.0.workloads", "1"},
                {"/api/v1/summary?by=x", 400, "parameter", "by"},
                {"/api/v1/profiles", 200, "items.0.name", "pool"},
                {"/api/v1/profiles", 200, "items.0.resources.cpu.multiplier", "1.1"},
                {"/api/v1/workloads?sort=name", 200, "total", "6"},
                {"/api/v1/workloads?sort=x", 400, "parameter", "sort"},
                {"/ui/none", 404, "status", "404"},
        };
        EXPECT(row);
}

/* Twenty days of the ledger, and changes: test_routes_changes.c has what else is said of these. */
static void test_days_and_changes(void **state)
{
        (void)state;
        static const struct row row[] = {
                {WEB "/days", 200, "metadata.name", "web"},
                {WEB "/days", 200, "until", "2024-10-04T12:00:00Z"},
                {WEB "/days", 200, "days.0.seconds", "86400"},
                {WEB "/days", 200, "days.0.pods", "2"},
                {WEB "/days", 200, "days.19.seconds", "43200"},
                {WEB "/days", 200, "days.19.changes", "1"},
                {WEB "/days", 200, "days.20", ""},
                {WEB "/days?since=1d", 400, "parameter", "since"},
                {"/api/v1/namespaces/shop/workloads/deploy/none/days", 404, "type",
                 "https://halflife.dev/problems/not-found"},
                {API "/days", 200, "days.0", ""},
                {"/api/v1/changes", 200, "total", "4"},
                {"/api/v1/changes", 200, "items.0.change", "Contested"},
                {"/api/v1/changes", 200, "items.2.to", "812Mi"},
                {"/api/v1/changes?change=Sold", 400, "parameter", "change"},
                {"/api/v1/changes?output=xml", 400, "parameter", "output"},
                {"/api/v1/changes?limit=501", 400, "parameter", "limit"},
                {"/api/v1/changes?sort=time", 400, "parameter", "sort"},
        };
        EXPECT(row);
}

/* Five workloads have the profile: of each a container app of 2 cores and a target of 454m, three pods. */
static void test_what_if(void **state)
{
        (void)state;
#define WHAT_IF "/api/v1/profiles/what-if"
        static const struct row row[] = {
                {WHAT_IF, 200, "percentiles.0", "50"},
                {WHAT_IF, 200, "percentiles.6", "100"},
                {WHAT_IF, 200, "items.0.kind", "ClusterProfile"},
                {WHAT_IF, 200, "items.0.name", "pool"},
                {WHAT_IF, 200, "items.0.workloads", "5"},
                {WHAT_IF, 200, "items.0.cpu.saving", "27828m"},
                {WHAT_IF, 200, "items.0.cpu.tried.0", "32988m"},
                {WHAT_IF, 200, "items.0.cpu.tried.5", "24708m"},
                {WHAT_IF, 200, "items.0.memory.tried.0", "0"}, /* the profile does not manage memory */
                {"/api/v1/namespaces/bank/profiles/what-if", 200, "items.0.workloads", "1"},
                {"/api/v1/namespaces/none/profiles/what-if", 200, "items.0", ""},
                {WHAT_IF "?percentile=90", 400, "parameter", "percentile"},
        };
        EXPECT(row);
}

/* What is advised of a limit stands with its container, and in its explanation. */
static void test_limits(void **state)
{
        (void)state;
        static const struct row row[] = {
                {API, 200, "status.containers.0.limits", ""},
                {API, 200, "status.containers.1.limits.cpu.reason", "Throttled"},
                {API, 200, "status.containers.1.limits.cpu.throttledPercent", "30"},
                {API, 200, "status.containers.1.limits.cpu.needed", ""},
                {API, 200, "status.containers.1.limits.memory.current", "500Mi"},
                {API, 200, "status.containers.1.limits.memory.advised", "690Mi"},
                {API "?container=proxy", 200, "status.containers.0.limits.memory.reason", "KilledAtLimit"},
                {API "?container=app", 200, "status.containers.0.limits", ""},
                {API "/explain", 200, "containers.0.memory.limit", ""},
                {API "/explain", 200, "containers.1.cpu.limit.advised", "1300m"},
                {API "/explain?container=proxy", 200, "containers.0.memory.limit.needed", "600Mi"},
                {API "/explain?container=proxy", 200, "containers.0.memory.limit.time", "2023-11-09T03:20:00Z"},
                {WEB, 200, "status.containers.0.limits", ""},
        };
        EXPECT(row);
}

#define LONE  "/api/v1/namespaces/shop/workloads/po/lone"
#define WHOLE "/api/v1/namespaces/shop/workloads/ns/shop"

/* A pod has what all its containers use together beside them, a namespace has nothing else; neither is a container that
 * anything is deployed with. */
static void test_dimensions(void **state)
{
        (void)state;
        static const struct status_quota quota[RESOURCES] = {{20000, 12500}, {-1, -1}};
        static const struct row row[] = {
                {LONE, 200, "metadata.kind", "Pod"},
                {LONE, 200, "metadata.recommendation", "pod-lone"},
                {LONE, 200, "status.containers.1.name", "*"},
                {LONE, 200, "status.pod.cpu.original", "2"}, /* the whole is no second container */
                {LONE, 200, "deploy.containers.0.cpu.request", "500m"},
                {LONE, 200, "deploy.containers.1", ""},
                {LONE, 200, "status.quota", ""},
                {LONE "?container=*", 200, "status.containers.0.name", "*"},
                {LONE "/histogram?resource=cpu", 200, "container", "app"}, /* the one that there is */
                {LONE "/histogram?resource=cpu&container=%2A", 200, "container", "*"},
                {LONE "/histogram?resource=cpu&container=*", 200, "samples", "100"},
                {LONE "/explain?container=*&resource=cpu", 200, "containers.0.cpu.target", "457m"},
                {LONE "/explain", 200, "containers.1.name", "*"},
                {WHOLE, 200, "metadata.kind", "Namespace"},
                {WHOLE, 200, "status.pod.cpu.original", "2"},
                {WHOLE, 200, "status.quota.cpu.hard", "20"},
                {WHOLE, 200, "status.quota.cpu.used", "12500m"},
                {WHOLE, 200, "status.quota.memory", ""},
                {WHOLE, 200, "deploy.containers.0.cpu.reason", "RecommendOnly"},
                {WHOLE "/histogram?resource=cpu", 200, "container", "*"},
                {WHOLE "/explain", 200, "containers.0.name", "*"},
                {"/api/v1/namespaces/shop/workloads/pods/none", 404, "status", "404"},
        };
        struct fixture f;
        fixture_init(&f);
        f.ns.range_min[CPU] = (struct amount){true, 500}; /* of a container: all together are bound by none */
        struct status_container *lone = fixture_containers(f.view, 2), *whole = fixture_containers(f.view, 1);
        lone[1].name = whole[0].name = f.learned[1].container = CONTAINER_WHOLE;
        lone[1].role = ROLE_WHOLE;
        fixture_target(&f, "shop", "", "Pod", "lone", lone, 2);
        struct snapshot_target *ns = fixture_target(&f, "shop", "", "Namespace", "shop", whole, 1);
        ns->decision.never_written = true;
        ns->quota = quota;
        snapshot_finish(f.view);
        f.spec.dimension = DIMENSION_POD;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char got[64];
                json_t *json AUTO(json_decref) = ask(&f, row[i].url);
                at(json, row[i].path, got);
                if (f.got.status != row[i].status || strcmp(got, row[i].want) != 0)
                        fail_msg("%s: %u, %s is '%s', not '%s'\n%s", row[i].url, f.got.status, row[i].path, got,
                                 row[i].want, f.got.body.data);
        }
        fixture_release(&f);
}

static void test_original(void **state)
{
        (void)state;
        static const struct row row[] = {
                {NEW "?original=cpu:2,memory:4Gi", 200, "status.state", "NoData"},
                {NEW "?original=cpu:2,memory:4Gi", 200, "metadata.apiVersion", "apps/v1"},
                {NEW "?original=cpu:2,memory:4Gi", 200, "metadata.recommendation", ""},
                {NEW "?original=cpu:2,memory:4Gi", 200, "profile.name", "pool"},
                {NEW "?original=cpu:2,memory:4Gi", 200, "deploy.containers.0.name", ""},
                {NEW "?original=cpu:2,memory:4Gi", 200, "deploy.containers.0.cpu.request", "1"},
                {NEW "?original=cpu:2,memory:4Gi", 200, "deploy.containers.0.cpu.reason", "Static"},
                {NEW "?original=cpu:2,memory:4Gi", 200, "deploy.containers.0.memory.request", "4Gi"},
                {NEW "?original=cpu%3A2%2Cmemory%3A4Gi&container=app", 200, "deploy.containers.0.name", "app"},
                {NEW "?original=cpu:500m", 200, "deploy.containers.0.cpu.request", "250m"},
                {NEW "?original=cpu:500m", 200, "deploy.containers.0.memory.request", ""},
                {NEW "?original=cpu:500m", 200, "deploy.containers.0.memory.reason", "MemoryOff"},
                {NEW "?original=cpu:2&labels=app=new,tier=x", 200, "deploy.containers.0.cpu.request", "1"},
                /* as if the manifest of one that is known asked for it */
                {WEB "?original=cpu:4", 200, "deploy.containers.0.cpu.request", "454m"},
                {WEB "?original=cpu:4", 200, "deploy.containers.0.cpu.original", "4"},
                {WEB "?original=cpu:4", 200, "deploy.containers.0.memory.original", "4Gi"},
                {WEB "?original=cpu:300m", 200, "deploy.containers.0.cpu.request", "300m"},
                {WEB "?original=cpu:300m", 200, "deploy.containers.0.cpu.reason", "AtOriginal"},
                {WEB "?original=cpu:4&container=more", 200, "deploy.containers.0.cpu.request", "2"},
                {API "?original=cpu:4", 400, "parameter", "container"},
                {API "?original=cpu:4&container=proxy", 200, "deploy.containers.0.cpu.request", "454m"},
                {OLD "?original=cpu:2", 200, "deploy.containers.0.cpu.request", "454m"},
                {OLD "?original=cpu:2", 200, "deploy.containers.0.cpu.original", "2"},
                {NEW "?original=cpu", 400, "parameter", "original"},
                {NEW "?original=cpu:", 400, "parameter", "original"},
                {NEW "?original=cpu:x", 400, "parameter", "original"},
                {NEW "?original=cpu:-1", 400, "parameter", "original"},
                {NEW "?original=gpu:1", 400, "parameter", "original"},
                {NEW "?original=cpu:1,cpu:2", 400, "parameter", "original"},
                {NEW "?original=cpu:1,", 400, "parameter", "original"},
                {NEW "?original=cpu:1&labels=app", 400, "parameter", "labels"},
                {NEW "?original=cpu:1&labels==b", 400, "parameter", "labels"},
                {NEW "?labels=app=b", 404, "status", "404"},
                {WEB "?labels=app=b", 200, "deploy.containers.0.cpu.request", "454m"},
        };
        EXPECT(row);
}

static void test_history(void **state)
{
        static const struct row row[] = {
                {WEB "/history", 200, "metadata.name", "web"},
                {WEB "/history", 200, "group", "apps"},
                {WEB "/history", 200, "containers.0.name", "app"},
                {WEB "/history", 200, "containers.0.sources.0", "0123456789abcdef"},
                {WEB "/history", 200, "containers.0.samples", "100"},
                {WEB "/history", 200, "containers.1.name", "proxy"},
                {WEB "/history?container=app", 400, "parameter", "container"},
                {NEW "/history", 404, "status", "404"},
        };
        (void)state;
        expect(row, sizeof row / sizeof row[0]);
        struct fixture f;
        fixture_init(&f);
        json_t *json AUTO(json_decref) = ask(&f, WEB "/history");
        const char *hex =
                json_string_value(json_object_get(json_array_get(json_object_get(json, "containers"), 1), "history"));
        uint8_t packed[USAGE_PACK_MAX];
        size_t len = usage_pack(&f.learned[1].usage, packed);
        assert_int_equal(strlen(hex), 2 * len);
        for (size_t i = 0; i < len; i++) {
                const char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
                assert_int_equal(strtoul(pair, NULL, 16), packed[i]);
        }
        fixture_release(&f);
}

static void test_histogram(void **state)
{
        (void)state;
        static const struct row row[] = {
                {WEB "/histogram?resource=cpu", 200, "unit", "cores"},
                {WEB "/histogram?resource=cpu", 200, "container", "app"},
                {WEB "/histogram?resource=cpu", 200, "halfLife", "24h"},
                {WEB "/histogram?resource=cpu", 200, "reference", "2023-11-14T00:00:00Z"},
                {WEB "/histogram?resource=cpu", 200, "samples", "100"},
                {WEB "/histogram?resource=cpu", 200, "firstSample", "2023-11-14T20:33:20Z"},
                {WEB "/histogram?resource=cpu", 200, "since", "2023-11-14T20:33:20Z"},
                {WEB "/histogram?resource=cpu", 200, "buckets.0.index", "8"},
                {WEB "/histogram?resource=cpu", 200, "buckets.2", ""},
                {WEB "/histogram?resource=cpu", 200, "percentiles.0.percentile", "50"},
                {WEB "/histogram?resource=cpu", 200, "percentiles.0.quantity", "111m"},
                {WEB "/histogram?resource=cpu", 200, "percentiles.4.percentile", "100"},
                {WEB "/histogram?resource=cpu", 200, "target", "454m"},
                {WEB "/histogram?resource=memory", 200, "unit", "bytes"},
                {API "/histogram?resource=memory&container=proxy", 200, "container", "proxy"},
                {API "/histogram?resource=memory", 400, "parameter", "container"},
                {WEB "/histogram?resource=cpu&container=setup", 200, "samples", "0"},
                {WEB "/histogram?resource=cpu&container=setup", 200, "percentiles.0", ""},
                {WEB "/histogram?resource=cpu&container=x", 404, "status", "404"},
                {WEB "/histogram?resource=gpu", 400, "parameter", "resource"},
                {WEB "/histogram", 400, "parameter", "resource"},
                {NEW "/histogram?resource=cpu", 404, "status", "404"},
        };
        EXPECT(row);
}

/* Shares add up to one, edges are the histogram's, and the open peak is included. */
static void test_histogram_adds_up(void **state)
{
        (void)state;
        struct fixture f;
        fixture_init(&f);
        f.learned[0].usage.window_ms = HOUR_MS;
        f.learned[0].usage.peak = 7e8;
        f.learned[0].usage.peak_at_ms = 1700000000000;
        json_t *json AUTO(json_decref) = ask(&f, WEB "/histogram?resource=memory");
        json_t *bucket;
        size_t i;
        double shares = 0;
        json_array_foreach(json_object_get(json, "buckets"), i, bucket)
        {
                int index = (int)json_integer_value(json_object_get(bucket, "index"));
                assert_true(json_number_value(json_object_get(bucket, "from")) == histogram_start(MEMORY, index));
                assert_true(json_number_value(json_object_get(bucket, "to")) == histogram_edge(MEMORY, index));
                shares += json_number_value(json_object_get(bucket, "share"));
        }
        assert_true(shares > 1 - 1e-9 && shares < 1 + 1e-9);
        assert_true(json_number_value(json_object_get(json, "totalWeight")) ==
                    histogram_total(&f.learned[0].usage.of[MEMORY]));
        assert_string_equal(json_string_value(json_object_get(json_object_get(json, "openPeak"), "quantity")),
                            "700000000");
        fixture_release(&f);
}

static void test_explain(void **state)
{
        (void)state;
        static const struct row row[] = {
                {WEB "/explain", 200, "containers.0.name", "app"},
                {WEB "/explain", 200, "containers.1.name", "setup"},
                {WEB "/explain", 200, "containers.0.cpu.reason", "Lowered"},
                {WEB "/explain", 200, "containers.0.cpu.deploy", "454m"},
                {WEB "/explain", 200, "containers.0.cpu.deployReason", "Lowered"},
                {WEB "/explain", 200, "containers.0.cpu.steps.0.step", "samples"},
                {WEB "/explain", 200, "containers.0.cpu.steps.0.samples", "100"},
                {WEB "/explain", 200, "containers.0.cpu.steps.0.firstSample", "2023-11-14T20:33:20Z"},
                {WEB "/explain", 200, "containers.0.cpu.steps.0.since", "2023-11-14T20:33:20Z"},
                {WEB "/explain", 200, "containers.0.cpu.steps.1.step", "percentile"},
                {WEB "/explain", 200, "containers.0.cpu.steps.1.percentile", "95"},
                {WEB "/explain", 200, "containers.0.cpu.steps.1.bucket", "22"},
                {WEB "/explain", 200, "containers.0.cpu.steps.2.step", "model"},
                {WEB "/explain", 200, "containers.0.cpu.steps.2.value", "415m"},
                {WEB "/explain", 200, "containers.0.cpu.steps.3.multiplier", "1.1"},
                {WEB "/explain", 200, "containers.0.cpu.steps.3.value", "457m"},
                {WEB "/explain", 200, "containers.0.cpu.steps.4.roundTo", "1m"},
                {WEB "/explain", 200, "containers.0.cpu.steps.6.rule", "Model"},
                {WEB "/explain", 200, "containers.0.cpu.steps.6.spoke", "true"},
                {WEB "/explain", 200, "containers.0.cpu.steps.17.gate", "Rule"},
                {WEB "/explain", 200, "containers.0.cpu.steps.17.verdict", "Open"},
                {WEB "/explain", 200, "containers.0.cpu.steps.19.words",
                 "OnDeploy: the target waits for the next deploy"},
                {WEB "/explain", 200, "containers.0.cpu.target", "457m"},
                {WEB "/explain", 200, "containers.0.memory.steps.2.step", "kill"},
                {WEB "/explain", 200, "containers.0.memory.reason", "MemoryOff"},
                {WEB "/explain", 200, "containers.1.cpu.steps.0.words", "nothing was learned yet"},
                {WEB "/explain", 200, "containers.0.cpu.whatIf", ""},
                {WEB "/explain?container=app&resource=cpu", 200, "containers.0.memory", ""},
                {WEB "/explain?container=app&resource=cpu", 200, "containers.1", ""},
                {WEB "/explain?percentile=50", 200, "containers.0.cpu.whatIf.model", "111m"},
                {WEB "/explain?percentile=50", 200, "containers.0.cpu.model", "415m"},
                {WEB "/explain?percentile=50&multiplier=2", 200, "containers.0.cpu.whatIf.target", "222m"},
                {WEB "/explain?halfLife=48h", 200, "containers.0.cpu.whatIf.model", "415m"},
                {WEB "/explain?halfLife=48h", 200, "containers.0.cpu.whatIf.notes.1", "gates are not recomputed"},
                {WEB "/explain?percentile=90&halfLife=48h&multiplier=1.2", 200, "containers.0.cpu.whatIf.target",
                 "498m"},
                {DB "/explain", 200, "containers.0.cpu.deployReason", "Paused"},
                {OLD "/explain", 200, "note", "no profile selects the workload: profile defaults are shown"},
                {GIZMO "/explain", 200, "metadata.kind", "Widget"},
                {WEB "/explain?percentile=49", 400, "parameter", "percentile"},
                {WEB "/explain?percentile=101", 400, "parameter", "percentile"},
                {WEB "/explain?percentile=90.5", 400, "parameter", "percentile"},
                {WEB "/explain?percentile=x", 400, "parameter", "percentile"},
                {WEB "/explain?multiplier=0.09", 400, "parameter", "multiplier"},
                {WEB "/explain?multiplier=1.2345", 400, "parameter", "multiplier"},
                {WEB "/explain?multiplier=1e3", 400, "parameter", "multiplier"},
                {WEB "/explain?multiplier=-1", 400, "parameter", "multiplier"},
                {WEB "/explain?halfLife=1s", 400, "parameter", "halfLife"},
                {WEB "/explain?halfLife=2d", 400, "parameter", "halfLife"},
                {WEB "/explain?halfLife=721h", 400, "parameter", "halfLife"},
                {WEB "/explain?resource=disk", 400, "parameter", "resource"},
                {WEB "/explain?container=x", 404, "status", "404"},
                {NEW "/explain", 404, "status", "404"},
        };
        EXPECT(row);
}

/* After the rules come the gates of a change, then those of a deploy: each is a step. */
static void test_explain_has_all_gates(void **state)
{
        (void)state;
        enum { RULES_BEFORE = 17 };
        struct fixture f;
        char text[64], path[64];
        int step = RULES_BEFORE;
        fixture_init(&f);
        json_t *json = ask(&f, WEB "/explain");
        for (enum gate g = GATE_NONE + 1; g < GATES; g++, step++) {
                snprintf(path, sizeof path, "containers.0.cpu.steps.%d.gate", step);
                assert_string_equal(at(json, path, text), gate_name(g));
        }
        for (int n = 0; gate_at_deploy(n); n++, step++) {
                snprintf(path, sizeof path, "containers.0.cpu.steps.%d.gate", step);
                assert_string_equal(at(json, path, text), gate_name(gate_at_deploy(n)));
        }
        snprintf(path, sizeof path, "containers.0.cpu.steps.%d.step", step);
        assert_string_equal(at(json, path, text), "");
        json_decref(json);
        fixture_release(&f);
}

/* Each step says something, and each thing once. */
static void test_explain_has_words(void **state)
{
        (void)state;
        struct fixture f;
        fixture_init(&f);
        f.learned[0].usage.kill[0] = (struct usage_kill){1700000000000, 9e8};
        f.spec.of[MEMORY].enabled = true;
        json_t *json AUTO(json_decref) = ask(&f, WEB "/explain?resource=memory&container=app");
        char got[64];
        assert_string_equal(at(json, "containers.0.memory.steps.2.spoke", got), "true");
        assert_string_equal(at(json, "containers.0.memory.steps.2.value", got), "900000000");
        assert_string_equal(at(json, "containers.0.memory.steps.3.value", got), "859Mi");
        json_t *steps = json_object_get(
                       json_object_get(json_array_get(json_object_get(json, "containers"), 0), "memory"), "steps"),
               *step;
        size_t i;
        json_array_foreach(steps, i, step)
        {
                assert_true(strlen(json_string_value(json_object_get(step, "words"))) > 3);
        }
        fixture_release(&f);
}

/* The step is there where the profile asks for it, with the day it fell on. */
static void test_explain_weekly_peak(void **state)
{
        (void)state;
        static const struct {
                int64_t days_ago; /* the newest sample */
                uint32_t mi[USAGE_DAYS];
                const char *spoke, *value, *time;
        } row[] = {
                {0, {7, 2048}, "true", "2Gi", "2023-11-13T00:00:00Z"},
                {0, {7}, "false", "7Mi", "2023-11-14T00:00:00Z"},
                {8, {2048}, "false", "", ""},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct fixture f;
                char got[64];
                fixture_init(&f);
                f.spec.of[MEMORY].enabled = f.spec.of[MEMORY].weekly_peak = true;
                f.learned[0].usage.newest_ms = 1700000000000 - row[i].days_ago * DAY_MS;
                memcpy(f.learned[0].usage.day_mi, row[i].mi, sizeof row[i].mi);
                json_t *json AUTO(json_decref) = ask(&f, WEB "/explain?resource=memory&container=app");
                assert_string_equal(at(json, "containers.0.memory.steps.3.step", got), "weeklyPeak");
                assert_string_equal(at(json, "containers.0.memory.steps.3.spoke", got), row[i].spoke);
                assert_string_equal(at(json, "containers.0.memory.steps.3.value", got), row[i].value);
                assert_string_equal(at(json, "containers.0.memory.steps.3.time", got), row[i].time);
                fixture_release(&f);
        }
}

/* What starts need is told where the profile ignores their samples, or where some were learned. */
static void test_starts(void **state)
{
        (void)state;
        static const struct {
                int64_t ignore_ms;
                double value, steady; /* of the samples of starts; value 0: there were none */
                const char *need, *last, *words;
        } row[] = {
                {0, 0, 0, "", "", ""},
                {5 * MINUTE_MS, 0, 0, "", "",
                 "no start was seen yet; samples of a container's first 5m will not count"},
                {5 * MINUTE_MS, 1.4, 0.3, "1512m", "2m",
                 "starts need 1512m for 2m; the target does not count them (ignoreFirst 5m)"},
                {0, 1.4, 0.3, "1512m", "2m", "starts need 1512m for 2m; the target does not count them"},
                {5 * MINUTE_MS, 1.4, 0, "1512m", "",
                 "starts need 1512m, for how long is not known yet; the target does not count them (ignoreFirst 5m)"},
                {5 * MINUTE_MS, 0.02, 0.01, "44m", "2m", /* above what the target was then */
                 "starts need 44m, no more than the target; the target does not count them (ignoreFirst 5m)"},
                {5 * MINUTE_MS, 0.02, 0.3, "44m", "",
                 "starts need 44m, no more than the target; the target does not count them (ignoreFirst 5m)"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct fixture f;
                char got[256];
                fixture_init(&f);
                f.spec.of[CPU].ignore_first_ms = row[i].ignore_ms;
                if (row[i].value > 0) {
                        f.learned[0].usage.starts = &f.learned[0].starts;
                        usage_starts_add(&f.learned[0].starts, CPU, DAY_MS,
                                         &(struct start_sample){.at = {1700000000000},
                                                                .value = row[i].value,
                                                                .age_ms = 2 * MINUTE_MS,
                                                                .steady = row[i].steady});
                }
                json_t *json AUTO(json_decref) = ask(&f, WEB "/explain?resource=cpu&container=app");
                assert_string_equal(at(json, "containers.0.cpu.starts.need", got), row[i].need);
                assert_string_equal(at(json, "containers.0.cpu.starts.last", got), row[i].last);
                at(json, "containers.0.cpu.starts.words", got);
                if (strncmp(got, row[i].words, 63) != 0) /* of as many bytes as at() gives */
                        fail_msg("row %zu: %s", i, got);
                json_t *histogram AUTO(json_decref) = ask(&f, WEB "/histogram?resource=cpu&container=app");
                assert_string_equal(at(histogram, "starts.buckets.0.weight", got), row[i].value > 0 ? "1" : "");
                assert_string_equal(at(histogram, "starts.aboveTarget.0.within", got), row[i].last);
                json_t *memory AUTO(json_decref) = ask(&f, WEB "/histogram?resource=memory&container=app");
                assert_null(json_object_get(memory, "starts"));
                fixture_release(&f);
        }
}

static void test_without_learner(void **state)
{
        (void)state;
        static const struct {
                const char *url;
                unsigned status;
        } row[] = {{WEB "/histogram?resource=cpu", 503}, {WEB "/explain", 503}, {WEB, 200}, {NEW "/explain", 404}};
        struct fixture f;
        fixture_init(&f);
        f.no_learner = true;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                json_decref(ask(&f, row[i].url));
                assert_int_equal(f.got.status, row[i].status);
                assert_int_equal(fixture_header(&f, "Retry-After") != NULL, row[i].status == 503);
        }
        fixture_release(&f);
}

/* Equal content has an equal ETag, and a request with that tag gets 304 without a body. */
static void test_tags(void **state)
{
        (void)state;
        static const char *const urls[] = {"/openapi.yaml", "/api/v1/workloads", WEB, WEB "/explain",
                                           WEB "/histogram?resource=cpu"};
        static const struct {
                const char *format;
                bool match;
        } row[] = {{"%s", true}, {"\"x\", %s", true}, {"W/%s", true},  {"\"x\"", false},
                   {"", false},  {"*%.0s", true},     {"x%.5s", false}};
        for (size_t u = 0; u < sizeof urls / sizeof urls[0]; u++) {
                struct fixture f;
                char tag[64], header[128];
                fixture_init(&f);
                fixture_get(&f, urls[u]);
                assert_int_equal(f.got.status, 200);
                snprintf(tag, sizeof tag, "%s", fixture_header(&f, "ETag"));
                assert_int_equal(strlen(tag), 34);
                size_t len = f.got.body.len;
                for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                        const char *mark = strchr(urls[u], '?');
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                        snprintf(header, sizeof header, row[i].format, tag);
#pragma GCC diagnostic pop
                        struct request r = {.method = TEXT("HEAD"),
                                            .path = {urls[u], mark ? (size_t)(mark - urls[u]) : strlen(urls[u])},
                                            .query = mark ? text_of(mark + 1) : (struct text){"", 0},
                                            .if_none_match = text_of(header)};
                        fixture_request(&f, &r);
                        if (f.got.status != (row[i].match ? 304 : 200) || f.got.body.len != (row[i].match ? 0 : len) ||
                            strcmp(fixture_header(&f, "ETag"), tag) != 0)
                                fail_msg("%s with '%s': %u", urls[u], header, f.got.status);
                }
                fixture_release(&f);
        }
}

/* One byte of the content, another tag. */
static void test_tags_differ(void **state)
{
        (void)state;
        struct fixture f;
        char tag[64][40];
        fixture_init(&f);
        for (int i = 0; i < 64; i++) {
                ((struct snapshot_target *)(uintptr_t)f.view->target[f.view->targets - 1])->samples = i;
                fixture_get(&f, "/api/v1/workloads");
                snprintf(tag[i], sizeof tag[i], "%s", fixture_header(&f, "ETag"));
                for (int k = 0; k < i; k++)
                        assert_string_not_equal(tag[i], tag[k]);
        }
        fixture_release(&f);
}

static void test_age(void **state)
{
        (void)state;
        struct fixture f;
        fixture_init(&f);
        fixture_get(&f, WEB);
        assert_null(fixture_header(&f, "Warning"));
        f.view->source_error = "connection refused";
        f.view->source_since_ms = f.view->at.ms - 90 * SECOND_MS;
        f.at = (struct wall){f.view->at.ms + 7 * SECOND_MS};
        fixture_get(&f, WEB);
        assert_int_equal(f.got.status, 200);
        assert_non_null(fixture_header(&f, "Warning"));
        assert_string_equal(fixture_header(&f, "Age"), "97"); /* as of the request, not of the view */
        fixture_release(&f);
}

/* --- nodes --- */

/* A caller who may list no recommendations gets no names, and one of a namespace gets those of that namespace. */
static void test_nodes_name_by_permission(void **state)
{
        static const struct {
                const char *url;
                bool names;
                const char *want; /* of the first node; NULL: the member is not there */
        } row[] = {
                {"/api/v1/nodes", false, NULL},
                {"/api/v1/nodes?namespace=shop", false, NULL},
                {"/api/v1/nodes", true, " shop/Deployment/web bank/StatefulSet/db"},
                {"/api/v1/nodes?namespace=shop", true, " shop/Deployment/web"},
                {"/api/v1/nodes?namespace=other", true, ""},
        };
        struct fixture f;
        (void)state;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char got[512] = "";
                f.names = row[i].names;
                AUTO(json_decref) json_t *json = ask(&f, row[i].url);
                json_t *node = json_array_get(json_object_get(json, "items"), 0),
                       *all = json_object_get(node, "workloads"), *one;
                size_t k, len = 0;
                json_array_foreach(all, k, one) len += (size_t)snprintf(
                        got + len, sizeof got - len, " %s/%s/%s", json_string_value(json_object_get(one, "namespace")),
                        json_string_value(json_object_get(one, "kind")),
                        json_string_value(json_object_get(one, "name")));
                if ((all == NULL) != (row[i].want == NULL) || (row[i].want && strcmp(got, row[i].want) != 0))
                        fail_msg("%s, %s: '%s'", row[i].url, row[i].names ? "names" : "no names", got);
        }
        fixture_release(&f);
}

static void test_nodes(void **state)
{
        static const struct {
                const char *url;
                int items, left;
        } row[] = {
                {"/api/v1/nodes", 2, 0},
                {"/api/v1/nodes?limit=1", 1, 1},
                {"/api/v1/nodes?labelSelector=pool%3Da", 1, 0},
                {"/api/v1/nodes?labelSelector=pool%3Da&limit=1", 1, 0},
                {"/api/v1/nodes?labelSelector=pool%21%3Da", 1, 0},
                {"/api/v1/nodes?labelSelector=zone", 0, 0},
                {"/api/v1/nodes?limit=0", -1, 0},
                {"/api/v1/nodes?limit=10001", -1, 0},
                {"/api/v1/nodes?labelSelector=a%3D%3D%3Db", -1, 0},
                {"/api/v1/nodes?namespace=No_Namespace", -1, 0},
                {"/api/v1/nodes?state=Ready", -1, 0},
        };
        char text[64];
        struct fixture f;
        (void)state;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(json_decref) json_t *json = ask(&f, row[i].url);
                int items = f.got.status == 200 ? (int)json_array_size(json_object_get(json, "items")) : -1;
                if (items != row[i].items ||
                    (items >= 0 && json_integer_value(json_object_get(json, "left")) != row[i].left))
                        fail_msg("%s: %d items", row[i].url, items);
        }
        AUTO(json_decref) json_t *json = ask(&f, "/api/v1/nodes");
        assert_non_null(fixture_header(&f, "ETag"));
        assert_string_equal(at(json, "items.0.name", text), "n-1");
        assert_string_equal(at(json, "items.0.taints.1", text), "b:NoExecute");
        assert_string_equal(at(json, "items.0.cpu.allocatable", text), "3900m");
        assert_string_equal(at(json, "items.0.cpu.hotSamples", text), "12");
        assert_string_equal(at(json, "items.0.conditions.0.reason", text), "CPU");
        assert_string_equal(at(json, "items.0.conditions.0.message", text),
                            "12 of the last 15 samples of cpu are above 80 %");
        assert_string_equal(at(json, "items.0.conditions.0.lastTransitionTime", text), "2023-11-14T21:56:40Z");
        assert_string_equal(at(json, "items.1.conditions.0.reason", text), "");
        assert_string_equal(at(json, "items.1.name", text), "silent");
        assert_string_equal(at(json, "items.1.samples", text), "0");
        assert_string_equal(at(json, "items.1.cpu.used", text), "");
        assert_true(json_number_value(json_object_get(json_array_get(json_object_get(json, "items"), 0),
                                                      "pressurePercent")) == 83.1);
        f.no_learner = true;
        AUTO(json_decref) json_t *away = ask(&f, "/api/v1/nodes");
        assert_int_equal(f.got.status, 503);
        assert_non_null(away);
        fixture_release(&f);
}

static void see_problem(json_t *example, const char *name, bool has_example[PROBLEMS])
{
        struct err err;
        if (!example)
                return;
        if (openapi_check_schema(described, "Problem", example, &err) < 0)
                fail_msg("%s: %s", name, err.text);
        for (enum problem p = 0; p < PROBLEMS; p++)
                has_example[p] |= strcmp(json_string_value(json_object_get(example, "type")), problem_type(p)) == 0;
}

/* Every endpoint, every problem and every reason, state and gate of ours is in the description. */
static void test_description_is_whole(void **state)
{
        (void)state;
        json_t *paths = json_object_get(described, "paths");
        for (enum route_name r = 0; r < ROUTES; r++)
                if (!templates[r] || !json_object_get(paths, templates[r]))
                        fail_msg("%s: route %d of enum route_name has no path in %s",
                                 templates[r] ? templates[r] : "NULL", (int)r,
                                 templates[r] ? "src/rest/openapi.yaml" : "the table templates of this test");
        assert_int_equal(json_object_size(paths), ROUTES + 7);
        json_t *responses = json_object_get(json_object_get(described, "components"), "responses"), *response;
        bool has_example[PROBLEMS] = {false};
        const char *name, *which;
        json_t *example;
        json_object_foreach(responses, name, response)
        {
                json_t *media = json_object_get(json_object_get(response, "content"), "application/problem+json");
                see_problem(json_object_get(media, "example"), name, has_example);
                json_object_foreach(json_object_get(media, "examples"), which, example)
                        see_problem(json_object_get(example, "value"), which, has_example);
        }
        has_example[PROBLEM_INVALID_BODY] = true; /* at render */
        for (enum problem p = 0; p < PROBLEMS; p++)
                if (!has_example[p])
                        fail_msg("no example of %s", problem_type(p));
}

static void check_enumerates(const char *schema, const char *property, const char *name)
{
        json_t *of = json_object_get(json_object_get(json_object_get(described, "components"), "schemas"), schema),
               *one;
        size_t i;
        if (property)
                of = json_object_get(json_object_get(of, "properties"), property);
        json_array_foreach(json_object_get(of, "enum"), i, one)
        {
                if (strcmp(json_string_value(one), name) == 0)
                        return;
        }
        fail_msg("src/rest/openapi.yaml: the enum of %s%s%s lacks '%s' (`make docs` writes reasons and gates)", schema,
                 property ? "." : "", property ? property : "", name);
}

static void test_names_are_described(void **state)
{
        (void)state;
        for (enum reason r = REASON_NONE + 1; r < REASONS; r++)
                check_enumerates("Reason", NULL, reason_name(r));
        for (enum state s = 0; s < STATES; s++)
                check_enumerates("State", NULL, state_name(s));
        for (enum resource r = CPU; r < RESOURCES; r++)
                check_enumerates("Resource", NULL, resource_name(r));
        for (enum explain_kind k = 0; k < EXPLAIN_KINDS; k++)
                check_enumerates("Step", "step", explain_kind_name(k));
        for (enum rule r = 0; r < RULES; r++)
                check_enumerates("Step", "rule", rule_name(r));
        for (enum gate g = GATE_NONE + 1; g < GATES; g++)
                check_enumerates("Step", "gate", gate_name(g));
}

/* Wherever a former name is described, it is deprecated, says what to read, and stands beside that. */
static void test_former_names(void **state)
{
        (void)state;
        static const char *const schemas[] = {"Status", "AnyStatus", "Histogram", "Step"};
        for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
                json_t *properties = json_object_get(
                        json_object_get(json_object_get(json_object_get(described, "components"), "schemas"),
                                        schemas[i]),
                        "properties");
                json_t *now = json_object_get(properties, "firstSample"),
                       *former = json_object_get(properties, "since");
                const char *words = json_string_value(json_object_get(former, "description"));
                if (!now || json_object_get(now, "deprecated") ||
                    !json_is_true(json_object_get(former, "deprecated")) || !words ||
                    !strstr(words, "Read firstSample instead"))
                        fail_msg("%s: since is not said to be firstSample now", schemas[i]);
        }
}

static int load(void **state)
{
        (void)state;
        struct fixture f;
        struct err err;
        fixture_init(&f);
        const char *text = fixture_get(&f, "/openapi.yaml");
        described = yaml_read(text, f.got.body.len, &err);
        if (!described)
                fprintf(stderr, "openapi.yaml: %s\n", err.text);
        fixture_release(&f);
        return described ? 0 : -1;
}

static int unload(void **state)
{
        (void)state;
        json_decref(described);
        return 0;
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nodes),
                cmocka_unit_test(test_nodes_name_by_permission),
                cmocka_unit_test(test_description_is_whole),
                cmocka_unit_test(test_names_are_described),
                cmocka_unit_test(test_former_names),
                cmocka_unit_test(test_sums),
                cmocka_unit_test(test_days_and_changes),
                cmocka_unit_test(test_what_if),
                cmocka_unit_test(test_workload),
                cmocka_unit_test(test_limits),
                cmocka_unit_test(test_dimensions),
                cmocka_unit_test(test_original),
                cmocka_unit_test(test_histogram),
                cmocka_unit_test(test_history),
                cmocka_unit_test(test_histogram_adds_up),
                cmocka_unit_test(test_explain),
                cmocka_unit_test(test_explain_has_all_gates),
                cmocka_unit_test(test_explain_has_words),
                cmocka_unit_test(test_explain_weekly_peak),
                cmocka_unit_test(test_starts),
                cmocka_unit_test(test_without_learner),
                cmocka_unit_test(test_tags),
                cmocka_unit_test(test_tags_differ),
                cmocka_unit_test(test_age),
        };
        return cmocka_run_group_tests(tests, load, unload);
}
