/*
 * The way back as tables: what an object says of itself, and what it is after the patch. Whatever halflife writes, the
 * way back leads to the object as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/json_patch.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "objects/patch.h"
#include "objects/restore_patch.h"

#define NOTES(original, applied)                                                                                       \
        "\"annotations\":{\"halflife.dev/original-resources\":\"" original                                             \
        "\",\"halflife.dev/applied-resources\":\"" applied "\",\"halflife.dev/utilization-basis\":\"request\"}"
#define BASIS                    "\"annotations\":{\"halflife.dev/utilization-basis\":\"request\"}"
#define WAS(requests)            "{\\\"app\\\":{" requests "}}"
#define CPU_OF(q)                "\\\"requests\\\":{\\\"cpu\\\":\\\"" q "\\\"}"
#define BOTH_OF(c, m)            "\\\"requests\\\":{\\\"cpu\\\":\\\"" c "\\\",\\\"memory\\\":\\\"" m "\\\"}"
#define COPY                     BASIS ","
#define OBJECT(notes, resources) OBJECT_OF(COPY, notes, resources)
#define OBJECT_OF(copy, notes, resources)                                                                              \
        "{\"metadata\":{" copy "\"name\":\"web\",\"resourceVersion\":\"7\",\"uid\":\"u\"},\"spec\":{\"template\":{"    \
        "\"metadata\":{\"labels\":{\"app\":\"web\"}" notes "},\"spec\":{\"containers\":[{\"name\":\"app\"" resources   \
        "}]}}}}"
#define OURS            "," NOTES(WAS(CPU_OF("2")), WAS(CPU_OF("454m")))
#define REQUESTS(inner) ",\"resources\":{\"requests\":{" inner "}}"

static const struct {
        const char *what, *object;
        const char *after; /* NULL: no patch */
        bool noted;
        int stand;
        const char *told;     /* a part of what goes back, or of what stands */
        const char *admitted; /* what the Recommendation says that admission made of halflife's; NULL: nothing */
} row[] = {
        {"nothing of ours", OBJECT("", REQUESTS("\"cpu\":\"2\"")), NULL, false, 0, "", NULL},
        {"CPU goes back", OBJECT("," NOTES(WAS(CPU_OF("2")), WAS(CPU_OF("454m"))), REQUESTS("\"cpu\":\"454m\"")),
         OBJECT("", REQUESTS("\"cpu\":\"2\"")), true, 0, "app cpu 454m -> 2", NULL},
        {"however it is spelt", OBJECT("," NOTES(WAS(CPU_OF("2")), WAS(CPU_OF("500m"))), REQUESTS("\"cpu\":0.5")),
         OBJECT("", REQUESTS("\"cpu\":\"2\"")), true, 0, "app cpu 500m -> 2", NULL},
        {"absent goes back to absent",
         OBJECT("," NOTES("{\\\"app\\\":{}}", WAS(CPU_OF("454m"))), REQUESTS("\"cpu\":\"454m\"")), OBJECT("", ""), true,
         0, "app cpu 454m -> none", NULL},
        {"whose basis it is, where there is no copy",
         OBJECT_OF("", "," NOTES(WAS(CPU_OF("2")), WAS(CPU_OF("454m"))), REQUESTS("\"cpu\":\"454m\"")),
         OBJECT("," BASIS, REQUESTS("\"cpu\":\"2\"")), true, 0, "app cpu 454m -> 2", NULL},
        {"both",
         OBJECT("," NOTES(WAS(BOTH_OF("2", "1Gi")), WAS(BOTH_OF("454m", "300Mi"))),
                REQUESTS("\"cpu\":\"454m\",\"memory\":\"300Mi\"")),
         OBJECT("", REQUESTS("\"cpu\":\"2\",\"memory\":\"1Gi\"")), true, 0, "app memory 300Mi -> 1Gi", NULL},
        {"one is the owner's by now",
         OBJECT("," NOTES(WAS(BOTH_OF("2", "1Gi")), WAS(BOTH_OF("454m", "300Mi"))),
                REQUESTS("\"cpu\":\"700m\",\"memory\":\"300Mi\"")),
         OBJECT("", REQUESTS("\"cpu\":\"700m\",\"memory\":\"1Gi\"")), true, 1,
         "app cpu is 700m, not the 454m that halflife set", NULL},
        {"all are the owner's by now",
         OBJECT("," NOTES(WAS(CPU_OF("2")), WAS(CPU_OF("454m"))), REQUESTS("\"cpu\":\"700m\"")), NULL, true, 1,
         "app cpu is 700m", NULL},
        {"its owner took it out", OBJECT("," NOTES(WAS(CPU_OF("2")), WAS(CPU_OF("454m"))), ""), NULL, true, 1,
         "app cpu is none", NULL},
        {"put back already", OBJECT("," NOTES(WAS(CPU_OF("2")), WAS(CPU_OF("454m"))), REQUESTS("\"cpu\":\"2\"")), NULL,
         true, 0, "", NULL},
        {"the container is another",
         OBJECT("," NOTES("{\\\"old\\\":{}}", "{\\\"old\\\":{" CPU_OF("454m") "}}"), REQUESTS("\"cpu\":\"454m\"")),
         NULL, true, 0, "", NULL},
        {"rounded as it was written", OBJECT(OURS, REQUESTS("\"cpu\":\"500m\"")), OBJECT("", REQUESTS("\"cpu\":\"2\"")),
         true, 0, "app cpu 500m -> 2", "[{\"name\":\"init\"},{\"name\":\"app\",\"cpu\":\"0.5\",\"memory\":\"1Gi\"}]"},
        {"taken out as it was written", OBJECT(OURS, ""), OBJECT("", REQUESTS("\"cpu\":\"2\"")), true, 0,
         "app cpu none -> 2", "[{\"name\":\"app\"}]"},
        {"rounded, and the owner's by now", OBJECT(OURS, REQUESTS("\"cpu\":\"700m\"")), NULL, true, 1,
         "app cpu is 700m, not the 454m that halflife set", "[{\"name\":\"app\",\"cpu\":\"500m\"}]"},
        {"another container was rounded", OBJECT(OURS, REQUESTS("\"cpu\":\"500m\"")), NULL, true, 1, "app cpu is 500m",
         "[{\"name\":\"proxy\",\"cpu\":\"500m\"}]"},
        {"what the Recommendation says cannot be read", OBJECT(OURS, REQUESTS("\"cpu\":\"500m\"")), NULL, true, 1,
         "app cpu is 500m", "[7,{\"cpu\":\"500m\"},{\"name\":7},{\"name\":\"app\",\"cpu\":\"half\"}]"},
        {"nor is it a list", OBJECT(OURS, REQUESTS("\"cpu\":\"500m\"")), NULL, true, 1, "app cpu is 500m",
         "{\"name\":\"app\",\"cpu\":\"500m\"}"},
};

static json_t *after_of(const char *object, const json_t *patch)
{
        json_t *o = json_loads(object, 0, NULL);
        assert_non_null(o);
        if (patch)
                assert_true(json_patch_apply(o, patch));
        return o;
}

static void test_templates(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct restore got;
                struct err err = {0};
                json_t *patch = NULL;
                AUTO(json_decref) json_t *admitted = row[i].admitted ? json_loads(row[i].admitted, 0, NULL) : NULL;
                if (restore_template(text_of(row[i].object), "/spec/template", admitted, &got, &patch, &err) < 0)
                        fail_msg("%s: %s", row[i].what, err.text);
                AUTO(json_decref) json_t *after = after_of(row[i].object, patch);
                AUTO(json_decref) json_t *want = json_loads(row[i].after ? row[i].after : row[i].object, 0, NULL);
                assert_non_null(want);
                if (row[i].after)
                        json_object_del(json_object_get(want, "metadata"), "annotations"); /* the copy */
                char *text = json_dumps(after, JSON_COMPACT);
                if (!json_equal(after, want) || (patch != NULL) != (row[i].after != NULL) ||
                    got.noted != row[i].noted || got.stand != row[i].stand || (got.back > 0) != (patch != NULL))
                        fail_msg("%s: %d back, %d stand, noted %d: %s", row[i].what, got.back, got.stand, got.noted,
                                 text);
                if (!strstr(got.changes, row[i].told) && !strstr(got.stands, row[i].told))
                        fail_msg("%s: told '%s' and '%s'", row[i].what, got.changes, got.stands);
                free(text);
                json_decref(patch);
        }
}

static const struct {
        const char *what, *object, *why;
} refused[] = {
        {"no JSON", "{", "workload"},
        {"an annotation that somebody edited", OBJECT("," NOTES("[]", "{}"), ""), "recorded resources"},
        {"a limit below the original by now",
         OBJECT("," NOTES(WAS(CPU_OF("2")), WAS(CPU_OF("454m"))),
                ",\"resources\":{\"limits\":{\"cpu\":\"1\"},\"requests\":{\"cpu\":\"454m\"}}"),
         "above its limit"},
};

static void test_refused(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
                struct restore got;
                struct err err = {0};
                json_t *patch = NULL;
                int rc = restore_template(text_of(refused[i].object), "/spec/template", NULL, &got, &patch, &err);
                if (rc != ERR_INVALID || patch || !strstr(err.text, refused[i].why))
                        fail_msg("%s: %d %s", refused[i].what, rc, err.text);
        }
}

/* Out by patch_build, back by restore_template: the object as it was, whatever stood there. */
static void test_there_and_back(void **state)
{
        static const char *const before[] = {
                OBJECT_OF("", "", REQUESTS("\"cpu\":\"2\"")),
                OBJECT_OF("", "", ""),
                OBJECT_OF("", ",\"annotations\":{\"a\":\"b\"}", REQUESTS("\"memory\":\"1Gi\"")),
                OBJECT_OF("", "", ",\"resources\":{\"limits\":{\"cpu\":\"2\"}}"),
                OBJECT_OF("", "",
                          ",\"resources\":{\"limits\":{\"cpu\":\"2\"},\"requests\":{\"cpu\":\"1\",\"x/gpu\":\"1\"}}"),
        };
        static const char *const original[] = {"{\"app\":{\"requests\":{\"cpu\":\"2\"}}}", "{\"app\":{}}",
                                               "{\"app\":{\"requests\":{\"memory\":\"1Gi\"}}}",
                                               "{\"app\":{\"limits\":{\"cpu\":\"2\"}}}",
                                               "{\"app\":{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}}}"};
        (void)state;
        for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
                const struct patch_container to = {"app", {true, false}, {{true, 454}, {false, 0}}};
                const struct patch_resources p = {"/spec/template",
                                                  text_of(before[i]),
                                                  "7",
                                                  &to,
                                                  1,
                                                  original[i],
                                                  "{\"app\":{\"requests\":{\"cpu\":\"454m\"}}}",
                                                  "request",
                                                  NULL,
                                                  false,
                                                  false};
                struct err err = {0};
                struct restore got;
                json_t *out = patch_build(&p, &err), *back = NULL;
                AUTO(json_decref) json_t *lowered = after_of(before[i], out);
                char *text = json_dumps(lowered, 0);
                assert_int_equal(restore_template(text_of(text), "/spec/template", NULL, &got, &back, &err), 0);
                AUTO(json_decref) json_t *after = after_of(text, back), *want = json_loads(before[i], 0, NULL);
                json_object_del(json_object_get(after, "metadata"), "annotations");
                char *was = json_dumps(want, 0), *is = json_dumps(after, 0);
                if (strcmp(was, is) != 0)
                        fail_msg("%s\nbecame %s", was, is);
                free(text);
                free(was);
                free(is);
                json_decref(out);
                json_decref(back);
        }
}

/* --- pods --- */

#define POD(notes, requests)                                                                                           \
        "{\"metadata\":{\"name\":\"web-1\",\"resourceVersion\":\"7\",\"uid\":\"u\"" notes                              \
        "},\"spec\":{\"containers\":[{\"name\":\"app\"" requests "}]}}"
#define POD_NOTES "," NOTES(WAS(CPU_OF("2")), WAS(CPU_OF("454m")))

static void test_pods(void **state)
{
        static const char pod[] = POD(POD_NOTES, REQUESTS("\"cpu\":\"454m\""));
        (void)state;
        struct restore got;
        struct err err = {0};
        json_t *patch;
        assert_int_equal(restore_pod_requests(text_of(pod), NULL, false, &got, &patch, &err), 0);
        AUTO(json_decref) json_t *resized = after_of(pod, patch);
        AUTO(json_decref) json_t *want = json_loads(POD(POD_NOTES, REQUESTS("\"cpu\":\"2\"")), 0, NULL);
        assert_true(json_equal(resized, want));
        json_decref(patch);
        char *text = json_dumps(resized, 0);
        assert_int_equal(restore_pod_requests(text_of(text), NULL, false, &got, &patch, &err), 0);
        assert_null(patch);
        assert_true(got.noted);
        for (int basis = 0; basis < 2; basis++) {
                assert_int_equal(restore_pod_notes(text_of(text), basis, &patch, &err), 0);
                AUTO(json_decref) json_t *bare = after_of(text, patch);
                AUTO(json_decref)
                json_t *plain = json_loads(basis ? POD("", REQUESTS("\"cpu\":\"2\""))
                                                 : POD("," BASIS, REQUESTS("\"cpu\":\"2\"")),
                                           0, NULL);
                assert_true(json_equal(bare, plain));
                json_decref(patch);
        }
        free(text);
        assert_int_equal(restore_pod_notes(text_of(POD("", "")), true, &patch, &err), 0);
        assert_null(patch);
}

#define ENTRY(manager, rest) "{\"manager\":\"" manager "\",\"operation\":\"Update\"" rest "}"
#define RESIZED(field)                                                                                                 \
        ",\"subresource\":\"resize\",\"fieldsV1\":{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"app\\\"}\":{"   \
        "\"f:resources\":{\"f:requests\":{\"" field "\":{}}}}}}}"
#define MANAGED(entries) POD_NOTES ",\"managedFields\":[" entries "]"

/* A pod whose request is 500m where halflife recorded 454m. */
static void test_pods_as_created(void **state)
{
        (void)state;
        static const struct {
                const char *what, *notes;
                bool own, back;
                const char *admitted;
        } pods[] = {
                {"admission made it so", MANAGED(ENTRY("kube-controller-manager", "")), true, true, NULL},
                {"and so when halflife resized it", MANAGED(ENTRY("halflife", RESIZED("f:cpu"))), true, true, NULL},
                {"somebody resized it", MANAGED(ENTRY("kubectl-patch", RESIZED("f:cpu"))), true, false, NULL},
                {"somebody resized its memory", MANAGED(ENTRY("kubectl-patch", RESIZED("f:memory"))), true, true, NULL},
                {"who wrote it is not known", POD_NOTES, true, false, NULL},
                {"its template says so", MANAGED(ENTRY("kube-controller-manager", "")), false, false, NULL},
                {"what admission made of its template", MANAGED(ENTRY("kube-controller-manager", "")), false, true,
                 "[{\"name\":\"app\",\"cpu\":\"500m\"}]"},
        };
        for (size_t i = 0; i < sizeof pods / sizeof pods[0]; i++) {
                struct restore got;
                struct err err = {0};
                json_t *patch = NULL;
                AUTO(mem_free)
                char *pod = mem_printf("{\"metadata\":{\"name\":\"web-1\",\"resourceVersion\":\"7\",\"uid\":\"u\"%s},"
                                       "\"spec\":{\"containers\":[{\"name\":\"app\"%s}]}}",
                                       pods[i].notes, REQUESTS("\"cpu\":\"500m\""));
                AUTO(json_decref) json_t *admitted = pods[i].admitted ? json_loads(pods[i].admitted, 0, NULL) : NULL;
                if (restore_pod_requests(text_of(pod), admitted, pods[i].own, &got, &patch, &err) < 0)
                        fail_msg("%s: %s", pods[i].what, err.text);
                if ((patch != NULL) != pods[i].back || got.stand != !pods[i].back)
                        fail_msg("%s: '%s', and '%s' stands", pods[i].what, got.changes, got.stands);
                json_decref(patch);
        }
}

/* --- autoscalers --- */

#define HPA(note, cpu, app)                                                                                            \
        "{\"metadata\":{\"name\":\"web\",\"resourceVersion\":\"9\",\"annotations\":{\"a\":\"b\"" note                  \
        "}},\"spec\":{\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":"        \
        "\"Utilization\",\"averageUtilization\":" cpu "}}},{\"type\":\"ContainerResource\",\"containerResource\":{"    \
        "\"name\":\"cpu\",\"container\":\"app\",\"target\":{\"type\":\"Utilization\",\"averageUtilization\":" app      \
        "}}},{\"type\":\"Resource\",\"resource\":{\"name\":\"memory\",\"target\":{\"type\":\"AverageValue\","          \
        "\"averageValue\":\"1Gi\"}}}]}}"
#define TARGETS ",\"halflife.dev/original-targets\":\"{\\\"Resource/cpu\\\":70,\\\"ContainerResource/app/cpu\\\":60}\""

#define SCALED(note, cpu, app)                                                                                         \
        "{\"metadata\":{\"name\":\"web\",\"resourceVersion\":\"9\",\"annotations\":{\"a\":\"b\"" note                  \
        "}},\"spec\":{\"triggers\":[{\"type\":\"cron\",\"metadata\":{\"value\":\"210\"}},{\"type\":\"cpu\","           \
        "\"metricType\":\"Utilization\","                                                                              \
        "\"metadata\":{"                                                                                               \
        "\"value\":\"" cpu "\"}},{\"type\":\"cpu\",\"metricType\":\"Utilization\",\"metadata\":{\"containerName\":"    \
        "\"app\",\"value\":\"" app "\"}}]}}"

#define MADE ",\"halflife.dev/applied-targets\":\"{\\\"Resource/cpu\\\":210,\\\"ContainerResource/app/cpu\\\":180}\""

static void test_autoscalers(void **state)
{
        static const struct {
                const char *what, *hpa, *after;
                int back;
        } hpa[] = {
                {"none of ours", HPA("", "70", "60"), NULL, 0},
                {"both follow", HPA(TARGETS, "210", "180"), HPA("", "70", "60"), 2},
                {"one is back already", HPA(TARGETS, "70", "180"), HPA("", "70", "60"), 1},
                {"one is its owner's by now", HPA(TARGETS MADE, "80", "180"), HPA("", "80", "60"), 1},
                {"triggers, both follow", SCALED(TARGETS, "210", "180"), SCALED("", "70", "60"), 2},
                {"a trigger is its owner's by now", SCALED(TARGETS MADE, "80", "180"), SCALED("", "80", "60"), 1},
                {"metrics of others now",
                 HPA(",\"halflife.dev/original-targets\":\"{\\\"Resource/memory\\\":70}\"", "50", "40"),
                 HPA("", "50", "40"), 0},
        };
        (void)state;
        for (size_t i = 0; i < sizeof hpa / sizeof hpa[0]; i++) {
                struct restore got;
                struct err err = {0};
                json_t *patch;
                assert_int_equal(
                        restore_autoscaler(text_of(hpa[i].hpa), strstr(hpa[i].hpa, "triggers"), &got, &patch, &err), 0);
                AUTO(json_decref) json_t *after = after_of(hpa[i].hpa, patch);
                AUTO(json_decref) json_t *want = json_loads(hpa[i].after ? hpa[i].after : hpa[i].hpa, 0, NULL);
                if (!json_equal(after, want) || got.back != hpa[i].back || (patch != NULL) != (hpa[i].after != NULL))
                        fail_msg("%s: %d back: %s", hpa[i].what, got.back, got.changes);
                json_decref(patch);
        }
        struct restore got;
        struct err err = {0};
        json_t *patch;
        const char *broken = HPA(",\"halflife.dev/original-targets\":\"x\"", "70", "60");
        assert_int_equal(restore_autoscaler(text_of(broken), false, &got, &patch, &err), ERR_INVALID);
        assert_int_equal(restore_autoscaler(text_of("["), false, &got, &patch, &err), ERR_INVALID);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_templates),       cmocka_unit_test(test_refused),
                cmocka_unit_test(test_there_and_back),  cmocka_unit_test(test_pods),
                cmocka_unit_test(test_pods_as_created), cmocka_unit_test(test_autoscalers),
        };
        return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}
