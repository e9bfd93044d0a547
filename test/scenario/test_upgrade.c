/*
 * Replicas of two versions during an upgrade. test/data/former/answers.json holds what the version before made of the
 * stories below, one line for each: the Recommendation as the API server had it, and the answers of `halflife serve` of
 * that version. test/data/former/commit names its commit. undecided/ beside it holds the same of the last version that
 * wrote no status.decision. With a build of such a commit in BUILD, this records the file:
 *
 *     HALFLIFE_BUILD=BUILD build/debug/test/scenario/test_upgrade record >test/data/former/answers.json
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>
#include <gnutls/gnutls.h>

#include "../support/fetch.h"
#include "../support/pick.h"
#include "../support/story.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"

#define APP           "{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}"
#define POD           "{containers: [" APP "]}"
#define SET(name)     WORK("StatefulSet", name, "{replicas: 2, serviceName: db}", POD)
#define DB            SET("db")
#define DB_REC        "recommendations/statefulset-db"
#define NAMESPACE_REC "recommendations/namespace-namespace"
#define POD_REC       "recommendations/pod-db-0"
#define CPU           "spec.template.spec.containers[app].resources.requests.cpu"
#define LOWERED       EXPECT("statefulsets/db", CPU, "285m")
#define AT_DEPLOYS    TEAM("{apply: {mode: OnDeploy, minHistory: 2s}}")
#define ROLLS(more)                                                                                                    \
        TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, cooldown: 0s, guard: {watch: 1h}" more   \
             "}}")
#define APPLIED(why) EXPECT(DB_REC, "status.conditions[Applied].reason", why)
/* Have the status written with the reasons under the present profile: a reason alone causes no write. */
#define WRITTEN_ANEW                                                                                                   \
        MERGE(DB_REC, "{metadata: {annotations: {halflife.dev/hold: look}}}"),                                         \
                EXPECT(DB_REC, "status.conditions[Held].status", "True"),                                              \
                MERGE(DB_REC, "{metadata: {annotations: {halflife.dev/hold: null}}}"),                                 \
                EXPECT(DB_REC, "status.conditions[Held]", "-")
#define SCALED(kind, more) PUT("{apiVersion: " kind ", metadata: {name: db}, spec: {" more "}}")

enum { LONG_MS = 60000, QUIET_CYCLES = 3 };

/* A pod of the set is evicted for memory; a second ahead, for a kubelet tells whole seconds. */
static bool evicted(struct fake *f, struct story *s)
{
        char at[WALL_TEXT_MAX];
        AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/pods/db-0/status", s->name);
        AUTO(mem_free)
        char *body =
                mem_printf("{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on "
                           "resource: memory. Container app was using 2Gi, request is 1Gi, has larger consumption of "
                           "memory. \",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
                           "\"TerminationByKubelet\",\"lastTransitionTime\":\"%s\"}]}}",
                           wall_print((struct wall){now_read().wall.ms + SECOND_MS}, at));
        return fake_merge(f, path, "kubelet", body) == 200;
}

/* Each ends with a Recommendation that stays as it is. */
static struct story stories[] = {
        STORY("applied", ROLLS(""), DB, LOWERED, APPLIED("UpToDate")),
        STORY("canary", TEAM("{apply: {mode: OnDeploy, minHistory: 2s, canary: {percent: 1}}}"), DB, SET("ab"),
              EXPECT(DB_REC, "status.conditions[Canary].reason", "Waiting"), APPLIED("Canary")),
        STORY("contested", ROLLS(""), DB, LOWERED, APPLIED("UpToDate"),
              MERGE("statefulsets/db", "{spec: {template: {spec: " POD "}}}"), APPLIED("Contested"), AT_DEPLOYS,
              WRITTEN_ANEW, APPLIED("Contested")),
        STORY("guarded", ROLLS(""), DB, LOWERED, APPLIED("UpToDate"), CALL(evicted),
              EXPECT(DB_REC, "status.guard.cause", "Evicted"), EXPECT("statefulsets/db", CPU, "1"), AT_DEPLOYS,
              WRITTEN_ANEW, APPLIED("Guard")),
        STORY("held", AT_DEPLOYS, DB, APPLIED("NextDeploy"),
              MERGE(DB_REC, "{metadata: {annotations: {halflife.dev/hold: incident}}}"), APPLIED("Paused")),
        STORY("hpa", AT_DEPLOYS, DB,
              SCALED("autoscaling/v2, kind: HorizontalPodAutoscaler",
                     "maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}, metrics: "
                     "[{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]"),
              APPLIED("HPAHold")),
        STORY("in-place", TEAM("{apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: 90}}"), DB,
              EXPECT("pods/db-1", "spec.containers[app].resources.requests.cpu", "285m"), APPLIED("UpToDate")),
        STORY("init", AT_DEPLOYS,
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}",
                   "{initContainers: [{name: migrate, resources: {requests: {cpu: '3', memory: 2Gi}}}], containers: "
                   "[" APP "]}"),
              APPLIED("NextDeploy")),
        STORY("namespace", TEAM("{dimension: Namespace, apply: {minHistory: 2s}}"), DB,
              EXPECT(NAMESPACE_REC, "status.state", "Ready"),
              EXPECT(NAMESPACE_REC, "status.conditions[Applied].reason", "RecommendOnly")),
        STORY("next-deploy", AT_DEPLOYS, DB, APPLIED("NextDeploy")),
        STORY("opted-out", AT_DEPLOYS, DB,
              MERGE("statefulsets/db", "{metadata: {annotations: {halflife.dev/apply: Never}}}"), APPLIED("OptedOut")),
        STORY("orphaned", ROLLS(""), DB, LOWERED, APPLIED("UpToDate"), TEAM("{apply: {mode: Recommend}}"),
              APPLIED("Orphaned")),
        STORY("other-autoscaler", AT_DEPLOYS, DB,
              SCALED("autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler",
                     "targetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}, updatePolicy: {updateMode: Auto}"),
              APPLIED("OtherAutoscaler")),
        STORY("pod", TEAM("{dimension: Pod, apply: {mode: OnDeploy, minHistory: 2s}}"), DB,
              EXPECT(POD_REC, "status.conditions[Applied].reason", "RecommendOnly")),
        STORY("pod-level", AT_DEPLOYS,
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}",
                   "{resources: {requests: {cpu: '2'}}, containers: [" APP "]}"),
              APPLIED("Immutable")),
        STORY("recommended", TEAM("{apply: {minHistory: 2s}}"), DB, APPLIED("RecommendOnly")),
};
enum { STORIES = sizeof stories / sizeof stories[0] };

/* A version whose answers were recorded. */
static struct former {
        const char *path;
        bool undecided;  /* it wrote no status.decision, and named some fields differently */
        json_t *answers; /* by story: recommendation, admission, rest */
} formers[] = {{.path = "test/data/former/answers.json"},
               {.path = "test/data/former/undecided/answers.json", .undecided = true}};
enum { FORMERS = sizeof formers / sizeof formers[0] };

static struct {
        struct fake *fake;
        json_t *live[STORIES]; /* this version's Recommendations */
} stage;

/* The story's Recommendation; its target in the REST API. */
static const char *rec_of(const struct story *s)
{
        return strcmp(s->name, "pod") == 0 ? POD_REC : strcmp(s->name, "namespace") == 0 ? NAMESPACE_REC : DB_REC;
}

static const char *target_of(const struct story *s)
{
        return strcmp(s->name, "pod") == 0         ? "pod/db-0"
               : strcmp(s->name, "namespace") == 0 ? "namespace/namespace"
                                                   : "statefulset/db";
}

/* --- the cluster --- */

static void install_vpas(struct fake *f)
{
        fake_put(f, "kubectl-create",
                 "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{"
                 "\"name\":\"verticalpodautoscalers.autoscaling.k8s.io\"},\"spec\":{\"group\":\"autoscaling.k8s.io\","
                 "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"verticalpodautoscalers\",\"singular\":"
                 "\"verticalpodautoscaler\",\"kind\":\"VerticalPodAutoscaler\"},\"versions\":[{\"name\":\"v1\","
                 "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
                 "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}");
}

static json_t *object_of(const struct story *s, const char *path)
{
        AUTO(mem_free) char *where = story_path(s, path);
        AUTO(mem_free) char *text = fake_get(stage.fake, where);
        json_t *object = text ? json_loads(text, 0, NULL) : NULL;
        if (!object)
                fail_msg("%s: no %s", s->name, path);
        return object;
}

/* The Recommendation without what a server makes of any object. */
static json_t *recommendation_of(const struct story *s)
{
        static const char *const of_the_server[] = {"creationTimestamp", "generation", "managedFields",
                                                    "resourceVersion", "uid"};
        json_t *r = object_of(s, rec_of(s));
        for (size_t i = 0; i < sizeof of_the_server / sizeof of_the_server[0]; i++)
                json_object_del(json_object_get(r, "metadata"), of_the_server[i]);
        return r;
}

/* The stories, played before a leader that ends with them. */
static void play_stories(void)
{
        stage.fake = stories_server(stories, STORIES);
        install_vpas(stage.fake);
        fake_person(stage.fake, "auditor", "auditor", NULL);
        fake_grant(stage.fake, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        struct halflife *leader = halflife_start(stage.fake, "upgrade.db", NULL);
        bool good = stories_run(stage.fake, stories, STORIES, LONG_MS) &&
                    halflife_await_cycles(leader, stage.fake, QUIET_CYCLES, LONG_MS);
        for (int i = 0; i < STORIES; i++)
                if (stories[i].failure)
                        fprintf(stderr, "%s: %s\n", stories[i].name, stories[i].failure);
        assert_true(good);
        assert_int_equal(halflife_stop(leader), 0);
        halflife_free(leader);
}

static struct halflife *serve_start(char **ret_address)
{
        AUTO(mem_free) char *kubeconfig = tmp_path("kubeconfig-serve");
        assert_true(fake_write_kubeconfig(stage.fake, kubeconfig));
        struct halflife *h = halflife_command((const char *const[]){
                "serve", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--serve-listen", "127.0.0.1:0", NULL});
        *ret_address = halflife_rest_address(h);
        assert_non_null(*ret_address);
        for (int64_t began = mono_read().ns; halflife_get(h, "/readyz") != 200; usleep(10000))
                assert_true((mono_read().ns - began) / 1000000 < LONG_MS);
        return h;
}

/* --- what a replica answers about a story --- */

/* A new pod of the set. */
static json_t *pod_of(const struct story *s)
{
        AUTO(json_decref) json_t *set = object_of(s, "statefulsets/db");
        json_t *pod = json_deep_copy(pick(set, "spec.template"));
        json_object_update_new(pod, json_pack("{s:s, s:s}", "apiVersion", "v1", "kind", "Pod"));
        json_object_update_new(json_object_get(pod, "metadata"),
                               json_pack("{s:s, s:s, s:[{s:s, s:s, s:s, s:O, s:b}]}", "name", "db-0", "namespace",
                                         s->name, "ownerReferences", "apiVersion", "apps/v1", "kind", "StatefulSet",
                                         "name", "db", "uid", pick(set, "metadata.uid"), "controller", true));
        return pod;
}

/* The patch of a new pod of the set: JSON; null: it is let in as it is. */
static json_t *admission_of(const struct story *s, const char *address)
{
        json_t *review = json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s, s:s}, s:s, s:s, s:{s:s}, s:o}}", "apiVersion",
                                   "admission.k8s.io/v1", "kind", "AdmissionReview", "request", "uid", s->name, "kind",
                                   "group", "", "version", "v1", "kind", "Pod", "operation", "CREATE", "namespace",
                                   s->name, "userInfo", "username", "x", "object", pod_of(s));
        char *body = json_dumps(review, JSON_COMPACT);
        AUTO(mem_free) char *url = mem_printf("http://%s/admission", address);
        AUTO(got_release) struct got g = fetch(&(struct fetch){.url = url, .type = "application/json", .body = body});
        free(body);
        json_decref(review);
        if (g.status != 200 || !json_is_true(pick(g.json, "response.allowed")))
                fail_msg("%s: %ld %s", s->name, g.status, g.body);
        AUTO(mem_free) char *patch = mem_string(json_string_value(pick(g.json, "response.patch")));
        if (!patch)
                return json_null();
        gnutls_datum_t text = {(unsigned char *)patch, (unsigned)strlen(patch)}, plain;
        assert_int_equal(gnutls_base64_decode2(&text, &plain), 0);
        json_t *operations = json_loadb((const char *)plain.data, plain.size, 0, NULL);
        gnutls_free(plain.data);
        return operations;
}

static json_t *rest_of(const struct story *s, const char *address)
{
        AUTO(mem_free)
        char *url = mem_printf("http://%s/api/v1/namespaces/%s/workloads/%s", address, s->name, target_of(s));
        AUTO(got_release) struct got g = fetch(&(struct fetch){.url = url, .token = "auditor"});
        if (g.status != 200)
                fail_msg("%s: %ld %s", s->name, g.status, g.body);
        return json_incref(g.json);
}

static int record(void)
{
        char *address;
        play_stories();
        struct halflife *serve = serve_start(&address);
        for (int i = 0; i < STORIES; i++) {
                json_t *line =
                        json_pack("{s:o, s:o, s:o}", "recommendation", recommendation_of(&stories[i]), "admission",
                                  admission_of(&stories[i], address), "rest", rest_of(&stories[i], address));
                char *text = json_dumps(line, JSON_COMPACT);
                printf("%s\"%s\":%s", i ? ",\n" : "{", stories[i].name, text);
                free(text);
                json_decref(line);
        }
        printf("}\n");
        halflife_free(serve);
        mem_free(address);
        fake_free(stage.fake);
        return 0;
}

/* --- what is compared --- */

/* Leave these fields out, wherever they are; NULL at the end. */
static void drop_fields(json_t *j, const char *const *fields)
{
        const char *key;
        size_t at;
        json_t *inner;
        for (size_t i = 0; fields[i]; i++)
                json_object_del(j, fields[i]);
        json_object_foreach(j, key, inner) drop_fields(inner, fields);
        json_array_foreach(j, at, inner) drop_fields(inner, fields);
}

/* These depend on the moment of the last write. */
static const char *const counters[] = {"samples", "lastSample", "confidencePercent", NULL};

/* With "TIME" in place of each time; the caller's (mem_free). */
static char *without_times(const char *text)
{
        static const char time[] = "2026-11-25T07:18:45Z";
        char *copy = mem_string(text), *to = copy;
        for (const char *p = text; *p;) {
                size_t n = 0;
                while (time[n] && (time[n] >= '0' && time[n] <= '9' ? p[n] >= '0' && p[n] <= '9' : p[n] == time[n]))
                        n++;
                bool is_time = n == sizeof time - 1;
                memcpy(to, is_time ? "TIME" : p, is_time ? 4 : 1);
                to += is_time ? 4 : 1;
                p += is_time ? n : 1;
        }
        *to = '\0';
        return copy;
}

/* Conditions by their type, wherever they are: their list is a map, whose order is that of the first writes. */
static void key_conditions(json_t *j)
{
        const char *key;
        size_t at;
        void *next;
        json_t *inner;
        json_array_foreach(j, at, inner) key_conditions(inner);
        json_object_foreach_safe(j, next, key, inner)
        {
                key_conditions(inner);
                if (strcmp(key, "conditions") != 0)
                        continue;
                json_t *by_type = json_object(), *condition;
                json_array_foreach(inner, at, condition)
                        json_object_set(by_type, pick_text(condition, "type"), condition);
                json_object_set_new(j, "conditions", by_type);
        }
}

static char *text_without_times(const json_t *j)
{
        json_t *copy = json_deep_copy(j);
        drop_fields(copy, counters);
        char *text = json_dumps(copy, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
        char *level = without_times(text);
        free(text);
        json_decref(copy);
        return level;
}

/* The same status as that version writes it: without the new fields, and with the former names of others. */
static json_t *former_status(const struct former *of, const json_t *status)
{
        static const char *const new_fields[] = {"decision", "mode", "soFar"};
        static const struct {
                const char *now, *before;
        } renamed[] = {{"firstSample", "since"}, {"oomKills", "kills"}, {"lastOOMKill", "lastKill"}};
        json_t *former = json_deep_copy(status);
        if (!of->undecided)
                return former;
        for (size_t i = 0; i < sizeof new_fields / sizeof new_fields[0]; i++)
                json_object_del(former, new_fields[i]);
        for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++) {
                json_t *value = json_object_get(former, renamed[i].now);
                if (value)
                        json_object_set(former, renamed[i].before, value);
                json_object_del(former, renamed[i].now);
        }
        return former;
}

static const json_t *recorded(const struct former *f, int story, const char *what)
{
        return json_object_get(json_object_get(f->answers, stories[story].name), what);
}

/* --- tests --- */

static int begin(void **state)
{
        (void)state;
        for (int i = 0; i < FORMERS; i++) {
                formers[i].answers = json_load_file(formers[i].path, 0, NULL);
                assert_int_equal(json_object_size(formers[i].answers), STORIES);
        }
        play_stories();
        for (int i = 0; i < STORIES; i++)
                stage.live[i] = recommendation_of(&stories[i]);
        return 0;
}

static int end(void **state)
{
        (void)state;
        for (int i = 0; i < STORIES; i++)
                json_decref(stage.live[i]);
        for (int i = 0; i < FORMERS; i++)
                json_decref(formers[i].answers);
        fake_free(stage.fake);
        return 0;
}

static void compare_written(const struct former *f)
{
        static const char *const messages[] = {"message", NULL};
        for (int i = 0; i < STORIES; i++) {
                json_t *now = json_deep_copy(stage.live[i]);
                json_t *before = json_deep_copy(recorded(f, i, "recommendation"));
                json_object_set_new(now, "status", former_status(f, json_object_get(now, "status")));
                drop_fields(now, messages);
                drop_fields(before, messages);
                key_conditions(now);
                key_conditions(before);
                AUTO(mem_free) char *is = text_without_times(now), *was = text_without_times(before);
                json_decref(now);
                json_decref(before);
                if (strcmp(is, was) != 0) {
                        fprintf(stderr, "%s of %s:\n%s\nwas\n%s\n", stories[i].name, f->path, is, was);
                        fail();
                }
        }
}

/* All write the same, but for the fields that CHANGELOG.md lists and the texts for people. */
static void test_written_but_for_listed_fields(void **state)
{
        (void)state;
        for (int i = 0; i < FORMERS; i++)
                compare_written(&formers[i]);
}

/* The rules by which the undecided version reads facts out of conditions, from src/control/show_world.c of its commit
 * (says, waits, is_orphaned, opted_out). status NULL, reason NULL: any. */
static const struct {
        const char *fact, *type, *status, *reason;
} former_rules[] = {
        {"Contested", "Contested", "True", NULL},     {"Orphaned", "Applied", NULL, "Orphaned"},
        {"OptedOut", "OptedOut", "True", NULL},       {"OtherAutoscaler", "OtherAutoscaler", "True", NULL},
        {"InPlaceOnly", "InPlaceOnly", "True", NULL}, {"CanaryWaits", "Canary", "True", "Waiting"},
};

static bool former_reads(const json_t *status, const char *fact)
{
        for (size_t i = 0; i < sizeof former_rules / sizeof former_rules[0]; i++) {
                AUTO(mem_free) char *path = mem_printf("conditions[%s]", former_rules[i].type);
                const json_t *c = pick(status, path);
                if (strcmp(former_rules[i].fact, fact) != 0 || !c)
                        continue;
                return (!former_rules[i].status || strcmp(pick_text(c, "status"), former_rules[i].status) == 0) &&
                       (!former_rules[i].reason || strcmp(pick_text(c, "reason"), former_rules[i].reason) == 0);
        }
        return false;
}

static bool list_has(const json_t *list, const char *word)
{
        size_t at;
        json_t *item;
        json_array_foreach(list, at, item) if (strcmp(json_string_value(item), word) == 0) return true;
        return false;
}

/* By those rules a replica of the undecided version reads in the conditions what this version writes in decision. */
static void test_conditions_still_tell_the_decision(void **state)
{
        size_t told = 0;
        (void)state;
        for (int i = 0; i < STORIES; i++) {
                const json_t *status = json_object_get(stage.live[i], "status");
                const json_t *facts = pick(status, "decision.facts"), *asks = pick(status, "decision.podLevel");
                const char *pod_level = pick_text(status, "conditions[PodLevel].reason");
                const char *applied = pick_text(status, "conditions[Applied].reason");
                assert_non_null(facts);
                for (size_t k = 0; k < sizeof former_rules / sizeof former_rules[0]; k++) {
                        bool has = list_has(facts, former_rules[k].fact);
                        told += has;
                        if (former_reads(status, former_rules[k].fact) != has)
                                fail_msg("%s: %s", stories[i].name, former_rules[k].fact);
                }
                /* read_pod_asks of the same file */
                assert_int_equal(list_has(asks, "cpu"), *pod_level != '-' && strcmp(pod_level, "Memory") != 0);
                assert_int_equal(list_has(asks, "memory"), *pod_level != '-' && strcmp(pod_level, "CPU") != 0);
                /* is_never_written of the same file */
                assert_int_equal(list_has(facts, "NeverWritten"),
                                 strcmp(rec_of(&stories[i]), DB_REC) != 0 && strcmp(applied, "RecommendOnly") == 0);
        }
        assert_int_equal(told, 5); /* contested, orphaned, opted-out, other-autoscaler, canary */
}

/* Write a story's status as the leader of that version does; all versions are one field manager. */
static void write_status(const struct former *f, int story, json_t *status)
{
        const struct story *s = &stories[story];
        AUTO(mem_free) char *path = story_path(s, rec_of(s));
        AUTO(mem_free) char *status_path = mem_printf("%s/status", path);
        AUTO(json_decref)
        json_t *body = json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", "halflife.dev/v1alpha1", "kind",
                                 "Recommendation", "metadata", "name", strrchr(path, '/') + 1, "namespace", s->name,
                                 "status", status);
        char *text = json_dumps(body, JSON_COMPACT);
        assert_int_equal(fake_apply(stage.fake, status_path, "halflife", true, text), 200);
        free(text);
        assert_true(story_is(stage.fake, s, rec_of(s), "status.decision", "-", NULL) == f->undecided);
}

/* Whether all that was answered before is in the present answer, with the same values. */
static bool answers(const json_t *now, json_t *before)
{
        const char *key;
        size_t at;
        json_t *was;
        bool same = json_typeof(now) == json_typeof(before);
        if (json_is_object(before) && same) {
                json_object_foreach(before, key, was)
                {
                        const json_t *is = json_object_get(now, key);
                        same &= is && answers(is, was);
                }
                return same;
        }
        if (json_is_array(before) && same) {
                same = json_array_size(now) == json_array_size(before);
                json_array_foreach(before, at, was) same = same && answers(json_array_get(now, at), was);
                return same;
        }
        AUTO(mem_free) char *is = text_without_times(now);
        AUTO(mem_free) char *text = text_without_times(before);
        return strcmp(is, text) == 0;
}

static void compare_answers(const struct former *f)
{
        char *address;
        for (int i = 0; i < STORIES; i++)
                write_status(f, i, json_incref(json_object_get(recorded(f, i, "recommendation"), "status")));
        fake_count_reset(stage.fake);
        struct halflife *serve = serve_start(&address);
        for (int i = 0; i < STORIES; i++) {
                json_t *patch = admission_of(&stories[i], address);
                json_t *rest = rest_of(&stories[i], address), *was = json_deep_copy(recorded(f, i, "rest"));
                drop_fields(was, counters);
                key_conditions(rest);
                key_conditions(was);
                if (!json_equal(patch, recorded(f, i, "admission")) || !answers(rest, was)) {
                        AUTO(mem_free) char *is = text_without_times(rest), *before = text_without_times(was);
                        AUTO(mem_free) char *set = text_without_times(patch);
                        fprintf(stderr, "%s of %s: admission %s; REST:\n%s\nwas\n%s\n", stories[i].name, f->path, set,
                                is, before);
                        fail();
                }
                json_decref(patch);
                json_decref(rest);
                json_decref(was);
        }
        assert_int_equal(fake_count(stage.fake, "write", "/"), 0);
        assert_int_equal(halflife_stop(serve), 0);
        halflife_free(serve);
        mem_free(address);
}

/* By the recorded statuses, a replica of this version answers as the replicas of the versions before did. */
static void test_replica_by_former_statuses(void **state)
{
        (void)state;
        for (int i = 0; i < FORMERS; i++)
                compare_answers(&formers[i]);
}

static bool all_written(struct fake *f, void *arg)
{
        (void)arg;
        for (int i = 0; i < STORIES; i++)
                if (story_is(f, &stories[i], rec_of(&stories[i]), "status.decision", "-", NULL))
                        return false;
        return true;
}

/* each: how often a leader of this version writes each status. */
static void succeed(const struct former *f, size_t each)
{
        static const char *const others[] = {"/api/v1/", "/apis/apps/", "/apis/autoscaling/", "/apis/events.k8s.io/"};
        for (int i = 0; i < STORIES; i++)
                write_status(f, i, former_status(f, json_object_get(stage.live[i], "status")));
        fake_count_reset(stage.fake);
        struct halflife *leader = halflife_start(stage.fake, "upgrade.db", NULL);
        assert_true(fake_wait(stage.fake, all_written, NULL, LONG_MS));
        assert_true(halflife_await_cycles(leader, stage.fake, QUIET_CYCLES, LONG_MS));
        assert_int_equal(halflife_stop(leader), 0);
        halflife_free(leader);
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
                if (fake_count(stage.fake, "write", others[i]))
                        fail_msg("%s", fake_last(stage.fake, "write", others[i])->path);
        for (int i = 0; i < STORIES; i++) {
                AUTO(mem_free) char *path = story_path(&stories[i], rec_of(&stories[i]));
                json_t *now = recommendation_of(&stories[i]), *live = json_deep_copy(stage.live[i]);
                size_t writes = fake_count(stage.fake, "write", path);
                drop_fields(now, counters);
                drop_fields(live, counters);
                if (writes != each || !json_equal(now, live)) {
                        AUTO(mem_free) char *is = text_without_times(now), *was = text_without_times(live);
                        fprintf(stderr, "%s of %s: %zu writes\n%s\nwas\n%s\n", stories[i].name, f->path, writes, is,
                                was);
                        fail();
                }
                json_decref(now);
                json_decref(live);
        }
}

/* A leader of this version writes a status without decision once, in its own form, and nothing else. */
static void test_leader_after_the_version_before(void **state)
{
        (void)state;
        for (int i = 0; i < FORMERS; i++)
                succeed(&formers[i], formers[i].undecided ? 1 : 0);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_written_but_for_listed_fields),
                cmocka_unit_test(test_conditions_still_tell_the_decision),
                cmocka_unit_test(test_replica_by_former_statuses),
                cmocka_unit_test(test_leader_after_the_version_before),
        };
        if (argc == 2 && strcmp(argv[1], "record") == 0)
                return record();
        return cmocka_run_group_tests_name("upgrade", tests, begin, end);
}
