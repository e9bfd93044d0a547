/*
 * The web page's files as the REST API serves them, and what only the page asks for: lists in an order, CSV, sums, and
 * profiles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <jansson.h>

#include "page/page.h"
#include "rest/list_csv.h"
#include "routes_fixture.h"

#define ALL  "/api/v1/workloads"
#define SHOP "/api/v1/namespaces/shop/workloads"

static void test_headers(void **state)
{
        (void)state;
        static const struct {
                const char *name, *says;
        } row[] = {
                {"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                                            "connect-src 'self'; base-uri 'none'; form-action 'none'; "
                                            "frame-ancestors 'none'; require-trusted-types-for 'script'"},
                {"X-Content-Type-Options", "nosniff"},
                {"Referrer-Policy", "no-referrer"},
                {"Cross-Origin-Opener-Policy", "same-origin"},
                {"Cross-Origin-Resource-Policy", "same-origin"},
                {"Cache-Control", "no-cache"},
                {"Vary", "Accept-Encoding"},
        };
        static const struct {
                const char *url, *type;
        } file[] = {{"/ui", "text/html; charset=utf-8"},
                    {"/ui/main.js", "text/javascript; charset=utf-8"},
                    {"/ui/style.css", "text/css; charset=utf-8"},
                    {"/ui/icon.svg", "image/svg+xml"}};
        struct fixture f;
        fixture_init(&f);
        for (size_t k = 0; k < sizeof file / sizeof file[0]; k++) {
                fixture_get(&f, file[k].url);
                assert_int_equal(f.got.status, 200);
                assert_string_equal(f.got.type, file[k].type);
                for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                        assert_string_equal(fixture_header(&f, row[i].name), row[i].says);
                assert_int_equal(strlen(fixture_header(&f, "ETag")), 34);
        }
        f.view->source_error = "away"; /* the page is as new as the program, whatever its data is */
        fixture_get(&f, "/ui");
        assert_null(fixture_header(&f, "Age"));
        fixture_release(&f);
}

static void test_files(void **state)
{
        (void)state;
        static const struct {
                const char *method, *url;
                unsigned status;
        } row[] = {
                {"GET", "/ui", 200},
                {"HEAD", "/ui", 200},
                {"GET", "/ui/", 404},
                {"GET", "/ui/index.html", 404},
                {"GET", "/ui/..", 404},
                {"GET", "/ui/../openapi.yaml", 404},
                {"GET", "/ui/%2e%2e", 404},
                {"GET", "/ui/main.js/", 404},
                {"GET", "/ui/%6dain.js", 404},
                {"GET", "/ui//main.js", 404},
                {"GET", "/UI", 404},
                {"POST", "/ui", 405},
                {"DELETE", "/ui/main.js", 405},
                {"GET", "/ui?a=1", 400},
                {"GET", "/ui/main.js?v=1", 400},
        };
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                fixture_ask(&f, row[i].method, row[i].url);
                if (f.got.status != row[i].status)
                        fail_msg("%s %s: %u, not %u", row[i].method, row[i].url, f.got.status, row[i].status);
        }
        for (size_t i = 0; i < page_files_count; i++) {
                char url[128];
                snprintf(url, sizeof url, "/ui%s%s", *page_files[i].name ? "/" : "", page_files[i].name);
                fixture_get(&f, url);
                assert_int_equal(f.got.status, 200);
                assert_true(text_equal(buf_text(&f.got.body), page_text(&page_files[i])));
        }
        fixture_release(&f);
}

static void test_not_modified(void **state)
{
        (void)state;
        struct fixture f;
        char tag[64];
        fixture_init(&f);
        fixture_get(&f, "/ui/main.js");
        snprintf(tag, sizeof tag, "%s", fixture_header(&f, "ETag"));
        struct request r = {.method = TEXT("GET"), .path = TEXT("/ui/main.js"), .if_none_match = text_of(tag)};
        fixture_request(&f, &r);
        assert_int_equal(f.got.status, 304);
        assert_int_equal(f.got.body.len, 0);
        assert_non_null(fixture_header(&f, "Content-Security-Policy"));
        r.if_none_match = TEXT("\"another\"");
        fixture_request(&f, &r);
        assert_int_equal(f.got.status, 200);
        fixture_release(&f);
}

/* " web api": the names of the items, in order. */
static void list_names(struct fixture *f, const char *url, char out[static 256])
{
        json_t *item, *all = json_loads(fixture_get(f, url), 0, NULL);
        size_t i, len = 0;
        out[0] = '\0';
        json_array_foreach(json_object_get(all, "items"), i, item) len +=
                (size_t)snprintf(out + len, 256 - len, " %s",
                                 json_string_value(json_object_get(json_object_get(item, "metadata"), "name")));
        json_decref(all);
}

static void test_orders(void **state)
{
        (void)state;
        static const struct {
                const char *url, *want;
        } row[] = {
                {ALL "?sort=name", " api cart db gizmo old web"},
                {ALL "?sort=-name", " web old gizmo db cart api"},
                {ALL "?sort=namespace", " db api old web cart gizmo"},
                {ALL "?sort=-namespace", " api old web cart gizmo db"},
                {ALL "?sort=kind&limit=2", " api old"},
                {ALL "?sort=kind&limit=2&offset=2", " web db"},
                {ALL "?sort=kind&limit=2&offset=6", ""},
                {ALL "?offset=4", " cart gizmo"},
                {ALL "?sort=-applied&limit=1", " cart"},
                {ALL "?sort=cpuCurrent&limit=1", " cart"},
                {ALL "?sort=-cpuOriginal&limit=1", " api"},
                {ALL "?sort=profile&limit=1", " old"},
                {ALL "?sort=-state&limit=1", " db"},
                {SHOP "?sort=-cpuSaving&limit=3", " api old web"}, /* equal keys: as without sort */
                {ALL "?search=WE", " web"},
                {ALL "?search=pool", " db api web cart gizmo"},
                {ALL "?search=stateful&sort=name", " cart db"},
                {ALL "?search=bank", " db"},
                {ALL "?search=", " db api old web cart gizmo"},
                {ALL "?condition=Ready", " db api web cart gizmo"},
                {ALL "?condition=Applied", ""}, /* it is False */
                {ALL "?reason=MemoryOff&limit=1", " db"},
                {ALL "?reason=Quota", ""},
                {ALL "?profile=pool", " db api web cart gizmo"},
                {ALL "?profile=poo", ""},
        };
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char names[256];
                list_names(&f, row[i].url, names);
                if (f.got.status != 200 || strcmp(names, row[i].want) != 0)
                        fail_msg("%s: %u%s, not%s", row[i].url, f.got.status, names, row[i].want);
        }
        assert_non_null(strstr(fixture_get(&f, SHOP "?sort=name&limit=2"), "\"total\":5}"));
        assert_null(strstr(fixture_get(&f, SHOP "?limit=2"), "\"total\""));
        fixture_release(&f);
}

static void test_order_refusals(void **state)
{
        (void)state;
        static const struct {
                const char *url, *says;
        } row[] = {
                {ALL "?sort=size", "\"parameter\":\"sort\""},
                {ALL "?sort=-", "\"parameter\":\"sort\""},
                {ALL "?sort=", "is empty"},
                {ALL "?offset=-1", "\"parameter\":\"offset\""},
                {ALL "?offset=99999999", "\"parameter\":\"offset\""},
                {ALL "?output=xml", "\"parameter\":\"output\""},
                {ALL "?reason=None", "\"parameter\":\"reason\""},
                {ALL "?sort=name&continue=YmFuay9i", "offset"},
                {"/api/v1/summary?by=", "is empty"},
                {"/api/v1/summary?by=label:", "\"parameter\":\"by\""},
                {"/api/v1/summary?by=team", "\"parameter\":\"by\""},
                {"/api/v1/summary?sort=name", "no parameter"},
                {"/api/v1/profiles?state=Ready", "no parameter"},
        };
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const char *body = fixture_get(&f, row[i].url);
                if (f.got.status != 400 || !strstr(body, row[i].says))
                        fail_msg("%s: %u %s", row[i].url, f.got.status, body);
        }
        fixture_release(&f);
}

static void test_csv(void **state)
{
        (void)state;
        static const char want[] =
                "\"bank\",\"StatefulSet\",\"db\",\"Held\",\"Recommend\",\"pool\",\"RecommendOnly\",2.000,2.000,0.454,"
                "4.638,4294967296,4294967296,4294967296,0,,2023-11-14T22:13:20Z\r\n";
        struct fixture f;
        fixture_init(&f);
        const char *body = fixture_get(&f, ALL "?output=csv&limit=1"); /* all of them: a limit is for pages */
        assert_string_equal(f.got.type, "text/csv; charset=utf-8");
        assert_string_equal(fixture_header(&f, "Content-Disposition"),
                            "attachment; filename=\"halflife-workloads.csv\"");
        assert_non_null(strstr(body, want));
        int lines = 0;
        for (const char *at = body; (at = strstr(at, "\r\n")); at += 2)
                lines++;
        assert_int_equal(lines, 7);
        assert_null(strstr(fixture_get(&f, ALL "?output=csv&search=web"), "\"db\""));
        fixture_release(&f);
}

/* No spreadsheet takes a cell for a formula, or for more than one cell. */
static void test_csv_is_inert(void **state)
{
        (void)state;
        static const struct {
                const char *text, *cell;
        } row[] = {
                {"web", "\"web\""},
                {"", "\"\""},
                {"=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""},
                {"+1", "\"'+1\""},
                {"-1", "\"'-1\""},
                {"@SUM(A1)", "\"'@SUM(A1)\""},
                {"\t=1", "\"'\t=1\""},
                {"\r=1", "\"'\r=1\""},
                {"|x", "\"'|x\""},
                {"a,\"b\"\r\nc", "\"a,\"\"b\"\"\r\nc\""},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct buf b __attribute__((cleanup(buf_release_auto)));
                buf_init(&b, 1 << 10);
                list_csv_text(&b, row[i].text);
                assert_string_equal(b.data, row[i].cell);
        }
}

static json_int_t count_at(json_t *from, const char *a, const char *b)
{
        json_t *value = json_object_get(from, a);
        return json_integer_value(b ? json_object_get(value, b) : value);
}

static const char *amount_at(json_t *from, const char *resource, const char *which)
{
        return json_string_value(json_object_get(json_object_get(from, resource), which));
}

static void test_sums(void **state)
{
        (void)state;
        struct fixture f;
        fixture_init(&f);
        json_t *all = json_loads(fixture_get(&f, "/api/v1/summary"), 0, NULL), *total = json_object_get(all, "total"),
               *row = json_object_get(all, "rows");
        assert_int_equal(json_array_size(row), 2);
        assert_string_equal(json_string_value(json_object_get(json_array_get(row, 0), "name")), "shop");
        assert_int_equal(count_at(total, "workloads", NULL), 6);
        assert_int_equal(count_at(total, "pods", NULL), 18);
        assert_int_equal(count_at(total, "states", "Ready"), 4);
        assert_int_equal(count_at(total, "states", "Held"), 1);
        assert_string_equal(amount_at(total, "cpu", "original"), "42");    /* api has two containers of 2 cores, web one
                                                                               and an init container of less */
        assert_string_equal(amount_at(total, "cpu", "current"), "37362m"); /* cart has 454m in place of 2 */
        assert_string_equal(amount_at(total, "cpu", "target"), "9534m");
        json_decref(all);
        all = json_loads(fixture_get(&f, "/api/v1/namespaces/bank/summary?by=profile"), 0, NULL);
        row = json_array_get(json_object_get(all, "rows"), 0);
        assert_string_equal(json_string_value(json_object_get(row, "name")), "pool");
        assert_int_equal(count_at(row, "workloads", NULL), 1);
        json_decref(all);
        all = json_loads(fixture_get(&f, "/api/v1/summary?by=label:app&search=api"), 0, NULL);
        row = json_array_get(json_object_get(all, "rows"), 0);
        assert_string_equal(json_string_value(json_object_get(row, "name")), "api");
        assert_int_equal(json_array_size(json_object_get(all, "rows")), 1);
        json_decref(all);
        fixture_release(&f);
}

/* A Recommendation has no number of pods: the saving tells it, and where nothing is saved it is one pod. */
static void test_pods_are_told_by_savings(void **state)
{
        (void)state;
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < f.view->targets; i++)
                ((struct snapshot_target *)(uintptr_t)f.view->target[i])->replicas = 0;
        ((struct snapshot_target *)(uintptr_t)snapshot_find(f.view, TEXT("bank"), TEXT("apps"), TEXT("StatefulSet"),
                                                            TEXT("db")))
                ->saving[CPU] = 0;
        json_t *all = json_loads(fixture_get(&f, "/api/v1/summary"), 0, NULL), *total = json_object_get(all, "total");
        assert_int_equal(count_at(total, "podsUnknown", NULL), 1);
        assert_int_equal(count_at(total, "pods", NULL), 3 + 1 + 3 + 3 + 3 + 1); /* api: 4638m of 2 x 1546m are 1.5 */
        json_decref(all);
        fixture_release(&f);
}

static void test_profiles(void **state)
{
        (void)state;
        static const char *const fused[] = {"bank"};
        struct fixture f;
        fixture_init(&f);
        f.profile.fused = fused;
        f.profile.fused_count = 1;
        f.profile.canary_closed = true;
        json_t *all = json_loads(fixture_get(&f, "/api/v1/profiles"), 0, NULL),
               *pool = json_array_get(json_object_get(all, "items"), 0);
        assert_string_equal(json_string_value(json_object_get(pool, "name")), "pool");
        assert_string_equal(json_string_value(json_object_get(pool, "mode")), "OnDeploy");
        assert_int_equal(count_at(pool, "workloads", NULL), 5);
        assert_int_equal(count_at(json_object_get(pool, "resources"), "cpu", "percentile"), 95);
        assert_string_equal(amount_at(json_object_get(pool, "resources"), "cpu", "multiplier"), "1.1");
        assert_true(json_is_true(json_object_get(pool, "canaryClosed")));
        assert_string_equal(json_string_value(json_array_get(json_object_get(pool, "fuseBlownFor"), 0)), "bank");
        assert_int_equal(count_at(all, "without", "workloads"), 1);
        json_decref(all);
        all = json_loads(fixture_get(&f, "/api/v1/namespaces/bank/profiles"), 0, NULL);
        assert_int_equal(count_at(json_array_get(json_object_get(all, "items"), 0), "workloads", NULL), 1);
        json_decref(all);
        fixture_release(&f);
}

/* Of a profile that its reader may not see there is the name alone, and why. */
static void test_unlisted_profiles(void **state)
{
        (void)state;
        struct fixture f;
        fixture_init(&f);
        f.profile.unseen = true;
        f.view->unlisted[0] = "you may not list clusterprofiles";
        json_t *all = json_loads(fixture_get(&f, "/api/v1/profiles"), 0, NULL),
               *pool = json_array_get(json_object_get(all, "items"), 0);
        assert_string_equal(json_string_value(json_object_get(pool, "name")), "pool");
        assert_null(json_object_get(pool, "mode"));
        assert_null(json_object_get(pool, "resources"));
        assert_int_equal(count_at(pool, "workloads", NULL), 5);
        assert_int_equal(json_array_size(json_object_get(all, "unlisted")), 1);
        assert_string_equal(json_string_value(json_array_get(json_object_get(all, "unlisted"), 0)),
                            "you may not list clusterprofiles");
        json_decref(all);
        assert_non_null(strstr(fixture_get(&f, SHOP "?limit=1"), "{\"kind\":\"ClusterProfile\",\"name\":\"pool\"}"));
        fixture_release(&f);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_headers),  cmocka_unit_test(test_unlisted_profiles),
                cmocka_unit_test(test_files),    cmocka_unit_test(test_not_modified),
                cmocka_unit_test(test_orders),   cmocka_unit_test(test_order_refusals),
                cmocka_unit_test(test_csv),      cmocka_unit_test(test_csv_is_inert),
                cmocka_unit_test(test_sums),     cmocka_unit_test(test_pods_are_told_by_savings),
                cmocka_unit_test(test_profiles),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
