/*
 * Which endpoint a request matches, the permission it needs, and requests that are refused before authentication.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "routes_fixture.h"

#define WL "/api/v1/namespaces/shop/workloads"

static void test_doors(void **state)
{
        (void)state;
        static const struct {
                const char *method, *url;
                enum route_name name;
                const char *verb, *ns, *group, *kind, *workload, *recommendation;
        } row[] = {
                {"GET", "/openapi.yaml", ROUTE_OPENAPI, NULL, "", NULL, NULL, NULL, NULL},
                {"GET", "/api/v1/workloads", ROUTE_LIST, "list", "", NULL, NULL, NULL, NULL},
                {"HEAD", "/api/v1/workloads", ROUTE_LIST, "list", "", NULL, NULL, NULL, NULL},
                {"GET", WL, ROUTE_LIST, "list", "shop", NULL, NULL, NULL, NULL},
                {"GET", WL "/deploy/web", ROUTE_WORKLOAD, "get", "shop", "apps", "Deployment", "web", "deployment-web"},
                {"GET", WL "/deployments.apps/web", ROUTE_WORKLOAD, "get", "shop", "apps", "Deployment", "web",
                 "deployment-web"},
                {"GET", WL "/Deployment/web", ROUTE_WORKLOAD, "get", "shop", "apps", "Deployment", "web",
                 "deployment-web"},
                {"GET", WL "/deployment/w%65b", ROUTE_WORKLOAD, "get", "shop", "apps", "Deployment", "web",
                 "deployment-web"},
                {"GET", WL "/sts/web/histogram?resource=cpu", ROUTE_HISTOGRAM, "get", "shop", "apps", "StatefulSet",
                 "web", "statefulset-web"},
                {"GET", WL "/sts/web/history", ROUTE_HISTORY, "get", "shop", "apps", "StatefulSet", "web",
                 "statefulset-web"},
                {"GET", WL "/cj/web/explain", ROUTE_EXPLAIN, "get", "shop", "batch", "CronJob", "web", "cronjob-web"},
                {"GET", WL "/statefulsets.apps.kruise.io/cart", ROUTE_WORKLOAD, "get", "shop", "apps.kruise.io",
                 "StatefulSet", "cart", "statefulset.apps.kruise.io-cart"},
                {"GET", WL "/widgets.example.com/gizmo", ROUTE_WORKLOAD, "get", "shop", "example.com", "Widget",
                 "gizmo", "widget.example.com-gizmo"},
                {"GET", WL "/widget.example.com/gizmo", ROUTE_WORKLOAD, "get", "shop", "example.com", "Widget", "gizmo",
                 "widget.example.com-gizmo"},
                {"GET", WL "/Widget.example.com/gizmo", ROUTE_WORKLOAD, "get", "shop", "example.com", "Widget", "gizmo",
                 "widget.example.com-gizmo"},
                {"GET", WL "/deployments.v1.apps/web", ROUTE_WORKLOAD, "get", "shop", "apps", "Deployment", "web",
                 "deployment-web"},
                /* a kind that a profile names, though there is none yet */
                {"GET", WL "/gateways.v1beta1.example.org/new", ROUTE_WORKLOAD, "get", "shop", "example.org", "GateWay",
                 "new", "gateway.example.org-new"},
                {"GET", WL "/gateway/new", ROUTE_WORKLOAD, "get", "shop", "example.org", "GateWay", "new",
                 "gateway.example.org-new"},
                /* not known by any spelling: the usual singular, so that access is asked for as for one that is */
                {"GET", WL "/widgets.example.com/other", ROUTE_WORKLOAD, "get", "shop", "example.com", "widget",
                 "other", "widget.example.com-other"},
                {"GET", WL "/proxies.example.com/other", ROUTE_WORKLOAD, "get", "shop", "example.com", "proxy", "other",
                 "proxy.example.com-other"},
                {"GET", WL "/boxes.example.com/other", ROUTE_WORKLOAD, "get", "shop", "example.com", "box", "other",
                 "box.example.com-other"},
                {"GET", WL "/glass.example.com/other", ROUTE_WORKLOAD, "get", "shop", "example.com", "glass", "other",
                 "glass.example.com-other"},
                {"GET", WL "/gadgets/other", ROUTE_WORKLOAD, "get", "shop", "", "gadget", "other", "gadget-other"},
                {"GET", "/ui", ROUTE_PAGE, NULL, "", NULL, NULL, NULL, NULL},
                {"HEAD", "/ui/main.js", ROUTE_PAGE, NULL, "", NULL, NULL, NULL, NULL},
                {"GET", "/ui/..", ROUTE_PAGE, NULL, "", NULL, NULL, NULL, NULL}, /* no file has that name */
                {"GET", "/api/v1/summary?by=label:team", ROUTE_SUMMARY, "list", "", NULL, NULL, NULL, NULL},
                {"GET", "/api/v1/namespaces/shop/summary", ROUTE_SUMMARY, "list", "shop", NULL, NULL, NULL, NULL},
                {"GET", "/api/v1/profiles", ROUTE_PROFILES, "list", "", NULL, NULL, NULL, NULL},
                {"GET", "/api/v1/namespaces/shop/profiles", ROUTE_PROFILES, "list", "shop", NULL, NULL, NULL, NULL},
                {"GET", "/api/v1/report?since=48h&by=pool", ROUTE_REPORT, "list", "", NULL, NULL, NULL, NULL},
                {"HEAD", "/api/v1/namespaces/shop/report", ROUTE_REPORT, "list", "shop", NULL, NULL, NULL, NULL},
                {"GET", WL "/deploy/web/days", ROUTE_DAYS, "get", "shop", "apps", "Deployment", "web",
                 "deployment-web"},
                {"GET", "/api/v1/changes?change=Guarded", ROUTE_CHANGES, "list", "", NULL, NULL, NULL, NULL},
                {"GET", "/api/v1/namespaces/shop/changes", ROUTE_CHANGES, "list", "shop", NULL, NULL, NULL, NULL},
                {"GET", "/api/v1/profiles/what-if", ROUTE_WHAT_IF, "list", "", NULL, NULL, NULL, NULL},
                {"GET", "/api/v1/namespaces/shop/profiles/what-if", ROUTE_WHAT_IF, "list", "shop", NULL, NULL, NULL,
                 NULL},
                {"GET", "/api/v1/nodes", ROUTE_NODES, "list", "", NULL, NULL, NULL, NULL},
                {"GET", "/api/v1/nodes?namespace=shop&labelSelector=a", ROUTE_NODES, "list", "shop", NULL, NULL, NULL,
                 NULL},
                {"POST", "/api/v1/namespaces/shop/render?dryRun", ROUTE_RENDER, "get", "shop", NULL, NULL, NULL, NULL},
        };
        static char version[] = "example.org/v1beta1", kind[] = "GateWay";
        struct fixture f;
        fixture_init(&f);
        struct profile_target target = {version, kind};
        f.spec.target = &target;
        f.spec.targets = 1;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                fixture_ask(&f, row[i].method, row[i].url);
                const struct route *r = &f.route;
                const char *pair[][2] = {{r->verb, row[i].verb},         {r->ns, row[i].ns},
                                         {r->group, row[i].group},       {r->kind, row[i].kind},
                                         {r->workload, row[i].workload}, {r->recommendation, row[i].recommendation}};
                if (!f.matched || r->name != row[i].name)
                        fail_msg("%s %s: %s", row[i].method, row[i].url,
                                 f.got.body.data ? f.got.body.data : "another door");
                for (size_t k = 0; k < sizeof pair / sizeof pair[0]; k++)
                        if ((pair[k][0] == NULL) != (pair[k][1] == NULL) ||
                            (pair[k][0] && strcmp(pair[k][0], pair[k][1]) != 0))
                                fail_msg("%s: '%s', not '%s'", row[i].url, pair[k][0], pair[k][1]);
                assert_int_equal(r->dry_run, row[i].name == ROUTE_RENDER);
        }
        fixture_release(&f);
}

/* What the server does for a request goes by these. */
static void test_wants(void **state)
{
        (void)state;
        static const struct {
                const char *method, *url;
                bool body, learned, worker;
        } row[] = {
                {"GET", "/openapi.yaml", false, false, true},
                {"GET", "/ui", false, false, true},
                {"GET", "/ui/main.js", false, false, true},
                {"GET", "/api/v1/workloads", false, false, true},
                {"GET", "/api/v1/summary", false, false, true},
                {"GET", "/api/v1/profiles", false, false, true},
                {"GET", WL, false, false, true},
                {"GET", WL "/deploy/web", false, false, false},
                {"GET", WL "/deploy/web/histogram?resource=cpu", false, true, false},
                {"GET", WL "/deploy/web/history", false, true, false},
                {"GET", WL "/deploy/web/explain", false, true, false},
                {"GET", "/api/v1/nodes", false, true, false},
                {"GET", "/api/v1/report", false, true, false},
                {"GET", WL "/deploy/web/days", false, true, false},
                {"GET", "/api/v1/changes", false, true, true},
                {"GET", "/api/v1/profiles/what-if", false, true, false},
                {"POST", "/api/v1/namespaces/shop/render", true, false, false},
        };
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                fixture_ask(&f, row[i].method, row[i].url);
                if (!f.matched || f.route.wants_body != row[i].body || f.route.wants_learned != row[i].learned ||
                    f.route.wants_worker != row[i].worker)
                        fail_msg("%s %s", row[i].method, row[i].url);
        }
        fixture_release(&f);
}

static void test_kinds_without_a_view(void **state)
{
        (void)state;
        struct arena a = {0};
        struct route route;
        struct answer answer = {0};
        struct request r = {.method = TEXT("GET"), .path = TEXT(WL "/widgets.example.com/gizmo")};
        assert_int_equal(route_match(&r, NULL, &a, &route, &answer), 0);
        assert_string_equal(route.recommendation, "widget.example.com-gizmo");
        arena_release(&a);
}

#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void test_refusals(void **state)
{
        (void)state;
        static const struct {
                const char *method, *url;
                unsigned status;
                const char *says; /* in the body */
        } row[] = {
                {"GET", "", 404, "problems/not-found"},
                {"GET", "/", 404, "problems/not-found"},
                {"GET", "api/v1/workloads", 404, "problems/not-found"},
                {"GET", "/api/v1/workloads/", 404, "problems/not-found"},
                {"GET", "/api/v1//workloads", 404, "problems/not-found"},
                {"GET", "/api/v2/workloads", 404, "problems/not-found"},
                {"GET", "/api/v1/workload%73", 404, "problems/not-found"},
                {"GET", WL "/deploy", 404, "problems/not-found"},
                {"GET", WL "/deploy/web/memory", 404, "problems/not-found"},
                {"GET", WL "/deploy/web/explain/more", 404, "problems/not-found"},
                {"GET", "/a/b/c/d/e/f/g/h/i/j/k/l", 404, "problems/not-found"},
                {"POST", "/api/v1/workloads", 405, "problems/method-not-allowed"},
                {"DELETE", WL "/deploy/web", 405, "GET, HEAD"},
                {"get", WL, 405, "GET, HEAD"},
                {"GET", "/api/v1/namespaces/shop/render", 405, "use POST"},
                {"HEAD", "/api/v1/namespaces/shop/render", 405, "use POST"},
                {"GET", "/api/v1/namespaces//workloads", 400, "\"parameter\":\"ns\""},
                {"GET", "/api/v1/namespaces/Shop/workloads", 400, "\"parameter\":\"ns\""},
                {"GET", "/api/v1/namespaces/shop%/workloads", 400, "\"parameter\":\"ns\""},
                {"GET", "/api/v1/namespaces/shop%2/workloads", 400, "\"parameter\":\"ns\""},
                {"GET", "/api/v1/namespaces/shop%2f/workloads", 400, "\"parameter\":\"ns\""},
                {"GET", "/api/v1/namespaces/shop%00/workloads", 400, "\"parameter\":\"ns\""},
                {"GET", "/api/v1/namespaces/%ff/workloads", 400, "\"parameter\":\"ns\""},
                {"GET", "/api/v1/namespaces/-shop/workloads", 400, "\"parameter\":\"ns\""},
                {"GET", "/api/v1/namespaces/" LONG "/workloads", 400, "\"parameter\":\"ns\""},
                {"GET", WL "/deploy/Web", 400, "\"parameter\":\"name\""},
                {"GET", WL "/deploy/.web", 400, "\"parameter\":\"name\""},
                {"GET", WL "/deploy/" LONG LONG LONG LONG, 400, "\"parameter\":\"name\""},
                {"GET", WL "//web", 400, "\"parameter\":\"kind\""},
                {"GET", WL "/de%20ploy/web", 400, "\"parameter\":\"kind\""},
                {"GET", WL "/widget./web", 400, "\"parameter\":\"kind\""},
                {"GET", WL "/.example.com/web", 400, "\"parameter\":\"kind\""},
                {"GET", WL "/widget.v1./web", 400, "\"parameter\":\"kind\""},
                {"GET", WL "/widget.Example.com/web", 400, "\"parameter\":\"kind\""},
                {"GET", "/api/v1/workloads?pretty=1", 400,
                 "it has labelSelector, state, limit, continue, fields, sort, offset, output"},
                {"GET", "/openapi.yaml?a", 400, "it has none"},
                {"GET", "/api/v1/workloads?%6c%69mit=1&limit=2", 400, "'limit' is given twice"},
                {"GET", "/api/v1/workloads?limit=1&&state=Ready", 400, "parameter ''"},
                {"GET", "/api/v1/workloads?limit", 400, "'limit' is empty"},
                {"GET", "/api/v1/workloads?limit=", 400, "'limit' is empty"},
                {"GET", "/api/v1/workloads?limit=%zz", 400, "percent-encoded"},
                {"GET", "/api/v1/workloads?limit=%c3%28", 400, "percent-encoded"},
                {"GET", "/api/v1/workloads?%=1", 400, "percent-encoded"},
                {"GET", "/api/v1/workloads?limit=123456789", 400, "longer than 8"},
                {"GET", "/api/v1/workloads?\xff=1", 400, "percent-encoded"},
                {"GET", WL "/deploy/web?labelSelector=a", 400, "it has container, original, labels"},
                {"POST", "/api/v1/namespaces/shop/render?dryRun=yes", 400, "\"parameter\":\"dryRun\""},
        };
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const char *body = fixture_ask(&f, row[i].method, row[i].url);
                if (f.matched || f.got.status != row[i].status || !strstr(body, row[i].says))
                        fail_msg("%s %s: %u %s", row[i].method, row[i].url, f.got.status, body);
                assert_string_equal(f.got.type, "application/problem+json");
                assert_int_equal(f.got.status == 405, fixture_header(&f, "Allow") != NULL);
        }
        fixture_release(&f);
}

static void test_dry_run(void **state)
{
        (void)state;
        static const struct {
                const char *url;
                bool want;
        } row[] = {{"", false},        {"?", false},           {"?dryRun", true},
                   {"?dryRun=", true}, {"?dryRun=true", true}, {"?dryRun=false", false}};
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char url[64];
                snprintf(url, sizeof url, "/api/v1/namespaces/shop/render%s", row[i].url);
                fixture_ask(&f, "POST", url);
                assert_true(f.matched);
                assert_int_equal(f.route.dry_run, row[i].want);
        }
        fixture_release(&f);
}

/* Long queries are refused by their length, not read. */
static void test_bounds(void **state)
{
        (void)state;
        static char path[4096], query[20000];
        struct arena a = {0};
        struct route route;
        struct answer answer = {0};
        memset(path, '/', sizeof path);
        memset(query, '&', sizeof query);
        struct request r = {.method = TEXT("GET"), .path = {path, sizeof path}};
        assert_int_equal(route_match(&r, NULL, &a, &route, &answer), ERR_INVALID);
        assert_int_equal(answer.status, 404);
        r = (struct request){.method = TEXT("GET"), .path = TEXT("/api/v1/workloads"), .query = {query, sizeof query}};
        assert_int_equal(route_match(&r, NULL, &a, &route, &answer), ERR_INVALID);
        assert_int_equal(answer.status, 400);
        buf_release(&answer.body);
        arena_release(&a);
}

static void test_problems(void **state)
{
        (void)state;
        static const unsigned want[PROBLEMS] = {404, 405, 400, 400, 400, 415, 413, 401, 403, 410, 429, 503, 503, 408};
        struct answer a = {0};
        for (enum problem p = 0; p < PROBLEMS; p++) {
                answer_header(&a, "X", "of the answer before");
                answer_problem(&a, p, "quotes \"%s\" and \xff", "\n");
                assert_int_equal(a.status, want[p]);
                assert_non_null(strstr(a.body.data, problem_type(p)));
                assert_non_null(strstr(a.body.data, "quotes \\\"\\u000a\\\" and ?"));
                bool has = p == PROBLEM_UNAUTHENTICATED || p == PROBLEM_SHARE_USED || p == PROBLEM_OVERLOADED ||
                           p == PROBLEM_UNAVAILABLE;
                assert_int_equal(a.headers, has);
        }
        buf_release(&a.body);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_doors),
                cmocka_unit_test(test_wants),
                cmocka_unit_test(test_kinds_without_a_view),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_dry_run),
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_problems),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
