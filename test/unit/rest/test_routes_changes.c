/* The changes of requests: which are listed, in which order, to whom, and as CSV. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/yaml.h"
#include "routes_fixture.h"

/* Their ids, with commas between, and behind them the total. */
static const char *ids(struct fixture *f, const char *url)
{
        static char out[64];
        json_t *json AUTO(json_decref) = json_loads(fixture_get(f, url), 0, NULL),
                     *items = json_object_get(json, "items");
        size_t at = 0;
        if (f->got.status != 200 || !items)
                fail_msg("%s: %u", url, f->got.status);
        for (size_t i = 0; i < json_array_size(items); i++)
                at += (size_t)snprintf(out + at, sizeof out - at, "%lld,",
                                       (long long)json_integer_value(json_object_get(json_array_get(items, i), "id")));
        snprintf(out + at, sizeof out - at, "of %lld", (long long)json_integer_value(json_object_get(json, "total")));
        return out;
}

static void test_which(void **state)
{
        static const struct {
                const char *url, *ids;
        } row[] = {
                {"/api/v1/changes", "4,3,2,1,of 4"},
                {"/api/v1/changes?limit=2", "4,3,of 4"},
                {"/api/v1/changes?limit=2&offset=2", "2,1,of 4"},
                {"/api/v1/changes?offset=4", "of 4"},
                {"/api/v1/changes?change=Applied", "2,1,of 2"},
                {"/api/v1/changes?change=Raised", "of 0"},
                {"/api/v1/changes?search=BAN", "4,of 1"},
                {"/api/v1/changes?search=deploy&change=Guarded", "3,of 1"},
                {"/api/v1/changes?search=", "4,3,2,1,of 4"},
                {"/api/v1/namespaces/bank/changes", "4,of 1"},
                {"/api/v1/namespaces/shop/changes?limit=1", "3,of 3"},
                {"/api/v1/namespaces/none/changes", "of 0"},
        };
        struct fixture f;
        (void)state;
        fixture_init(&f);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                assert_string_equal(ids(&f, row[i].url), row[i].ids);
        f.view->changes = NULL; /* nothing was logged; the snapshot frees the table all the same */
        assert_string_equal(ids(&f, "/api/v1/changes"), "of 0");
        fixture_release(&f);
}

static void test_one(void **state)
{
        struct fixture f;
        (void)state;
        fixture_init(&f);
        json_t *json AUTO(json_decref) = json_loads(fixture_get(&f, "/api/v1/namespaces/shop/changes"), 0, NULL);
        json_t *want AUTO(json_decref) = json_loads(
                "{\"id\":2,\"time\":\"2023-11-14T19:26:40Z\",\"change\":\"Applied\",\"namespace\":\"shop\",\"group\":"
                "\"apps\",\"kind\":\"Deployment\",\"name\":\"web\",\"container\":\"app\",\"resource\":\"memory\","
                "\"to\":\"812Mi\",\"mode\":\"Rollout\",\"by\":\"halflife\",\"reason\":\"Lowered\"}",
                0, NULL);
        const json_t *got = json_array_get(json_object_get(json, "items"), 1);
        if (!json_equal(got, want))
                fail_msg("%s", f.got.body.data);
        assert_null(strstr(f.got.body.data, "bank"));
        fixture_release(&f);
}

static void test_csv(void **state)
{
        struct fixture f;
        (void)state;
        fixture_init(&f);
        const char *text = fixture_get(&f, "/api/v1/namespaces/shop/changes?output=csv");
        assert_int_equal(f.got.status, 200);
        assert_string_equal(f.got.type, "text/csv; charset=utf-8");
        assert_non_null(strstr(fixture_header(&f, "Content-Disposition"), "halflife-changes.csv"));
        assert_string_equal(
                text,
                "time,change,namespace,kind,name,container,resource,from_cores_or_bytes,to_cores_or_bytes,mode,by,"
                "reason,words\r\n"
                "2023-11-14T20:26:40Z,\"Guarded\",\"shop\",\"Deployment\",\"web\",\"\",,,,\"Rollout\",\"halflife\","
                "\"Restarts\",\"'=its \"\"containers\"\" restarted\"\r\n"
                "2023-11-14T19:26:40Z,\"Applied\",\"shop\",\"Deployment\",\"web\",\"app\",memory,,851443712,"
                "\"Rollout\","
                "\"halflife\",\"Lowered\",\"\"\r\n"
                "2023-11-14T19:26:40Z,\"Applied\",\"shop\",\"Deployment\",\"web\",\"app\",cpu,2.000,0.454,\"Rollout\","
                "\"halflife\",\"Lowered\",\"\"\r\n");
        fixture_release(&f);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_which),
                cmocka_unit_test(test_one),
                cmocka_unit_test(test_csv),
        };
        return cmocka_run_group_tests_name("routes_changes", tests, NULL, NULL);
}
