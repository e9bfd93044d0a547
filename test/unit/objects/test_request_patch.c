/*
 * Patches as tables, and a property: whatever the object looks like, applying the patch gives exactly the object that
 * was meant, and nothing else changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "core/quantity.h"
#include "objects/patch.h"

#include "../../support/json_patch.h"
#include "../../support/slowed.h"

/* --- tables ---------------------------------------------------------------------------------------------------- */

#define OBJECT(meta, template)                                                                                         \
        "{\"metadata\":{\"name\":\"w\",\"resourceVersion\":\"7\"" meta "},\"spec\":{\"template\":" template "}}"
#define ONE(resources)       OBJECT("", "{\"spec\":{\"containers\":[{\"name\":\"log\"},{\"name\":\"app\"" resources "}]}}")
#define HEAD                 "[{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"},"
#define NAMED                "{\"op\":\"test\",\"path\":\"/spec/template/spec/containers/1/name\",\"value\":\"app\"},"
#define AT                   "/spec/template/spec/containers/1/resources"
#define ADD(path, value)     "{\"op\":\"add\",\"path\":\"" path "\",\"value\":" value "}"
#define TEST(path, value)    "{\"op\":\"test\",\"path\":\"" path "\",\"value\":" value "}"
#define REPLACE(path, value) "{\"op\":\"replace\",\"path\":\"" path "\",\"value\":" value "}"
#define REMOVE(path)         "{\"op\":\"remove\",\"path\":\"" path "\"}"
#define TEMPLATE_ORIGINAL    "/spec/template/metadata/annotations/halflife.dev~1original-resources"
#define OBJECT_APPLIED       "/metadata/annotations/halflife.dev~1applied-resources"
#define WORKLOAD_NOTES                                                                                                 \
        "," ADD("/metadata/annotations",                                                                               \
                "{}") "," ADD("/metadata/annotations/halflife.dev~1original-resources",                                \
                              "\"O\"") "," ADD("/metadata/annotations/halflife.dev~1applied-resources", "\"A\"") "]"
#define NOTES                                                                                                          \
        "," ADD("/spec/template/metadata", "{}") "," ADD("/spec/template/metadata/annotations", "{}") "," ADD(         \
                "/spec/template/metadata/annotations/halflife.dev~1original-resources",                                \
                "\"O\"") "," ADD("/spec/template/metadata/annotations/halflife.dev~1applied-resources", "\"A\"")       \
                WORKLOAD_NOTES

#define CPU_TO(milli)                                                                                                  \
        {                                                                                                              \
                .name = "app", .write = {true, false}, .to = { {true, milli}, {false, 0} }                             \
        }
#define CPU_GONE                                                                                                       \
        {                                                                                                              \
                .name = "app", .write = { true, false }                                                                \
        }

static const struct {
        const char *object;
        struct patch_container container;
        const char *original, *applied, *want; /* want "!…": an error */
        int rc;
} row[] = {
        /* parents exactly when absent */
        {ONE(""), CPU_TO(454), "O", "A",
         HEAD NAMED ADD(AT, "{}") "," ADD(AT "/requests", "{}") "," ADD(AT "/requests/cpu", "\"454m\"") NOTES, 0},
        {ONE(",\"resources\":null"), CPU_TO(454), "O", "A",
         HEAD NAMED ADD(AT, "{}") "," ADD(AT "/requests", "{}") "," ADD(AT "/requests/cpu", "\"454m\"") NOTES, 0},
        {ONE(",\"resources\":{\"limits\":{\"cpu\":\"1\"}}"), CPU_TO(454), "O", "A",
         HEAD NAMED ADD(AT "/requests", "{}") "," ADD(AT "/requests/cpu", "\"454m\"") NOTES, 0},
        {ONE(",\"resources\":{\"requests\":{\"memory\":\"1Gi\"}}"), CPU_TO(2000), "O", "A",
         HEAD NAMED ADD(AT "/requests/cpu", "\"2\"") NOTES, 0},
        {ONE(",\"resources\":{\"requests\":{\"cpu\":\"1\"}}"), CPU_TO(454), "O", "A",
         HEAD NAMED TEST(AT "/requests/cpu", "\"1\"") "," REPLACE(AT "/requests/cpu", "\"454m\"") NOTES, 0},
        {ONE(",\"resources\":{\"requests\":{\"cpu\":2}}"), CPU_TO(454), "O", "A",
         HEAD NAMED TEST(AT "/requests/cpu", "2") "," REPLACE(AT "/requests/cpu", "\"454m\"") NOTES, 0},
        /* back to absent, the annotations go */
        {OBJECT(",\"annotations\":{\"halflife.dev/applied-resources\":\"A\",\"x/y\":\"z\"}",
                "{\"metadata\":{\"annotations\":{\"halflife.dev/"
                "original-resources\":\"O\"}},\"spec\":{\"containers\":[{\"name\":"
                "\"log\"},{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"454m\"}}}]}}"),
         CPU_GONE, NULL, NULL,
         HEAD NAMED TEST(AT "/requests/cpu", "\"454m\"") "," REMOVE(AT "/requests/cpu") "," REMOVE(AT "/requests") "," REMOVE(AT) "," TEST(
                 TEMPLATE_ORIGINAL,
                 "\"O\"") "," REMOVE(TEMPLATE_ORIGINAL) "," REMOVE("/spec/template/metadata/"
                                                                   "annotations") "," REMOVE("/spe"
                                                                                             "c/"
                                                                                             "temp"
                                                                                             "late"
                                                                                             "/met"
                                                                                             "adat"
                                                                                             "a") "," TEST(OBJECT_APPLIED,
                                                                                                           "\"A\"") "," REMOVE(OBJECT_APPLIED) "]",
         0},
        /* what others have there stays */
        {ONE(",\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}"), CPU_GONE, NULL, NULL,
         HEAD NAMED TEST(AT "/requests/cpu", "\"1\"") "," REMOVE(AT "/requests/cpu") "]", 0},
        {ONE(",\"resources\":{\"limits\":{},\"requests\":{\"cpu\":\"1\"}}"), CPU_GONE, NULL, NULL,
         HEAD NAMED TEST(AT "/requests/cpu", "\"1\"") "," REMOVE(AT "/requests/cpu") "," REMOVE(AT "/requests") "]", 0},
        /* a template's annotations stay as they are where they say it already */
        {OBJECT("", "{\"metadata\":{\"annotations\":{\"halflife.dev/original-resources\":\"O\",\"halflife.dev/"
                    "applied-resources\":"
                    "\"A\"}},\"spec\":{\"containers\":[{\"name\":\"log\"},{\"name\":\"app\",\"resources\":{"
                    "\"requests\":{}}}]}}"),
         CPU_TO(1), "O", "A", HEAD NAMED ADD(AT "/requests/cpu", "\"1m\"") WORKLOAD_NOTES, 0},
        /* nothing to change: nothing at all, not the annotations either */
        {ONE(",\"resources\":{\"requests\":{\"cpu\":\"0.454\"}}"), CPU_TO(454), "O", "A", "[]", 0},
        {ONE(",\"resources\":{\"requests\":{}}"), CPU_GONE, "O", "A", "[]", 0},
        {ONE(""), CPU_GONE, NULL, NULL, "[]", 0},
        /* a sidecar */
        {OBJECT("", "{\"spec\":{\"containers\":[],\"initContainers\":[{\"name\":\"app\",\"resources\":{\"requests\":{}}"
                    "}]}}"),
         CPU_TO(454), NULL, NULL,
         HEAD TEST("/spec/template/spec/initContainers/0/name",
                   "\"app\"") "," ADD("/spec/template/spec/initContainers/0/resources/requests/cpu", "\"454m\"") "]",
         0},
        /* refused */
        {OBJECT("", "{\"spec\":{\"containers\":[{\"name\":\"log\"}]}}"), CPU_TO(1), NULL, NULL,
         "!container 'app' is not in the template any more", ERR_STALE},
        {"{\"metadata\":{},\"spec\":{}}", CPU_TO(1), NULL, NULL, "!there is no pod template at '/spec/template'",
         ERR_STALE},
        {ONE(",\"resources\":{\"limits\":{\"cpu\":\"400m\"}}"), CPU_TO(454), NULL, NULL,
         "!container 'app': a cpu request of 454 would be above its limit of 400", ERR_INVALID},
        {ONE(",\"resources\":[]"), CPU_TO(1), NULL, NULL, "!'" AT "' is not an object", ERR_INVALID},
        {OBJECT(",\"annotations\":[]", "{\"spec\":{\"containers\":[{\"name\":\"app\"}]}}"), CPU_TO(1), "O", NULL,
         "!'/metadata/annotations' is not an object", ERR_INVALID},
        {"{\"metadata\":", CPU_TO(1), NULL, NULL, "!read the object to patch: ", ERR_INVALID},
};

static void patches_are_as_the_table_says(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                const struct patch_resources p = {"/spec/template",
                                                  text_of(row[i].object),
                                                  "7",
                                                  &row[i].container,
                                                  1,
                                                  row[i].original,
                                                  row[i].applied,
                                                  NULL,
                                                  NULL,
                                                  false,
                                                  false};
                AUTO(json_decref) json_t *patch = patch_build(&p, &err);
                char *got = json_dumps(patch, JSON_COMPACT);
                if (row[i].want[0] == '!' ? patch || err.code != row[i].rc || !strstr(err.text, row[i].want + 1)
                                          : !patch || strcmp(got, row[i].want) != 0)
                        fail_msg("%s\nwanted %s\ngot    %s", row[i].object, row[i].want, patch ? got : err.text);
                free(got);
                if (!patch)
                        continue;
                AUTO(json_decref) json_t *object = json_loads(row[i].object, 0, NULL);
                assert_true(json_patch_apply(object, patch));
                json_object_set_new(json_object_get(object, "metadata"), "resourceVersion", json_string("8"));
                if (json_array_size(patch) && json_patch_apply(object, patch))
                        fail_msg("applies to another version: %s", row[i].want);
        }
}

/* --- the property ------------------------------------------------------------------------------------------------ */

static uint64_t seed;

static unsigned draw(unsigned below)
{
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned)(seed >> 33) % below;
}

static json_t *any_quantity(enum resource r)
{
        static const char *const cpu[] = {"1", "0.5", "250m", "2000m", "1e3m", "100n"};
        static const char *const memory[] = {"1Gi", "1024Mi", "512Mi", "1e9", "1.5Gi", "1500"};
        if (draw(8) == 0)
                return json_integer((json_int_t)draw(3) + 1);
        return json_string(r == CPU ? cpu[draw(6)] : memory[draw(6)]);
}

/* absent, null, {} or with something in it */
static void maybe_quantities(json_t *resources, const char *key)
{
        unsigned how = draw(4);
        if (how == 0)
                return;
        json_t *q = how == 1 ? json_null() : json_object();
        if (how == 3) {
                if (draw(2))
                        json_object_set_new(q, "cpu", any_quantity(CPU));
                if (draw(2))
                        json_object_set_new(q, "memory", any_quantity(MEMORY));
                json_object_set_new(q, "ephemeral-storage", json_string("1Gi"));
        }
        json_object_set_new(resources, key, q);
}

static json_t *any_container(const char *name)
{
        json_t *c = json_pack("{s:s, s:s}", "name", name, "image", "i");
        unsigned how = draw(4);
        if (how == 1)
                json_object_set_new(c, "resources", json_null());
        if (how > 1) {
                json_t *resources = json_object();
                maybe_quantities(resources, "requests");
                maybe_quantities(resources, "limits");
                json_object_set_new(c, "resources", resources);
        }
        return c;
}

static json_t *any_meta(void)
{
        static const char *const text[] = {
                "{}", "{\"annotations\":null}", "{\"annotations\":{},\"labels\":{\"a\":\"b\"}}",
                "{\"annotations\":{\"halflife.dev/original-resources\":\"old\",\"z~/a\":\"b\"}}",
                "{\"annotations\":{\"halflife.dev/applied-resources\":\"A\"}}"};
        return json_loads(text[draw(5)], 0, NULL);
}

static json_t *any_object(bool cron)
{
        json_t *pod_spec = json_pack("{s:[], s:s}", "containers", "restartPolicy", "Always");
        for (unsigned i = 0, n = draw(4); i < n; i++)
                json_array_append_new(json_object_get(pod_spec, "containers"),
                                      any_container((const char *const[]){"a", "b", "c"}[i]));
        if (draw(2))
                json_object_set_new(pod_spec, "initContainers", json_pack("[o]", any_container("side")));
        json_t *template = json_pack("{s:o}", "spec", pod_spec);
        if (draw(3))
                json_object_set_new(template, "metadata", any_meta());
        json_t *meta = any_meta();
        json_object_set_new(meta, "resourceVersion", json_string("7"));
        json_t *spec = cron ? json_pack("{s:{s:{s:o}}}", "jobTemplate", "spec", "template", template)
                            : json_pack("{s:o, s:i}", "template", template, "replicas", 3);
        return json_pack("{s:o, s:o, s:{}}", "metadata", meta, "spec", spec, "status");
}

static bool units(const json_t *q, enum resource r, int64_t *ret)
{
        char number[32];
        const char *text = json_string_value(q);
        if (json_is_integer(q)) {
                snprintf(number, sizeof number, "%lld", (long long)json_integer_value(q));
                text = number;
        }
        return text && quantity_parse(text, strlen(text), r == CPU ? QUANTITY_MILLI : QUANTITY_WHOLE, ret, NULL) == 0;
}

static json_t *member(json_t *parent, const char *key)
{
        if (!json_is_object(json_object_get(parent, key)))
                json_object_set_new(parent, key, json_object());
        return json_object_get(parent, key);
}

static void drop_emptied(json_t *parent, const char *key)
{
        if (json_object_size(json_object_get(parent, key)) == 0)
                json_object_del(parent, key);
}

/* Do to the object what was asked for, without any patch; returns whether a request changed. */
static bool do_requests(json_t *container, const struct patch_container *c)
{
        bool changed = false;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                int64_t now;
                char text[QUANTITY_TEXT_MAX];
                const char *key = resource_name(r);
                json_t *old =
                        json_object_get(json_object_get(json_object_get(container, "resources"), "requests"), key);
                bool same = c->to[r].set ? units(old, r, &now) && now == c->to[r].value : !old;
                if (!c->write[r] || same)
                        continue;
                changed = true;
                json_t *requests = member(member(container, "resources"), "requests");
                if (!c->to[r].set) {
                        json_object_del(requests, key);
                        drop_emptied(json_object_get(container, "resources"), "requests");
                        drop_emptied(container, "resources");
                } else
                        json_object_set_new(requests, key,
                                            json_string(r == CPU ? quantity_print_cpu(c->to[r].value, text)
                                                                 : quantity_print_memory(c->to[r].value, text)));
        }
        return changed;
}

static void do_annotation(json_t *holder, const char *key, const char *text)
{
        json_t *old = json_object_get(json_object_get(json_object_get(holder, "metadata"), "annotations"), key);
        if (text)
                json_object_set_new(member(member(holder, "metadata"), "annotations"), key, json_string(text));
        else if (old) {
                json_object_del(json_object_get(json_object_get(holder, "metadata"), "annotations"), key);
                drop_emptied(json_object_get(holder, "metadata"), "annotations");
                drop_emptied(holder, "metadata");
        }
}

static json_t *template_of(json_t *object, bool cron)
{
        json_t *spec = json_object_get(object, "spec");
        return json_object_get(cron ? json_object_get(json_object_get(spec, "jobTemplate"), "spec") : spec, "template");
}

/* Something to do to some of its containers, never above a limit. */
static int any_work(json_t *template, struct patch_container work[static 4], json_t *at[static 4])
{
        static const char *const lists[] = {"containers", "initContainers"};
        int count = 0;
        for (int l = 0; l < 2; l++) {
                size_t i;
                json_t *c;
                json_array_foreach(json_object_get(json_object_get(template, "spec"), lists[l]), i, c)
                {
                        if (draw(4) == 0)
                                continue;
                        struct patch_container *w = &work[count];
                        *w = (struct patch_container){.name = json_string_value(json_object_get(c, "name"))};
                        at[count++] = c;
                        for (enum resource r = CPU; r < RESOURCES; r++) {
                                int64_t limit;
                                json_t *limits = json_object_get(json_object_get(c, "resources"), "limits");
                                w->write[r] = draw(3) > 0;
                                w->to[r] = (struct amount){draw(4) > 0,
                                                           r == CPU ? (int64_t)draw(3000) : (int64_t)draw(1u << 31)};
                                if (draw(4) == 0)
                                        w->to[r].value = r == CPU ? 500 : 512 << 20; /* as some are already */
                                if (units(json_object_get(limits, resource_name(r)), r, &limit) &&
                                    w->to[r].value > limit)
                                        w->to[r].value = limit;
                        }
                }
        }
        return count;
}

static void the_patch_makes_the_object_meant_and_nothing_else(void **state)
{
        (void)state;
        static const char *const texts[] = {NULL, "O", "A"};
        enum { OBJECTS = UNLESS_SLOWED(20000, 2000) };
        int empty = 0;
        for (unsigned n = 1; n <= OBJECTS; n++) {
                seed = n;
                bool cron = draw(3) == 0;
                struct patch_container work[4];
                json_t *at[4];
                struct err err = {0};
                AUTO(json_decref) json_t *object = any_object(cron), *meant = json_deep_copy(object);
                json_t *template = template_of(meant, cron);
                int count = any_work(template, work, at);
                const char *original = texts[draw(3)], *applied = texts[draw(3)], *basis = texts[draw(3)];
                char *text = json_dumps(object, 0);
                const struct patch_resources p = {cron ? "/spec/jobTemplate/spec/template" : "/spec/template",
                                                  text_of(text),
                                                  "7",
                                                  work,
                                                  count,
                                                  original,
                                                  applied,
                                                  basis,
                                                  NULL,
                                                  false,
                                                  false};
                AUTO(json_decref) json_t *patch = patch_build(&p, &err);
                bool changed = false;
                for (int i = 0; i < count; i++)
                        changed |= do_requests(at[i], &work[i]);
                for (int i = 0; changed && i < 2; i++) {
                        do_annotation(i ? meant : template, ANNOTATION_ORIGINAL, original);
                        do_annotation(i ? meant : template, ANNOTATION_APPLIED, applied);
                        do_annotation(i ? meant : template, ANNOTATION_BASIS, basis);
                }
                char *dump = json_dumps(patch, JSON_COMPACT);
                if (!patch || !json_patch_apply(object, patch) || !json_equal(object, meant) ||
                    strstr(dump, "/limits") || (json_array_size(patch) == 0) == changed)
                        fail_msg("%u: %s\n%s", n, text, patch ? dump : err.text);
                empty += !changed;
                free(text);
                free(dump);
        }
        assert_in_range(empty, OBJECTS / 20, OBJECTS / 2);
}

#define BASIS ADD("/metadata/annotations/halflife.dev~1utilization-basis", "\"request\"")

/* At admission: the pod is the template, nothing is tested, and the annotations are written once. */
static void a_pod_is_patched_without_tests(void **state)
{
        (void)state;
        static const struct {
                const char *pod, *want;
        } pods[] = {
                {"{\"spec\":{\"containers\":[{\"name\":\"app\"}]}}",
                 "[" ADD("/spec/containers/0/resources", "{}") "," ADD(
                         "/spec/containers/0/resources/requests",
                         "{}") "," ADD("/spec/containers/0/resources/requests/cpu",
                                       "\"454m\"") "," ADD("/metadata",
                                                           "{}") "," ADD("/metadata/annotations",
                                                                         "{}") "," ADD("/metadata/annotations/"
                                                                                       "halflife.dev~1original-"
                                                                                       "resources",
                                                                                       "\"O\"") "," ADD("/metadata/"
                                                                                                        "annotations/"
                                                                                                        "halflife.dev~"
                                                                                                        "1applied-"
                                                                                                        "resources",
                                                                                                        "\"A\"") "," BASIS
                                                                                                                 "]"},
                {"{\"metadata\":{\"annotations\":{\"halflife.dev/"
                 "original-resources\":\"O\"}},\"spec\":{\"containers\":[],"
                 "\"initContainers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}",
                 "[" REPLACE("/spec/initContainers/0/resources/requests/cpu", "\"454m\"") "," ADD(
                         "/metadata/annotations/halflife.dev~1applied-resources", "\"A\"") "," BASIS "]"},
                {"{\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"454m\"}}}]}}",
                 "[]"},
        };
        for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
                struct patch_container c = CPU_TO(454);
                const struct patch_resources p = {.object = text_of(pods[i].pod),
                                                  .template_path = "",
                                                  .container = &c,
                                                  .containers = 1,
                                                  .original = "O",
                                                  .applied = "A",
                                                  .basis = BASIS_REQUEST};
                AUTO(json_decref) json_t *patch = patch_build(&p, NULL), *pod = json_loads(pods[i].pod, 0, NULL);
                char *got = json_dumps(patch, JSON_COMPACT);
                assert_string_equal(got, pods[i].want);
                assert_true(json_patch_apply(pod, patch));
                free(got);
        }
}

/* Where the basis is its owner's, it is neither written nor taken away. */
static void the_owners_basis_stands(void **state)
{
        (void)state;
        static const char *const basis[] = {NULL, "limit", "request", "what?"};
        for (size_t i = 0; i < sizeof basis / sizeof *basis; i++)
                for (int back = 0; back < 2; back++) {
                        AUTO(json_decref)
                        json_t *pod = json_pack("{s:{s:{s:s*, s:s, s:s}}, s:{s:[{s:s, s:{s:{s:s}}}]}}", "metadata",
                                                "annotations", ANNOTATION_BASIS, basis[i], ANNOTATION_ORIGINAL, "was",
                                                ANNOTATION_APPLIED, "was", "spec", "containers", "name", "app",
                                                "resources", "requests", "cpu", "2");
                        char *text = json_dumps(pod, JSON_COMPACT);
                        struct patch_container c = CPU_TO(454);
                        const struct patch_resources p = {.object = text_of(text),
                                                          .template_path = "",
                                                          .container = &c,
                                                          .containers = 1,
                                                          .original = back ? NULL : "O",
                                                          .applied = back ? NULL : "A",
                                                          .basis = back ? NULL : BASIS_REQUEST,
                                                          .basis_stands = true};
                        AUTO(json_decref) json_t *patch = patch_build(&p, NULL);
                        assert_true(json_patch_apply(pod, patch));
                        json_t *notes = json_object_get(json_object_get(pod, "metadata"), "annotations");
                        const char *stands = json_string_value(json_object_get(notes, ANNOTATION_BASIS));
                        if ((stands == NULL) != (basis[i] == NULL) || (stands && strcmp(stands, basis[i]) != 0))
                                fail_msg("'%s' became '%s'", basis[i], stands);
                        assert_int_equal(json_object_get(notes, ANNOTATION_APPLIED) == NULL, back);
                        free(text);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(patches_are_as_the_table_says),
                cmocka_unit_test(a_pod_is_patched_without_tests),
                cmocka_unit_test(the_owners_basis_stands),
                cmocka_unit_test(the_patch_makes_the_object_meant_and_nothing_else),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
