/*
 * Pages: what they leave out, and that nothing is skipped or repeated while things come and go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../support/openapi.h"
#include "../../support/slowed.h"
#include "base/yaml.h"
#include "rest/partial_response.h"
#include "routes_fixture.h"

#define ALL  "/api/v1/workloads"
#define SHOP "/api/v1/namespaces/shop/workloads"

static json_t *described;

static json_t *page(struct fixture *f, const char *url)
{
        struct err err;
        json_error_t why;
        json_t *json = json_loads(fixture_get(f, url), JSON_REJECT_DUPLICATES, &why), *item;
        size_t i;
        if (!json || openapi_check(described, ALL, "get", f->got.status, f->got.type, json, &err) < 0)
                fail_msg("%s: %s", url, json ? err.text : why.text);
        json_array_foreach(json_object_get(json, "items"), i, item)
        {
                bool whole = !strstr(url, "fields=");
                if (whole &&
                    (openapi_check_schema(described, "Metadata", json_object_get(item, "metadata"), &err) < 0 ||
                     openapi_check_schema(described, "Status", json_object_get(item, "status"), &err) < 0))
                        fail_msg("%s: item %zu: %s", url, i, err.text);
        }
        return json;
}

/* "web api": the names on a page, in order, each behind a space. */
static void names_of(json_t *json, char out[static 4096])
{
        json_t *item;
        size_t i, len = strlen(out);
        json_array_foreach(json_object_get(json, "items"), i, item)
        {
                const char *name = json_string_value(json_object_get(json_object_get(item, "metadata"), "name"));
                len += (size_t)snprintf(out + len, 4096 - len, " %s", name);
        }
}

static void test_filters(void **state)
{
        (void)state;
        static const struct {
                const char *url, *want;
        } row[] = {
                {ALL, " db api old web cart gizmo"},
                {SHOP, " api old web cart gizmo"},
                {"/api/v1/namespaces/bank/workloads", " db"},
                {"/api/v1/namespaces/none/workloads", ""},
                {"/api/v1/namespaces/aaa/workloads", ""},
                {ALL "?state=Held", " db"},
                {SHOP "?state=Ready", " api web cart gizmo"},
                {SHOP "?state=NoData", ""},
                {ALL "?labelSelector=", " db api old web cart gizmo"},
                {ALL "?labelSelector=app%3Dweb", " web"},
                {ALL "?labelSelector=app==web", " web"},
                {ALL "?labelSelector=app!=web", " db api old cart gizmo"},
                {ALL "?labelSelector=app+in+(web,api)", " api web"},
                {ALL "?labelSelector=app%20notin%20(web,%20api),app", " db old cart gizmo"},
                {ALL "?labelSelector=missing", ""},
                {ALL "?labelSelector=!missing,app=db", " db"},
                {ALL "?labelSelector=team.example.com/tier&state=Held", " db"},
                {ALL "?labelSelector=missing+notin+(a)&limit=1", " db"},
                {ALL "?limit=500", " db api old web cart gizmo"},
        };
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char names[4096] = "";
                json_t *json AUTO(json_decref) = page(&f, row[i].url);
                names_of(json, names);
                if (f.got.status != 200 || strcmp(names, row[i].want) != 0)
                        fail_msg("%s: %u%s", row[i].url, f.got.status, names);
        }
        fixture_release(&f);
}

static void test_fields(void **state)
{
        (void)state;
        static const struct {
                const char *fields, *want;
        } row[] = {
                {"metadata.name", "{\"metadata\":{\"name\":\"db\"}}"},
                {"status.state,metadata.name", "{\"metadata\":{\"name\":\"db\"},\"status\":{\"state\":\"Held\"}}"},
                {"status.containers.cpu.target,status.containers.name",
                 "{\"status\":{\"containers\":[{\"name\":\"app\",\"cpu\":{\"target\":\"454m\"}}]}}"},
                {"profile", "{\"profile\":{\"kind\":\"ClusterProfile\",\"name\":\"pool\"}}"},
                {"metadata.labels",
                 "{\"metadata\":{\"labels\":{\"app\":\"db\",\"team.example.com/tier\":\"front \\\"x\\\"\"}}}"},
                {"status.saving,status.saving.cpu", "{\"status\":{\"saving\":{\"cpu\":\"4638m\",\"memory\":\"0\"}}}"},
                {"status.firstSample", "{\"status\":{\"firstSample\":\"2023-11-03T08:26:40Z\"}}"},
                {"status.since", "{\"status\":{\"since\":\"2023-11-03T08:26:40Z\"}}"},
                {"status.applied", "{\"status\":{}}"},
                {"status.conditions.type",
                 "{\"status\":{\"conditions\":[{\"type\":\"Ready\"},{\"type\":\"Applied\"}]}}"},
        };
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char url[256], want[512];
                snprintf(url, sizeof url, "/api/v1/namespaces/bank/workloads?fields=%s", row[i].fields);
                snprintf(want, sizeof want, "{\"items\":[%s]}", row[i].want);
                json_decref(page(&f, url));
                assert_string_equal(f.got.body.data, want);
        }
        fixture_release(&f);
}

/* A key longer than any path that can be named is no path. */
static void test_fields_of_anything(void **state)
{
        (void)state;
        static const char json[] =
                "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":{\"b\":1},"
                "\"metadata\":[{\"name\":\"x\",\"kind\":1},[{\"name\":null}],2]}";
        struct fields fields;
        struct err err;
        struct buf to;
        buf_init(&to, 1000);
        assert_int_equal(fields_parse(TEXT("metadata.name"), &fields, &err), 0);
        fields_copy(&fields, text_of(json), &to);
        assert_string_equal(to.data, "{\"metadata\":[{\"name\":\"x\"},[{\"name\":null}],2]}");
        buf_release(&to);
}

static void test_refusals(void **state)
{
        (void)state;
        static const struct {
                const char *url;
                unsigned status;
                const char *says;
        } row[] = {
                {ALL "?limit=0", 400, "limit"},
                {ALL "?limit=501", 400, "limit"},
                {ALL "?limit=-1", 400, "limit"},
                {ALL "?limit=1x", 400, "limit"},
                {ALL "?limit=99999999", 400, "limit"},
                {ALL "?state=ready", 400, "NoData, Learning"},
                {ALL "?fields=nothing", 400, "'nothing' in fields"},
                {ALL "?fields=metadata.", 400, "'metadata.' in fields"},
                {ALL "?fields=metadata,,", 400, "'' in fields"},
                {ALL "?fields=metadata.name.x", 400, "'metadata.name.x' in fields"},
                {ALL "?labelSelector=app=", 200, "items"},
                {ALL "?labelSelector=,", 400, "character 1"},
                {ALL "?labelSelector=app=web,", 400, "character 9"},
                {ALL "?labelSelector=app%20web", 400, "labelSelector"},
                {ALL "?labelSelector=app%20in%20web", 400, "'(' is missing"},
                {ALL "?labelSelector=app%20in%20(web", 400, "')' is missing"},
                {ALL "?labelSelector=a=b=c", 400, "labelSelector"},
                {ALL "?labelSelector=-app", 400, "label key"},
                {ALL "?labelSelector=a/b/c", 400, "label key"},
                {ALL "?labelSelector=app=-", 400, "label value"},
                {ALL "?labelSelector=!", 400, "label key"},
                {ALL "?continue=!!", 410, "start again without"},
                {ALL "?continue=AAAA", 410, "start again without"},
                {ALL "?continue=c2hvcA", 410, "start again without"},
                {SHOP "?continue=YmFuay9zdGF0ZWZ1bHNldC1kYg", 410, "another namespace"},
                {ALL "?continue=YmFuay9zdGF0ZWZ1bHNldC1kYg", 200, "\"shop\""},
                {ALL "?continue=YmFuay9zdGF0ZWZ1bHNldC1kYh", 410, "start again without"},
        };
        struct fixture f;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                json_decref(page(&f, row[i].url));
                if (f.got.status != row[i].status || !strstr(f.got.body.data, row[i].says))
                        fail_msg("%s: %u %s", row[i].url, f.got.status, f.got.body.data);
        }
        fixture_release(&f);
}

/* --- paging --- */

enum { MANY = 60 };

/* A view of those of MANY that are there; name n is "w07". */
static void refill(struct fixture *f, uint64_t there)
{
        static char name[MANY][8];
        snapshot_drop(f->view);
        f->view = snapshot_new();
        for (int i = 0; i < MANY; i++) {
                snprintf(name[i], sizeof name[i], "w%02d", i);
                if (there >> i & 1)
                        fixture_target(f, i < 20 ? "bank" : "shop", "apps", "Deployment", name[i],
                                       fixture_containers(f->view, 1), 1);
        }
        snapshot_finish(f->view);
}

/* Walks all pages; between any two, targets come and go. Every one that is there throughout is seen once. */
static void walk(struct fixture *f, const char *path, int limit, uint64_t seed, int first)
{
        uint64_t stays = seed | seed << 21, now = ~UINT64_C(0);
        char token[512] = "", names[4096] = "";
        for (int turn = 0; turn == 0 || *token; turn++) {
                char url[1024];
                assert_true(turn < 200);
                refill(f, stays | now);
                snprintf(url, sizeof url, "%s?limit=%d&continue=%s", path, limit, token);
                json_t *json AUTO(json_decref) = page(f, url);
                assert_int_equal(f->got.status, 200);
                assert_true(json_array_size(json_object_get(json, "items")) <= (size_t)limit);
                names_of(json, names);
                const char *more = json_string_value(json_object_get(json, "continue"));
                snprintf(token, sizeof token, "%s", more ? more : "");
                now = now * 6364136223846793005u + seed;
        }
        for (int i = 0; i < MANY; i++) {
                char name[8];
                snprintf(name, sizeof name, " w%02d", i);
                const char *once = strstr(names, name);
                bool wanted = stays >> i & 1 && i >= first;
                if ((wanted && !once) || (once && strstr(once + 1, name)))
                        fail_msg("limit %d: '%s' in%s", limit, name, names);
        }
}

static void test_pages_are_consistent(void **state)
{
        (void)state;
        struct fixture f;
        fixture_init(&f);
        for (int limit = 1; limit < 70; limit += 6)
                for (uint64_t seed = 1; seed <= UNLESS_SLOWED(6, 1); seed++) {
                        walk(&f, ALL, limit, seed * 0x9e3779b97f4a7c15u, 0);
                        walk(&f, SHOP, limit, seed * 0x9e3779b97f4a7c15u, 20);
                }
        fixture_release(&f);
}

/* A selector that nothing meets costs a bounded page, and the walk still ends. */
static void test_scans_are_bounded(void **state)
{
        (void)state;
        enum { LOTS = 25000 };
        struct fixture f;
        fixture_init(&f);
        struct status_container *c = fixture_containers(f.view, 1);
        for (int i = 0; i < LOTS; i++) {
                char *name = (char *)arena_new(&f.view->arena, 16);
                snprintf(name, 16, "w%d", i);
                fixture_target(&f, "shop", "apps", "Deployment", name, c, 1);
        }
        snapshot_finish(f.view);
        char token[512] = "";
        int pages = 0;
        do {
                char url[1024];
                snprintf(url, sizeof url, "%s?labelSelector=missing&continue=%s", ALL, token);
                json_t *json AUTO(json_decref) = page(&f, url);
                assert_int_equal(json_array_size(json_object_get(json, "items")), 0);
                const char *more = json_string_value(json_object_get(json, "continue"));
                snprintf(token, sizeof token, "%s", more ? more : "");
                pages++;
        } while (*token);
        assert_int_equal(pages, 3);
        fixture_release(&f);
}

static int load(void **state)
{
        (void)state;
        struct fixture f;
        struct err err;
        fixture_init(&f);
        const char *text = fixture_get(&f, "/openapi.yaml");
        described = yaml_read(text, f.got.body.len, &err);
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
                cmocka_unit_test(test_filters),
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_fields_of_anything),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_pages_are_consistent),
                cmocka_unit_test(test_scans_are_bounded),
        };
        return cmocka_run_group_tests(tests, load, unload);
}
