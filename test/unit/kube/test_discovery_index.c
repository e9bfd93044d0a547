/* Answers of aggregated discovery: which kinds are found in them, and which answers are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/yaml.h"
#include "kube/discovery_index.h"

#define LIST(groups)             "{kind: APIGroupDiscoveryList, items: [" groups "]}"
#define GROUP(name, versions)    "{metadata: {name: " name "}, versions: [" versions "]}"
#define VERSION(name, resources) "{version: " name ", freshness: Current, resources: [" resources "]}"
#define RESOURCE(name, kind)                                                                                           \
        "{resource: " name ", responseKind: {group: '', version: '', kind: " kind "}, scope: Namespaced}"
#define LONG "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* The groups of test_found. */
#define TWICE_V2  VERSION("v2", RESOURCE("things", "Thing") "," RESOURCE("others", "Thing"))
#define TWICE_V1  VERSION("v1", RESOURCE("things", "Thing") "," RESOURCE("olds", "Old"))
#define TWICE     GROUP("ex.io", TWICE_V2 "," TWICE_V1)
#define TURNED    "{versions: [{resources: [" RESOURCE("twos", "Two") "], version: v3}], metadata: {name: turned.io}}"
#define STALE     GROUP("away.io", "{version: v1, freshness: Stale},{version: v2, freshness: Stale, resources: null}")
#define LONG_KIND RESOURCE(LONG, "Plural") "," RESOURCE("k", LONG)
#define TOO_LONG  GROUP("long.io", VERSION("v1", LONG_KIND))
#define ODD_KINDS "{resource: null, responseKind: null},{responseKind: {kind: None}},null"
#define ODD       GROUP("odd.io", VERSION("v1", ODD_KINDS))
#define NAMELESS  GROUP("nameless.io", "{resources: [" RESOURCE("things", "Thing") "]}")
#define BARE      GROUP("bare.io", "null")

static void test_found(void **state)
{
        static const char body[] =
                LIST(TWICE "," TURNED "," STALE "," TOO_LONG "," ODD "," NAMELESS "," BARE ",null,{metadata: null}");
        static const struct {
                const char *group, *kind, *version, *plural; /* version NULL: absent */
        } row[] = {
                {"ex.io", "Thing", "v2", "things"},   {"ex.io", "Old", "v1", "olds"},
                {"ex.io", "None", NULL, NULL},        {"turned.io", "Two", "v3", "twos"},
                {"long.io", "Plural", NULL, NULL},    {"odd.io", "None", NULL, NULL},
                {"nameless.io", "Thing", NULL, NULL}, {"", "Thing", NULL, NULL},
                {"ex.io/Thing", "", NULL, NULL},
        };
        struct discovery_index x = {0};
        struct err err = {0};
        (void)state;
        AUTO(json_decref) json_t *doc = yaml_read(body, sizeof body - 1, &err);
        AUTO(mem_free) char *json = json_dumps(doc, JSON_COMPACT);
        assert_int_equal(discovery_index_read(&x, text_of(json), &err), 0);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct api_resource r = {0};
                bool found = discovery_index_find(&x, row[i].group, row[i].kind, NULL, &r);
                if (found != (row[i].version != NULL) ||
                    (found && (strcmp(r.version, row[i].version) != 0 || strcmp(r.plural, row[i].plural) != 0)))
                        fail_msg("%s/%s: %d %s %s", row[i].group, row[i].kind, found, r.version, r.plural);
        }
        assert_true(discovery_index_is_stale(&x, "away.io"));
        assert_false(discovery_index_is_stale(&x, "ex.io"));
        discovery_index_release(&x);
}

#define AWAY(name, resources) "{version: " name ", freshness: Stale, resources: [" resources "]}"
#define THING(plural)         RESOURCE(plural, "Thing")

/* Of a kind in several versions the caller's best is found. */
static void test_versions(void **state)
{
        static const char *const v1_first[] = {"v1", "v1beta1", NULL}, *const v2_alone[] = {"v2", NULL},
                                 *const v10_alone[] = {"v10", NULL};
        static const struct {
                const char *served;
                const char *const *versions;
                const char *version, *plural; /* NULL: absent */
        } row[] = {
                {VERSION("v1", THING("a")) "," VERSION("v1beta1", THING("b")), v1_first, "v1", "a"},
                {VERSION("v1beta1", THING("b")) "," VERSION("v1", THING("a")), v1_first, "v1", "a"},
                {VERSION("v1beta1", THING("b")) "," VERSION("v1", THING("a")), NULL, "v1beta1", "b"},
                {VERSION("v1beta1", THING("b")), v1_first, "v1beta1", "b"},
                {VERSION("v1beta1", THING("b")) "," VERSION("v1", RESOURCE("a", "Other")), v1_first, "v1beta1", "b"},
                {AWAY("v1", THING("a")) "," VERSION("v1beta1", THING("b")), v1_first, "v1beta1", "b"},
                {AWAY("v1", "") "," VERSION("v1beta1", THING("b")), v1_first, "v1beta1", "b"},
                {AWAY("v1beta1", THING("b")) "," AWAY("v1", THING("a")), v1_first, "v1", "a"},
                {AWAY("v1", THING("a")), v1_first, "v1", "a"},
                {VERSION("v1", THING("a")), v2_alone, NULL, NULL},
                {VERSION("v2", THING("a")) "," VERSION("v2", THING("b")), v2_alone, "v2", "a"},
                {VERSION("v1", THING("a")) "," VERSION("v2", THING("a")) "," VERSION("v3", THING("a")) "," VERSION("v4", THING("a")) "," VERSION(
                         "v5",
                         THING("a")) "," VERSION("v6",
                                                 THING("a")) "," VERSION("v7",
                                                                         THING("a")) "," VERSION("v8",
                                                                                                 THING("a")) "," VERSION("v10",
                                                                                                                         THING("a")),
                 v10_alone, NULL, NULL}, /* too many */
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct discovery_index x = {0};
                struct api_resource r = {0};
                struct err err = {0};
                AUTO(mem_free) char *body = mem_printf(LIST(GROUP("ex.io", "%s")), row[i].served);
                AUTO(json_decref) json_t *doc = yaml_read(body, strlen(body), &err);
                AUTO(mem_free) char *json = json_dumps(doc, JSON_COMPACT);
                assert_int_equal(discovery_index_read(&x, text_of(json), &err), 0);
                bool found = discovery_index_find(&x, "ex.io", "Thing", row[i].versions, &r);
                if (found != (row[i].version != NULL) ||
                    (found && (strcmp(r.version, row[i].version) != 0 || strcmp(r.plural, row[i].plural) != 0)))
                        fail_msg("row %zu: %d %s %s", i, found, r.version, r.plural);
                discovery_index_release(&x);
        }
}

static void test_refused(void **state)
{
        static const char *const row[] = {
                "",
                "[]",
                "{\"kind\":\"APIGroupList\",\"groups\":[]}",
                "{\"kind\":\"APIGroupDiscoveryList\",\"ite",
                "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"versions\":[{\"resources\":[{\"resource\":7}]}]}]}",
                "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"versions\":7}]}",
        };
        static const char good[] = "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"ex.io\"},"
                                   "\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":\"things\","
                                   "\"responseKind\":{\"kind\":\"Thing\"}}]}]}]}";
        struct discovery_index x = {0};
        struct api_resource r;
        struct err err = {0};
        (void)state;
        assert_int_equal(discovery_index_read(&x, text_of(good), &err), 0);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                if (discovery_index_read(&x, text_of(row[i]), &err) != ERR_INVALID)
                        fail_msg("%s is read", row[i]);
                assert_true(discovery_index_find(&x, "ex.io", "Thing", NULL, &r)); /* as it was */
        }
        discovery_index_release(&x);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_versions),
                                           cmocka_unit_test(test_refused)};
        return cmocka_run_group_tests_name("discovery index", tests, NULL, NULL);
}
