/* The targets of an autoscaler: as our annotations record them, and the patch that sets them. */
#include <stdlib.h>

#include "base/yaml.h"
#include "decode_help.h"
#include "objects/annotation_record.h"
#include "objects/patch.h"

static void targets_are_read_as_the_table_says(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
        } row[] = {
                {"{}", ""},
                {"{\"Resource/cpu\":70}", "/cpu=70;"},
                {"{\"Resource/memory\":1,\"ContainerResource/app/cpu\":2147483647}", "/memory=1;app/cpu=2147483647;"},
                {"", "!recorded targets are not a JSON object"},
                {"[70]", "!recorded targets are not a JSON object"},
                {"{\"Resource/cpu\":70} and more", "!recorded targets: "},
                {"{\"Resource/cpu\":\"70\"}", "!recorded targets: "},
                {"{\"Resource/cpu\":0}", "!'Resource/cpu' is not from 1 to 2147483647"},
                {"{\"Resource/cpu\":2147483648}", "!'Resource/cpu' is not from 1 to 2147483647"},
                {"{\"Resource/gpu\":70}", "!'Resource/gpu' is not a metric"},
                {"{\"ContainerResource/cpu\":70}", "!'ContainerResource/cpu' is not a metric"},
                {"{\"ContainerResource//cpu\":70}", "!'ContainerResource//cpu' is not a metric"},
                {"{\"cpu\":70}", "!'cpu' is not a metric"},
        };
        struct arena a = {0};
        struct recorded_target t[VIEW_METRICS];
        struct buf got;
        buf_init(&got, 4096);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                buf_reset(&got);
                say(&got, "%s", "");
                int rc = record_targets_read(text_of(row[i].in), &a, t, &err);
                for (int k = 0; k < rc; k++)
                        say(&got, "%.*s/%s=%lld;", TEXT_ARG(t[k].container), resource_name(t[k].resource),
                            (long long)t[k].percent);
                expect(row[i].in, row[i].want, rc < 0 ? rc : 0, &err, &got);
                AUTO(mem_free) char *printed = rc > 0 ? record_targets_print(t, rc) : NULL;
                if (printed)
                        assert_string_equal(printed, row[i].in);
        }
        assert_null(record_targets_print(t, 0));
        buf_release(&got);
        arena_release(&a);
}

#define METRIC(type, body, percent)                                                                                    \
        "{\"type\":\"" type "\",\"" body "\":{\"name\":\"cpu\",\"target\":{\"averageUtilization\":" percent "}}}"
#define OBJECT(annotations)                                                                                            \
        "{\"metadata\":{\"name\":\"web\",\"resourceVersion\":\"5\"" annotations "},\"spec\":{\"metrics\":["            \
        "{\"type\":\"External\"}," METRIC("Resource", "resource", "70") "," METRIC("ContainerResource",                \
                                                                                   "containerResource", "60") "]}}"
#define TEST_VERSION "{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"5\"}"
#define NOTE         "halflife.dev~1original-targets"

static void the_patch_sets_targets_and_nothing_else(void **state)
{
        (void)state;
        static const struct {
                const char *what, *object;
                struct patch_target to[2];
                int targets;
                const char *original, *applied, *want;
        } row[] = {
                {"nothing", OBJECT(""), {{0}}, 0, NULL, NULL, "[]"},
                {"as it stands", OBJECT(""), {{1, false, 70}}, 1, NULL, NULL, "[]"},
                {"one",
                 OBJECT(""),
                 {{1, false, 140}},
                 1,
                 "{}",
                 NULL,
                 "[" TEST_VERSION ",{\"op\":\"test\",\"path\":\"/spec/metrics/1/resource/target/averageUtilization\","
                 "\"value\":70},{\"op\":\"replace\",\"path\":\"/spec/metrics/1/resource/target/averageUtilization\","
                 "\"value\":140},{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{}},{\"op\":\"add\","
                 "\"path\":\"/metadata/annotations/" NOTE "\",\"value\":\"{}\"}]"},
                {"of a container, back",
                 OBJECT(",\"annotations\":{\"halflife.dev/original-targets\":\"x\",\"mine\":\"y\"}"),
                 {{2, true, 30}},
                 1,
                 NULL,
                 NULL,
                 "[" TEST_VERSION
                 ",{\"op\":\"test\",\"path\":\"/spec/metrics/2/containerResource/target/averageUtilization\","
                 "\"value\":60},{\"op\":\"replace\",\"path\":\"/spec/metrics/2/containerResource/target/"
                 "averageUtilization\",\"value\":30},{\"op\":\"test\",\"path\":\"/metadata/annotations/" NOTE
                 "\",\"value\":\"x\"},{\"op\":\"remove\",\"path\":\"/metadata/annotations/" NOTE "\"}]"},
                {"no such metric", OBJECT(""), {{7, false, 30}}, 1, NULL, NULL, "!there is no utilization target at"},
                {"of another kind", OBJECT(""), {{0, false, 30}}, 1, NULL, NULL, "!there is no utilization target at"},
                {"a trigger",
                 "{\"metadata\":{\"resourceVersion\":\"5\"},\"spec\":{\"triggers\":[{\"type\":\"cron\"},{\"type\":"
                 "\"cpu\",\"metadata\":{\"value\":\"60\"}}]}}",
                 {{1, false, 120}},
                 1,
                 NULL,
                 NULL,
                 "[" TEST_VERSION ",{\"op\":\"test\",\"path\":\"/spec/triggers/1/metadata/value\",\"value\":\"60\"},"
                 "{\"op\":\"replace\",\"path\":\"/spec/triggers/1/metadata/value\",\"value\":\"120\"}]"},
                {"no such trigger",
                 "{\"spec\":{\"triggers\":[{\"type\":\"cron\"}]}}",
                 {{0, false, 120}},
                 1,
                 NULL,
                 NULL,
                 "!there is no utilization target at"},
                {"no object", "[", {{0}}, 0, NULL, NULL, "!read the object to patch"},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                struct patch_targets p = {.object = text_of(row[i].object),
                                          .version = "5",
                                          .triggers = strstr(row[i].object, "triggers"),
                                          .target = row[i].to,
                                          .targets = row[i].targets,
                                          .original = row[i].original,
                                          .applied = row[i].applied};
                AUTO(json_decref) json_t *patch = patch_targets_build(&p, &err);
                char *got = patch ? json_dumps(patch, JSON_COMPACT) : NULL;
                bool as_wanted = got ? strcmp(got, row[i].want) == 0
                                     : *row[i].want == '!' && strstr(err.text, row[i].want + 1) != NULL;
                if (!as_wanted)
                        fail_msg("%s: %s%s", row[i].what, got ? got : "", err.text);
                free(got);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(targets_are_read_as_the_table_says),
                cmocka_unit_test(the_patch_sets_targets_and_nothing_else),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
