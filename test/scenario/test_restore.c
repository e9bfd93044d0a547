/*
 * halflife restore and resume against the API server, with no controller anywhere: objects as halflife leaves them,
 * made by its own patch, and what they are afterwards; also where the API server refuses, is away, or somebody was
 * quicker.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/lowered.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "objects/patch.h"

enum { ARGS = 12 };

static char *annotation(const char *path, const char *key)
{
        AUTO(json_decref) json_t *object = lowered_read(path);
        return mem_string(json_string_value(
                json_object_get(json_object_get(json_object_get(object, "metadata"), "annotations"), key)));
}

#define REC(ns, name) "/apis/halflife.dev/v1alpha1/namespaces/" ns "/recommendations/" name

#define RUN HALFLIFE_RUN

static void expect_says(const char *said, const char *part)
{
        if (!strstr(said, part))
                fail_msg("does not say '%s':\n%s", part, said);
}

/* --- the whole --- */

static void test_all(void **state)
{
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 1});
        lowered_all();
        AUTO(mem_free) char *dry = RUN(0, "restore", "--all", "--dry-run");
        expect_says(dry, "shop deployment/web would restore: app cpu 454m -> 2");
        expect_says(dry, "6 would be restored");
        AUTO(mem_free) char *told = RUN(0, "restore", "--all", "--dry-run", "-o", "json");
        expect_says(told, "\"dryRun\": true");
        expect_says(told, "\"result\": \"wouldRestore\"");
        assert_null(strstr(told, "\"restored\""));
        assert_int_equal(fake_count(lowered_plane.fake, "write", ""), 0);
        AUTO(mem_free) char *said = RUN(0, "restore", "--all");
        expect_says(said, "shop statefulset/db restored: app cpu 454m -> none");
        expect_says(said, "shop widget.example.com/odd restored: app cpu 454m -> none");
        expect_says(said, "6 restored, 0 left with values of halflife, 0 failed, 0 not begun");
        lowered_expect_back("all");
        for (int i = 0; i < LOWERED_OBJECTS; i++) {
                AUTO(mem_free) char *copy = annotation(lowered_objects[i].path, ANNOTATION_APPLIED);
                assert_null(copy);
        }
        AUTO(mem_free) char *hold = annotation(REC("shop", "widget.example.com-odd"), ANNOTATION_HOLD);
        assert_string_equal(hold, "halflife restore");
        fake_count_reset(lowered_plane.fake);
        AUTO(mem_free) char *again = RUN(0, "restore", "--all");
        expect_says(again, "nothing to restore: no workload in the cluster carries values of halflife");
        assert_null(strstr(again, "0 restored"));
        assert_int_equal(fake_count(lowered_plane.fake, "write", ""), 0);
        AUTO(mem_free) char *resumed = RUN(0, "resume", "--all");
        expect_says(resumed, "till deployment-web resumed (it was held: halflife restore)");
        expect_says(resumed, "6 resumed");
        AUTO(mem_free) char *more = RUN(0, "resume", "--all");
        expect_says(more, "nothing to resume: no workload in the cluster is held");
        AUTO(mem_free) char *gone = annotation(REC("till", "deployment-web"), ANNOTATION_HOLD);
        assert_null(gone);
        lowered_end();
}

/* What is meant, and nothing else. */
static void test_scopes(void **state)
{
        static const struct {
                const char *args[ARGS];
                unsigned back; /* a bit for each of the objects */
        } row[] = {
                {{"restore", "deploy/web", "-n", "shop"}, 1},
                {{"restore", "sts/db", "cronjob/nightly", "-n", "shop"}, 2 | 8},
                {{"restore", "widget.example.com/odd", "-nshop"}, 16},
                {{"restore", "-n", "till"}, 32},
                {{"restore", "-A", "-l", "app=web"}, 1 | 32},
                {{"restore", "-n", "shop", "-l", "app in (web)"}, 1},
                {{"restore", "--orphaned"}, 4},
                {{"restore", "--orphaned", "-n", "till"}, 0},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                lowered_begin(&(struct fake_options){.seed = 2});
                lowered_all();
                fake_merge(lowered_plane.fake, REC("shop", "daemonset-agent") "/status", "halflife",
                           "{\"status\":{\"state\":\"Held\",\"conditions\":[{\"type\":\"Applied\",\"status\":\"False\","
                           "\"reason\":\"Orphaned\",\"message\":\"m\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]"
                           "}}");
                AUTO(mem_free) char *said = halflife_run(0, row[i].args);
                unsigned back = 0;
                for (int k = 0; k < LOWERED_OBJECTS; k++)
                        back |= (unsigned)lowered_is_back(k) << k;
                if (back != row[i].back)
                        fail_msg("%s %s: %x are back, not %x\n%s", row[i].args[1], row[i].args[2] ? row[i].args[2] : "",
                                 back, row[i].back, said);
                lowered_end();
        }
}

static void test_misused(void **state)
{
        static const struct {
                const char *args[ARGS];
                int code;
                const char *says;
        } row[] = {
                {{"restore"}, 2, "choose the workloads"},
                {{"restore", "web"}, 2, "is not KIND/NAME"},
                {{"restore", "deploy/web", "--all"}, 2, "excludes --all"},
                {{"restore", "--all", "-n", "shop"}, 2, "exclude each other"},
                {{"restore", "--all", "--budget", "0"}, 2, "not a number from 1 to 1000"},
                {{"restore", "--all", "--budget", "x"}, 2, "not a number from 1 to 1000"},
                {{"restore", "--all", "--timeout", "5"}, 2, "not a duration"},
                {{"restore", "--all", "-o", "yaml"}, 2, "not one of text, json"},
                {{"restore", "--all", "--reason", ""}, 2, "must not be empty"},
                {{"restore", "-n", ""}, 2, "is empty"}, /* of a variable that nobody set */
                {{"restore", "-n", ".."}, 2, "is not a valid namespace name"},
                {{"restore", "-n", "."}, 2, "is not a valid namespace name"},
                {{"restore", "-n", "shop", "-l", ""}, 2, "is empty"},
                {{"restore", "deploy/..", "-n", "shop"}, 2, "is not KIND/NAME"},
                {{"resume", "-n", ""}, 2, "is empty"},
                {{"resume", "-l", ""}, 2, "is empty"},
                {{"restore", "--all", "--reason", "\xff"}, 2, "must not be empty"},
                {{"restore", "deploy/\xff", "-n", "shop"}, 2, "is not KIND/NAME"},
                {{"resume"}, 2, "choose the workloads"},
                {{"resume", "--everything"}, 2, "unknown option"},
                {{"restore", "--all", "--kubeconfig", "/nonexistent"}, 1, "/nonexistent"},
        };
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 3});
        lowered_all();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *said = halflife_run(row[i].code, row[i].args);
                expect_says(said, row[i].says);
        }
        assert_int_equal(fake_count(lowered_plane.fake, "write", ""), 0);
        lowered_end();
}

/* What is not there fails by its name; where something is there and nothing of it is ours, that is said. Nothing is
 * written either way, not even a hold. */
static void test_nothing(void **state)
{
        static const struct {
                const char *args[ARGS];
                int code;
                const char *says;
        } row[] = {
                {{"restore", "-n", "shpo"}, 1, "halflife restore: namespace 'shpo' does not exist"},
                {{"restore", "-n", "shpo", "-l", "app=web", "--dry-run"}, 1, "namespace 'shpo' does not exist"},
                {{"restore", "-n", "shpo", "--orphaned"}, 1, "namespace 'shpo' does not exist"},
                {{"restore", "deploy/web", "-n", "shpo"}, 1, "namespace 'shpo' does not exist"},
                {{"resume", "-n", "shpo"}, 1, "halflife resume: namespace 'shpo' does not exist"},
                {{"resume", "deploy/web", "-n", "shpo"}, 1, "namespace 'shpo' does not exist"},
                {{"restore", "deploy/nobody", "-n", "shop"},
                 1,
                 "workload 'deploy/nobody' does not exist in namespace 'shop'"},
                {{"restore", "deploy/web", "sts/nobody", "-n", "shop"}, 1, "workload 'sts/nobody' does not exist"},
                {{"resume", "deploy/nobody", "-n", "shop"}, 1, "workload 'deploy/nobody' does not exist"},
                {{"resume", "deploy/web", "sts/nobody", "-n", "shop"}, 1, "workload 'sts/nobody' does not exist"},
                {{"restore", "deploy/gone", "-n", "shop"},
                 1,
                 "workload 'deploy/gone' does not exist in namespace 'shop': only its Recommendation is left"},
                {{"restore", "widget.example.com/none", "-n", "shop"},
                 1,
                 "halflife does not know 'widget.example.com/none"},
                {{"restore", "ns/shop", "-n", "shop"}, 1, "halflife does not know 'ns/shop'"},
                {{"resume", "deploy/plain", "-n", "shop"}, 1, "halflife does not know 'deploy/plain'"},
                {{"restore", "deploy/plain", "-n", "shop"},
                 0,
                 "nothing to restore: 'deploy/plain' in namespace 'shop' carries no values of halflife"},
                {{"restore", "deploy/plain", "deploy/more", "-n", "shop", "--dry-run"},
                 0,
                 "nothing to restore: 'deploy/plain', 'deploy/more' in namespace 'shop' carry no values of halflife"},
                {{"restore", "-n", "bare"},
                 0,
                 "nothing to restore: no workload in namespace 'bare' carries values of halflife"},
                {{"restore", "-n", "shop", "-l", "app=wbe"},
                 0,
                 "nothing to restore: no workload in namespace 'shop' with the labels 'app=wbe' carries values of "
                 "halflife"},
                {{"restore", "-A", "-l", "app=wbe"},
                 0,
                 "nothing to restore: no workload in the cluster with the labels 'app=wbe' carries values"},
                {{"restore", "--orphaned"},
                 0,
                 "nothing to restore: no workload in the cluster that has lost its profile carries values"},
                {{"resume", "deploy/web", "-n", "shop"},
                 0,
                 "nothing to resume: 'deploy/web' in namespace 'shop' is not held"},
                {{"resume", "deploy/web", "sts/db", "-n", "shop"},
                 0,
                 "nothing to resume: 'deploy/web', 'sts/db' in namespace 'shop' are not held"},
                {{"resume", "-n", "bare"}, 0, "nothing to resume: no workload in namespace 'bare' is held"},
                {{"resume", "-n", "shop", "-l", "app=wbe", "--dry-run"},
                 0,
                 "nothing to resume: no workload in namespace 'shop' with the labels 'app=wbe' is held"},
                {{"restore", "-n", "bare", "-o", "json"}, 0, "\"workloads\": []"},
        };
        static const char *const plain[][3] = {
                {"plain", "shop", "plain"}, {"more", "shop", "more"}, {"web", "bare", "web"}};
        static const struct lowered_object gone = {
                "Deployment", "", "",
                "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"gone\","
                "\"namespace\":\"shop\"}}",
                ""};
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 12});
        lowered_all();
        for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
                AUTO(mem_free)
                char *text = mem_printf(
                        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"%s\"},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":"
                        "\"%s\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\"}},\"spec\":" LOWERED_CONTAINER(
                                "") "}}}",
                        plain[i][0], plain[i][1], plain[i][2], plain[i][2]);
                fake_put(lowered_plane.fake, "kubectl", text);
        }
        lowered_publish(&gone);
        fake_count_reset(lowered_plane.fake);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *said = halflife_run(row[i].code, row[i].args);
                expect_says(said, row[i].says);
                if (strstr(said, "0 restored") || strstr(said, "0 resumed"))
                        fail_msg("counts nothing:\n%s", said);
        }
        assert_int_equal(fake_count(lowered_plane.fake, "write", ""), 0);
        lowered_end();
}

/* A user without permission to get namespaces sees that nothing was found, not that the namespace is missing. */
static void test_nothing_to_look_with(void **state)
{
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 13});
        fake_deny(lowered_plane.fake, &(struct fake_rule){"get", "", "namespaces", NULL});
        AUTO(mem_free) char *said = RUN(0, "restore", "-n", "shpo");
        expect_says(said, "nothing to restore: no workload in namespace 'shpo' carries values of halflife");
        AUTO(mem_free) char *resumed = RUN(0, "resume", "-n", "shpo");
        expect_says(resumed, "nothing to resume: no workload in namespace 'shpo' is held");
        lowered_end();
}

/* --- what others did meanwhile --- */

static void test_owners(void **state)
{
        static const char other[] = "[{\"op\":\"replace\",\"path\":\"/spec/template/spec/containers/0/resources/"
                                    "requests/cpu\",\"value\":\"700m\"}]";
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 4});
        lowered_all();
        fake_patch(lowered_plane.fake, lowered_objects[0].path, "kubectl", other);
        fake_delete(lowered_plane.fake, lowered_objects[2].path);
        fake_delete(lowered_plane.fake, REC("till", "deployment-web"));
        AUTO(mem_free) char *before = lowered_spec(lowered_objects[0].path);
        AUTO(mem_free) char *said = RUN(0, "restore", "--all");
        expect_says(said, "shop deployment/web left; left: app cpu is 700m, not the 454m that halflife set");
        expect_says(said, "without a Recommendation to hold");
        AUTO(mem_free) char *after = lowered_spec(lowered_objects[0].path);
        assert_string_equal(before, after); /* also its annotations: to take them away alone would start a rollout */
        assert_true(lowered_is_back(1) && lowered_is_back(3) && lowered_is_back(4) && lowered_is_back(5));
        lowered_end();
}

static void test_without_kinds(void **state)
{
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 4});
        for (int i = 0; i < LOWERED_OBJECTS - 2; i++)
                lowered_write(lowered_objects[i].path, lowered_objects[i].template_path, lowered_objects[i].original,
                              lowered_applied);
        fake_delete(lowered_plane.fake,
                    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/recommendations.halflife.dev");
        AUTO(mem_free) char *said = RUN(0, "restore", "--all");
        expect_says(said, "4 restored");
        lowered_expect_back("without halflife's kinds");
        AUTO(mem_free) char *resumed = RUN(0, "resume", "--all");
        expect_says(resumed, "halflife's CRDs are not installed, so nothing is held");
        AUTO(mem_free) char *one = RUN(1, "resume", "deploy/web", "-n", "shop");
        expect_says(one, "halflife's CRDs are not installed");
        lowered_end();
}

/* --- autoscalers first --- */

static void test_autoscaler(void **state)
{
        static const char path[] = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web";
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 5});
        lowered_all();
        fake_put(
                lowered_plane.fake, "kubectl",
                "{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\",\"metadata\":{\"name\":"
                "\"web\",\"namespace\":\"shop\",\"annotations\":{\"halflife.dev/original-targets\":"
                "\"{\\\"Resource/cpu\\\":70}\"}},\"spec\":{\"maxReplicas\":9,\"scaleTargetRef\":{\"apiVersion\":"
                "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"},\"metrics\":[{\"type\":\"Resource\","
                "\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\",\"averageUtilization\":308}}}]}}");
        fake_deny(lowered_plane.fake, &(struct fake_rule){"patch", "apps", "deployments", NULL});
        AUTO(mem_free) char *refused = RUN(1, "restore", "deploy/web", "-n", "shop");
        expect_says(refused, "shop deployment/web failed: its template: ");
        AUTO(mem_free) char *spec = lowered_spec(path);
        assert_non_null(strstr(spec, "\"averageUtilization\":70"));
        fake_allow_all(lowered_plane.fake);
        AUTO(mem_free) char *said = RUN(0, "restore", "deploy/web", "-n", "shop");
        expect_says(said, "shop deployment/web restored: app cpu 454m -> 2");
        assert_true(lowered_is_back(0));
        lowered_end();
}

/* --- pods --- */

/* The first pod of a Deployment, as admission at Pod made it. */
static char *admitted_pod(void)
{
        AUTO(json_decref) json_t *list = lowered_read("/api/v1/namespaces/shop/pods");
        size_t i;
        json_t *pod;
        json_array_foreach(json_object_get(list, "items"), i, pod)
        {
                const char *name = json_string_value(json_object_get(json_object_get(pod, "metadata"), "name"));
                if (strncmp(name, "web-", 4) != 0)
                        continue;
                char *path = mem_printf("/api/v1/namespaces/shop/pods/%s", name);
                AUTO(mem_free) char *resize = mem_printf("%s/resize", path);
                assert_int_equal(fake_patch(lowered_plane.fake, resize, "kubelet",
                                            "[{\"op\":\"replace\",\"path\":\"/spec/containers/0/resources/requests/"
                                            "cpu\",\"value\":\"454m\"}]"),
                                 200);
                AUTO(json_decref)
                json_t *notes = json_pack("{s:{s:{s:s, s:s, s:s}}}", "metadata", "annotations", ANNOTATION_ORIGINAL,
                                          lowered_objects[0].original, ANNOTATION_APPLIED, lowered_applied,
                                          ANNOTATION_BASIS, "request");
                char *merge = json_dumps(notes, 0);
                assert_int_equal(fake_merge(lowered_plane.fake, path, "halflife", merge), 200);
                free(merge);
                return path;
        }
        fail_msg("no pod of web");
        return NULL;
}

static void expect_bare(const char *path)
{
        static const char *const keys[] = {ANNOTATION_ORIGINAL, ANNOTATION_APPLIED, ANNOTATION_BASIS,
                                           ANNOTATION_RAISED};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
                AUTO(mem_free) char *note = annotation(path, keys[i]);
                if (note)
                        fail_msg("%s is still %s", keys[i], note);
        }
}

static void test_pods(void **state)
{
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 6});
        AUTO(mem_free) char *path = admitted_pod();
        AUTO(mem_free) char *said = RUN(0, "restore", "-n", "shop");
        expect_says(said, "shop deployment/web restored: pod 'web-");
        AUTO(mem_free) char *spec = lowered_spec(path);
        assert_non_null(strstr(spec, "\"requests\":{\"cpu\":\"2\""));
        expect_bare(path);
        AUTO(mem_free) char *again = RUN(0, "restore", "-n", "shop");
        expect_says(again, "nothing to restore: no workload in namespace 'shop' carries values of halflife");
        lowered_end();
}

/* Raised to its original, nothing of it is ours any more but what says so. */
static void test_pods_raised(void **state)
{
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 6});
        AUTO(mem_free) char *path = admitted_pod(), *resize = mem_printf("%s/resize", path);
        assert_int_equal(fake_patch(lowered_plane.fake, resize, "halflife",
                                    "[{\"op\":\"replace\",\"path\":\"/spec/containers/0/resources/requests/cpu\","
                                    "\"value\":\"2\"}]"),
                         200);
        assert_int_equal(fake_merge(lowered_plane.fake, path, "halflife",
                                    "{\"metadata\":{\"annotations\":{\"" ANNOTATION_ORIGINAL
                                    "\":null,\"" ANNOTATION_APPLIED "\":null,\"" ANNOTATION_BASIS
                                    "\":null,\"" ANNOTATION_RAISED "\":\"2026-11-23T07:00:00Z\"}}}"),
                         200);
        AUTO(mem_free) char *said = RUN(0, "restore", "-n", "shop");
        expect_says(said, "0 failed");
        expect_bare(path);
        lowered_end();
}

#define LONE_PATH "/api/v1/namespaces/shop/pods/lone"

/* A pod that nobody owns, which halflife lowered to 454m, and which asks for cpu now. */
#define LONE_POD(cpu)                                                                                                  \
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"lone\",\"namespace\":\"shop\","              \
        "\"annotations\":{"                                                                                            \
        "\"halflife.dev/original-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"2\\\"}}}\","            \
        "\"halflife.dev/applied-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"454m\\\"}}}\"}},"        \
        "\"spec\":" LOWERED_CONTAINER(",\"resources\":{\"requests\":{\"cpu\":\"" cpu "\"}}") "}"

/* One that nobody owns, by a Recommendation of its own or by its annotations alone: resized; nothing could roll it. */
static void test_pods_alone(void **state)
{
        (void)state;
        static const struct lowered_object rec = {
                "Pod", LONE_PATH, "",
                "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"lone\",\"namespace\":\"shop\"}}", ""};
        static const char *const how[][3] = {
                {"pod/lone", "-n", "shop"}, {"-n", "shop", "--dry-run=false"}, {"--all", "--budget", "9"}};
        for (int i = 0; i < 3; i++) {
                lowered_begin(&(struct fake_options){.seed = 6});
                fake_put(lowered_plane.fake, "kubectl", LONE_POD("454m"));
                if (i < 2)
                        lowered_publish(&rec);
                AUTO(mem_free) char *said = RUN(0, "restore", how[i][0], how[i][1], how[i][2]);
                expect_says(said, "shop pod/lone restored: pod 'lone' app cpu 454m -> 2");
                AUTO(mem_free) char *spec = lowered_spec(LONE_PATH);
                assert_non_null(strstr(spec, "\"requests\":{\"cpu\":\"2\""));
                AUTO(mem_free) char *note = annotation(LONE_PATH, ANNOTATION_APPLIED);
                assert_null(note);
                lowered_end();
        }
}

/* A pod that nobody owns and whose platform rounded what halflife's admission gave it. What somebody has resized since
 * is theirs. */
static void test_pods_altered(void **state)
{
        (void)state;
        for (int resized = 0; resized < 2; resized++) {
                lowered_begin(&(struct fake_options){.seed = 6});
                fake_put(lowered_plane.fake, "kubectl", LONE_POD("500m"));
                if (resized)
                        assert_int_equal(fake_patch(lowered_plane.fake, LONE_PATH "/resize", "kubectl-patch",
                                                    "[{\"op\":\"replace\",\"path\":\"/spec/containers/0/resources/"
                                                    "requests/cpu\",\"value\":\"600m\"}]"),
                                         200);
                AUTO(mem_free) char *said = RUN(0, "restore", "--all");
                if (!resized)
                        expect_says(said, "shop pod/lone restored: pod 'lone' app cpu 500m -> 2");
                AUTO(mem_free) char *spec = lowered_spec(LONE_PATH);
                assert_non_null(
                        strstr(spec, resized ? "\"requests\":{\"cpu\":\"600m\"" : "\"requests\":{\"cpu\":\"2\""));
                lowered_end();
        }
}

/* A server without the subresource: listed, also by a dry run; asked to, rolled. */
static void test_pods_left(void **state)
{
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 7});
        AUTO(mem_free) char *path = admitted_pod(), *before = lowered_spec(lowered_objects[0].path);
        fake_fault(lowered_plane.fake, &(struct fake_fault){.verb = "patch", .path = path, .status = 404, .times = 1});
        AUTO(mem_free) char *gone = RUN(0, "restore", "-n", "shop");
        expect_says(gone, "keeps halflife's value (app cpu 454m -> 2): ");
        fake_old(lowered_plane.fake);
        AUTO(mem_free) char *dry = RUN(0, "restore", "-n", "shop", "-o", "json", "--dry-run");
        expect_says(dry, "keeps halflife's value (app cpu 454m -> 2): this API server cannot resize pods");
        expect_says(dry, "\"result\": \"wouldLeave\"");
        AUTO(mem_free) char *would = RUN(0, "restore", "-n", "shop", "--dry-run", "--restart");
        expect_says(would, "shop deployment/web would restore: restarted\n");
        AUTO(mem_free) char *now = lowered_spec(lowered_objects[0].path);
        assert_string_equal(now, before);
        AUTO(mem_free) char *said = RUN(0, "restore", "-n", "shop", "-o", "json");
        expect_says(said, "keeps halflife's value (app cpu 454m -> 2): this API server cannot resize pods");
        expect_says(said, "\"result\": \"left\"");
        AUTO(mem_free) char *rolled = RUN(0, "restore", "-n", "shop", "--restart");
        expect_says(rolled, "shop deployment/web restored: restarted");
        assert_null(fake_get(lowered_plane.fake, path));
        lowered_end();
}

#define PENDING(why, says)                                                                                             \
        "\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"" why                         \
        "\",\"message\":\"" says "\"}]"

/* The kubelet's result of an accepted resize is reported or waited for. A result of an earlier resize is ignored. */
static void test_verdicts(void **state)
{
        (void)state;
        static const struct {
                const char *status;
                int code;
                const char *says, *also;
        } row[] = {
                {PENDING("Infeasible", "node has 1 cpu"), 0, "shop deployment/web restored: pod 'web-",
                 "resize not in force): its node cannot resize the pod: node has 1 cpu"},
                {PENDING("Deferred", "later"), 1, "failed: no progress for 1 s: pod 'web-",
                 "waits for its node: Deferred later"},
                {"\"observedGeneration\":1," PENDING("Infeasible", "node has 1 cpu"), 1,
                 "failed: no progress for 1 s: pod 'web-", "has not seen the resize yet"},
                {"\"observedGeneration\":1", 1, "failed: no progress for 1 s: pod 'web-",
                 "has not seen the resize yet"},
                {"\"observedGeneration\":9", 0, "shop deployment/web restored: pod 'web-", NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                lowered_begin(&(struct fake_options){.seed = 6});
                AUTO(mem_free) char *path = admitted_pod(), *status = mem_printf("%s/status", path);
                AUTO(mem_free) char *merge = mem_printf("{\"status\":{%s}}", row[i].status);
                assert_int_equal(fake_merge(lowered_plane.fake, status, "kubelet", merge), 200);
                AUTO(mem_free) char *said = RUN(row[i].code, "restore", "-n", "shop", "--timeout", "1s");
                expect_says(said, row[i].says);
                if (row[i].also)
                        expect_says(said, row[i].also);
                AUTO(mem_free) char *spec = lowered_spec(path);
                assert_non_null(strstr(spec, "\"requests\":{\"cpu\":\"2\""));
                lowered_end();
        }
}

/* What is longer than a line has room for is cut, and never within a character: as JSON it would be left out. */
static void test_long_words(void **state)
{
        (void)state;
        for (int odd = 0; odd < 2; odd++) {
                struct buf words;
                buf_init(&words, 1 << 12);
                (void)buf_add_text(&words, odd ? "x" : "");
                for (int i = 0; i < 700; i++)
                        (void)buf_add_text(&words, "ü");
                lowered_begin(&(struct fake_options){.seed = 6});
                AUTO(mem_free) char *path = admitted_pod(), *status = mem_printf("%s/status", path);
                AUTO(mem_free)
                char *merge =
                        mem_printf("{\"status\":{\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\","
                                   "\"reason\":\"Infeasible\",\"message\":\"%s\"}]}}",
                                   words.data);
                assert_int_equal(fake_merge(lowered_plane.fake, status, "kubelet", merge), 200);
                AUTO(mem_free) char *said = RUN(0, "restore", "-n", "shop", "-o", "json");
                expect_says(said, "\"left\": \"pod 'web-");
                lowered_end();
                buf_release(&words);
        }
}

/* --- rollouts --- */

static void test_stands_still(void **state)
{
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 8, .controllers = FAKE_CONTROLLERS_STEP});
        fake_settle(lowered_plane.fake);
        lowered_all();
        fake_settle(lowered_plane.fake);
        AUTO(mem_free) char *said = RUN(1, "restore", "--all", "--budget", "1", "--timeout", "1s");
        expect_says(said, "failed: no progress for 1 s");
        expect_says(said, "run the same command again to continue");
        int back = 0;
        for (int i = 0; i < LOWERED_OBJECTS; i++)
                back += lowered_is_back(i);
        if (back > 3) /* a CronJob and a kind that says nothing of rollouts wait for nothing */
                fail_msg("%d were begun:\n%s", back, said);
        fake_settle(lowered_plane.fake);
        for (int tries = 0; tries < LOWERED_OBJECTS && back < LOWERED_OBJECTS; tries++) {
                AUTO(mem_free) char *next = NULL;
                struct halflife *h = halflife_command(
                        (const char *const[]){"restore", "--all", "--budget", "1", "--timeout", "1s", NULL});
                (void)halflife_await(h, 30000);
                next = halflife_log(h);
                halflife_free(h);
                fake_settle(lowered_plane.fake);
                back = 0;
                for (int i = 0; i < LOWERED_OBJECTS; i++)
                        back += lowered_is_back(i);
        }
        mem_free(RUN(0, "restore", "--all"));
        lowered_expect_back("begun again and again");
        lowered_end();
}

static bool is_patched(struct fake *f, void *arg)
{
        (void)f, (void)arg;
        return lowered_is_back(0);
}

static void test_interrupted(void **state)
{
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 9, .controllers = FAKE_CONTROLLERS_STEP});
        fake_settle(lowered_plane.fake);
        lowered_all();
        fake_settle(lowered_plane.fake);
        struct halflife *h = halflife_command(
                (const char *const[]){"restore", "deploy/web", "sts/db", "-n", "shop", "--budget", "1", NULL});
        assert_true(fake_wait(lowered_plane.fake, is_patched, NULL, 20000));
        halflife_signal(h, SIGINT);
        assert_int_equal(halflife_await(h, 20000), 1);
        assert_int_equal(halflife_said(h, "interrupted"), 1);
        assert_false(lowered_is_back(1));
        halflife_free(h);
        lowered_end();
}

static void test_away(void **state)
{
        (void)state;
        lowered_begin(&(struct fake_options){.seed = 11});
        fake_stop(lowered_plane.fake);
        AUTO(mem_free) char *said = RUN(1, "restore", "--all");
        expect_says(said, "does the API server run?");
        lowered_end();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all),           cmocka_unit_test(test_scopes),
                cmocka_unit_test(test_misused),       cmocka_unit_test(test_owners),
                cmocka_unit_test(test_without_kinds), cmocka_unit_test(test_autoscaler),
                cmocka_unit_test(test_pods_alone),    cmocka_unit_test(test_pods),
                cmocka_unit_test(test_pods_raised),   cmocka_unit_test(test_pods_altered),
                cmocka_unit_test(test_pods_left),     cmocka_unit_test(test_verdicts),
                cmocka_unit_test(test_long_words),    cmocka_unit_test(test_stands_still),
                cmocka_unit_test(test_interrupted),   cmocka_unit_test(test_away),
                cmocka_unit_test(test_nothing),       cmocka_unit_test(test_nothing_to_look_with),
        };
        return cmocka_run_group_tests_name("restore", tests, NULL, NULL);
}
